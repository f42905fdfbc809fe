"""What an instruction does off the uniform path: one call per trip, at the boundary.

The hot loop (kernels/cpu.py) never calls anything while it holds an instruction's values in machine
registers: it writes a request to the memory row, and `attend` does whatever is due before the next
trip. Otherwise every value that lives across a call would live in memory, on the hot path too.
"""

import warp as wp

from emulator import isa
from emulator.kernels.bus import (
    OAM_BUG_READ,
    OAM_BUG_READ_INCREASE,
    OAM_BUG_WRITE,
    bus_read,
    bus_write,
    io_write,
)
from emulator.kernels.events import catch_up, set_deadline
from emulator.kernels.interrupts import HALT, control_op, halt_plainly, service
from emulator.kernels.intrinsics import FAR, I, Q, U, earlier, ld8, ld32, st8, st32, st128
from emulator.kernels.mapper import mapper_write, update_map
from emulator.kernels.memory import address_in, is_flat
from emulator.kernels.ppu import ppu_hblank, ppu_status
from emulator.kernels.ppu_access import ppu_vram_window, vram_access_here
from emulator.kernels.ppu_oam import ppu_oam_bug
from emulator.kernels.waiting import skip_countdown, write_dma_and_wait
from emulator.machine import Console

HL_FROM_ADDRESS = isa.HL_FROM_ADDRESS
READ16 = isa.READ16
WRITE16 = isa.WRITE16
ASCENDING = isa.ASCENDING
COUNTDOWN = 0x400  # bit of a fetched word: 'dec a; jr nz' at work in RAM
WORD = wp.constant(wp.uint32(0xFFFF))
WAIT_BY_MASK = wp.constant(wp.uint32(0xFA2002E6))  # 'and 2; jr nz, -6'
WAIT_BY_BIT = 0xFC20  # 'jr nz, -4'
A_CARRY_HL = wp.constant(wp.uint32(0xFF10FFFF))  # of Console.hi
DEC_A_JR = wp.constant(wp.uint32(0xFD20003D))

# Requests of the hot loop.
ASK_FETCH = 1  # the word at PC
ASK_READ = 2  # the memory operand; the instruction then starts over with it
ASK_WRITE = 4  # the store of the instruction just executed
ASK_OAM_BUG = 8  # INC/DEC of a pair that may have pointed into OAM
ASK_CONTROL = 16  # HALT and the like, just executed

# Answers of `attend`.
HAS_WORD = 1
HAS_MEMORY = 2
DONE = wp.constant(wp.uint32(0x80000000))  # the launch is over; in Registers.asked as well

# When to look how long VRAM is open: at the boundary, or for the accesses after an operand's read.
LOOK_NOW = 1
LOOK_LATER = 2

# Where a request and the hot loop's own values lie in the row's padding (Machine.scratch).
ASKED = 0  # address, value, control bits, time
SEEN = 16  # Registers.seen_*
ANSWER = 32  # word, memory operand, Registers.vram_until, what is asked and then the answer
WORD_AT = 32
MEMORY_AT = 36
WINDOW_AT = 40
ANSWER_AT = 44


@wp.func
def slow_kind(ctl: U) -> U:
    """What an instruction off the uniform path is (isa.SLOW_KINDS)."""
    return (ctl >> U(24)) & U(15)


@wp.struct
class CpuLocals:
    word: wp.uint32
    row: wp.uint32
    length: wp.uint32
    immediate: wp.uint32
    value: wp.uint32
    turns: wp.uint32
    answer: wp.uint32
    look: wp.uint32


@wp.func
def fast_bits(fast: U, a: U) -> U:
    """Bit 0: a read of `a` needs no call; bit 16: neither does a write."""
    return fast >> wp.where(a - U(0xFF80) < U(0x7F), U(8), a >> U(13))


@wp.func
def fetched(first: U, second: U, third: U) -> U:
    """Predecoded word of three code bytes, as isa.predecode makes it."""
    immediate = wp.where((first & U(0xC7)) == U(0xC7), first & U(0x38), second | (third << U(8)))
    plain = first | (immediate << U(16))
    return wp.where(first == U(0xCB), U(256) + second, plain)


