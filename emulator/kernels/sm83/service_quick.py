"""Short answers to the two commonest requests: STAT, and a byte for open VRAM.

Programs poll STAT before every byte they copy to VRAM. `attend` gives the same answers to the same requests, through
code for every case; this is a tenth of it, without a call, and all lanes of a serving warp take it together.
"""

import warp as wp

from emulator.constants import LCDC_OBJ_ENABLE, LCDC_OBJ_SIZE, ROW_OAM, ROW_ORIGIN, STAT, VRAM
from emulator.kernels.intrinsics import I, Q, U, earlier, ld8, ld32, ld32_constant, ld128, st8, st32
from emulator.kernels.memory.address_map import is_flat
from emulator.kernels.memory.io_registers import ROW_LCDC
from emulator.kernels.ppu.frame_log import DMA_DOTS
from emulator.kernels.ppu.frame_log_writer import keep_vram_byte
from emulator.kernels.ppu.mode_timing import (
    FRAME_DOTS,
    LAST_LINE,
    LINE_DOTS,
    VBLANK_LINE,
    Found,
    cost_of_objects,
    dot_of,
    find_on_line,
    has_window,
    is_plain,
    window_seen,
)
from emulator.kernels.ppu.vram_oam_access import access_time, first_line_to_see, lcd_is_on, ppu_vram_window
from emulator.kernels.sm83.idle_loops_stat import A_CARRY_HL, turns_in
from emulator.kernels.sm83.service_requests import (
    ASK_READ,
    ASK_WRITE,
    HAS_MEMORY,
    HAS_WORD,
    MEMORY_AT,
    NO_ANSWER,
    REQUEST,
    WINDOW_AT,
    WORD_AT,
    is_wide,
)
from emulator.rom import control_rows, isa
from emulator.state.batch import Console

READ16 = control_rows.READ16
WRITE16 = control_rows.WRITE16


@wp.struct
class Answer:
    """Request as the mailbox holds it, and its answer."""

    address: wp.uint32
    operand: wp.uint32
    control: wp.uint32
    time: wp.uint32
    word: wp.uint32
    answer: wp.uint32
    memory: wp.uint32
    window: wp.uint32


@wp.struct
class Status:
    """Values computed while STAT is read."""

    value: wp.uint32  # value read; 0 if only `attend` can tell
    line: wp.int32
    x: wp.int32  # dot of the line
    end: wp.int32  # dot at which mode 3 ends; 0 if only the exact path can tell
    change: wp.int32  # dot at which STAT changes
    loop: wp.uint32  # M-cycles of a turn if the read is part of a waiting loop, else 0
    hblank: wp.bool  # ... for HBlank
    passed: wp.uint32  # M-cycles of the skipped turns
    # FF40-FF4F of the row
    registers: wp.uint32
    compare: wp.uint32
    window: wp.uint32
    rest: wp.uint32


@wp.func
def add_objects(o: wp.ref[Status], oam: Q, lcdc: int, scx: int, window_x: int):
    """Add to `o.end`, the end of mode 3, the dots that the line's objects cost."""
    found = Found()
    find_on_line(found, oam, o.line, wp.where((lcdc & LCDC_OBJ_SIZE) != 0, U(16), U(8)))
    if (found.low | found.high) != U(0):
        o.end = o.end + cost_of_objects(found, oam, scx, window_x)


@wp.func
def plain_line_end(o: wp.ref[Status], c: wp.ref[Console], mem: Q):
    """Compute the end of mode 3 of a line that is cached, or plain and without writes.

    It repeats `mode_timing.plain_end` with registers that are loaded already: the kernel that inlines that one instead
    has a few machine instructions more.
    """
    o.end = 0
    if I(c.ppu_end_line) == o.line + 1:
        o.end = I(c.ppu_end)
    elif I(c.ppu_log_line) != o.line + 1 or c.ppu_log_count <= c.ppu_log_start:
        lcdc = I(o.registers & U(0xFF))
        scx = I(o.registers >> U(24))
        wx = I(o.window >> U(24))
        window = window_seen(c, mem, o.line * LINE_DOTS + 4)
        if is_plain(lcdc, scx, wx, window):
            o.end = 256 + (scx & 7) + wp.where(has_window(lcdc, wx, window), 6, 0)
            if (lcdc & LCDC_OBJ_ENABLE) != 0:
                window_x = wp.where(has_window(lcdc, wx, window), wx + 1, 256)
                add_objects(o, mem + Q(U(ROW_OAM)), lcdc, scx, window_x)
            c.ppu_end_line = U(o.line + 1)
            c.ppu_end = U(o.end)


