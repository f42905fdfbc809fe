"""Registers of the CPU while it runs, and their transfer between hot loop and service.

Values that are assigned inside an `if` live in fields of `Registers`: a plain local would become a variable
of the whole loop and cost a machine register for good.
"""

import warp as wp

from emulator.constants import P1, ROW_ORIGIN, VRAM
from emulator.kernels.intrinsics import (
    ALL_ONES,
    I,
    Q,
    U,
    earlier,
    ld8,
    ld32_constant_if,
    ld128,
    ld128_constant,
    row_address,
    st128,
)
from emulator.kernels.io.joypad import SETTLED
from emulator.kernels.ppu.stat_interrupt import FAST_VRAM
from emulator.kernels.ppu.vram_oam_access import STATUS_MARGIN, STATUS_PLAIN
from emulator.kernels.sm83.service_requests import DONE, HAS_MEMORY, HAS_WORD, KIND_DUE, KIND_SHIFT, REPLY, SEEN
from emulator.rom import control_rows, isa
from emulator.state.batch import Batch, Console

READ = control_rows.READ
READ16 = control_rows.READ16
IDLE = control_rows.IDLE
ROWS = control_rows.ROWS
UNREADY = control_rows.SLOW_FETCH  # of a word: it has not been fetched, or needs more than the predecoded ROM

P1_PAGE = 9
FAST_P1 = 1 << P1_PAGE  # of `fast`: P1 is a page of its own, for reads
NOT_P1 = 0xFFFFFFFF ^ FAST_P1
PLAIN_IO = 0x0FED  # FF40-FF4B without STAT and LY: reads return their bytes in memory unchanged
STATUS_BIT = 2  # STAT, among those bits


@wp.struct
class Registers:
    """CPU state while instructions run; after inlining it is held in machine registers."""

    lo: wp.uint32
    hi: wp.uint32
    sp: wp.uint32
    pc: wp.uint32
    now: wp.uint32
    deadline: wp.uint32  # this lane stops here: an event is due, or VRAM closes
    due: wp.uint32
    fast: wp.uint32
    io: wp.uint32  # a bit for each of FF40-FF4B that the data path reads as it lies in memory
    rom_low: wp.uint32
    rom_high: wp.uint32
    ram_offset: wp.uint32
    # Idle-loop skipping: the last backward branch watched, and the time until which reads stay the same
    seen_lo: wp.uint32
    seen_hi: wp.uint32
    seen_place: wp.uint32
    seen_time: wp.uint32
    stable: wp.uint32
    vram_until: wp.uint32  # last M-cycle in which VRAM is plain memory
    work: wp.uint32
    # The next instruction: its predecoded word, or UNREADY, and its control row
    word: wp.uint32
    held: wp.uint32  # the word of the instruction that asks for its operand
    w0: wp.uint32
    w1: wp.uint32
    w2: wp.uint32
    w3: wp.uint32
    w4: wp.uint32
    w5: wp.uint32
    w6: wp.uint32
    w7: wp.uint32
    w8: wp.uint32
    w9: wp.uint32
    w10: wp.uint32
    w11: wp.uint32
    # Scratch
    memory: wp.uint32
    # Request to `attend` (ASK_*), and READ | READ16 if it has left the memory operand
    asked: wp.uint32
    given: wp.uint32
    trip: wp.uint32
    posted: wp.uint32
    running: wp.uint32
    together: wp.uint32
    mem: wp.uint64
    paged: wp.uint32  # 1 once the pages of threaded code are those of this console


@wp.struct
class Bases:
    """Machine addresses of constant data, the same for all lanes."""

    rom: wp.uint64
    words: wp.uint64
    control: wp.uint64
    scratch: wp.uint32
    idle_skip: wp.uint32


@wp.func(inline=True)
def find_bases(b: wp.ref[Bases], batch: wp.ref[Batch], idle_skip: U):
    b.rom = batch.rom_base
    b.words = batch.words_base
    b.control = batch.control_base
    b.scratch = batch.scratch
    b.idle_skip = idle_skip