@wp.func(inline=False)
def fetch_from_bus(c: wp.ref[Console], mem: Q, rom: Q, control: Q, pc: U, now: U) -> U:
    """Fetch byte by byte, each in its own M-cycle; leaves `c.stable` for idle skipping."""
    o = CpuLocals()
    second_pc = (pc + U(1)) & WORD
    first = bus_read(c, mem, rom, pc, now + U(1), U(OAM_BUG_READ_INCREASE))
    stable = c.stable
    o.row = first
    o.immediate = U(0)
    o.length = (ld32(control + Q(first * U(4 * isa.ROW_WORDS) + U(28))) >> U(8)) & U(255)
    if c.halt_bug != U(0):
        # The PC did not advance over the opcode: operands begin with the same byte.
        c.halt_bug = U(0)
        update_map(c)
        second_pc = pc
    if first == U(0xCB):
        o.row = U(256) + bus_read(c, mem, rom, second_pc, now + U(2), U(OAM_BUG_READ_INCREASE))
        stable = earlier(stable, c.stable)
    elif (first & U(0xC7)) == U(0xC7):
        o.immediate = first & U(0x38)
    elif o.length >= U(2):
        o.immediate = bus_read(c, mem, rom, second_pc, now + U(2), U(OAM_BUG_READ_INCREASE))
        stable = earlier(stable, c.stable)
        if o.length >= U(3):
            third_pc = (second_pc + U(1)) & WORD
            third = bus_read(c, mem, rom, third_pc, now + U(3), U(OAM_BUG_READ_INCREASE))
            o.immediate = o.immediate | (third << U(8))
            stable = earlier(stable, c.stable)
    c.stable = stable
    return o.row | (o.immediate << U(16))


@wp.func(inline=False)
def fetch_slow(c: wp.ref[Console], mem: Q, rom: Q, control: Q, pc: U, now: U) -> U:
    """Fetch from RAM, or under any condition that the predecoded ROM words do not cover."""
    o = CpuLocals()
    last = pc + U(2)
    same_page = (pc >> U(13)) == (last >> U(13)) and (pc >= U(0xFF80)) == (last >= U(0xFF80))
    quick = same_page and (fast_bits(c.fast, pc) & fast_bits(c.fast, last) & U(1)) != U(0)
    if quick and c.halt_bug == U(0):
        p = address_in(c, mem, rom, pc)
        o.word = fetched(ld8(p), ld8(p + Q(1)), ld8(p + Q(2)))
        c.stable = now + FAR
        if o.word == DEC_A_JR:
            o.word = o.word | U(COUNTDOWN)
    else:
        o.word = fetch_from_bus(c, mem, rom, control, pc, now)
    return o.word


@wp.func
def left_on_bus(pc: U, word: U, cycle: U) -> U:
    """Data that a read in M-cycle `cycle` of an instruction finds where nobody drives the bus.

    It is the code byte fetched one M-cycle before: a byte lasts no longer, and only code outside
    VRAM and HRAM comes over this bus (https://gbdev.io/pandocs/MBCs.html: open bus).
    """
    fetched_now = wp.where((word & U(256)) != U(0), U(3), U(2))
    byte = wp.where(cycle == fetched_now, word & U(255), U(0xFF))
    byte = wp.where(cycle == U(4), word >> U(24), byte)
    return wp.where((pc & U(0xE000)) == U(0x8000) or pc >= U(0xFF00), U(0xFF), byte)


