"""Access of the CPU to VRAM and OAM: its times, and the bytes kept before they change.
https://gbdev.io/pandocs/Accessing_VRAM_and_OAM.html"""

import warp as wp

from emulator.constants import LCDC_ENABLE, ROW_OAM, STAT_HBLANK_SOURCE
from emulator.kernels.intrinsics import ALL_ONES, FAR, I, Q, U
from emulator.kernels.memory.io_registers import ROW_LCDC, ROW_LYC, ROW_STAT
from emulator.kernels.ppu.frame_log import get8, set8
from emulator.kernels.ppu.frame_log_writer import keep_byte
from emulator.kernels.ppu.mode_timing import (
    FRAME_DOTS,
    LAST_LINE,
    LINE_DOTS,
    VBLANK_LINE,
    dot_of,
    in_hblank,
    keep_objects,
    last_tile_address,
    line_end,
)
from emulator.kernels.ppu.stat_interrupt import roll_frame
from emulator.state.batch import Console

# Bits of Console.fast: while VRAM is open, writes to the plain picture registers need no call,
PICTURE_PLAIN = wp.constant(wp.uint32(0x40000000))
STATUS_PLAIN = wp.constant(wp.uint32(0x20000000))  # and FF41 in the row is STAT's read value.
STATUS_MARGIN = 21  # ... up to so many M-cycles before VRAM closes: mode 2 may lie between
ANY_PLAIN = wp.constant(wp.uint32(0x60000000))
STATUS_SHOWN = 0x80  # bit of FF41 in the row: it holds STAT's read value (`show_status`)
STATUS_KEPT = wp.constant(0x7F7F)  # row offset of FF7F, no register: bit 2 of FF41 meanwhile


@wp.func
def lcd_is_on(mem: Q) -> wp.bool:
    """Return whether LCDC bit 7 is set."""
    return (get8(mem, ROW_LCDC) & LCDC_ENABLE) != 0


@wp.func
def access_time(t: U) -> U:
    """Return the T-cycle at which the PPU sees a CPU access in the M-cycle that ends at `t`."""
    return (t - U(1)) * U(4)


@wp.func
def free_dots(c: wp.ref[Console], mem: Q, line: int, x: int, first: int, last: int) -> wp.bool:
    """Return whether the CPU can access memory that the PPU blocks from dot `first` of a line until HBlank.

    `last` replaces `first` on line 0 after the LCD was switched on.
    """
    start = first
    if c.ppu_first != U(0) and line == 0:
        start = last
    free = wp.bool(True)
    if line < VBLANK_LINE and x >= start:
        free = in_hblank(c, mem, line, x)
    return free


@wp.func
def first_line_to_see(line: int, x: int, dots: int) -> int:
    """Return the first line whose picture uses a byte written at dot `x` of `line`; 255 once VBlank has begun.

    A line uses bytes written before its dot `dots`.
    """
    seen_by = wp.where(x < dots, line, line + 1)
    return wp.where(line > VBLANK_LINE or (line == VBLANK_LINE and x >= 5), 255, seen_by)


@wp.func(inline=False)
def ppu_vram_access(c: wp.ref[Console], mem: Q, address: U, t: U, write: U) -> U:
    """Return 1 if the CPU may access VRAM at `t`, else 0; for a write also log the old byte for pending pictures.

    Returns 2 for a read in the very dot at which mode 3 ends: the address bus still holds bit 12 low.
    """
    return vram_access_here(c, mem, address, t, write)


@wp.func(inline=True)
def vram_access_here(c: wp.ref[Console], mem: Q, address: U, t: U, write: U) -> U:
    """Return `ppu_vram_access`, inlined."""
    result = U(1)
    free = wp.bool(True)
    if lcd_is_on(mem):
        roll_frame(c, access_time(t))
        dot = wp.max(dot_of(c, access_time(t)), 0)
        line = dot / LINE_DOTS
        x = dot - line * LINE_DOTS
        free = free_dots(c, mem, line, x, wp.where(write != U(0), 84, 80), 86)
        if free and write != U(0) and (c.ppu_drafting | c.ppu_finished) != U(0):
            offset = I(address) & 0x1FFF
            keep_byte(c, mem, offset, first_line_to_see(line, x, 89), get8(mem, offset))
        seam = I(c.ppu_end_line) == line + 1 and x == I(c.ppu_end) and write == U(0)
        if seam and (address & U(0x1000)) != U(0) and line < VBLANK_LINE:
            if (last_tile_address(c, mem, line) & 0x1000) == 0:
                result = U(2)
    return wp.where(free, result, U(0))


@wp.func
def show_status(mem: Q, value: int):
    """Store STAT's read value in the memory row, so that reads need no call; `hide_status` ends that.

    A program that polls STAT before every byte it stores to VRAM then makes one request a line.
    """
    old = get8(mem, ROW_STAT)
    if (old & STATUS_SHOWN) == 0:
        set8(mem, STATUS_KEPT, old & 4)
    set8(mem, ROW_STAT, value)


