"""Reader of a picture's register log: for each line, its registers at the start and how it must be drawn."""

import warp as wp

from emulator.constants import LCDC_OBJ_ENABLE
from emulator.kernels.intrinsics import I, Q, U, ld16, ld32
from emulator.kernels.ppu.frame_log import (
    BASE_CARRY,
    BASE_DMA,
    BASE_WINDOW,
    BASE_WINDOW_Y,
    DMA_LEAD,
    FROZEN_DMA,
    LOG,
    NO_DMA,
    R_DMA,
    R_LCDC,
    R_WY,
    UNDO_TOP,
    dma_holds,
    dma_start_of,
    get8,
    get32,
    undo_swap,
)
from emulator.kernels.ppu.mode_timing import LINE_DOTS, has_window, is_plain, plain_end
from emulator.kernels.ppu.pixel_fifo import run_line
from emulator.kernels.ppu.pixel_fifo_state import Fifo
from emulator.kernels.ppu.scanline import byte_of, draw_plain, line_objects

KIND_PLAIN = wp.constant(0)
KIND_EXACT = wp.constant(1)
KIND_DRAWN = wp.constant(2)
MODE_3 = wp.constant(84)
SCREEN_LINE_BYTES = wp.constant(40)


@wp.struct
class Walk:
    """State of the reader between lines, and its result for the last line."""

    next: int  # index of the next register entry
    last: int  # one past the last
    lower: wp.uint32  # registers, packed as in scanline.py
    upper: wp.uint32
    window: int  # LY has met WY
    window_y: int  # window line counter, -1 before the first
    carry: int  # WX=166 started the window at the end of the line before
    dma: int  # dot of the frame at which the last OAM DMA started
    bus: int  # value that the PPU last read from OAM, y | x << 8; -1: as after a plain line
    undo: int  # undo entries not redone yet are undo..undo_last-1
    undo_last: int
    # ---- the line found
    kind: int
    first_entry: int
    line_lower: wp.uint32
    line_upper: wp.uint32
    line_window: int
    line_window_y: int
    line_carry: int
    line_bus: int
    line_dma: int  # dot of the line


@wp.func
def entry_dot(entry: U) -> int:
    """Return the dot of the frame at which the write of a register entry happened."""
    return I(entry & U(0x1FFFF))


@wp.func
def log_at(mem: Q, index: int) -> U:
    """Return the register entry with this index."""
    return ld32(mem + Q(U(LOG)) + Q(U(4 * index)))


@wp.func
def latch(w: wp.ref[Walk], ly: int):
    """Set `w.window` if the window is enabled and WY equals `ly`."""
    if (w.lower & U(0x20)) != U(0) and byte_of(w.upper, 2) == ly:
        w.window = 1


@wp.func(inline=False)
def fold(w: wp.ref[Walk], entry: U):
    """Apply a register entry to the reader's copy of the picture registers."""
    number = I((entry >> U(17)) & U(15))
    shift = U(8 * (number & 3))
    value = ((entry >> U(21)) & U(0xFF)) << shift
    mask = U(0xFF) << shift
    if number == R_DMA:
        w.dma = dma_start_of(I((entry >> U(21)) & U(0xFF)), entry_dot(entry))
    elif number < 4:
        w.lower = (w.lower & ~mask) | value
    elif number < R_DMA:
        w.upper = (w.upper & ~mask) | value
    if number == R_LCDC or number == R_WY:
        line = entry_dot(entry) / LINE_DOTS
        x = entry_dot(entry) - line * LINE_DOTS
        latch(w, wp.where(x >= 4 or line == 0, line, line - 1))