@wp.func
def find_loop(o: wp.ref[Status], words: Q, word: U, pc: U, rom_low: U, rom_high: U):
    """Set `o.loop` if the instruction `word` at `pc` is the first of a waiting loop that `wait_code` knows."""
    o.loop = U(0)
    o.hblank = wp.bool(False)
    if pc < U(VRAM) and (pc & U(0x3FFF)) < U(0x3FF8):
        place = words + Q(pc + wp.where(pc >= U(0x4000), rom_high, rom_low)) * Q(4)
        second = ld32_constant(place + Q(8))
        if (word & U(511)) == U(0xF0):
            third = ld32_constant(place + Q(16))
            tests = ((second & U(0x1FF)) | U(0x18)) == U(0xFE)
            if tests and (third & U(0x00FF01E7)) == U(0x00FA0020):
                o.loop = U(8)
                o.hblank = (second & U(0x00FF01FF)) == U(0x000200E6)
                o.hblank = o.hblank and (third & U(0x18)) == U(0)
        elif (word & U(0x1C7)) == U(0x146) and (second & U(0x00FF01E7)) == U(0x00FC0020):
            o.loop = U(6)
            o.hblank = (word & U(511)) == U(0x14E) and (second & U(0x18)) == U(0)


@wp.func
def see_status(o: wp.ref[Status], c: wp.ref[Console], mem: Q, t: U):
    """Compute STAT as read at `t`, with the LCD on and no OAM DMA near."""
    o.value = U(0)
    dot = dot_of(c, access_time(t))
    o.line = dot / LINE_DOTS
    o.x = dot - o.line * LINE_DOTS
    ld128(mem + Q(U(ROW_LCDC)), o.registers, o.compare, o.window, o.rest)
    calm = c.ppu_dma == U(0)
    if c.ppu_dma == U(1):
        calm = I(t * U(4) - c.ppu_dma_start) >= DMA_DOTS + 16 + LINE_DOTS
    # Line 153 shows its number for a moment only; the first dots differ by line.
    settled = o.x >= 12 or (o.x >= 5 and o.line != LAST_LINE)
    settled = settled or (o.line > 0 and o.line < VBLANK_LINE)
    calm = calm and settled and c.ppu_first == U(0) and (o.registers & U(0x80)) != U(0) and not is_flat(c)
    if calm and dot >= 0 and dot < FRAME_DOTS:
        o.end = 1
        ly = wp.where(o.line == LAST_LINE, 0, o.line)
        o.change = LINE_DOTS + wp.where(o.line < VBLANK_LINE - 1 or o.line == LAST_LINE, 3, 2)
        mode = U(1)
        if o.line < VBLANK_LINE:
            if o.x >= 84 or o.hblank:
                plain_line_end(o, c, mem)
            mode = wp.where(o.x < 84, U(2), wp.where(o.x < o.end, U(3), U(0)))
            o.change = wp.where(o.x < 84, 84, wp.where(o.x < o.end, o.end, o.change))
        if o.x < 5:
            o.change = o.x + 1
            mode = wp.where(o.x < 4, U(0), U(2))
            ly = wp.where(o.x < 3, ly - 1, wp.where(o.x == 3, -1, ly))
        if o.end != 0:
            equal = wp.where(ly == I((o.compare >> U(8)) & U(0xFF)), U(4), U(0))
            o.value = ((o.registers >> U(8)) & U(0x78)) | U(0x80) | equal | mode


@wp.func
def time_of(o: wp.ref[Status], c: wp.ref[Console], dot: int) -> U:
    """Return the first M-cycle in which a CPU access sees dot `dot` of the line."""
    return c.ppu_origin + U((o.line * LINE_DOTS + dot + 4) >> 2) + U(1)


@wp.func
def pass_mode_3(o: wp.ref[Status], c: wp.ref[Console], t: U, now: U, deadline: U):
    """Skip a loop to HBlank like `idle_loops_stat.wait_for_hblank`; set `o.value` to 0 if an event comes before."""
    hblank = time_of(o, c, o.end)
    o.passed = (turns_in(hblank - t, o.loop) + U(1)) * o.loop
    fits = I(now + o.passed - deadline) < I(0) and I(t + o.passed - U(1) - deadline) < I(0)
    o.value = wp.where(I(hblank - t) > I(0) and fits, o.value & U(0xFC), U(0))


@wp.func
def after_turns(o: wp.ref[Status], hi: U) -> U:
    """Return `hi` with A and F as the skipped turns leave them."""
    masks = o.loop == U(8)
    kept = (hi & wp.where(masks, U(0xFFFF), A_CARRY_HL)) | U(0x200000)
    return wp.where(o.passed != U(0), kept | wp.where(masks, U(0x02000000), U(0)), hi)