@wp.func(inline=True)
def load_word(r: wp.ref[Registers], b: wp.ref[Bases]):
    """Load the predecoded word at PC into `r.word`; UNREADY if PC is outside ROM."""
    bank = wp.where(r.pc >= U(0x4000), r.rom_high, r.rom_low)
    in_rom = wp.where(r.pc < U(VRAM), U(1), U(0))
    r.word = ld32_constant_if(b.words + Q(r.pc + bank) * Q(4), U(UNREADY), in_rom)


@wp.func(inline=True)
def load_row(r: wp.ref[Registers], b: wp.ref[Bases]):
    """Load the control row of the next instruction; for a waiting console a row that does nothing.

    So no lane of a warp diverges.
    """
    row = row_address(b.control, wp.where(goes_on(r), r.word & U(ROWS - 1), U(IDLE)))
    ld128_constant(row, r.w0, r.w1, r.w2, r.w3)
    ld128_constant(row + Q(16), r.w4, r.w5, r.w6, r.w7)
    ld128_constant(row + Q(32), r.w8, r.w9, r.w10, r.w11)


@wp.func(inline=True)
def load_registers(r: wp.ref[Registers], c: wp.ref[Console]):
    r.lo = c.lo
    r.hi = c.hi
    r.sp = c.sp
    r.pc = c.pc
    r.now = c.now
    r.deadline = c.deadline
    r.fast = c.fast
    r.rom_low = c.rom_low
    r.rom_high = c.rom_high
    r.ram_offset = c.ram_offset


@wp.func(inline=True)
def begin(r: wp.ref[Registers], c: wp.ref[Console], b: wp.ref[Bases]):
    load_registers(r, c)
    fall_due(r)  # attend first
    # No branch seen yet: a skip needs two equal visits with stable reads between.
    r.seen_lo = U(0)
    r.seen_hi = U(0)
    r.seen_place = U(0)
    r.seen_time = c.now
    r.stable = c.now
    r.vram_until = c.now
    r.io = U(0)
    r.work = U(0)
    r.asked = U(0)
    r.given = U(0)
    r.trip = U(0)
    r.posted = U(0)
    r.word = U(UNREADY)
    r.held = U(0)
    r.memory = U(0)
    load_row(r, b)


@wp.func(inline=True)
def goes_on(r: wp.ref[Registers]) -> wp.bool:
    """Return whether the console can execute: `now` is before the deadline, which a request sets to `now`."""
    return I(r.deadline - r.now) > I(0)


@wp.func(inline=True)
def fall_due(r: wp.ref[Registers]):
    """Set the deadline to the present time, because an event is due."""
    r.due = r.now
    r.deadline = r.now


@wp.func(inline=True)
def vram_closes(r: wp.ref[Registers]) -> U:
    """Return the deadline that holds while VRAM is accessed directly."""
    return earlier(r.vram_until, r.due) - U(isa.LONGEST - 1)


@wp.func(inline=True)
def open_vram(r: wp.ref[Registers]):
    """Allow direct VRAM access to instructions that end before VRAM is blocked, and before an event is due."""
    closes = vram_closes(r)
    if I(closes - r.now) > I(0):
        r.fast = r.fast | FAST_VRAM
        r.deadline = closes


@wp.func(inline=True)
def open_io(r: wp.ref[Registers]):
    """Allow direct reads of picture registers, STAT and P1 if the memory row holds their read values.

    That holds for instructions that end before a value changes and before an event is due. Call it after `take_back`.
    """
    bits = U(PLAIN_IO)
    until = r.due
    if (r.fast & STATUS_PLAIN) != U(0):
        bits = bits | U(STATUS_BIT)
        until = earlier(until, r.vram_until - U(STATUS_MARGIN))
    until = until - U(isa.LONGEST - 1)
    slow = (r.fast >> U(31)) != U(0)
    if goes_on(r) and not slow and I(until - r.now) > I(0):
        r.io = bits
        r.fast = r.fast | settled_p1(r)
        r.deadline = earlier(r.deadline, until)