@wp.func
def hide_status(mem: Q):
    """Restore FF41 of the memory row to the interrupt sources and the stored comparison bit, after `show_status`."""
    shown = get8(mem, ROW_STAT)
    if (shown & STATUS_SHOWN) != 0:
        set8(mem, ROW_STAT, (shown & 0x78) | get8(mem, STATUS_KEPT))
        set8(mem, STATUS_KEPT, 0xFF)


@wp.struct
class WindowLocals:
    last: wp.int32
    until: wp.uint32
    quiet: wp.uint32


@wp.func
def ppu_vram_window(c: wp.ref[Console], mem: Q, t: U, status: U) -> U:
    """Return the last M-cycle, at or after `t`, up to which VRAM accesses of the CPU certainly need no call.

    It lies before `t` if access is blocked, if a picture must log the change, or during an OAM DMA. `PICTURE_PLAIN` is
    set in `c.fast` if until then SCY, SCX, the palettes and WX are plain memory for writes as well: with the LCD off,
    or in VBlank if mode 0 is no interrupt source.

    `status`: the value of STAT just read, or 0. Mode 0 lasts to the line's end, mode 1 to the frame's, any value while
    the LCD is off: until then FF41 in the memory row is STAT's read value, and `STATUS_PLAIN` is set in `c.fast`.
    """
    o = WindowLocals()
    o.until = t - U(1)
    o.quiet = U(0)
    if (c.ppu_drafting | c.ppu_finished | c.dma_state) == U(0):
        if not lcd_is_on(mem):
            o.until = t + FAR
            o.quiet = PICTURE_PLAIN
            if (status & U(0x80)) != U(0):
                show_status(mem, I(status))
                o.quiet = o.quiet | STATUS_PLAIN
        else:
            dot = dot_of(c, access_time(t))
            line = dot / LINE_DOTS
            x = dot - line * LINE_DOTS
            o.last = line * LINE_DOTS + 80
            if line >= VBLANK_LINE:
                o.last = FRAME_DOTS + 80
                if (get8(mem, ROW_STAT) & STAT_HBLANK_SOURCE) == 0:
                    o.last = FRAME_DOTS - 4
                    o.quiet = PICTURE_PLAIN
                # Only a comparison changes STAT before the next frame: with 0 in line 153.
                lyc = get8(mem, ROW_LYC)
                steady = lyc < VBLANK_LINE and (lyc != 0 or line < LAST_LINE)
                if (status & U(0x83)) == U(0x81) and steady:
                    show_status(mem, I(status))
                    o.quiet = o.quiet | STATUS_PLAIN
                    if lyc == 0:
                        o.last = LAST_LINE * LINE_DOTS + 80
            elif x >= 256 and I(c.ppu_end_line) == line + 1 and x >= I(c.ppu_end):
                o.last = o.last + LINE_DOTS
                if (status & U(0x83)) == U(0x80):
                    show_status(mem, I(status))
                    o.quiet = STATUS_PLAIN
            if dot >= 0 and dot < o.last:
                o.until = c.ppu_origin + U(o.last >> 2) + U(1)
    c.fast = (c.fast & (ALL_ONES ^ ANY_PLAIN)) | o.quiet
    return o.until


@wp.func
def keep_oam_byte(c: wp.ref[Console], mem: Q, index: int, line: int, x: int):
    """Log an OAM byte before it is overwritten, and store the end of mode 3 of a line that has already scanned OAM."""
    if line < VBLANK_LINE:
        if x >= 84:
            line_end(c, mem, line)
        else:
            c.ppu_end_line = U(0)  # a pending HBlank event was planned earlier
        seen_by = first_line_to_see(line, x, 4)
        keep_byte(c, mem, 0x2000 + index, seen_by, get8(mem, ROW_OAM + index))


@wp.func(inline=False)
def ppu_oam_access(c: wp.ref[Console], mem: Q, address: U, t: U, write: U) -> U:
    """Return 1 if the CPU may access OAM at `t`, else 0; for a write also log the old byte for pending pictures."""
    free = wp.bool(True)
    if lcd_is_on(mem):
        roll_frame(c, access_time(t))
        dot = wp.max(dot_of(c, access_time(t)), 0)
        line = dot / LINE_DOTS
        x = dot - line * LINE_DOTS
        if write == U(0):
            free = free_dots(c, mem, line, x, 3, 84)
        else:
            gap = x >= 80 and x < 84  # between mode 2 and mode 3 writes get through
            free = gap or free_dots(c, mem, line, x, 4, 84)
            if free and I(address) < 0xFEA0:
                keep_oam_byte(c, mem, I(address) & 0xFF, line, x)
    return wp.where(free, U(1), U(0))


@wp.func(inline=False)
def ppu_oam_dma(c: wp.ref[Console], mem: Q, t: U):
    """Log all of OAM for the current picture before an OAM DMA overwrites it."""
    if lcd_is_on(mem):
        roll_frame(c, access_time(t))
        dot = wp.max(dot_of(c, access_time(t)), 0)
        line = dot / LINE_DOTS
        x = dot - line * LINE_DOTS
        if line < VBLANK_LINE:
            keep_objects(c, mem, line)
        if line < VBLANK_LINE and c.ppu_drafting != U(0):
            for i in range(160):
                keep_oam_byte(c, mem, i, line, x)
        elif line < VBLANK_LINE and x >= 84:
            line_end(c, mem, line)
