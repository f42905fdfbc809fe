"""Turn the linker's Intel HEX into a 32 KiB cartridge image with a valid header.

https://gbdev.io/pandocs/The_Cartridge_Header.html
"""

from __future__ import annotations

import sys
from pathlib import Path

ROM_SIZE = 0x8000
TITLE = b"POCKET QUEST"
LOGO = bytes.fromhex(
    "CEED6666CC0D000B03730083000C000D0008111F8889000E"
    "DCCC6EE6DDDDD999BBBB67636E0EECCCDDDC999FBBB9333E"
)


def read_hex(text: str) -> bytearray:
    rom = bytearray([0xFF]) * ROM_SIZE
    for line in text.split():
        record = bytes.fromhex(line[1:])
        count, address, kind = record[0], record[1] << 8 | record[2], record[3]
        if kind != 0:
            continue
        if address + count > ROM_SIZE:
            raise SystemExit(f"the program does not fit: {count} bytes at {address:#06x}")
        rom[address : address + count] = record[4 : 4 + count]
    return rom


def add_header(rom: bytearray) -> None:
    rom[0x104:0x134] = LOGO
    rom[0x134:0x144] = TITLE.ljust(16, b"\0")
    rom[0x144:0x14D] = bytes((0, 0, 0, 0, 0, 0, 1, 0x33, 0))  # ROM only, new licensee scheme
    rom[0x144:0x146] = b"00"
    checksum = 0
    for byte in rom[0x134:0x14D]:
        checksum = (checksum - byte - 1) & 0xFF
    rom[0x14D] = checksum
    total = (sum(rom) - rom[0x14E] - rom[0x14F]) & 0xFFFF
    rom[0x14E:0x150] = total.to_bytes(2, "big")


def main() -> None:
    source, target = map(Path, sys.argv[1:3])
    rom = read_hex(source.read_text())
    add_header(rom)
    target.write_bytes(rom)
    print(f"  {target.name}: {ROM_SIZE - rom.count(0xFF)} bytes used of {ROM_SIZE}")


if __name__ == "__main__":
    main()
