"""PPU as the rest of the console sees it: registers, memory access, events, launches.

Times are M-cycles. `t` of an access is the end of its M-cycle; the PPU shows its state at the beginning of
that M-cycle, T-cycle 4 * (t - 1). Interrupts count at instruction boundaries, T-cycle 4 * t. Writes reach the
pixel pipeline at T-cycles of their own (pixel_fifo.py); they are logged.
https://gbdev.io/pandocs/Rendering.html
"""

import warp as wp

from emulator.constants import (
    LCDC_ENABLE,
    LCDC_WINDOW_ENABLE,
    M_CYCLES_PER_FRAME,
    ROW_IO,
    STAT_HBLANK_SOURCE,
    STAT_LYC_EQUAL,
    STAT_SOURCES,
    T_CYCLES_PER_FRAME,
)
from emulator.kernels.intrinsics import ALL_ONES, FAR, I, Q, U
from emulator.kernels.memory import io_registers as io
from emulator.kernels.memory.io_registers import ROW_LCDC, ROW_LYC, ROW_STAT, ROW_WY
from emulator.kernels.memory.mapper import FLAT
from emulator.kernels.ppu.frame_log import (
    DMA_DOTS,
    DRAFT_BASE,
    SCANNED,
    STOP_LEFT,
    get8,
    get32,
    register_number,
    set8,
    set32,
)
from emulator.kernels.ppu.frame_log_writer import (
    VBLANK_TIME,
    begin_draft,
    discard_draft,
    discard_pictures,
    keep_dma,
    latch_window_until,
    log_register,
)
from emulator.kernels.ppu.mode_timing import (
    LAST_LINE,
    LINE_DOTS,
    VBLANK_LINE,
    compared_ly,
    dot_of,
    known_line_end,
    line_end,
    ly_at,
    mode_at,
)
from emulator.kernels.ppu.stat_interrupt import (
    FAST_VRAM,
    advance,
    advance_quietly,
    compare_quietly,
    evaluate,
    let_vram_pass,
    plan_events,
    roll_frame,
    settle_at,
)
from emulator.kernels.ppu.vram_oam_access import access_time, hide_status, lcd_is_on
from emulator.state.batch import TRAP_TICK, Console

STOP_RUN = wp.constant(wp.uint32(15213))  # 60,852 dots, as measured on one console
HAND_OFF_DOT = wp.constant(T_CYCLES_PER_FRAME - 53)  # line 0 begins 13 M-cycles later


@wp.func(inline=True)
def ppu_event(c: wp.ref[Console], mem: Q, t: U):
    """Handle every PPU event at or before `t` (interrupts, finished pictures) and compute the time of the next one."""
    if not advance_quietly(c, mem, t * U(4)):
        advance(c, mem, t * U(4))


@wp.func(inline=False)
def ppu_before_if_write(c: wp.ref[Console], mem: Q, t: U):
    """Advance the PPU before a write to IF at `t`.

    The write lands one T-cycle later than other writes: interrupt requests until then are lost.
    """
    if lcd_is_on(mem):
        advance(c, mem, access_time(t) + U(1))


@wp.func
def status_change(c: wp.ref[Console], mem: Q, register: U, line: int, x: int) -> int:
    """Return the first dot after `x` of `line` at which LY or STAT may have another value; may lie beyond the line."""
    change = LINE_DOTS + wp.where(line < VBLANK_LINE - 1 or line == LAST_LINE, 3, 2)
    if line == LAST_LINE and x < 12:
        change = x + 1
    elif register == U(io.STAT):
        if x < 5 or (x < 84 and c.ppu_dma != U(0)):
            change = x + 1
        elif line < VBLANK_LINE:
            if c.ppu_first != U(0) and line == 0 and x < 86:
                change = wp.where(x < 8, 8, 86)
            elif x < 84:
                change = 84
            else:
                end = line_end(c, mem, line)
                if x < end:
                    change = end
    elif x < 3:
        change = x + 1
    return change


@wp.func(inline=False)
def odd_status(c: wp.ref[Console], mem: Q, register: U, line: int, x: int) -> U:
    """Return LY or STAT at dot `x` where `plain_status` does not hold.

    That is around the start of a line, on line 0 after the LCD was switched on, and during an OAM DMA.
    """
    value = get8(mem, ROW_IO + I(register))
    if register == U(io.LY):
        value = ly_at(line, x)
    else:
        equal = compared_ly(line, x) == get8(mem, ROW_LYC)
        if c.ppu_first != U(0) and line == 0:
            equal = get8(mem, ROW_LYC) == 0
        value = (value & 0x78) | 0x80 | mode_at(c, mem, line, x) | wp.where(equal, 4, 0)
    change = status_change(c, mem, register, line, x)
    c.stable = c.ppu_origin + U((line * LINE_DOTS + change + 4) >> 2) + U(1)
    return U(value)


