"""Timing of the PPU: line, dot, LY, mode and the end of mode 3 as functions of the clock.

Line 0 of a frame begins at T-cycle 4 * ppu_origin. An event at dot `e` of the frame is seen by CPU accesses
from T-cycle 4 * ppu_origin + e + 1 on, so an access at M-cycle t sees the events up to dot 4 * (t -
ppu_origin) - 1: its *dot*. Event dots of a line: LY changes at 3 (2 in VBlank), mode 2 at 4, mode 3 at 84,
mode 0 at the end of mode 3 (256 at the earliest), its interrupt one later.
https://gbdev.io/pandocs/Rendering.html, https://gbdev.io/pandocs/STAT.html
"""

import warp as wp

from emulator.constants import (
    DOTS_PER_LINE,
    LCDC_OBJ_ENABLE,
    LCDC_OBJ_SIZE,
    LCDC_WINDOW_ENABLE,
    LINES_PER_FRAME,
    ROW_OAM,
    SCREEN_HEIGHT,
    T_CYCLES_PER_FRAME,
)
from emulator.kernels.intrinsics import I, Q, U, ld8, ld16, ld32, ld128, on_gpu, popcount
from emulator.kernels.memory.io_registers import ROW_LCDC, ROW_SCX, ROW_SCY, ROW_WX, ROW_WY
from emulator.kernels.ppu.frame_log import (
    BASE_WINDOW,
    DMA_DOTS,
    DMA_LEAD,
    FROZEN_DMA,
    LINE_BASE,
    LOG,
    NO_DMA,
    R_DMA,
    R_LCDC,
    R_SCAN,
    R_SCX,
    R_WX,
    R_WY,
    SCANNED,
    dma_holds,
    get8,
)
from emulator.kernels.ppu.pixel_fifo import begin_scan, run_line
from emulator.kernels.ppu.pixel_fifo_objects import keep_scanned
from emulator.kernels.ppu.pixel_fifo_state import Fifo
from emulator.state.batch import Console

FRAME_DOTS = T_CYCLES_PER_FRAME
LINE_DOTS = DOTS_PER_LINE
VBLANK_LINE = SCREEN_HEIGHT
LAST_LINE = LINES_PER_FRAME - 1
NOT_COMPARED = wp.constant(-1)
MODE_3 = wp.constant(84)  # dot of a line
LCDC_TIMING = LCDC_OBJ_ENABLE | LCDC_OBJ_SIZE | LCDC_WINDOW_ENABLE  # bits that change the length of mode 3


@wp.func
def dot_of(c: wp.ref[Console], t_cycles: U) -> int:
    """Return the number of dots from line 0 of the present frame to a T-cycle; may exceed the frame."""
    return I(t_cycles - c.ppu_origin * U(4)) - 1


@wp.func
def ly_at(line: int, x: int) -> int:
    """Return LY as read at dot `x` of `line`; in line 153 it is 153 for one M-cycle only, then 0."""
    early = wp.where(line < VBLANK_LINE, x < 3, x < 2)
    ly = wp.where(early, wp.max(line - 1, 0), line)
    return wp.where(line == LAST_LINE and x >= 6, 0, ly)


@wp.func
def compared_ly(line: int, x: int) -> int:
    """Return the value that LYC is compared with at dot `x` of `line`, or NOT_COMPARED."""
    value = line
    if line == LAST_LINE:
        if x < 6 or (x >= 8 and x < 12):
            value = NOT_COMPARED
        elif x >= 12:
            value = 0
    elif line >= VBLANK_LINE:
        if x < 4:
            value = NOT_COMPARED
    elif line > 0:
        if x < 3:
            value = line - 1
        elif x == 3:
            value = NOT_COMPARED
    return value


@wp.struct
class Found:
    """Objects on a line: bit i is set for entry i of OAM."""

    low: wp.uint32
    high: wp.uint32
    group: wp.int32
    a: wp.uint32
    b: wp.uint32
    c: wp.uint32
    d: wp.uint32