@wp.func(inline=False)
def begin_walk(w: wp.ref[Walk], mem: Q, base: int, first: int, last: int):
    """Initialise the reader from the base record at row offset `base`, to read register entries first..last-1."""
    w.next = first
    w.last = last
    w.lower = get32(mem, base)
    w.upper = get32(mem, base + 4)
    w.window = get8(mem, base + BASE_WINDOW)
    w.carry = get8(mem, base + BASE_CARRY)
    w.window_y = get8(mem, base + BASE_WINDOW_Y) - 1
    w.dma = I(get32(mem, base + BASE_DMA))
    w.bus = -1
    w.undo = 0
    w.undo_last = 0


@wp.func(inline=False)
def exact_line(w: wp.ref[Walk], mem: Q, oam: Q, line: int, dest: Q) -> int:
    """Run the pixel pipeline for `line`, drawing to `dest` (0: no pixels); return the dot at which mode 3 ended."""
    f = Fifo()
    f.vram = mem
    f.oam = oam
    f.dest = dest
    f.log = mem + Q(U(LOG)) + Q(U(4 * w.first_entry))
    f.log_count = w.last - w.first_entry
    f.undo = w.undo
    f.undo_last = w.undo_last
    f.line = line
    f.short_line = 0
    f.lcdc = byte_of(w.line_lower, 0)
    f.scy = byte_of(w.line_lower, 1)
    f.scx = byte_of(w.line_lower, 2)
    f.bgp = byte_of(w.line_lower, 3)
    f.obp0 = byte_of(w.line_upper, 0)
    f.obp1 = byte_of(w.line_upper, 1)
    f.wy = byte_of(w.line_upper, 2)
    f.wx = byte_of(w.line_upper, 3)
    f.window = w.line_window
    f.window_y = w.line_window_y
    f.wx_triggered = w.line_carry
    f.dma = w.line_dma
    f.bus_y = w.line_bus & 0xFF
    f.bus_x = w.line_bus >> 8
    run_line(f)
    w.bus = f.bus_y | (f.bus_x << 8)
    w.window = wp.max(w.window, f.window)
    w.window_y = f.window_y
    w.carry = f.wx_triggered
    return f.x


@wp.func(inline=False)
def bus_after(oam: Q, line: int, lcdc: int) -> int:
    """Return the value on the OAM bus after a line without writes.

    It is the tile and flags of the last object fetched, or the last object scanned if none was.
    """
    bus = I(ld16(oam + Q(156)))
    if line >= 0 and (lcdc & LCDC_OBJ_ENABLE) != 0:
        found = line_objects(oam, line, lcdc)
        for i in range(10):
            if found[i] >= 0 and (found[i] >> 8) < 168:
                bus = I(ld16(oam + Q(U(4 * (found[i] & 0xFF) + 2))))
    return bus


@wp.func
def dma_runs(w: wp.ref[Walk], dot: int) -> wp.bool:
    """Return whether an OAM DMA blocks the PPU's access to OAM at this dot of the frame."""
    return dma_holds(w.dma, dot)


