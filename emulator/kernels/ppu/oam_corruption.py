"""OAM corruption of the DMG: 16-bit increments and accesses that hit OAM while mode 2 scans it.

OAM is 20 rows of four words; the PPU reads one row an M-cycle. An access in mode 2 mixes the row being read
with its neighbours. https://gbdev.io/pandocs/OAM_Corruption_Bug.html
"""

import warp as wp

from emulator.constants import LCDC_ENABLE, ROW_OAM, UNUSABLE
from emulator.kernels.intrinsics import I, Q, U, ld16, ld32, st16, st32
from emulator.kernels.memory.io_registers import ROW_LCDC
from emulator.kernels.ppu.frame_log import R_SCAN, get8, set8
from emulator.kernels.ppu.frame_log_writer import keep_byte, latch_window_until, log_register
from emulator.kernels.ppu.mode_timing import LINE_DOTS, VBLANK_LINE, dot_of
from emulator.kernels.ppu.stat_interrupt import roll_frame
from emulator.kernels.ppu.vram_oam_access import ppu_oam_access
from emulator.state.batch import Console

BUG_WRITE = wp.constant(wp.uint32(0))


@wp.func
def word(mem: Q, index: int) -> U:
    """Return the 16-bit word `index` (0-79) of OAM."""
    return ld16(mem + Q(U(ROW_OAM + 2 * index)))


@wp.func
def set_word(mem: Q, index: int, value: U):
    """Store `value` as the 16-bit word `index` (0-79) of OAM."""
    st16(mem + Q(U(ROW_OAM + 2 * index)), value)


@wp.func
def copy_row(mem: Q, target: int, source: int):
    """Copy 8 bytes of OAM from offset `source` to offset `target`."""
    to = mem + Q(U(ROW_OAM + target))
    source_row = mem + Q(U(ROW_OAM + source))
    st32(to, ld32(source_row))
    st32(to + Q(4), ld32(source_row + Q(4)))


@wp.func
def line_dot(c: wp.ref[Console], mem: Q, t: U) -> int:
    """Return the dot of the scanned line at which an access at `t` reaches OAM; 455 where nothing is corrupted."""
    x = I(455)
    if (get8(mem, ROW_LCDC) & LCDC_ENABLE) != 0:
        roll_frame(c, (t - U(1)) * U(4))
        dot = wp.max(dot_of(c, (t - U(1)) * U(4)), 0)
        line = dot / LINE_DOTS
        if line < VBLANK_LINE and (c.ppu_first == U(0) or line > 0):
            x = dot - line * LINE_DOTS
    return x


@wp.func
def majority(a: U, b: U, d: U) -> U:
    """Return the bitwise majority of three words."""
    return (a & b) | (a & d) | (b & d)


@wp.func(inline=False)
def keep_oam(c: wp.ref[Console], mem: Q, t: U):
    """Log all of OAM for the current picture before it is corrupted, and discard the cached end of mode 3."""
    c.ppu_end_line = U(0)
    line = dot_of(c, (t - U(1)) * U(4)) / LINE_DOTS
    for i in range(160):
        keep_byte(c, mem, 0x2000 + i, line, get8(mem, ROW_OAM + i))


@wp.func(inline=False)
def read_between_rows(mem: Q, address: int, x: int):
    """Corrupt OAM by a blocked read just before the first row is scanned (`x` < 6), or just after the last."""
    row = address & 0xF8
    a = word(mem, 0x4E)
    b = word(mem, (0x98 | (address & 7)) / 2)
    d = word(mem, row / 2)
    if x < 6:
        mixed = d | (word(mem, 0) & word(mem, (address & 0xFF) / 2))
        set_word(mem, row / 2, mixed)
        copy_row(mem, 0, row)
    else:
        part = (address & 7) / 2
        if part == 0:
            set_word(mem, 0x4C, majority(a, b, d))
        elif part == 1:
            set_word(mem, 0x4D, majority(a, b, word(mem, (address & 0xFE) / 2)))
        elif part == 3:
            set_word(mem, 0x4F, b | (a & d))
        copy_row(mem, row, 0x98)


@wp.func
def mixed_byte(a: int, b: int, d: int) -> int:
    """Return the value of the first of three bytes that collide on the OAM bus."""
    return ((a ^ d) & (b ^ d)) ^ d


@wp.func(inline=False)
def write_after_rows(mem: Q, address: int):
    """Copy the last row over the written one, for a write that succeeds just after the last row was scanned."""
    row = ROW_OAM + (address & 0xF8)
    for i in range(8):
        last = get8(mem, ROW_OAM + 0x98 + i)
        if (i & 6) == (address & 6):
            last = mixed_byte(get8(mem, row + i), get8(mem, ROW_OAM + 0x9C), last)
        set8(mem, row + i, last)


@wp.func(inline=False)
def write_before_rows(mem: Q, address: int):
    """Copy the written row over the first one, for a write that succeeds just before the first row is scanned."""
    row = ROW_OAM + (address & 0xF8)
    for i in range(2):
        near = get8(mem, ROW_OAM + (address & 0xFE) + i)
        set8(mem, ROW_OAM + i, mixed_byte(get8(mem, ROW_OAM + i), get8(mem, row + i), near))
    for i in range(6):
        set8(mem, ROW_OAM + 2 + i, get8(mem, row + 2 + i))