ON_LINE = """
typedef unsigned int v4 __attribute__((vector_size(16)));
typedef v4 __attribute__((aligned(1), may_alias)) loose_v4;
v4 meets[2] = {};
for (int i = 0; i < 10; i++) {
    const v4 top = line + 16 - (((const loose_v4*)oam)[i] & 255);
    meets[i >> 3] |= (v4)(top < height) & ((v4){1, 2, 4, 8} << (i & 7) * 4);
}
unsigned long long bits = 0;
for (int k = 0; k < 4; k++) bits |= (unsigned long long)meets[1][k] << 32 | meets[0][k];
return bits;
"""
"""C++ body of `objects_on_line`: four objects at a time."""


@wp.func_native(f"#if defined(__CUDA_ARCH__)\nreturn 0;\n#else\n{ON_LINE}#endif\n")
def objects_on_line(oam: Q, line: U, height: U) -> Q:
    """Return the bits of the objects that cover a line, on a CPU."""
    ...


@wp.func
def find_on_line(found: wp.ref[Found], oam: Q, line: int, height: U):
    """Set in `found` the bits of the objects that cover the line. Without branches: most objects lie elsewhere."""
    if on_gpu():
        find_by_groups(found, oam, line, height)
    else:
        bits = objects_on_line(oam, U(line), height)
        found.low = U(bits)
        found.high = U(bits >> Q(32))


@wp.func
def find_by_groups(found: wp.ref[Found], oam: Q, line: int, height: U):
    """Set the bits of `find_on_line` on a GPU."""
    bottom = U(line) + U(16)
    found.low = U(0)
    found.high = U(0)
    found.group = 9
    while found.group >= 0:
        ld128(oam + Q(U(16 * found.group)), found.a, found.b, found.c, found.d)
        found.high = (found.high << U(4)) | (found.low >> U(28))
        found.low = found.low << U(4)
        found.low = found.low | wp.where(bottom - (found.a & U(255)) < height, U(1), U(0))
        found.low = found.low | wp.where(bottom - (found.b & U(255)) < height, U(2), U(0))
        found.low = found.low | wp.where(bottom - (found.c & U(255)) < height, U(4), U(0))
        found.low = found.low | wp.where(bottom - (found.d & U(255)) < height, U(8), U(0))
        found.group = found.group - 1


@wp.func
def take_first(found: wp.ref[Found]) -> int:
    """Return the index of the first object in `found` and clear its bit."""
    in_low = found.low != U(0)
    bits = wp.where(in_low, found.low, found.high)
    rest = bits & (bits - U(1))
    found.low = wp.where(in_low, rest, U(0))
    found.high = wp.where(in_low, found.high, rest)
    return I(popcount((bits ^ rest) - U(1))) + wp.where(in_low, 0, 32)


@wp.func(inline=False)
def object_dots(oam: Q, line: int, lcdc: int, scx: int, window_x: int) -> int:
    """Return the dots that the line's objects add to mode 3.

    Each costs 6, and the first one over each background tile waits for the tile fetch as well. `window_x` is
    the object x from which columns count from the window's edge, or 256.
    https://gbdev.io/pandocs/Rendering.html#obj-penalty-algorithm
    """
    found = Found()
    find_on_line(found, oam, line, wp.where((lcdc & LCDC_OBJ_SIZE) != 0, U(16), U(8)))
    cost = I(0)
    if (found.low | found.high) != U(0):
        cost = cost_of_objects(found, oam, scx, window_x)
    return cost