@wp.struct
class StatusLocals:
    value: wp.uint32
    mode: wp.int32
    change: wp.int32
    end: wp.int32


@wp.func
def plain_status(c: wp.ref[Console], mem: Q, register: U, line: int, x: int) -> U:
    """Return LY or STAT at dot `x`, 12 or later, of a line: LY then equals the line's number."""
    o = StatusLocals()
    ly = wp.where(line == LAST_LINE, 0, line)
    # The next line's number shows two or three dots after it has begun.
    o.change = LINE_DOTS + wp.where(line < VBLANK_LINE - 1 or line == LAST_LINE, 3, 2)
    o.value = U(ly)
    if register == U(io.STAT):
        o.mode = 1
        if line < VBLANK_LINE:
            o.mode = 2
            if x < 84:
                o.change = 84
            else:
                o.mode = 0
                o.end = known_line_end(c, mem, line)
                if x < o.end:
                    o.mode = 3
                    o.change = o.end
        equal = wp.where(ly == get8(mem, ROW_LYC), 4, 0)
        o.value = U((get8(mem, ROW_STAT) & STAT_SOURCES) | 0x80 | equal | o.mode)
    c.stable = c.ppu_origin + U((line * LINE_DOTS + o.change + 4) >> 2) + U(1)
    return o.value


@wp.func
def near_dma(c: wp.ref[Console], t: U) -> wp.bool:
    """Return whether an OAM DMA is running, halted, or ended a moment before `t`."""
    recent = I(t * U(4) - c.ppu_dma_start) < DMA_DOTS + 16
    return c.ppu_dma != U(0) and (c.ppu_dma == U(2) or recent)


@wp.func(inline=False)
def ppu_status(c: wp.ref[Console], mem: Q, register: U, t: U) -> U:
    """Return LY or STAT as the CPU reads it at `t`.

    `c.stable` becomes the first time at which the same read may give another value if nothing is written.
    """
    o = StatusLocals()
    if lcd_is_on(mem):
        roll_frame(c, access_time(t))
        dot = wp.max(dot_of(c, access_time(t)), 0)
        line = dot / LINE_DOTS
        x = dot - line * LINE_DOTS
        short = c.ppu_first != U(0) and line == 0
        if x < 12 or short or (x < 84 and near_dma(c, t)):
            o.value = odd_status(c, mem, register, line, x)
        else:
            o.value = plain_status(c, mem, register, line, x)
    else:
        c.stable = t + FAR
        o.value = U(0)
        if register == U(io.STAT):
            o.value = U(get8(mem, ROW_STAT)) | U(0x80)
    return o.value


@wp.func
def ppu_hblank(c: wp.ref[Console], mem: Q, t: U) -> U:
    """Return the first M-cycle in which STAT shows mode 0, given that it shows mode 2 or 3 at `t`.

    Returns 0 if only `ppu_status` can tell (first frame after LCD on, or an OAM DMA near).
    """
    o = StatusLocals()
    o.value = U(0)
    if c.ppu_first == U(0) and not near_dma(c, t):
        line = dot_of(c, access_time(t)) / LINE_DOTS
        end = known_line_end(c, mem, line)
        o.value = c.ppu_origin + U((line * LINE_DOTS + end + 4) >> 2) + U(1)
    return o.value


@wp.func
def ppu_before_line(c: wp.ref[Console], mem: Q, line: int, t: U) -> U:
    """Return a time from `t` to a line before line `line`, by which LY has not yet become `line`.

    Returns `t` itself if `line` is near, past or not 1 to 152, or if the LCD is off.
    """
    o = StatusLocals()
    o.value = t
    if lcd_is_on(mem) and c.ppu_first == U(0) and line < LAST_LINE:
        roll_frame(c, access_time(t))
        dot = wp.max(dot_of(c, access_time(t)), 0)
        if dot / LINE_DOTS + 2 < line:
            o.value = c.ppu_origin + U((line - 1) * LINE_DOTS / 4)
    return o.value


@wp.func
def ppu_read(c: wp.ref[Console], mem: Q, register: U, t: U) -> U:
    """Return the value of FF40-FF4B (not DMA) as the CPU reads it at `t`; set `c.stable`."""
    value = U(get8(mem, ROW_IO + I(register)))
    c.stable = t + FAR
    if register == U(io.STAT) or register == U(io.LY):
        value = ppu_status(c, mem, register, t)
    return value