@wp.func(inline=True)
def settled_p1(r: wp.ref[Registers]) -> U:
    """Return the bit of `fast` that allows direct reads of P1, or 0 if the memory row lacks its read value."""
    return wp.where((ld8(r.mem + Q(U(P1 - ROW_ORIGIN))) & U(SETTLED)) != U(0), U(FAST_P1), U(0))


@wp.func(inline=True)
def open_p1(r: wp.ref[Registers]):
    """Allow or forbid direct reads of P1 after an access to it, if `open_io` holds."""
    if r.io != U(0):
        r.fast = (r.fast & U(NOT_P1)) | settled_p1(r)


@wp.func(inline=True)
def close_io(r: wp.ref[Registers]) -> wp.bool:
    """Forbid the direct reads that `open_io` allowed; return whether the console can now go on.

    It can if it waited only because a value was about to change.
    """
    was = r.io
    r.io = U(0)
    r.fast = r.fast & U(NOT_P1)
    if (was & U(STATUS_BIT)) != U(0):
        r.stable = earlier(r.stable, r.vram_until - U(STATUS_MARGIN))
    if was != U(0) and r.asked == U(0) and I(r.due - r.now) > I(0):
        r.deadline = r.due
        if (r.fast & FAST_VRAM) != U(0):
            r.deadline = vram_closes(r)
    return goes_on(r)


@wp.func(inline=True)
def close_vram(r: wp.ref[Registers]) -> wp.bool:
    """Forbid direct VRAM access if the console waits only because VRAM gets blocked; return whether it goes on."""
    if r.asked == U(0) and I(r.due - r.now) > I(0):
        r.fast = r.fast & (ALL_ONES ^ FAST_VRAM)
        r.deadline = r.due
    return goes_on(r)


@wp.func(inline=True)
def wait_if_asked(r: wp.ref[Registers]):
    """Stop the console by its deadline if it has left a request."""
    if r.asked != U(0):
        r.deadline = r.now


@wp.func(inline=True)
def request_kind(r: wp.ref[Registers]) -> U:
    """Return the kind, 1 to 15, of a waiting console's request; KIND_DUE if it only waits for an event."""
    return wp.max(r.asked >> U(KIND_SHIFT), U(KIND_DUE))


@wp.func(inline=True)
def hand_over(r: wp.ref[Registers], c: wp.ref[Console], b: wp.ref[Bases]):
    """Store registers and request in the console record and mailbox for `serve`, which may run in another thread."""
    c.lo = r.lo
    c.hi = r.hi
    c.sp = r.sp
    c.pc = r.pc
    c.now = r.now
    c.work = r.work
    c.stable = r.stable
    p = r.mem + Q(b.scratch)
    st128(p + Q(U(SEEN)), r.seen_lo, r.seen_hi, r.seen_place, r.seen_time)
    st128(p + Q(U(REPLY)), r.held, U(0), r.vram_until, r.asked & U(0xFF))


@wp.func(inline=True)
def take_back(r: wp.ref[Registers], c: wp.ref[Console], b: wp.ref[Bases]):
    """Load registers and answer from the console record and mailbox after `serve`."""
    load_registers(r, c)
    r.stable = c.stable
    p = r.mem + Q(b.scratch)
    ld128(p + Q(U(SEEN)), r.seen_lo, r.seen_hi, r.seen_place, r.seen_time)
    ld128(p + Q(U(REPLY)), r.word, r.memory, r.vram_until, r.given)
    r.asked = r.given & DONE
    # The answer is for the next instruction, whatever is due. Where code cannot be fetched plainly (bit 31 of
    # `fast`), each instruction is followed by a request.
    slow = (r.fast >> U(31)) != U(0)
    if r.given != U(0) and (I(r.deadline - r.now) <= I(0) or slow):
        r.deadline = r.now + U(1)
    r.due = r.deadline
    if not slow and (r.fast & FAST_VRAM) == U(0):
        open_vram(r)
    wait_if_asked(r)
    if (r.given & U(HAS_WORD)) == U(0):
        load_word(r, b)
    r.given = wp.where((r.given & U(HAS_MEMORY)) != U(0), U(READ | READ16), U(0))