@wp.func
def cost_of_objects(found: wp.ref[Found], oam: Q, scx: int, window_x: int) -> int:
    """Return the dots that the first ten objects in `found` add to mode 3, as `object_dots`."""
    seen = I(0)
    drawn = I(0)
    at0 = wp.uint64(0)
    at1 = wp.uint64(0)
    at2 = wp.uint64(0)
    at3 = wp.uint64(0)
    at4 = wp.uint64(0)
    while (found.low | found.high) != U(0) and seen < 10:
        seen = seen + 1
        x = I(ld8(oam + Q(U(4 * take_first(found) + 1))))
        if x < 168:
            drawn = drawn + 1
            place = x + (scx & 7)
            base = I(0)
            if x == 0:
                place = 0
            if x >= window_x:
                place = x - window_x
                base = 24
            column = Q(1) << Q(U(base + (place >> 3)))
            k = place & 7
            at0 = at0 | wp.where(k == 0, column, Q(0))
            at1 = at1 | wp.where(k == 1, column, Q(0))
            at2 = at2 | wp.where(k == 2, column, Q(0))
            at3 = at3 | wp.where(k == 3, column, Q(0))
            at4 = at4 | wp.where(k == 4, column, Q(0))
    at1 = at1 & ~at0
    at2 = at2 & ~(at0 | at1)
    at3 = at3 & ~(at0 | at1 | at2)
    at4 = at4 & ~(at0 | at1 | at2 | at3)
    wait = 5 * count64(at0) + 4 * count64(at1) + 3 * count64(at2)
    wait = wait + 2 * count64(at3) + count64(at4)
    return 6 * drawn + wait


@wp.func
def count64(bits: Q) -> int:
    """Return the number of set bits of a 64-bit number."""
    return I(popcount(U(bits)) + popcount(U(bits >> Q(32))))


@wp.func
def is_plain(lcdc: int, scx: int, wx: int, window: int) -> wp.bool:
    """Return whether mode 3 of a line without writes can be computed without running the pixel pipeline."""
    odd_window = wx == 0 or wx == 166
    stray_pixel = wx < 167 and ((wx - 7 + scx) & 7) == 0
    return window == 0 or not wp.where((lcdc & LCDC_WINDOW_ENABLE) != 0, odd_window, stray_pixel)


@wp.func
def has_window(lcdc: int, wx: int, window: int) -> wp.bool:
    """Return whether a plain line (`is_plain`) shows the window."""
    return window != 0 and (lcdc & LCDC_WINDOW_ENABLE) != 0 and wx < 166


@wp.func(inline=False)
def plain_end(oam: Q, line: int, short: int, lcdc: int, scx: int, wx: int, window: int) -> int:
    """Return the dot at which mode 3 of a plain line (`is_plain`) ends."""
    end = 89 + 167 + (scx & 7) + wp.where(short != 0, 2, 0)
    shown = has_window(lcdc, wx, window)
    if shown:
        end = end + 6
    if (lcdc & LCDC_OBJ_ENABLE) != 0 and short == 0:
        end = end + object_dots(oam, line, lcdc, scx, wp.where(shown, wx + 1, 256))
    return end


@wp.func
def window_seen(c: wp.ref[Console], mem: Q, dot: int) -> int:
    """Return 1 if LY has equalled WY with the window enabled in this frame up to `dot`, else 0."""
    seen = c.ppu_window
    if (get8(mem, ROW_LCDC) & LCDC_WINDOW_ENABLE) != 0:
        wy = get8(mem, ROW_WY)
        meets = wy * LINE_DOTS + 4
        if wy < VBLANK_LINE and meets > I(c.ppu_window_sync) and meets <= dot:
            seen = U(1)
    return I(seen)


@wp.func
def dma_dot(c: wp.ref[Console]) -> int:
    """Return the dot of the frame at which the last OAM DMA started, or NO_DMA."""
    return wp.where(c.ppu_dma != U(0), dot_of(c, c.ppu_dma_start) + 1, NO_DMA)