@wp.func(inline=False)
def slow_read(c: wp.ref[Console], mem: Q, rom: Q, a: U, ctl: U, now: U) -> U:
    """The instruction's memory operand through the bus, low byte first, one M-cycle each."""
    o = CpuLocals()
    t = now + ((ctl >> U(isa.READ_CYCLE_SHIFT)) & U(7))
    adjusts = (ctl & U(HL_FROM_ADDRESS)) != U(0)
    bug = wp.where(adjusts, U(OAM_BUG_READ_INCREASE), U(OAM_BUG_READ))
    o.value = bus_read(c, mem, rom, a, t, bug)
    c.open_bus = U(0xFF)
    if (ctl & U(READ16)) != U(0):
        stable = c.stable
        high = bus_read(c, mem, rom, (a + U(1)) & WORD, t + U(1), bug)
        o.value = o.value | (high << U(8))
        c.stable = earlier(stable, c.stable)
    return o.value


@wp.func
def answer_write(c: wp.ref[Console], mem: Q, rom: Q, a: U, value: U, ctl: U, now: U, idle_skip: U):
    """The store of an instruction. A byte for a register, the mapper or VRAM, with nothing due
    before, takes no detour over the bus."""
    t = now + ((ctl >> U(isa.WRITE_CYCLE_SHIFT)) & U(7))
    calm = (ctl & U(WRITE16)) == U(0) and I(t - U(1) - c.deadline) < I(0) and not is_flat(c)
    if calm and a == U(0xFF46) and c.dma_state == U(0) and idle_skip != U(0):
        write_dma_and_wait(c, mem, rom, value & U(255), t)
    elif calm and a >= U(0xFF00):
        if io_write(c, mem, rom, a & U(255), value & U(255), t) != U(0):
            set_deadline(c, mem, t)
    elif calm and a < U(0x8000) and c.dma_state == U(0):
        mapper_write(c, a, value & U(255), t - U(1))
    elif calm and (a & U(0xE000)) == U(0x8000) and c.dma_state == U(0):
        if vram_access_here(c, mem, a, t, U(1)) != U(0):
            st8(mem + Q(a - U(0x8000)), value & U(255))
    else:
        slow_write(c, mem, rom, a, value, ctl, t)


@wp.func(inline=False)
def slow_write(c: wp.ref[Console], mem: Q, rom: Q, a: U, value: U, ctl: U, t: U):
    """Store through the bus. Pushes write the high byte first, LD (n16), SP the low one."""
    low = value & U(255)
    high = (value >> U(8)) & U(255)
    next_a = (a + U(1)) & WORD
    if (ctl & U(WRITE16)) == U(0):
        bus_write(c, mem, rom, a, low, t)
    elif (ctl & U(ASCENDING)) != U(0):
        bus_write(c, mem, rom, a, low, t)
        bus_write(c, mem, rom, next_a, high, t + U(1))
    else:
        # SP itself is decremented first, and may point into OAM before.
        if ((a + U(2)) & U(0xFF00)) == U(0xFE00):
            ppu_oam_bug(c, mem, t - U(1), U(OAM_BUG_WRITE))
        bus_write(c, mem, rom, next_a, high, t)
        bus_write(c, mem, rom, a, low, t + U(1))


@wp.func(inline=False)
def inc_dec_oam_bug(c: wp.ref[Console], mem: Q, rom: Q, before: U, t: U):
    """INC/DEC of a pair that points into OAM corrupts it during mode 2."""
    if (before & U(0xFF00)) == U(0xFE00) and not is_flat(c):
        if I(t - U(1) - c.deadline) >= I(0):
            catch_up(c, mem, rom, t - U(1))
        ppu_oam_bug(c, mem, t, U(OAM_BUG_WRITE))


@wp.func
def answer_fetch(c: wp.ref[Console], mem: Q, rom: Q, control: Q, scratch: Q, idle_skip: U):
    """Leave the word at PC in the row; step over the byte that the HALT bug repeats."""
    skipped = c.halt_bug
    word = fetch_slow(c, mem, rom, control, c.pc, c.now)
    c.pc = (c.pc - skipped) & WORD
    if (word & U(COUNTDOWN)) != U(0) and idle_skip != U(0):
        skip_countdown(c)
    st32(scratch + Q(U(WORD_AT)), word)


@wp.struct
class WaitLocals:
    taken: wp.bool
    zero: wp.bool
    carry: wp.bool
    flags: wp.uint32
    a: wp.uint32
    value: wp.uint32
    stable: wp.uint32
    period: wp.uint32
    code: wp.uint32
    turns: wp.uint32