@wp.func(inline=False)
def ppu_oam_write(c: wp.ref[Console], mem: Q, address: U, value: U, t: U):
    """Write FE00-FEFF from the CPU at `t` while no DMA holds OAM."""
    place = I(address) & 0xFF
    if ppu_oam_access(c, mem, address, t, U(1)) == U(0):
        ppu_oam_bug(c, mem, address, t, BUG_WRITE)
    else:
        x = line_dot(c, mem, t)
        if x < 6 or (x >= 82 and x < 84):
            keep_oam(c, mem, t)
        if place < 0xA0:
            if x >= 82 and x < 84:
                write_after_rows(mem, place)
            set8(mem, ROW_OAM + place, I(value))
            if x < 6:
                write_before_rows(mem, place)
        elif x < 6:
            set8(mem, ROW_OAM + (place & 7), I(value))


@wp.func(inline=False)
def ppu_oam_refused_read(c: wp.ref[Console], mem: Q, address: U, t: U, kind: U):
    """Corrupt OAM for a CPU read of FE00-FEFF at `t` that returned FF because the PPU uses OAM."""
    x = line_dot(c, mem, t)
    if x < 6 or (x >= 82 and x < 84):
        if address < U(UNUSABLE):
            keep_oam(c, mem, t)
            read_between_rows(mem, I(address) & 0xFF, x)
    else:
        ppu_oam_bug(c, mem, address, t, kind)


@wp.func
def scanned_row(c: wp.ref[Console], mem: Q, t: U) -> int:
    """Return the OAM offset of the row that mode 2 reads at `t`, or 0 if no row can be corrupted."""
    x = line_dot(c, mem, t)
    row = ((x - 6) >> 2) * 8 + 8
    return wp.where(x >= 6 and x < 84 and row < 0xA0, row, 0)


@wp.func(inline=False)
def corrupt_write(mem: Q, row: int):
    """Corrupt the row at OAM offset `row` for a write, or for an increment of a register that points into OAM."""
    i = row / 2
    a = word(mem, i)
    b = word(mem, i - 4)
    d = word(mem, i - 2)
    copy_row(mem, row, row - 8)
    set_word(mem, i, ((a ^ d) & (b ^ d)) ^ d)


@wp.func(inline=False)
def mix_upper_rows(mem: Q, row: int):
    """Corrupt the rows above the row at OAM offset `row` for a read; the pattern depends on the row."""
    i = row / 2
    a = word(mem, i)
    b = word(mem, i - 2)
    d = word(mem, i - 4)
    e = word(mem, i - 8)
    if (row & 0x18) == 0x10:
        set_word(mem, i - 4, (d & (e | a | b)) | (e & a & b))
        copy_row(mem, row - 0x10, row - 8)
    else:
        g = word(mem, wp.max(i - 16, 0))
        mixed = d | (a & b & e & g)
        if row == 0x20:
            mixed = (d & (a | b | e | g)) | (a & b & e & g)
        elif row == 0x60:
            mixed = (d & (a | b | e | g)) | (b & e & g)
        elif row == 0x40:
            h = word(mem, i - 3)
            j = word(mem, i - 7)
            mixed = (d & (g | e | (~h & j) | b | a)) | (b & e & g)
        set_word(mem, i - 4, mixed & U(0xFFFF))
        copy_row(mem, row - 0x10, row - 8)
        copy_row(mem, wp.max(row - 0x20, 0), row - 8)


@wp.func(inline=False)
def corrupt_read(mem: Q, row: int):
    """Corrupt the row at OAM offset `row`, and for some rows those above, for a read."""
    i = row / 2
    if (row & 8) == 0:
        if row < 0x98:
            mix_upper_rows(mem, row)
    else:
        mixed = word(mem, i - 4) | (word(mem, i) & word(mem, i - 2))
        set_word(mem, i - 4, mixed)
        set_word(mem, i, mixed)
    copy_row(mem, row, row - 8)
    if row == 0x80:
        copy_row(mem, 0, row)


@wp.func(inline=False)
def ppu_oam_bug(c: wp.ref[Console], mem: Q, address: U, t: U, kind: U):
    """Corrupt OAM for a CPU access to `address`, FE00-FEFF, at `t` while mode 2 scans it.

    `kind`: 0 write or increment, 1 read, 2 read with an increment or decrement in the same M-cycle. 1 and 2 corrupt
    alike. With 0 the slot being scanned reads OAM at the CPU's address.
    """
    row = scanned_row(c, mem, t)
    if row >= 8:
        keep_oam(c, mem, t)
        if kind == BUG_WRITE:
            corrupt_write(mem, row)
            place = I(address) & 0xFE
            if place < 0xA0:
                dot = dot_of(c, (t - U(1)) * U(4)) + 1
                latch_window_until(c, mem, dot - 1)
                log_register(c, mem, R_SCAN, place, dot / LINE_DOTS, dot)
        else:
            corrupt_read(mem, row)