@wp.func(inline=False)
def begin_replay(c: wp.ref[Console], mem: Q, line: int, short: int, window: int, f: wp.ref[Fifo]):
    """Set `f` to the beginning of the current line, whose register writes are logged, without pixels."""
    f.vram = mem
    f.oam = mem + Q(U(ROW_OAM))
    f.dest = Q(0)
    f.log_count = 0
    base = ROW_LCDC
    f.lcdc = get8(mem, ROW_LCDC)
    f.scy = get8(mem, ROW_SCY)
    f.scx = get8(mem, ROW_SCX)
    f.wy = get8(mem, ROW_WY)
    f.wx = get8(mem, ROW_WX)
    if I(c.ppu_log_line) == line + 1:
        base = LINE_BASE
        f.lcdc = get8(mem, base)
        f.scy = get8(mem, base + 1)
        f.scx = get8(mem, base + 2)
        f.wy = get8(mem, base + 6)
        f.wx = get8(mem, base + 7)
        f.log_count = I(c.ppu_log_count - c.ppu_log_start)
    f.log = mem + Q(U(LOG)) + Q(c.ppu_log_start) * Q(4)
    f.line = line
    f.short_line = short
    f.window = window
    f.window_y = 0
    f.wx_triggered = wp.where(window != 0 and (f.lcdc & LCDC_WINDOW_ENABLE) != 0 and f.wx == 166, 1, 0)
    f.dma = dma_dot(c) - line * LINE_DOTS
    f.scanned = wp.where(get8(mem, SCANNED) == line + 1 and dma_cuts(f.dma), 1, 0)
    if c.ppu_dma == U(2) and f.log_count == 0:
        f.dma = FROZEN_DMA
    i = I(0)
    while i < f.log_count:
        entry = ld32(f.log + Q(U(4 * i)))
        i = i + 1
        if I((entry >> U(17)) & U(15)) == R_DMA:
            i = f.log_count
            if (entry >> U(21)) == U(0):
                f.dma = 4 - DMA_DOTS / 2  # restarted: an older one has been running
    bus = I(ld16(f.oam + Q(156)))
    f.bus_y = bus & 0xFF
    f.bus_x = bus >> 8


@wp.func
def dma_cuts(dma: int) -> wp.bool:
    """Return whether an OAM DMA that started at dot `dma` of a line changes OAM after it was scanned for the line."""
    return dma > -DMA_LEAD and dma < LINE_DOTS


@wp.func(inline=False)
def keep_objects(c: wp.ref[Console], mem: Q, line: int):
    """Keep the objects that the current line has found, before an OAM DMA that began in it changes OAM."""
    dma = dma_dot(c) - line * LINE_DOTS
    if dma_cuts(dma) and get8(mem, SCANNED) != line + 1:
        f = Fifo()
        begin_replay(c, mem, line, 0, 0, f)
        begin_scan(f)
        keep_scanned(f, wp.clamp((dma + DMA_LEAD - 5) >> 1, 0, 40))


@wp.func(inline=False)
def replay_line(c: wp.ref[Console], mem: Q, line: int, short: int, window: int, f: wp.ref[Fifo]):
    """Run the pixel pipeline for the current line from the register log, without pixels, for its timing in `f`."""
    begin_replay(c, mem, line, short, window, f)
    run_line(f)


@wp.func(inline=False)
def replay_end(c: wp.ref[Console], mem: Q, line: int, short: int, window: int) -> int:
    """Return the dot at which mode 3 of the current line ends, by running the pixel pipeline."""
    f = Fifo()
    replay_line(c, mem, line, short, window, f)
    return f.x


@wp.struct
class WrittenLine:
    """Registers of a line with logged writes, as they are when mode 3 begins."""

    lcdc: wp.int32
    scx: wp.int32
    wy: wp.int32
    wx: wp.int32
    window: wp.int32
    too_late: wp.int32  # dot of the first write that may come in the middle of mode 3
    i: wp.uint32
    end: wp.int32


