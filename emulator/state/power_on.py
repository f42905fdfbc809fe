"""State of the console when the DMG boot ROM jumps to 0100.
https://gbdev.io/pandocs/Power_Up_Sequence.html"""

from __future__ import annotations

import numpy as np

from emulator import constants as k
from emulator.rom.cartridge import Cartridge, MapperKind
from emulator.state.batch import CONSOLE_DTYPE, FAR_TIME

# Raw register bytes; the bits that always read as ones are added on reading.
IO_REGISTERS = {
    k.P1: 0x00, k.SB: 0x00, k.SC: 0x00, k.TIMA: 0x00, k.TMA: 0x00, k.TAC: 0x00, k.IF: 0x01,
    k.NR10: 0x80, k.NR11: 0xBF, k.NR12: 0xF3, k.NR13: 0xFF, k.NR14: 0xBF,
    k.NR21: 0x3F, k.NR22: 0x00, k.NR23: 0xFF, k.NR24: 0xBF,
    k.NR30: 0x7F, k.NR31: 0xFF, k.NR32: 0x9F, k.NR33: 0xFF, k.NR34: 0xBF,
    k.NR41: 0xFF, k.NR42: 0x00, k.NR43: 0x00, k.NR44: 0xBF,
    k.NR50: 0x77, k.NR51: 0xF3, k.NR52: 0xF1,
    k.LCDC: 0x91, k.STAT: 0x00, k.SCY: 0x00, k.SCX: 0x00, k.LYC: 0x00, k.DMA: 0xFF,
    k.BGP: 0xFC, k.OBP0: 0xFF, k.OBP1: 0xFF, k.WY: 0x00, k.WX: 0x00, k.IE: 0x00,
}  # fmt: skip
HRAM_END = bytes.fromhex("39012e004c")
"""FFFA to FFFE: what the boot ROM's calls left on the stack; FFFE was so before (measured on one console)."""
REGISTERED_MARK = bytes.fromhex("3c42b9a5b9a5423c")
"""Tile of the (R) that the boot ROM puts behind the logo."""


def power_on_console(cartridge: Cartridge, rom_base: int) -> np.ndarray:
    """Return the power-on record of a console whose ROM begins at offset `rom_base` of the ROM blob.

    Shape (1,), dtype `CONSOLE_DTYPE`. The address map and the PPU fields are filled in by the `power_on` kernel.
    """
    console = np.zeros(1, dtype=CONSOLE_DTYPE)
    values = {
        "lo": 0x00D80013,  # C, B, E, D
        "hi": 0x01B0014D,  # L, H, F, A
        "sp": 0xFFFE,
        "pc": 0x0100,
        "mapper": int(cartridge.header.mapper),
        "rom_base": rom_base,
        "rom_banks": cartridge.rom_banks,
        "ram_size": cartridge.header.ram_size,
        "has_rtc": cartridge.rtc,
        "open_bus": 0xFF,
        "rom_bank": 1,
        "ram_enabled": int(cartridge.header.mapper is MapperKind.NONE),
        "div_zero": -(k.BOOT_DIVIDER_T_CYCLES // 4) & 0xFFFFFFFF,
        "timer_next": FAR_TIME,
        "serial_end": FAR_TIME,
        "release_at": FAR_TIME,
        "apu_step": 1,  # the boot ROM's sound has been on for an odd number of events
        "apu_status": 0x01,
    }
    for name, value in values.items():
        console[name] = value
    return console


def power_on_row(cartridge: Cartridge, size: int) -> np.ndarray:
    """Return the memory row as the boot ROM leaves it, uint8[size]: I/O registers, logo tiles and map, stack, zeros.

    Cartridge RAM that was never written reads FF, as on most boards.
    """
    row = np.zeros(size, dtype=np.uint8)
    row[k.ROW_CART_RAM : k.ROW_CART_RAM + k.RAM_BANK_SIZE] = 0xFF
    row[k.ROW_CART_RAM_BANK_1 :] = 0xFF
    row[k.ROW_IO : k.ROW_IO + 0x80] = 0xFF
    for address, value in IO_REGISTERS.items():
        row[address - k.ROW_ORIGIN] = value
    row[k.IE - k.ROW_ORIGIN - len(HRAM_END) : k.IE - k.ROW_ORIGIN] = np.frombuffer(HRAM_END, np.uint8)
    _draw_logo(row, bytes(cartridge.rom[0x104:0x134]))
    return row


def _draw_logo(row: np.ndarray, logo: bytes) -> None:
    """Unpack the header's logo into VRAM as the boot ROM does: each bit two pixels wide and two lines high."""
    place = 0x10
    for byte in logo:
        for nibble in (byte >> 4, byte & 15):
            doubled = sum(3 << 2 * bit for bit in range(4) if nibble >> bit & 1)
            row[place] = row[place + 2] = doubled
            place += 4
    row[place : place + 16 : 2] = np.frombuffer(REGISTERED_MARK, np.uint8)
    tile_map = 0x1800
    row[tile_map + 0x104 : tile_map + 0x110] = np.arange(1, 13)
    row[tile_map + 0x110] = 0x19
    row[tile_map + 0x124 : tile_map + 0x130] = np.arange(13, 25)
