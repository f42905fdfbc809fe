"""I/O registers by number (page FF of the memory row), and access to their stored bytes.

A register has three names, for the three ways to locate it: `STAT` of emulator.constants is an address, FF41; `STAT`
here its number, 41, as the bus passes it on; `ROW_STAT` its offset in the memory row, where the PPU reads it.
https://gbdev.io/pandocs/Hardware_Reg_List.html
"""

import warp as wp

from emulator import constants as k
from emulator.kernels.intrinsics import Q, U, ld8, st8

# Numbers
P1 = k.P1 - k.IO
SB = k.SB - k.IO
SC = k.SC - k.IO
DIV = k.DIV - k.IO
TIMA = k.TIMA - k.IO
TMA = k.TMA - k.IO
TAC = k.TAC - k.IO
IF = k.IF - k.IO
NR10 = k.NR10 - k.IO
NR11 = k.NR11 - k.IO
NR12 = k.NR12 - k.IO
NR13 = k.NR13 - k.IO
NR14 = k.NR14 - k.IO
NR21 = k.NR21 - k.IO
NR30 = k.NR30 - k.IO
NR31 = k.NR31 - k.IO
NR32 = k.NR32 - k.IO
NR33 = k.NR33 - k.IO
NR34 = k.NR34 - k.IO
NR41 = k.NR41 - k.IO
NR42 = k.NR42 - k.IO
NR43 = k.NR43 - k.IO
NR50 = k.NR50 - k.IO
NR52 = k.NR52 - k.IO
WAVE_RAM = k.WAVE_RAM - k.IO
LCDC = k.LCDC - k.IO
STAT = k.STAT - k.IO
LY = k.LY - k.IO
LYC = k.LYC - k.IO
DMA = k.DMA - k.IO
WY = k.WY - k.IO
END = k.WX + 1 - k.IO
"""Number after that of the last register, WX."""
HRAM = k.HRAM - k.IO
IE = k.IE - k.IO

# Places in the row
ROW_LCDC = k.LCDC - k.ROW_ORIGIN
ROW_STAT = k.STAT - k.ROW_ORIGIN
ROW_SCY = k.SCY - k.ROW_ORIGIN
ROW_SCX = k.SCX - k.ROW_ORIGIN
ROW_LYC = k.LYC - k.ROW_ORIGIN
ROW_WY = k.WY - k.ROW_ORIGIN
ROW_WX = k.WX - k.ROW_ORIGIN


@wp.func
def io_get(mem: Q, register: U) -> U:
    """Return the byte that the memory row holds for I/O register FF00 + `register`."""
    return ld8(mem + Q(U(k.ROW_IO) + register))


@wp.func
def io_set(mem: Q, register: U, value: U):
    """Store a byte in the memory row for I/O register FF00 + `register`, without side effects."""
    st8(mem + Q(U(k.ROW_IO) + register), value)


@wp.func
def request_interrupt(mem: Q, bits: U):
    """Request interrupts by setting INTERRUPT_* bits of IF."""
    io_set(mem, U(IF), io_get(mem, U(IF)) | bits)
