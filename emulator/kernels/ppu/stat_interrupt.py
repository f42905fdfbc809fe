"""STAT interrupt line and VBlank interrupt, advanced from event to event.

The line is the OR of the enabled sources; only its rising edge requests an interrupt ("STAT blocking"). It is
evaluated at fixed dots and at writes to STAT and LYC. Between two evaluations it does not change, so the
level at any dot follows from the registers; only dots at which it may rise become events, and those exist
only for sources that are enabled.
https://gbdev.io/pandocs/Interrupt_Sources.html#int-48--stat-interrupt
"""

import warp as wp

from emulator.constants import (
    INTERRUPT_STAT,
    INTERRUPT_VBLANK,
    LCDC_ENABLE,
    M_CYCLES_PER_FRAME,
    STAT_HBLANK_SOURCE,
    STAT_LYC_SOURCE,
    STAT_OAM_SOURCE,
    STAT_SOURCES,
)
from emulator.kernels.intrinsics import ALL_ONES, FAR, I, Q, U
from emulator.kernels.memory.io_registers import ROW_LCDC, ROW_LYC, ROW_STAT, request_interrupt
from emulator.kernels.memory.mapper import update_map
from emulator.kernels.ppu.frame_log import get8, set8
from emulator.kernels.ppu.frame_log_writer import finish_picture
from emulator.kernels.ppu.mode_timing import (
    FRAME_DOTS,
    LAST_LINE,
    LINE_DOTS,
    NOT_COMPARED,
    VBLANK_LINE,
    compared_ly,
    dot_of,
    interrupt_mode,
    known_line_end,
    line_end,
)
from emulator.state.batch import Console

VBLANK_DOT = wp.constant(144 * 456 + 5)
FIRST_HBLANK = wp.constant(257)  # earliest dot of a line with a mode 0 interrupt
POWER_DOT = wp.constant(8)  # first evaluation after LCD-on
NO_DOT = wp.constant(0x3FFFFFFF)
FAST_VRAM = wp.constant(wp.uint32(0x00100010))


@wp.func
def stat_level(stat: int, mode: int, lyc_line: int) -> int:
    """Return the level of the STAT line: bits 3, 4, 5 of STAT enable modes 0, 1, 2; bit 6 the LYC comparison."""
    by_mode = wp.where(mode < 3, (stat >> (mode + 3)) & 1, 0)
    return by_mode | ((stat >> 6) & lyc_line)


@wp.func
def roll_frame(c: wp.ref[Console], t_cycles: U):
    """Advance `ppu_origin` to the frame that contains a T-cycle, and reset the state kept for each frame."""
    while dot_of(c, t_cycles) >= FRAME_DOTS:
        c.ppu_origin = c.ppu_origin + U(M_CYCLES_PER_FRAME)
        c.ppu_first = U(0)
        c.ppu_window = U(0)
        c.ppu_window_sync = ALL_ONES
        c.ppu_end_line = U(0)
        c.ppu_log_line = U(0)


@wp.struct
class StatLocals:
    value: wp.int32
    latched_at: wp.int32
    level_at: wp.int32
    mode: wp.int32


@wp.func
def latch_comparison(c: wp.ref[Console], mem: Q, dot: int, since: int) -> wp.bool:
    """Store the result of the last comparison of LY with LYC at or before `dot`; it holds until the next one.

    Returns whether that comparison was made after dot `since`.
    """
    o = StatLocals()
    line = dot / LINE_DOTS
    x = dot - line * LINE_DOTS
    start = line * LINE_DOTS
    o.value = line
    o.latched_at = start + 4
    if line == LAST_LINE and x >= 6:
        o.value = wp.where(x < 12, line, 0)
        o.latched_at = start + wp.where(x < 12, 6, 12)
    elif line == 0:
        o.latched_at = wp.where(c.ppu_first != U(0), POWER_DOT, 12 - LINE_DOTS)
    elif x < 4 or line == LAST_LINE:
        o.value = line - 1
        o.latched_at = start - LINE_DOTS + 4
    latched = o.latched_at > since and o.latched_at <= dot
    if latched:
        c.ppu_lyc_line = U(wp.where(o.value == get8(mem, ROW_LYC), 1, 0))
    return latched


@wp.func(inline=False)
def settle(c: wp.ref[Console], mem: Q, dot: int):
    """Advance the LYC comparison and the STAT line from `ppu_sync` to `dot`, without requesting interrupts."""
    since = dot_of(c, c.ppu_sync)
    line = dot / LINE_DOTS
    x = dot - line * LINE_DOTS
    latched = latch_comparison(c, mem, dot, since)
    # With every source off the line is low and stays low.
    if ((get8(mem, ROW_STAT) & STAT_SOURCES) | I(c.ppu_stat_line)) != 0:
        settle_level(c, mem, line, x, since, latched)