@wp.func(inline=False)
def write_stat(c: wp.ref[Console], mem: Q, value: int, t_cycles: U):
    """Write `value` to STAT, which on a DMG is FF for one T-cycle before the value arrives.

    https://gbdev.io/pandocs/STAT.html#spurious-stat-interrupts
    """
    old = get8(mem, ROW_STAT)
    dot = dot_of(c, t_cycles)
    line = dot / LINE_DOTS
    # Between HBlank and mode 2 the HBlank source holds the line and hides the mode 2 source.
    edge = dot - line * LINE_DOTS == 3 and line < VBLANK_LINE and (old & 0x28) == 8
    glitch = wp.where(edge, 0x58, 0x78)
    set8(mem, ROW_STAT, glitch | (old & 4))
    evaluate(c, mem, t_cycles, glitch)
    set8(mem, ROW_STAT, (value & 0x78) | (old & 4))
    advance(c, mem, t_cycles + U(1))
    evaluate(c, mem, t_cycles + U(1), value & 0x78)


@wp.func
def end_tick(c: wp.ref[Console], t: U):
    """End the launch at time `t`, in which the LCD is switched on or off, if it is trapped there."""
    if c.trap == U(TRAP_TICK):
        c.launch_end = t


@wp.func(inline=False)
def switch_on(c: wp.ref[Console], mem: Q, t: U):
    """Switch the LCD on: line 0 began two M-cycles ago, without mode 2; the first picture stays blank."""
    c.ppu_origin = t - U(3)
    c.ppu_first = U(1)
    c.ppu_sync = access_time(t) - U(1)
    c.ppu_window = U(0)
    c.ppu_window_sync = ALL_ONES
    c.ppu_carry = U(0)
    c.ppu_end_line = U(0)
    c.ppu_blank = U(1)
    let_vram_pass(c, U(0))
    end_tick(c, t)


@wp.func(inline=False)
def switch_off(c: wp.ref[Console], mem: Q, t: U):
    """Switch the LCD off: LY and mode read 0, the comparison bit keeps its value, the screen is blank."""
    stat = I(ppu_read(c, mem, U(io.STAT), t))
    set8(mem, ROW_STAT, stat & 0x7C)
    discard_pictures(c)
    let_vram_pass(c, FAST_VRAM)
    c.ppu_origin = U(0)
    c.ppu_first = U(0)
    c.ppu_window = U(0)
    c.ppu_window_sync = U(0)
    c.ppu_carry = U(0)
    c.ppu_end_line = U(0)
    c.ppu_blank = U(1)
    end_tick(c, t)


@wp.func(inline=True)
def note_visible_write(c: wp.ref[Console], mem: Q, register: int, value: int, dot: int):
    """Write a picture register on a visible line: log it, and update the window state and the cached end of mode 3."""
    line = dot / LINE_DOTS
    x = dot - line * LINE_DOTS
    latch_window_until(c, mem, dot - 1)
    if I(c.ppu_end_line) == line + 1 and x - 2 <= I(c.ppu_end):
        c.ppu_end_line = U(0)
    log_register(c, mem, register_number(register), value, line, dot)
    set8(mem, ROW_IO + register, value)
    if register == io.LCDC or register == io.WY:
        ly = wp.where(x >= 4 or line == 0, line, line - 1)
        if (get8(mem, ROW_LCDC) & LCDC_WINDOW_ENABLE) != 0 and get8(mem, ROW_WY) == ly:
            c.ppu_window = U(1)


@wp.func(inline=True)
def note_write(c: wp.ref[Console], mem: Q, register: int, value: int, t: U):
    """Write a picture register while the LCD is on.

    In VBlank that affects only whether the window is triggered (WY, LCDC bit 5) and the base record of the next
    picture.
    """
    roll_frame(c, access_time(t) + U(1))
    dot = dot_of(c, access_time(t) + U(1))
    if dot < VBLANK_LINE * LINE_DOTS:
        note_visible_write(c, mem, register, value, dot)
    else:
        window_bit = register == io.LCDC and ((value ^ get8(mem, ROW_LCDC)) & LCDC_WINDOW_ENABLE) != 0
        if window_bit or register == io.WY:
            latch_window_until(c, mem, dot - 1)
        if c.ppu_drafting != U(0):
            set8(mem, DRAFT_BASE + register_number(register), value)
        set8(mem, ROW_IO + register, value)