@wp.func
def wait_code(c: wp.ref[Console], mem: Q, rom: Q, word: U) -> U:
    """The four bytes after the read of a loop that waits for an I/O register, or 0 if it is none:

    'ldh a, (n8); and or cp n8; jr cc, -6' or 'bit b, (hl); jr cc, -4', in ROM.
    """
    o = WaitLocals()
    o.code = U(0)
    if c.pc < U(0x8000) and (c.pc & U(0x3FFF)) < U(0x3FF8) and (c.fast >> U(31)) == U(0):
        p = address_in(c, mem, rom, c.pc + U(2))
        code = (
            ld8(p) | (ld8(p + Q(1)) << U(8)) | (ld8(p + Q(2)) << U(16)) | (ld8(p + Q(3)) << U(24))
        )
        jump = code
        if (word & U(511)) == U(0xF0) and ((code & U(0xFF)) | U(0x18)) == U(0xFE):
            jump = code >> U(16)
        short = (word & U(0x1C7)) == U(0x146) and (jump & U(0xFF00)) == U(0xFC00)
        if short or (jump != code and (jump & U(0xFF00)) == U(0xFA00)):
            if (jump & U(0xE7)) == U(0x20):
                o.code = code
    return o.code


@wp.func
def test_value(o: wp.ref[WaitLocals], c: wp.ref[Console], word: U):
    """A, F and the jump of one turn of a waiting loop that has read `o.value`."""
    n = (o.code >> U(8)) & U(255)
    jump = o.code
    o.a = c.hi >> U(24)
    o.carry = (c.hi & U(0x100000)) != U(0)
    if (word & U(0x100)) != U(0):
        o.zero = ((o.value >> ((word >> U(3)) & U(7))) & U(1)) == U(0)
        o.flags = U(0x20) | wp.where(o.carry, U(0x10), U(0))
    elif (o.code & U(0xFF)) == U(0xE6):
        jump = o.code >> U(16)
        o.a = o.value & n
        o.zero = o.a == U(0)
        o.carry = wp.bool(False)
        o.flags = U(0x20)
    else:
        jump = o.code >> U(16)
        o.a = o.value
        o.zero = o.value == n
        o.carry = o.value < n
        half = wp.where((o.value & U(15)) < (n & U(15)), U(0x20), U(0))
        o.flags = U(0x40) | half | wp.where(o.carry, U(0x10), U(0))
    condition = wp.where((jump & U(0x10)) != U(0), o.carry, o.zero)
    o.taken = condition == ((jump & U(8)) != U(0))
    o.flags = o.flags | wp.where(o.zero, U(0x80), U(0))


@wp.func
def read_status(c: wp.ref[Console], mem: Q, rom: Q, a: U, ctl: U) -> U:
    """The operand LY or STAT of the instruction at `c.now`, past the bus if nothing is due."""
    o = CpuLocals()
    t = c.now + ((ctl >> U(isa.READ_CYCLE_SHIFT)) & U(7))
    plain = (ctl & U(READ16)) == U(0) and not is_flat(c)
    if plain and I(t - U(1) - c.deadline) < I(0):
        o.value = ppu_status(c, mem, a & U(0xFF), t)
    else:
        o.value = slow_read(c, mem, rom, a, ctl, c.now)
    return o.value


@wp.func
def turns_in(span: U, period: U) -> U:
    """Whole turns of 6 or 8 M-cycles that end before `span` has passed."""
    turns = wp.where(period == U(6), (span - U(1)) / U(6), (span - U(1)) >> U(3))
    return wp.min(turns, U(0xFFFF))


