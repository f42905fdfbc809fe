"""Writer of the register and undo logs: which pictures are logged, and for how long their entries are kept.

A picture is logged if its VBlank can be the last one of a launch, or if the launch may end before its VBlank (then it
may be the next launch's last). Other pictures are not logged. A finished picture stays in the logs until a kernel draws
it (render_parallel.py) or the next one replaces it.

Register entries and undo entries share one space; when it runs out, the pending picture is drawn here, by the thread
that runs the console: slow, exact, and rare.
"""

import warp as wp

from emulator.constants import (
    LCDC_WINDOW_ENABLE,
    M_CYCLES_PER_FRAME,
    M_CYCLES_PER_LINE,
    ROW_OAM,
    ROW_SCREENS,
    SCREEN_BYTES,
    SCREEN_HEIGHT,
)
from emulator.kernels.intrinsics import I, Q, U
from emulator.kernels.memory.io_registers import ROW_LCDC, ROW_WX
from emulator.kernels.ppu.frame_log import (
    BASE_CARRY,
    BASE_DMA,
    BASE_LINE,
    BASE_WINDOW,
    BASE_WINDOW_Y,
    DRAFT_BASE,
    FINISHED_BASE,
    FINISHED_OAM,
    FROZEN_DMA,
    LINE_BASE,
    LOG,
    LOG_CAPACITY,
    NO_DMA,
    OAM_BYTES,
    R_DMA,
    UNDO_TOP,
    dma_start_of,
    get8,
    get32,
    log_entry,
    set8,
    set32,
    store_base,
    undo_entry,
    undo_swap,
)
from emulator.kernels.ppu.frame_log_reader import Walk, begin_walk, draw_lines
from emulator.kernels.ppu.mode_timing import FRAME_DOTS, LINE_DOTS, VBLANK_LINE, window_seen
from emulator.state.batch import Console

VBLANK_TIME = wp.constant(SCREEN_HEIGHT * M_CYCLES_PER_LINE + 2)  # M-cycles from line 0 to the VBlank interrupt


@wp.func
def latch_window_until(c: wp.ref[Console], mem: Q, dot: int):
    """Record in `ppu_window` whether LY has equalled WY with the window enabled, up to this dot of the frame."""
    c.ppu_window = U(window_seen(c, mem, dot))
    c.ppu_window_sync = U(dot)


@wp.func(inline=False)
def drop_entries(c: wp.ref[Console], mem: Q, log_from: int, undo_from: int):
    """Delete the register entries before index `log_from` and the undo entries before `undo_from`."""
    if log_from > 0:
        for i in range(I(c.ppu_log_count) - log_from):
            set32(mem, LOG + 4 * i, get32(mem, LOG + 4 * (i + log_from)))
        c.ppu_log_count = c.ppu_log_count - U(log_from)
        c.ppu_log_start = U(wp.max(I(c.ppu_log_start) - log_from, 0))
        c.ppu_draft_log = U(wp.max(I(c.ppu_draft_log) - log_from, 0))
    if undo_from > 0:
        for i in range(I(c.ppu_undo_count) - undo_from):
            set32(mem, UNDO_TOP - 4 - 4 * i, get32(mem, UNDO_TOP - 4 - 4 * (i + undo_from)))
        c.ppu_undo_count = c.ppu_undo_count - U(undo_from)
        c.ppu_draft_undo = U(wp.max(I(c.ppu_draft_undo) - undo_from, 0))
    c.ppu_undo_done = U(0)


@wp.func(inline=False)
def discard_draft(c: wp.ref[Console], mem: Q):
    """Stop logging the picture that is being scanned out; keep the current line's entries for its mode 3 timing."""
    if c.ppu_drafting != U(0):
        kept = c.ppu_log_count - c.ppu_log_start
        for i in range(I(kept)):
            entry = get32(mem, LOG + 4 * (I(c.ppu_log_start) + i))
            set32(mem, LOG + 4 * (I(c.ppu_draft_log) + i), entry)
        c.ppu_log_start = c.ppu_draft_log
        c.ppu_log_count = c.ppu_draft_log + kept
        c.ppu_undo_count = c.ppu_draft_undo
        c.ppu_drafting = U(0)


@wp.func(inline=False)
def discard_pictures(c: wp.ref[Console]):
    """Delete all entries of both logs, because the LCD was switched off."""
    c.ppu_drafting = U(0)
    c.ppu_finished = U(0)
    c.ppu_log_line = U(0)
    c.ppu_log_start = U(0)
    c.ppu_log_count = U(0)
    c.ppu_draft_log = U(0)
    c.ppu_undo_count = U(0)
    c.ppu_undo_done = U(0)
    c.ppu_draft_undo = U(0)