@wp.func(inline=False)
def next_line(w: wp.ref[Walk], mem: Q, oam: Q, line: int):
    """Find the registers of `line` and how it must be drawn, and advance the reader to the line after it."""
    start = line * LINE_DOTS
    while w.next < w.last and entry_dot(log_at(mem, w.next)) < start:
        fold(w, log_at(mem, w.next))
        w.next = w.next + 1
    w.first_entry = w.next
    w.line_lower = w.lower
    w.line_upper = w.upper
    w.line_window = w.window
    w.line_window_y = w.window_y
    w.line_carry = w.carry
    w.line_dma = wp.where(w.dma == FROZEN_DMA, FROZEN_DMA, wp.max(w.dma - start, NO_DMA))
    w.line_bus = w.bus
    w.kind = KIND_PLAIN
    if dma_runs(w, start + 4):
        w.kind = KIND_EXACT
    window_bits = w.lower & U(0x20)
    if w.next >= w.last or entry_dot(log_at(mem, w.next)) > start + 4:
        latch(w, line)
    while w.next < w.last and entry_dot(log_at(mem, w.next)) <= start + MODE_3:
        entry = log_at(mem, w.next)
        before = w.lower
        fold(w, entry)
        w.next = w.next + 1
        window_bits = window_bits | (w.lower & U(0x20))
        if entry_dot(entry) <= start + 4:
            if w.next >= w.last or entry_dot(log_at(mem, w.next)) > start + 4:
                latch(w, line)
        elif ((before ^ w.lower) & U(4)) != U(0) or I((entry >> U(17)) & U(15)) >= R_DMA:
            w.kind = KIND_EXACT
    lcdc = byte_of(w.lower, 0)
    scx = byte_of(w.lower, 2)
    wx = byte_of(w.upper, 3)
    if w.carry != 0 or not is_plain(lcdc, scx, wx, w.window):
        w.kind = KIND_EXACT
    if w.next < w.last and w.kind == KIND_PLAIN:
        x = entry_dot(log_at(mem, w.next)) - start
        if x < LINE_DOTS:
            if x - 2 <= plain_end(oam, line, 0, lcdc, scx, wx, w.window):
                w.kind = KIND_EXACT
    dma = dma_runs(w, start + 4) or dma_runs(w, start + MODE_3 + DMA_LEAD)
    if w.kind == KIND_PLAIN:
        w.bus = -1
        w.line_lower = w.lower
        w.line_upper = w.upper
        w.line_window = w.window
        if has_window(lcdc, wx, w.window):
            w.window_y = w.window_y + 1
        w.line_window_y = w.window_y
    else:
        i = w.next
        while i < w.last and entry_dot(log_at(mem, i)) < start + LINE_DOTS:
            entry = log_at(mem, i)
            number = I((entry >> U(17)) & U(15))
            if number == R_LCDC:
                window_bits = window_bits | ((entry >> U(21)) & U(0x20))
            dma = dma or number == R_DMA
            i = i + 1
        if w.line_bus < 0:
            w.line_bus = wp.where(dma, bus_after(oam, line - 1, byte_of(w.line_lower, 0)), 0)
        # Only these affect the lines below: the window's counter, the OAM bus.
        if window_bits != U(0) or w.carry != 0 or dma:
            exact_line(w, mem, oam, line, Q(0))
        if not dma:
            w.bus = -1


@wp.func(inline=False)
def draw_found(w: wp.ref[Walk], mem: Q, oam: Q, line: int, dest: Q):
    """Draw the line that `next_line` has found to the 40 bytes at `dest`."""
    if w.kind == KIND_PLAIN:
        lower = w.line_lower
        upper = w.line_upper
        draw_plain(mem, oam, line, lower, upper, w.line_window, w.line_window_y, dest)
    elif w.kind == KIND_EXACT:
        window = w.window
        window_y = w.window_y
        carry = w.carry
        bus = w.bus
        exact_line(w, mem, oam, line, dest)
        w.bus = bus
        w.window = window
        w.window_y = window_y
        w.carry = carry


@wp.func(inline=False)
def draw_lines(w: wp.ref[Walk], mem: Q, oam: int, screen: Q, undo: int, undo_last: int, line: int, end: int):
    """Draw lines line..end-1 one after another and redo the VRAM/OAM writes that each of them sees.

    The writes are undo entries `undo`..`undo_last`-1, undone before the call; those left at the end are redone then.
    """
    y = line
    i = undo
    while y < end:
        while i < undo_last and I(get32(mem, UNDO_TOP - 4 - 4 * i) >> U(22)) <= y:
            undo_swap(mem, i, oam)
            i = i + 1
        w.undo = i
        w.undo_last = undo_last
        next_line(w, mem, mem + Q(U(oam)), y)
        draw_found(w, mem, mem + Q(U(oam)), y, screen + Q(U(y * SCREEN_LINE_BYTES)))
        y = y + 1
    while i < undo_last:
        undo_swap(mem, i, oam)
        i = i + 1