@wp.func(inline=False)
def settle_level(c: wp.ref[Console], mem: Q, line: int, x: int, since: int, latched: wp.bool):
    """Advance the STAT line to dot `x` of `line`; `latched`: the LYC comparison was made after dot `since`."""
    o = StatLocals()
    stat = get8(mem, ROW_STAT)
    start = line * LINE_DOTS
    short = c.ppu_first != U(0) and line == 0
    o.level_at = start
    o.mode = 1
    if line == LAST_LINE:
        o.level_at = start + wp.where(x < 6, 0, wp.where(x < 12, 6, 12))
    elif line >= VBLANK_LINE:
        o.level_at = start + wp.where(x < 4, 0, 4)
        if line == VBLANK_LINE:
            if x < 5:
                o.mode = 0
            else:
                o.level_at = start + 5
    else:
        if x < 3 or (line == 0 and x < 4):
            o.mode = wp.where(line == 0, 1, 0)
        elif x == 3:
            o.level_at = start + 3
            o.mode = 2
        else:
            o.level_at = start + 4
            o.mode = 3
            if (stat & STAT_HBLANK_SOURCE) != 0 and x >= FIRST_HBLANK:
                end = known_line_end(c, mem, line)
                if x > end:
                    o.level_at = start + end + 1
                    o.mode = 0
        if short and o.mode != 0:
            o.level_at = POWER_DOT
            o.mode = 3
    if (o.level_at > since or latched) and not (short and x < POWER_DOT):
        c.ppu_stat_line = U(stat_level(stat, o.mode, int(c.ppu_lyc_line)))


@wp.func
def next_oam_dot(dot: int) -> int:
    """Return the next dot after `dot` at which mode 2 as a source may raise the STAT line."""
    line = dot / LINE_DOTS
    x = dot - line * LINE_DOTS
    passed = x >= wp.where(line == 0, 4, wp.where(line == VBLANK_LINE, 2, 3))
    n = wp.where(passed, line + 1, line)
    e = n * LINE_DOTS + wp.where(n == VBLANK_LINE, 2, 3)
    return wp.where(n > VBLANK_LINE, FRAME_DOTS + 4, wp.where(n == 0, 4, e))


@wp.func
def next_hblank_dot(c: wp.ref[Console], mem: Q, dot: int) -> int:
    """Return the next dot after `dot` at which mode 0 as a source may raise the STAT line.

    Until the end of mode 3 is near it is the earliest possible dot.
    """
    line = dot / LINE_DOTS
    x = dot - line * LINE_DOTS
    n = line
    e = I(FIRST_HBLANK)
    if line < VBLANK_LINE and x >= 256:
        end = line_end(c, mem, line)
        if end + 1 > x:
            e = end + 1
        else:
            n = line + 1
    return wp.where(n < VBLANK_LINE, n * LINE_DOTS + e, FRAME_DOTS + FIRST_HBLANK)


@wp.func
def lyc_dot(lyc: int) -> int:
    """Return the dot of the frame at which LY starts to equal LYC."""
    e = lyc * LINE_DOTS + 4
    if lyc == 0:
        e = LAST_LINE * LINE_DOTS + 12
    elif lyc == LAST_LINE:
        e = LAST_LINE * LINE_DOTS + 6
    return e


@wp.func(inline=False)
def let_vram_pass(c: wp.ref[Console], bits: U):
    """Allow direct VRAM access (`bits` FAST_VRAM: the LCD is off), or forbid it (0).

    With the LCD on `ppu_vram_window` returns how long direct access is allowed.
    """
    if c.ppu_vram_fast != bits:
        c.ppu_vram_fast = bits
        update_map(c)


@wp.func(inline=False)
def next_event_dot(c: wp.ref[Console], mem: Q, dot: int) -> int:
    """Return the first dot after `dot` (inside its frame) at which an interrupt may be requested."""
    stat = get8(mem, ROW_STAT)
    best = wp.where(dot < VBLANK_DOT, VBLANK_DOT, VBLANK_DOT + FRAME_DOTS)
    if (stat & STAT_OAM_SOURCE) != 0:
        best = wp.min(best, next_oam_dot(dot))
    if (stat & STAT_HBLANK_SOURCE) != 0:
        best = wp.min(best, next_hblank_dot(c, mem, dot))
    if (stat & STAT_LYC_SOURCE) != 0:
        lyc = get8(mem, ROW_LYC)
        e = lyc_dot(lyc)
        best = wp.min(best, wp.where(lyc > LAST_LINE, NO_DOT, wp.where(e > dot, e, e + FRAME_DOTS)))
    if c.ppu_first != U(0) and dot < POWER_DOT:
        best = POWER_DOT
    return best