@wp.func(inline=False)
def write_followed(c: wp.ref[Console], mem: Q, reg: int, new: int, t: U):
    """Write a register that may change interrupts, with the STAT line evaluated before and after.

    These are STAT, LYC and LCDC's LCD bit; with mode 0 as interrupt source every picture register, since each may move
    the end of mode 3.
    """
    t_cycles = access_time(t)
    on = lcd_is_on(mem)
    if on and I(t - U(1) - c.ppu_next) >= I(0):
        advance(c, mem, t_cycles)
    elif on:
        settle_at(c, mem, t_cycles)
    if reg == io.STAT:
        if on:
            write_stat(c, mem, new, t_cycles)
        else:
            set8(mem, ROW_STAT, (new & STAT_SOURCES) | (get8(mem, ROW_STAT) & STAT_LYC_EQUAL))
    elif reg == io.LYC:
        set8(mem, ROW_LYC, new)
        if on:
            evaluate(c, mem, t_cycles, get8(mem, ROW_STAT))
    elif reg == io.LCDC and ((new ^ get8(mem, ROW_LCDC)) & LCDC_ENABLE) != 0:
        if on:
            switch_off(c, mem, t)
        else:
            switch_on(c, mem, t)
        set8(mem, ROW_LCDC, new)
    elif reg != io.LY and new != get8(mem, ROW_IO + reg):
        note_write(c, mem, reg, new, t)
    plan_events(c, mem)


@wp.func(inline=True)
def write_calmly_or_follow(c: wp.ref[Console], mem: Q, reg: int, new: int, t: U):
    """Write a register that may change interrupts, LYC by the short path where that is exact."""
    done = wp.bool(False)
    hide_status(mem)
    if reg == io.LYC and I(t - U(1) - c.ppu_next) < I(0):
        done = compare_quietly(c, mem, new, access_time(t))
    if not done:
        write_followed(c, mem, reg, new, t)


@wp.func(inline=True)
def ppu_write(c: wp.ref[Console], mem: Q, register: U, value: U, t: U) -> U:
    """Write FF40-FF4B (not DMA) from the CPU at `t`; return 1 if the times of interrupts may have changed, else 0."""
    reg = I(register)
    new = I(value)
    old = get8(mem, ROW_IO + reg)
    on = lcd_is_on(mem)
    switches = reg == io.LCDC and ((new ^ old) & 0x80) != 0
    follows = reg == io.STAT or reg == io.LYC or switches or (on and (get8(mem, ROW_STAT) & STAT_HBLANK_SOURCE) != 0)
    if follows:
        write_calmly_or_follow(c, mem, reg, new, t)
    elif reg != io.LY and new != old:
        if on:
            note_write(c, mem, reg, new, t)
        else:
            set8(mem, ROW_IO + reg, new)
    return wp.where(follows, U(1), U(0))


@wp.func
def ppu_stop(mem: Q):
    """Let a PPU that is on run for STOP_RUN M-cycles more, at the beginning of STOP."""
    set32(mem, STOP_LEFT, wp.where(lcd_is_on(mem), STOP_RUN, U(0)))


@wp.func(inline=False)
def ppu_stand_still(c: wp.ref[Console], mem: Q, since: U, t: U):
    """Pass the time from `since` to `t` in STOP: a PPU that is on first goes on, then stands still and shows nothing.

    Its times then move later by the time that it lost.
    """
    left = get32(mem, STOP_LEFT)
    runs = wp.min(left, t - since)
    lost = t - since - runs
    if lcd_is_on(mem):
        if runs != U(0):
            advance(c, mem, (since + runs) * U(4))
            set32(mem, STOP_LEFT, left - runs)
        if lost != U(0):
            c.ppu_origin = c.ppu_origin + lost
            c.ppu_sync = c.ppu_sync + lost * U(4)
            c.ppu_next = c.ppu_next + lost
            c.ppu_blank = U(1)
    if c.ppu_dma != U(0):
        c.ppu_dma_start = c.ppu_dma_start + lost * U(4)


@wp.func(inline=False)
def note_dma(c: wp.ref[Console], mem: Q, value: int, t_cycles: U):
    """Log that an OAM DMA starts, halts or resumes at a T-cycle, if the LCD is on; `value`: as of an R_DMA entry."""
    if lcd_is_on(mem):
        roll_frame(c, t_cycles)
        dot = dot_of(c, t_cycles)
        line = dot / LINE_DOTS
        if line < VBLANK_LINE or c.ppu_drafting != U(0):
            if I(c.ppu_end_line) == line + 1 and dot - line * LINE_DOTS <= I(c.ppu_end):
                c.ppu_end_line = U(0)
            keep_dma(c, mem, value, dot)
        if (get8(mem, ROW_STAT) & STAT_HBLANK_SOURCE) != 0:
            plan_events(c, mem)  # the end of mode 3 may have moved


