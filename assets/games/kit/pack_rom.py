"""Turn the linker's Intel HEX into a cartridge image with a valid header.

    python pack_rom.py game.ihx game.gb --title "MY GAME" [--banks 4]

Two banks (32 KiB) need no mapper; four get an MBC1. SDCC's linker writes bank n at n * 0x4000. https://gbdev.io/pandocs/The_Cartridge_Header.html
"""

from __future__ import annotations

import argparse
from pathlib import Path

BANK = 0x4000
NO_MAPPER, MBC1 = 0x00, 0x01
LOGO = bytes.fromhex("CEED6666CC0D000B03730083000C000D0008111F8889000EDCCC6EE6DDDDD999BBBB67636E0EECCCDDDC999FBBB9333E")


def read_hex(text: str, size: int) -> bytearray:
    """The image without header; bytes that nobody wrote are 0xFF."""
    rom = bytearray([0xFF]) * size
    for line in text.split():
        record = bytes.fromhex(line[1:])
        count, address, kind = record[0], record[1] << 8 | record[2], record[3]
        if kind != 0:
            continue
        if address + count > size:
            raise SystemExit(f"pack_rom.py: {count} bytes at {address:#06x} do not fit")
        rom[address : address + count] = record[4 : 4 + count]
    return rom


def add_header(rom: bytearray, title: str) -> None:
    rom[0x104:0x134] = LOGO
    rom[0x134:0x144] = title.encode().ljust(16, b"\0")
    banks = len(rom) // BANK
    mapper = MBC1 if banks > 2 else NO_MAPPER
    rom[0x144:0x14D] = bytes((0x30, 0x30, 0, mapper, banks.bit_length() - 2, 0, 1, 0x33, 0))
    checksum = 0
    for byte in rom[0x134:0x14D]:
        checksum = (checksum - byte - 1) & 0xFF
    rom[0x14D] = checksum
    total = (sum(rom) - rom[0x14E] - rom[0x14F]) & 0xFFFF
    rom[0x14E:0x150] = total.to_bytes(2, "big")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--title", required=True, help="15 ASCII characters at most")
    parser.add_argument("--banks", type=int, default=2, choices=(2, 4))
    arguments = parser.parse_args()
    rom = read_hex(arguments.source.read_text(), arguments.banks * BANK)
    add_header(rom, arguments.title)
    arguments.target.write_bytes(rom)
    for bank in range(0, arguments.banks, 2):
        part = rom[bank * BANK : (bank + 2) * BANK]
        print(f"  banks {bank} and {bank + 1}: {len(part) - part.count(0xFF)} bytes used")


if __name__ == "__main__":
    main()