@wp.func(inline=False)
def do_event(c: wp.ref[Console], mem: Q, dot: int):
    """Handle the PPU event at `dot`: VBlank, or a rising STAT line; a dot without any is harmless."""
    stat = get8(mem, ROW_STAT)
    if ((stat & STAT_SOURCES) | I(c.ppu_stat_line)) != 0:
        settle(c, mem, dot - 1)
        c.ppu_sync = c.ppu_origin * U(4) + U(dot)
    before = c.ppu_stat_line
    request = U(0)
    if dot == VBLANK_DOT:
        request = U(INTERRUPT_VBLANK)
        finish_picture(c, mem)
    if (stat & STAT_OAM_SOURCE) != 0 and before == U(0):
        if dot == VBLANK_DOT or dot == VBLANK_DOT - 3 or (dot == 4 and c.ppu_first == U(0)):
            request = request | U(INTERRUPT_STAT)
    settle(c, mem, dot)
    c.ppu_sync = c.ppu_origin * U(4) + U(dot + 1)
    if before == U(0) and c.ppu_stat_line != U(0):
        request = request | U(INTERRUPT_STAT)
    if request != U(0):
        request_interrupt(mem, request)
        visible = c.ppu_origin + U((dot + 4) >> 2)
        if (dot & 3) >= 2:
            c.ppu_late = visible


@wp.func(inline=False)
def advance(c: wp.ref[Console], mem: Q, t_cycles: U):
    """Handle every PPU event up to this T-cycle and compute the time of the next one."""
    if (get8(mem, ROW_LCDC) & LCDC_ENABLE) == 0:
        c.ppu_sync = t_cycles
        c.ppu_next = t_cycles / U(4) + FAR
    else:
        run = I(1)
        while run != 0:
            roll_frame(c, c.ppu_sync)
            e = next_event_dot(c, mem, dot_of(c, c.ppu_sync))
            if e > dot_of(c, t_cycles):
                c.ppu_next = c.ppu_origin + U((e + 4) >> 2)
                run = 0
            elif e >= FRAME_DOTS:
                settle(c, mem, FRAME_DOTS - 1)
                c.ppu_sync = (c.ppu_origin + U(M_CYCLES_PER_FRAME)) * U(4) + U(1)
            else:
                do_event(c, mem, e)
        settle_at(c, mem, t_cycles)


@wp.struct
class QuietLocals:
    since: wp.int32
    dot: wp.int32
    request: wp.uint32
    next: wp.int32
    done: wp.bool


@wp.func
def is_quiet(c: wp.ref[Console], mem: Q, stat: int, lyc: int) -> wp.bool:
    """Return whether only VBlank and a LYC comparison can request an interrupt, with a known level of the STAT line.

    Each event then has one known effect, and none is late (`ppu_late`).
    """
    sources = stat & STAT_SOURCES
    compares = sources == 0x40
    level = wp.where(compares, c.ppu_lyc_line, U(0))
    few = sources == 0 or (compares and lyc > 0 and lyc < VBLANK_LINE)
    on = (get8(mem, ROW_LCDC) & LCDC_ENABLE) != 0
    return few and on and c.ppu_stat_line == level and c.ppu_first == U(0)


@wp.func
def plan_quietly(c: wp.ref[Console], stat: int, lyc: int, dot: int):
    """Compute the time of the next event after `dot`, like `plan_events`, where `is_quiet` holds."""
    o = QuietLocals()
    o.next = wp.where(dot < VBLANK_DOT, VBLANK_DOT, VBLANK_DOT + FRAME_DOTS)
    if (stat & STAT_LYC_SOURCE) != 0:
        meets = lyc * LINE_DOTS + 4
        o.next = wp.min(o.next, wp.where(meets > dot, meets, meets + FRAME_DOTS))
    c.ppu_next = c.ppu_origin + U((o.next + 4) >> 2)


@wp.func
def settle_quietly(c: wp.ref[Console], mem: Q, stat: int, dot: int, since: int):
    """Advance the LYC comparison and the STAT line to `dot`, like `settle`, where `is_quiet` holds.

    The caller updates `ppu_sync`.
    """
    latch_comparison(c, mem, dot, since)
    c.ppu_stat_line = wp.where((stat & STAT_LYC_SOURCE) != 0, c.ppu_lyc_line, U(0))