@wp.func
def wait_for_hblank(o: wp.ref[WaitLocals], c: wp.ref[Console], mem: Q, ctl: U, word: U) -> wp.bool:
    """The commonest wait, for bit 1 of STAT to fall, in one step; False if something intervenes.

    'ldh a, (41); and 2; jr nz, -6' or 'bit 1, (hl); jr nz, -4', which has read mode 2 or 3. Every
    turn up to the one that reads mode 0 leaves the same A and F.
    """
    o.taken = wp.bool(False)
    masks = (word & U(511)) == U(0xF0) and o.code == WAIT_BY_MASK
    tests = (word & U(511)) == U(0x14E) and (o.code & WORD) == U(WAIT_BY_BIT)
    if (masks or tests) and (o.value & U(2)) != U(0):
        t = c.now + ((ctl >> U(isa.READ_CYCLE_SHIFT)) & U(7))
        hblank = ppu_hblank(c, mem, t)
        turns = turns_in(hblank - t, o.period) + U(1)
        ready = c.now + turns * o.period
        fits = I(ready - c.deadline) < I(0) and I(t + turns * o.period - U(1) - c.deadline) < I(0)
        if hblank != U(0) and I(hblank - t) > I(0) and fits:
            c.now = ready
            c.hi = (c.hi & wp.where(masks, U(0xFFFF), A_CARRY_HL)) | U(0x200000)
            c.hi = c.hi | wp.where(masks, U(0x02000000), U(0))
            o.value = o.value & U(0xFC)
            o.taken = wp.bool(True)
    return o.taken


@wp.func(inline=False)
def wait_for_register(c: wp.ref[Console], mem: Q, rom: Q, a: U, ctl: U, word: U, first: U) -> U:
    """Run a waiting loop up to the turn that leaves it, or as far as the deadline allows.

    `first` is what the turn at `c.now` reads; returns what the turn at the new `c.now` reads. A
    turn may be passed over if its read falls before `c.stable`, and if no boundary in it comes at
    or after the deadline.
    """
    o = WaitLocals()
    o.code = wait_code(c, mem, rom, word)
    o.value = first
    o.stable = c.stable
    o.period = wp.where((word & U(0x100)) != U(0), U(6), U(8))
    o.taken = o.code != U(0)
    if o.taken and a == U(0xFF41) and (ctl & U(READ16)) == U(0) and not is_flat(c):
        o.taken = not wait_for_hblank(o, c, mem, ctl, word)
    while o.taken:
        test_value(o, c, word)
        t = c.now + ((ctl >> U(isa.READ_CYCLE_SHIFT)) & U(7))
        o.turns = U(0)
        if o.taken and I(c.deadline - c.now) > I(0):
            o.turns = turns_in(c.deadline - c.now, o.period)
            same = U(0)
            if I(c.stable - t) > I(1):
                same = turns_in(c.stable - t, o.period)
            o.turns = wp.min(o.turns, same + U(1))
        o.taken = o.turns != U(0)
        if o.taken:
            c.now = c.now + o.turns * o.period
            c.hi = (c.hi & U(0xFFFF)) | (o.flags << U(16)) | (o.a << U(24))
            o.value = read_status(c, mem, rom, a, ctl)
            o.stable = earlier(o.stable, c.stable)
    c.stable = o.stable
    return o.value


@wp.func
def answer_read(c: wp.ref[Console], mem: Q, rom: Q, scratch: Q, stable: U, idle_skip: U) -> U:
    """Leave the memory operand in the scratch bytes. Returns LOOK_LATER if VRAM may open, or 0."""
    o = CpuLocals()
    a = ld32(scratch + Q(U(ASKED)))
    ctl = ld32(scratch + Q(U(ASKED + 8)))
    word = ld32(scratch + Q(U(WORD_AT)))
    status = a == U(0xFF41) or a == U(0xFF44)
    if status:
        o.value = read_status(c, mem, rom, a, ctl)
    else:
        c.open_bus = left_on_bus(c.pc, word, (ctl >> U(isa.READ_CYCLE_SHIFT)) & U(7))
        o.value = slow_read(c, mem, rom, a, ctl, c.now)
    if status and idle_skip != U(0):
        o.value = wait_for_register(c, mem, rom, a, ctl, word, o.value)
    c.stable = earlier(stable, c.stable)
    st32(scratch + Q(U(MEMORY_AT)), o.value)
    asks_vram = status or (a & U(0xE000)) == U(0x8000)
    return wp.where(asks_vram, U(LOOK_LATER), U(0))