@wp.func
def read_in_loop(o: wp.ref[Status], c: wp.ref[Console], mem: Q, t: U, now: U, deadline: U, stable: U) -> U:
    """Read STAT at `t` for the instruction at `now`, after skipping turns of a loop that waits for HBlank.

    `o.value` becomes the value, or 0 if only `attend` can compute it. Returns the time until which it stays the same,
    `stable` at most.
    """
    o.value = U(0)
    o.passed = U(0)
    until = stable
    if o.loop == U(0) or o.hblank:
        see_status(o, c, mem, t)
        if o.value != U(0):
            until = earlier(stable, time_of(o, c, o.change))
            if o.hblank and (o.value & U(2)) != U(0):
                pass_mode_3(o, c, t, now, deadline)
    return until


@wp.func
def window_after(c: wp.ref[Console], mem: Q, now: U, status: U) -> U:
    """Return the time until which VRAM is accessed directly, after the instruction at `now` read STAT `status`."""
    window = now
    if (c.ppu_drafting | c.ppu_finished | c.dma_state) == U(0):
        window = ppu_vram_window(c, mem, now + U(3), status)
    return window


@wp.func
def answer_status(o: wp.ref[Answer], c: wp.ref[Console], mem: Q, words: Q, idle_skip: U):
    """Answer a request to read STAT for the instruction at PC; a loop that waits for HBlank is skipped."""
    s = Status()
    s.loop = U(0)
    s.hblank = wp.bool(False)
    t = c.now + ((o.control >> U(control_rows.READ_CYCLE_SHIFT)) & U(7))
    if idle_skip != U(0):
        find_loop(s, words, o.word, c.pc, c.rom_low, c.rom_high)
    stable = read_in_loop(s, c, mem, t, c.now, c.deadline, c.stable)
    if s.value != U(0):
        c.stable = stable
        c.now = c.now + s.passed
        c.hi = after_turns(s, c.hi)
        o.answer = U(HAS_WORD | HAS_MEMORY)
        o.memory = s.value
        o.window = window_after(c, mem, c.now, s.value)


@wp.func
def keep_old_byte(c: wp.ref[Console], mem: Q, offset: U, t: U) -> wp.bool:
    """Log the VRAM byte at `offset` that a store at `t` replaces, for pictures that are not drawn yet.

    Returns False if VRAM may be blocked, or if only `attend` can log it.
    """
    dot = dot_of(c, access_time(t))
    line = dot / LINE_DOTS
    x = dot - line * LINE_DOTS
    done = lcd_is_on(mem) and c.ppu_first == U(0) and dot >= 0 and dot < FRAME_DOTS
    over = x >= 256 and I(c.ppu_end_line) == line + 1 and x >= I(c.ppu_end)
    if done and (line >= VBLANK_LINE or x < 84 or over):
        old = I(ld8(mem + Q(offset)))
        done = keep_vram_byte(c, mem, I(offset), first_line_to_see(line, x, 89), old)
    else:
        done = wp.bool(False)
    return done


@wp.func
def answer_store(o: wp.ref[Answer], c: wp.ref[Console], mem: Q):
    """Answer a request to store a byte to VRAM, if VRAM is accessible."""
    t = o.time + ((o.control >> U(control_rows.WRITE_CYCLE_SHIFT)) & U(7))
    offset = o.address - U(ROW_ORIGIN)
    plain = c.dma_state == U(0) and not is_flat(c)
    if plain:
        o.window = c.now
        if (c.ppu_drafting | c.ppu_finished) != U(0):
            plain = keep_old_byte(c, mem, offset, t)
        else:
            o.window = ppu_vram_window(c, mem, t, U(0))
            plain = I(o.window - t) >= I(0)
        if plain:
            st8(mem + Q(offset), o.operand)
            o.answer = U(0)


@wp.func
def answer_quickly(c: wp.ref[Console], mem: Q, p: Q, words: Q, asked: U, idle_skip: U) -> U:
    """Answer a request to read STAT or to store to VRAM; NO_ANSWER for any other, or if only `attend` can.

    `p`: address of the mailbox.
    """
    o = Answer()
    o.answer = NO_ANSWER
    if asked == U(ASK_READ) or asked == U(ASK_WRITE):
        ld128(p + Q(U(REQUEST)), o.address, o.operand, o.control, o.time)
        o.word = ld32(p + Q(U(WORD_AT)))
        calm = I(c.deadline - c.now) > I(isa.LONGEST) and (c.fast >> U(31)) == U(0)
        calm = calm and not is_wide(o.control)
        if calm and asked == U(ASK_READ) and o.address == U(STAT):
            answer_status(o, c, mem, words, idle_skip)
        elif calm and asked == U(ASK_WRITE) and (o.address & U(0xE000)) == U(VRAM):
            answer_store(o, c, mem)
        if o.answer != NO_ANSWER:
            st32(p + Q(U(WINDOW_AT)), o.window)
            st32(p + Q(U(MEMORY_AT)), o.memory)
    return o.answer