@wp.func
def take_write(o: wp.ref[WrittenLine], line: int, entry: U):
    """Apply a register entry of the line, or set `o.too_late` to its dot if it may affect mode 3 midway.

    Palettes, SCY, tile maps and the coarse part of SCX never move the end of mode 3. Other writes before mode 3 have
    the effect of an earlier write, except to the size of objects, which are being searched, and to the window's
    switches before its comparison at dot 4.
    """
    x = I(entry & U(0x1FFFF)) - line * LINE_DOTS
    number = I((entry >> U(17)) & U(15))
    value = I((entry >> U(21)) & U(0xFF))
    early = x <= MODE_3
    matters = wp.bool(False)
    if number == R_LCDC:
        bits = wp.where(early, wp.where(x < 5, LCDC_OBJ_SIZE | LCDC_WINDOW_ENABLE, LCDC_OBJ_SIZE), LCDC_TIMING)
        matters = ((o.lcdc ^ value) & bits) != 0
    elif number == R_SCX:
        matters = not early and ((o.scx ^ value) & 7) != 0
    elif number == R_WX:
        matters = not early
    elif number == R_WY:
        matters = not early or x < 5
    elif number == R_DMA or number == R_SCAN:
        matters = True
    if matters:
        o.too_late = x
    else:
        o.lcdc = wp.where(number == R_LCDC, value, o.lcdc)
        o.scx = wp.where(number == R_SCX, value, o.scx)
        o.wy = wp.where(number == R_WY, value, o.wy)
        o.wx = wp.where(number == R_WX, value, o.wx)
        if (o.lcdc & LCDC_WINDOW_ENABLE) != 0 and o.wy == line:
            o.window = 1


@wp.func(inline=False)
def written_end(c: wp.ref[Console], mem: Q, line: int, odd: wp.bool) -> int:
    """Return the dot at which mode 3 of a line with logged writes ends, or -1 if only the pixel pipeline can tell.

    Running the pipeline costs as much as dozens of calls, and games that split the screen write early in the line or in
    HBlank.
    """
    o = WrittenLine()
    o.lcdc = get8(mem, LINE_BASE + R_LCDC)
    o.scx = get8(mem, LINE_BASE + R_SCX)
    o.wy = get8(mem, LINE_BASE + R_WY)
    o.wx = get8(mem, LINE_BASE + R_WX)
    o.window = get8(mem, LINE_BASE + BASE_WINDOW)
    if (o.lcdc & LCDC_WINDOW_ENABLE) != 0 and o.wy == line:
        o.window = 1
    # WX = 166 may have left the window active across the line's start.
    o.end = wp.where(odd or o.wx == 166, -1, 0)
    o.too_late = LINE_DOTS + 1000
    o.i = c.ppu_log_start
    while o.i < c.ppu_log_count and o.too_late > LINE_DOTS:
        take_write(o, line, ld32(mem + Q(U(LOG)) + Q(o.i) * Q(4)))
        o.i = o.i + U(1)
    if o.end == 0 and is_plain(o.lcdc, o.scx, o.wx, o.window):
        o.end = plain_end(mem + Q(U(ROW_OAM)), line, 0, o.lcdc, o.scx, o.wx, o.window)
        if o.too_late - 2 <= o.end:
            o.end = -1
    return wp.where(o.end == 0, -1, o.end)


@wp.func
def dma_runs_at(c: wp.ref[Console], dot: int) -> wp.bool:
    """Return whether STAT shows at this dot of the current frame that an OAM DMA blocks the PPU's access to OAM.

    An access sees the end of the last byte one M-cycle before the PPU does.
    """
    since = dot - dma_dot(c)
    running = since >= 0 and since < DMA_DOTS - 4
    return running or c.ppu_dma == U(2)