@wp.func
def finish(c: wp.ref[Console], mem: Q, rom: Q, scratch: Q, asked: U, idle_skip: U) -> U:
    """What the instruction just executed still has to do. Returns LOOK_NOW if VRAM may have opened
    or closed, else 0."""
    o = CpuLocals()
    o.look = U(0)
    a = ld32(scratch + Q(U(ASKED)))
    value = ld32(scratch + Q(U(ASKED + 4)))
    ctl = ld32(scratch + Q(U(ASKED + 8)))
    t = ld32(scratch + Q(U(ASKED + 12)))
    if (asked & U(ASK_WRITE)) != U(0):
        answer_write(c, mem, rom, a, value, ctl, t, idle_skip)
        if (a & U(0xE000)) == U(0x8000) or a - U(0xFF3F) < U(7):
            o.look = U(LOOK_NOW)  # VRAM, LCDC, STAT or LYC was written
    if (asked & U(ASK_OAM_BUG)) != U(0):
        inc_dec_oam_bug(c, mem, rom, a, c.now)
    if (asked & U(ASK_CONTROL)) != U(0):
        if slow_kind(ctl) != U(HALT) or not halt_plainly(c, mem, c.now):
            c.pc = control_op(c, mem, rom, slow_kind(ctl), c.now, c.pc, value)
    return o.look


@wp.func(inline=True)
def attend(
    c: wp.ref[Console],
    mem: Q,
    rom: Q,
    control: Q,
    scratch: Q,
    asked: U,
    stable: U,
    idle_skip: U,
) -> U:
    """Do what is due at a boundary, or what the instruction at PC asked for.

    The registers are in `c`. Events and interrupts come first, then the opcode of an instruction
    that cannot be fetched from predecoded ROM. Returns HAS_WORD, HAS_MEMORY, DONE.
    """
    o = CpuLocals()
    o.answer = U(0)
    o.look = U(0)
    if (asked & U(ASK_READ)) != U(0):
        o.look = answer_read(c, mem, rom, scratch, stable, idle_skip)
        o.answer = U(HAS_WORD | HAS_MEMORY)
    else:
        if asked > U(ASK_READ):
            o.look = finish(c, mem, rom, scratch, asked, idle_skip)
        c.stable = stable
        if asked != U(ASK_FETCH) and I(c.now - c.deadline) >= I(0):
            if service(c, mem, rom) != U(0):
                o.answer = DONE
            # Nothing seen any more: a skip needs two equal visits with stable reads between.
            st128(scratch + Q(U(SEEN)), U(0), U(0), U(0), c.now)
            c.stable = c.now
            o.look = U(LOOK_NOW)
        if o.answer == U(0) and (asked == U(ASK_FETCH) or (c.fast >> U(31)) != U(0)):
            kept = c.stable
            answer_fetch(c, mem, rom, control, scratch, idle_skip)
            c.stable = earlier(kept, c.stable)
            o.answer = U(HAS_WORD)
    # For how long VRAM is plain memory; what was found before holds until something objects.
    if (c.ppu_drafting | c.ppu_finished | c.dma_state) != U(0):
        st32(scratch + Q(U(WINDOW_AT)), c.now)
    elif o.look != U(0):
        o.value = U(0)
        if o.look == U(LOOK_LATER) and ld32(scratch + Q(U(ASKED))) == U(0xFF41):
            o.value = ld32(scratch + Q(U(MEMORY_AT)))
        # The first access to come may be the store of INC (HL), in the third M-cycle. A read comes
        # later, and so misses the dot at which mode 3 ends (ppu_vram_access: 2).
        later = c.now + wp.where(o.look == U(LOOK_LATER), U(3), U(0))
        st32(scratch + Q(U(WINDOW_AT)), ppu_vram_window(c, mem, later, o.value))
    return o.answer