@wp.func(inline=True)
def advance_quietly(c: wp.ref[Console], mem: Q, t_cycles: U) -> wp.bool:
    """Handle the events up to a T-cycle like `advance`, in one step, where `is_quiet` holds.

    Returns False, with nothing done, if only `advance` is exact.
    """
    o = QuietLocals()
    stat = get8(mem, ROW_STAT)
    lyc = get8(mem, ROW_LYC)
    o.since = dot_of(c, c.ppu_sync)
    o.dot = dot_of(c, t_cycles)
    if o.dot >= FRAME_DOTS:
        o.since = o.since - FRAME_DOTS
        o.dot = o.dot - FRAME_DOTS
    # The last VBlank has been seen.
    o.done = o.since >= VBLANK_DOT - FRAME_DOTS and o.since <= o.dot and o.dot < FRAME_DOTS
    if o.done and is_quiet(c, mem, stat, lyc):
        roll_frame(c, t_cycles)
        meets = lyc * LINE_DOTS + 4
        o.request = U(0)
        if (stat & STAT_LYC_SOURCE) != 0 and o.since < meets and o.dot >= meets:
            # A line of the same number just before, as after a write to LYC, keeps the level high.
            if c.ppu_lyc_line == U(0) or o.since < meets - LINE_DOTS:
                o.request = U(2)
        if o.since < VBLANK_DOT and o.dot >= VBLANK_DOT:
            o.request = o.request | U(1)
            finish_picture(c, mem)
        if o.request != U(0):
            request_interrupt(mem, o.request)
        settle_quietly(c, mem, stat, o.dot, o.since)
        plan_quietly(c, stat, lyc, o.dot)
        c.ppu_sync = t_cycles
    else:
        o.done = wp.bool(False)
    return o.done


@wp.func(inline=True)
def compare_quietly(c: wp.ref[Console], mem: Q, new: int, t_cycles: U) -> wp.bool:
    """Write `new` to LYC, with no event due before, where `is_quiet` holds.

    Returns False, with nothing done, if only `write_followed` is exact.
    """
    o = QuietLocals()
    stat = get8(mem, ROW_STAT)
    o.done = is_quiet(c, mem, stat, get8(mem, ROW_LYC)) and is_quiet(c, mem, stat, new)
    if o.done:
        roll_frame(c, t_cycles)
        o.dot = dot_of(c, t_cycles)
        settle_quietly(c, mem, stat, o.dot, dot_of(c, c.ppu_sync))
        c.ppu_sync = t_cycles
        set8(mem, ROW_LYC, new)
        line = o.dot / LINE_DOTS
        ly = compared_ly(line, o.dot - line * LINE_DOTS)
        if ly != NOT_COMPARED:
            c.ppu_lyc_line = U(wp.where(ly == new, 1, 0))
        if (stat & STAT_LYC_SOURCE) != 0:
            if c.ppu_lyc_line != U(0) and c.ppu_stat_line == U(0):
                request_interrupt(mem, U(2))
            c.ppu_stat_line = c.ppu_lyc_line
        plan_quietly(c, stat, new, o.dot)
    return o.done


@wp.func(inline=False)
def plan_events(c: wp.ref[Console], mem: Q):
    """Compute the time of the next PPU event anew after a write; `ppu_sync` must be up to date."""
    c.ppu_next = c.ppu_sync / U(4) + FAR
    if (get8(mem, ROW_LCDC) & LCDC_ENABLE) != 0:
        roll_frame(c, c.ppu_sync)
        e = next_event_dot(c, mem, dot_of(c, c.ppu_sync))
        c.ppu_next = c.ppu_origin + U((e + 4) >> 2)


@wp.func
def settle_at(c: wp.ref[Console], mem: Q, t_cycles: U):
    """Advance the STAT line to this T-cycle; no event may be due before it."""
    roll_frame(c, t_cycles)
    settle(c, mem, dot_of(c, t_cycles))
    c.ppu_sync = t_cycles


@wp.func(inline=False)
def evaluate(c: wp.ref[Console], mem: Q, t_cycles: U, stat: int):
    """Compute the level of the STAT line after a register write, with `stat` as the enabled sources.

    A rising line requests the interrupt.
    """
    dot = dot_of(c, t_cycles)
    line = dot / LINE_DOTS
    x = dot - line * LINE_DOTS
    ly = compared_ly(line, x)
    if c.ppu_first != U(0) and line == 0:
        ly = 0
    if ly != NOT_COMPARED:
        c.ppu_lyc_line = U(wp.where(ly == get8(mem, ROW_LYC), 1, 0))
    mode = I(3)
    # From dot 4 on only mode 0 drives a visible line: without it, skip the look-up.
    if (stat & STAT_HBLANK_SOURCE) != 0 or line >= VBLANK_LINE or x < 4:
        mode = interrupt_mode(c, mem, line, x)
    level = stat_level(stat, mode, int(c.ppu_lyc_line))
    if level != 0 and c.ppu_stat_line == U(0):
        request_interrupt(mem, U(2))
    c.ppu_stat_line = U(level)