@wp.func
def back_screen(c: wp.ref[Console], mem: Q) -> Q:
    """Return the address of the one of the two screens in the memory row that is not shown."""
    return mem + Q(U(ROW_SCREENS)) + Q(c.ppu_front ^ U(1)) * Q(SCREEN_BYTES)


@wp.func(inline=False)
def undo_down(mem: Q, last: int, first: int, oam: int):
    """Undo the writes of undo entries last-1 down to first."""
    i = last - 1
    while i >= first:
        undo_swap(mem, i, oam)
        i = i - 1


@wp.func(inline=False)
def redo_up(mem: Q, first: int, last: int, oam: int):
    """Redo the writes of undo entries first up to last-1."""
    i = first
    while i < last:
        undo_swap(mem, i, oam)
        i = i + 1


@wp.func(inline=False)
def release_finished(c: wp.ref[Console], mem: Q):
    """Show the finished picture, which has been drawn, and delete its log entries."""
    c.ppu_front = c.ppu_front ^ U(1)
    c.ppu_finished = U(0)
    drop_entries(c, mem, I(c.ppu_draft_log), I(c.ppu_draft_undo))


@wp.func(inline=False)
def draw_finished(c: wp.ref[Console], mem: Q):
    """Draw the finished picture line by line in this thread."""
    count = I(c.ppu_undo_count)
    done = I(c.ppu_undo_done)
    undo_down(mem, count, done, ROW_OAM)
    undo_down(mem, done, 0, FINISHED_OAM)
    w = Walk()
    begin_walk(w, mem, FINISHED_BASE, 0, I(c.ppu_draft_log))
    line = get8(mem, FINISHED_BASE + BASE_LINE)
    draw_lines(w, mem, FINISHED_OAM, back_screen(c, mem), 0, done, line, VBLANK_LINE)
    redo_up(mem, done, count, ROW_OAM)
    release_finished(c, mem)


@wp.func(inline=False)
def draw_draft(c: wp.ref[Console], mem: Q, line: int):
    """Draw the unfinished picture's lines before `line`, and delete the log entries that they used."""
    count = I(c.ppu_undo_count)
    undo_down(mem, count, 0, ROW_OAM)
    w = Walk()
    begin_walk(w, mem, DRAFT_BASE, 0, I(c.ppu_log_count))
    first = get8(mem, DRAFT_BASE + BASE_LINE)
    draw_lines(w, mem, ROW_OAM, back_screen(c, mem), 0, count, first, line)
    set32(mem, DRAFT_BASE, w.lower)
    set32(mem, DRAFT_BASE + 4, w.upper)
    set8(mem, DRAFT_BASE + BASE_WINDOW, w.window)
    set8(mem, DRAFT_BASE + BASE_CARRY, w.carry)
    set8(mem, DRAFT_BASE + BASE_WINDOW_Y, w.window_y + 1)
    set8(mem, DRAFT_BASE + BASE_LINE, line)
    set32(mem, DRAFT_BASE + BASE_DMA, U(w.dma))
    kept = I(0)
    while kept < count and I(get32(mem, UNDO_TOP - 4 - 4 * kept) >> U(22)) <= line:
        kept = kept + 1
    drop_entries(c, mem, wp.min(w.next, I(c.ppu_log_start)), kept)


@wp.func
def make_room(c: wp.ref[Console], mem: Q, line: int):
    """Ensure that one more log entry fits; `line` is the current line."""
    if I(c.ppu_log_count + c.ppu_undo_count) >= LOG_CAPACITY:
        empty_logs(c, mem, line)


@wp.func(inline=False)
def empty_logs(c: wp.ref[Console], mem: Q, line: int):
    """Free space in the full logs: draw the pending picture, or delete entries that are not needed."""
    if c.ppu_finished != U(0):
        draw_finished(c, mem)
    elif c.ppu_drafting != U(0) and line <= VBLANK_LINE:
        draw_draft(c, mem, line)
    if I(c.ppu_log_count + c.ppu_undo_count) >= LOG_CAPACITY:
        # More writes in one line than the log holds: forget the oldest of this line.
        quarter = LOG_CAPACITY / 4
        drop_entries(c, mem, wp.min(I(c.ppu_log_count), quarter), wp.min(I(c.ppu_undo_count), quarter))


@wp.func(inline=False)
def keep_byte(c: wp.ref[Console], mem: Q, offset: int, line: int, old: int):
    """Log byte `old` of VRAM (offset) or OAM (0x2000 + offset) before it is overwritten.

    `line` is the first line of the picture that sees the new byte: 144 if none does, more if the picture was finished
    before.
    """
    in_picture = c.ppu_drafting != U(0) and line <= VBLANK_LINE
    if in_picture or (c.ppu_finished != U(0) and offset < 0x2000):
        make_room(c, mem, line)
        add_undo(c, mem, offset, line, old)
        if not in_picture:
            c.ppu_draft_undo = c.ppu_undo_count