@wp.func(inline=False)
def line_end(c: wp.ref[Console], mem: Q, line: int) -> int:
    """Return the dot at which mode 3 of the current visible line ends; cached until a write may move it."""
    if I(c.ppu_end_line) != line + 1:
        short = I(0)
        if c.ppu_first != U(0) and line == 0:
            short = 1
        logged = I(c.ppu_log_line) == line + 1 and c.ppu_log_count > c.ppu_log_start
        lcdc = get8(mem, ROW_LCDC)
        scx = get8(mem, ROW_SCX)
        wx = get8(mem, ROW_WX)
        window = window_seen(c, mem, line * LINE_DOTS + 4)
        end = I(0)
        dma = c.ppu_dma == U(2) or dma_holds(dma_dot(c), line * LINE_DOTS + 6)
        if logged:
            end = written_end(c, mem, line, short != 0 or dma)
            if end < 0:
                end = replay_end(c, mem, line, short, get8(mem, LINE_BASE + BASE_WINDOW))
        elif dma:
            end = replay_end(c, mem, line, short, window)
        elif is_plain(lcdc, scx, wx, window):
            end = plain_end(mem + Q(U(ROW_OAM)), line, short, lcdc, scx, wx, window)
        else:
            end = replay_end(c, mem, line, short, window)
        c.ppu_end_line = U(line + 1)
        c.ppu_end = U(end)
    return I(c.ppu_end)


@wp.func
def known_line_end(c: wp.ref[Console], mem: Q, line: int) -> int:
    """Return `line_end`, without calling it if the value is cached."""
    if I(c.ppu_end_line) != line + 1:
        line_end(c, mem, line)
    return I(c.ppu_end)


@wp.func(inline=False)
def last_tile_address(c: wp.ref[Console], mem: Q, line: int) -> int:
    """Return the VRAM offset of the last tile row that the fetcher read on this line."""
    window = window_seen(c, mem, line * LINE_DOTS + 4)
    if I(c.ppu_log_line) == line + 1:
        window = get8(mem, LINE_BASE + BASE_WINDOW)
    f = Fifo()
    replay_line(c, mem, line, wp.where(c.ppu_first != U(0) and line == 0, 1, 0), window, f)
    return f.data_address


@wp.func
def in_hblank(c: wp.ref[Console], mem: Q, line: int, x: int) -> wp.bool:
    """Return whether mode 3 of a visible line has ended before dot `x`."""
    over = wp.bool(False)
    if x >= 256:
        over = x >= line_end(c, mem, line)
    return over


@wp.func(inline=False)
def mode_at(c: wp.ref[Console], mem: Q, line: int, x: int) -> int:
    """Return the PPU mode that STAT shows at dot `x` of `line`."""
    short = c.ppu_first != U(0) and line == 0
    mode = I(3)
    if line >= VBLANK_LINE:
        mode = wp.where(line == VBLANK_LINE and x < 5, 0, 1)
    elif short:
        if x < 86:
            mode = 0
        elif in_hblank(c, mem, line, x):
            mode = 0
    elif x < 3:
        mode = wp.where(line == 0, 1, 0)
    elif x == 3:
        mode = 0
    elif x < 84:
        mode = wp.where(dma_runs_at(c, line * LINE_DOTS + x), 0, 2)
    elif in_hblank(c, mem, line, x):
        mode = 0
    return mode


@wp.func
def interrupt_mode(c: wp.ref[Console], mem: Q, line: int, x: int) -> int:
    """Return the mode that counts as STAT interrupt source at dot `x` when a register write causes an evaluation.

    3: none. Mode 2 counts at the very start of a line only, mode 0 from the dot behind the end of mode 3.
    """
    mode = I(3)
    short = c.ppu_first != U(0) and line == 0
    if line >= VBLANK_LINE:
        mode = wp.where(line == VBLANK_LINE and x < 5, 0, 1)
    elif x < 4:
        mode = wp.where(line == 0, 1, 2)
        if short:
            mode = I(3)
    elif in_hblank(c, mem, line, x - 1):
        mode = 0
    return mode