@wp.func(inline=False)
def ppu_oam_dma_begin(c: wp.ref[Console], mem: Q, t: U, restart: U):
    """Block the PPU's access to OAM for 162 M-cycles from the write to FF46 at `t` on.

    It can still read OAM for two M-cycles, unless this is a `restart`, 1: then an older transfer is running.
    """
    c.ppu_dma = U(1)
    c.ppu_dma_start = access_time(t)
    if restart == U(0):
        set8(mem, SCANNED, 0)
    note_dma(c, mem, wp.where(restart != U(0), 0, 1), access_time(t) + U(1))


@wp.func(inline=False)
def ppu_oam_dma_halt(c: wp.ref[Console], mem: Q, t: U):
    """Freeze an OAM DMA while the CPU is halted from time `t` on; OAM stays blocked for the PPU."""
    c.ppu_dma = U(2)
    note_dma(c, mem, 2, t * U(4) + U(1))


@wp.func(inline=False)
def ppu_oam_dma_resume(c: wp.ref[Console], mem: Q, t: U, dma_start: U):
    """Resume an OAM DMA at time `t`, the end of HALT, as if its first byte had been copied at `dma_start`."""
    c.ppu_dma = U(1)
    c.ppu_dma_start = (dma_start - U(2)) * U(4)
    note_dma(c, mem, 3 + I(t + U(2) - dma_start), t * U(4) + U(1))


@wp.func(inline=False)
def ppu_power_on(c: wp.ref[Console], mem: Q):
    """Set the PPU to its state after the boot ROM: LCD on, near the end of line 153, dot HAND_OFF_DOT."""
    c.ppu_origin = U(0) - U((HAND_OFF_DOT + 1) / 4)
    c.ppu_first = U(0)
    c.ppu_sync = U(0)
    c.ppu_lyc_line = U(1)
    c.ppu_stat_line = U(0)
    c.ppu_window = U(0)
    c.ppu_window_sync = U(HAND_OFF_DOT)
    c.ppu_blank = U(0)
    c.ppu_frames = U(1)
    begin_draft(c, mem)
    advance(c, mem, U(0))


@wp.func(inline=False)
def ppu_launch_begin(c: wp.ref[Console], mem: Q, frames: U):
    """Begin a launch of `frames` frames; a picture that cannot be the launch's last one is not logged."""
    c.ppu_frames = frames
    # Past VBlank the picture in the making is the next frame's.
    vblank = I(c.ppu_origin) + VBLANK_TIME
    if dot_of(c, c.ppu_sync) >= VBLANK_LINE * LINE_DOTS + 5:
        vblank = vblank + M_CYCLES_PER_FRAME
    if vblank <= (I(frames) - 1) * M_CYCLES_PER_FRAME:
        discard_draft(c, mem)


@wp.func(inline=False)
def ppu_launch_end(c: wp.ref[Console], mem: Q, length: U):
    """Advance the PPU to `c.now + length` and subtract the launch's `length` from its times.

    The result depends only on the console's past, not on how it was cut into launches.
    """
    if c.mapper != U(FLAT):
        hide_status(mem)
    t_cycles = (c.now + length) * U(4)
    advance(c, mem, t_cycles)
    if lcd_is_on(mem):
        dot = wp.max(dot_of(c, t_cycles), 0)
        line = dot / LINE_DOTS
        latch_window_until(c, mem, dot)
        if line < VBLANK_LINE and dot - line * LINE_DOTS >= 84:
            line_end(c, mem, line)
        else:
            c.ppu_end_line = U(0)
            c.ppu_end = U(0)
        c.ppu_origin = c.ppu_origin - length
        c.ppu_sync = c.ppu_sync - length * U(4)
        c.ppu_next = c.ppu_next - length
    else:
        c.ppu_sync = U(0)
        c.ppu_end = U(0)
        c.ppu_next = c.now + FAR
    if c.ppu_dma != U(0):
        c.ppu_dma_start = c.ppu_dma_start - length * U(4)
        # Two lines later no result depends on it any more.
        old = I(c.now * U(4) - c.ppu_dma_start) > DMA_DOTS + 2 * LINE_DOTS
        if old and c.ppu_dma == U(1):
            c.ppu_dma = U(0)
            c.ppu_dma_start = U(0)
    # The boundary just reached, or after HALT the next one.
    late = I(c.ppu_late - c.now - length)
    c.ppu_late = wp.where(late == 0 or late == 1, c.ppu_late - length, ALL_ONES)