@wp.func
def log_register(c: wp.ref[Console], mem: Q, number: int, value: int, line: int, dot: int):
    """Log that `value` is written to a picture register on visible line `line`.

    Call it before the register changes, with `ppu_window` up to date.
    """
    if I(c.ppu_log_line) != line + 1:
        store_base(mem, LINE_BASE)
        set8(mem, LINE_BASE + BASE_WINDOW, I(c.ppu_window))
        if c.ppu_drafting == U(0):
            c.ppu_log_count = c.ppu_draft_log
        c.ppu_log_start = c.ppu_log_count
        c.ppu_log_line = U(line + 1)
    make_room(c, mem, line)
    set32(mem, LOG + 4 * I(c.ppu_log_count), log_entry(dot, number, value))
    c.ppu_log_count = c.ppu_log_count + U(1)


@wp.func
def add_undo(c: wp.ref[Console], mem: Q, offset: int, line: int, old: int):
    """Append an entry to the undo log, which must have room."""
    set32(mem, UNDO_TOP - 4 - 4 * I(c.ppu_undo_count), undo_entry(offset, line, old))
    c.ppu_undo_count = c.ppu_undo_count + U(1)


@wp.func
def keep_vram_byte(c: wp.ref[Console], mem: Q, offset: int, line: int, old: int) -> wp.bool:
    """Log byte `old` of VRAM like `keep_byte`; return False, with nothing done, if the log has no room."""
    in_picture = c.ppu_drafting != U(0) and line <= VBLANK_LINE
    room = I(c.ppu_log_count + c.ppu_undo_count) < LOG_CAPACITY
    if room and (in_picture or c.ppu_finished != U(0)):
        add_undo(c, mem, offset, line, old)
        if not in_picture:
            c.ppu_draft_undo = c.ppu_undo_count
    return room


@wp.func(inline=False)
def keep_dma(c: wp.ref[Console], mem: Q, value: int, dot: int):
    """Log that an OAM DMA starts, halts or resumes at `dot`; `value`: as of an R_DMA entry."""
    line = dot / LINE_DOTS
    if line < VBLANK_LINE:
        latch_window_until(c, mem, dot - 1)
        log_register(c, mem, R_DMA, value, line, dot)
    elif c.ppu_drafting != U(0):
        set32(mem, DRAFT_BASE + BASE_DMA, U(dma_start_of(value, dot - FRAME_DOTS)))


@wp.func
def begin_draft(c: wp.ref[Console], mem: Q):
    """Start logging the next picture, with the present registers as its base record."""
    c.ppu_drafting = U(1)
    c.ppu_draft_log = c.ppu_log_count
    c.ppu_draft_undo = c.ppu_undo_count
    store_base(mem, DRAFT_BASE)
    set8(mem, DRAFT_BASE + BASE_WINDOW, 0)
    set8(mem, DRAFT_BASE + BASE_CARRY, I(c.ppu_carry))
    set8(mem, DRAFT_BASE + BASE_WINDOW_Y, I(c.ppu_carry))
    set8(mem, DRAFT_BASE + BASE_LINE, 0)
    dma = wp.where(c.ppu_dma == U(2), FROZEN_DMA, NO_DMA)
    set32(mem, DRAFT_BASE + BASE_DMA, U(dma))


@wp.func(inline=False)
def finish_picture(c: wp.ref[Console], mem: Q):
    """End the logged picture at the start of VBlank, and decide whether the next picture is logged."""
    seen = window_seen(c, mem, VBLANK_LINE * LINE_DOTS)
    carry = seen != 0 and (get8(mem, ROW_LCDC) & LCDC_WINDOW_ENABLE) != 0 and get8(mem, ROW_WX) == 166
    c.ppu_carry = U(wp.where(carry, 1, 0))
    c.ppu_blank = c.ppu_first
    if c.ppu_drafting != U(0):
        drop_entries(c, mem, I(c.ppu_draft_log), I(c.ppu_draft_undo))
        for i in range(4):
            set32(mem, FINISHED_BASE + 4 * i, get32(mem, DRAFT_BASE + 4 * i))
        for i in range(OAM_BYTES / 4):
            set32(mem, FINISHED_OAM + 4 * i, get32(mem, ROW_OAM + 4 * i))
        c.ppu_finished = U(1)
        c.ppu_undo_done = c.ppu_undo_count
    else:
        discard_pictures(c)
    vblank = I(c.ppu_origin) + VBLANK_TIME + M_CYCLES_PER_FRAME
    c.ppu_drafting = U(0)
    if vblank > (I(c.ppu_frames) - 1) * M_CYCLES_PER_FRAME:
        begin_draft(c, mem)
