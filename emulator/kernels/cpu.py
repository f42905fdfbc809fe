"""The SM83 as one uniform data path steered by the control rows of isa.py.

`step` runs any instruction through the same sequence: fetch, two 16-byte control loads, address,
read, operand select by byte permute, one adder/logic unit, write-back, branch, store. Lanes of a
warp at different opcodes therefore run together. Only rotates, DAA, EI and the like, and accesses
that need the bus, leave it.

Values that are assigned inside an `if` live in fields of `Registers`: a plain local would become
a variable of the whole loop and cost a machine register for good.
"""

import warp as wp

from emulator import isa
from emulator.constants import FLAG_C, FLAG_H, FLAG_N, FLAG_Z
from emulator.kernels.bus import (
    OAM_BUG_READ,
    OAM_BUG_READ_INCREASE,
    OAM_BUG_WRITE,
    bus_read,
    bus_write,
)
from emulator.kernels.events import catch_up
from emulator.kernels.interrupts import control_op, service
from emulator.kernels.intrinsics import (
    FAR,
    I,
    Q,
    U,
    earlier,
    ld8,
    ld8_if,
    ld32,
    ld32_constant,
    ld128_constant,
    prmt,
    st8_if,
)
from emulator.kernels.mapper import update_map
from emulator.kernels.memory import address_in, is_flat, plain_address
from emulator.kernels.ppu_oam import ppu_oam_bug
from emulator.machine import Console

READ = isa.READ
READ16 = isa.READ16
WRITE = isa.WRITE
WRITE16 = isa.WRITE16
WIDE = isa.READ16 | isa.WRITE16
SP_FROM_ADDRESS = isa.SP_FROM_ADDRESS
SP_FROM_RESULT = isa.SP_FROM_RESULT
HL_FROM_ADDRESS = isa.HL_FROM_ADDRESS
ADJUST_FIRST = isa.ADJUST_FIRST
BRANCH = isa.BRANCH
BRANCH_IMMEDIATE = isa.BRANCH_IMMEDIATE
FLAGS16 = isa.FLAGS16
SLOW = isa.SLOW
ASCENDING = isa.ASCENDING
INC_DEC_PAIR = isa.INC_DEC_PAIR
SLOW_FETCH = isa.SLOW_FETCH
COUNTDOWN = 0x400  # bit of a fetched word: 'dec a; jr nz' at work in RAM
# What a branch that is not taken must not do.
NOT_TAKEN = wp.constant(
    wp.uint32(
        0xFFFFFFFF
        ^ (isa.READ | isa.READ16 | isa.WRITE | isa.WRITE16 | isa.SP_FROM_ADDRESS | isa.BRANCH)
    )
)
WORD = wp.constant(wp.uint32(0xFFFF))
F_BYTE = wp.constant(wp.uint32(0xFF00FFFF))  # everything of `hi` but F
F_NIBBLE = wp.constant(wp.uint32(0x00F00000))
DONE = wp.constant(wp.uint32(0x80000000))  # bit of Registers.pc: this console's launch is over
DEC_A_JR = wp.constant(wp.uint32(0xFD20003D))
Z_BIT = FLAG_Z << 16
N_BIT = FLAG_N << 16
H_BIT = FLAG_H << 16
C_BIT = FLAG_C << 16


@wp.struct
class Registers:
    """The CPU while it runs: held in machine registers after inlining."""

    lo: wp.uint32
    hi: wp.uint32
    sp: wp.uint32
    pc: wp.uint32
    now: wp.uint32
    deadline: wp.uint32
    fast: wp.uint32
    rom_low: wp.uint32
    rom_high: wp.uint32
    ram_offset: wp.uint32
    # Idle-loop skipping: the state at the last backward branch, and how long reads stay as they are
    seen_lo: wp.uint32
    seen_hi: wp.uint32
    seen_place: wp.uint32
    seen_time: wp.uint32
    stable: wp.uint32
    work: wp.uint32
    # Scratch
    word: wp.uint32
    memory: wp.uint32
    result: wp.uint32
    carries: wp.uint32
    turns: wp.uint32
    mem: wp.uint64


@wp.struct
class Bases:
    """Addresses of the constant data, equal for all lanes."""

    rom: wp.uint64
    words: wp.uint64
    control: wp.uint64
    idle_skip: wp.uint32


@wp.struct
class CpuLocals:
    word: wp.uint32
    row: wp.uint32
    length: wp.uint32
    immediate: wp.uint32
    value: wp.uint32


@wp.func(inline=True)
def load_map(r: wp.ref[Registers], c: wp.ref[Console]):
    r.deadline = c.deadline
    r.fast = c.fast
    r.rom_low = c.rom_low
    r.rom_high = c.rom_high
    r.ram_offset = c.ram_offset


@wp.func(inline=True)
def load_registers(r: wp.ref[Registers], c: wp.ref[Console]):
    r.lo = c.lo
    r.hi = c.hi
    r.sp = c.sp
    r.pc = c.pc
    r.now = c.now
    load_map(r, c)
    # Nothing seen yet: a skip needs two equal visits with stable reads between.
    r.seen_lo = U(0)
    r.seen_hi = U(0)
    r.seen_place = U(0)
    r.seen_time = c.now
    r.stable = c.now


@wp.func(inline=True)
def store_registers(r: wp.ref[Registers], c: wp.ref[Console]):
    c.lo = r.lo
    c.hi = r.hi
    c.sp = r.sp
    c.pc = r.pc
    c.now = r.now


@wp.func(inline=True)
def look_up(r: wp.ref[Registers], c: wp.ref[Console], rom: Q):
    """The deadline has come: events, interrupts, HALT, the end of the launch."""
    store_registers(r, c)
    done = service(c, r.mem, rom)
    load_registers(r, c)
    r.pc = r.pc | wp.where(done != U(0), DONE, U(0))


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
    o.length = (ld32(control + Q(first * U(32) + U(28))) >> U(8)) & U(255)
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


@wp.func(inline=False)
def slow_read(c: wp.ref[Console], mem: Q, rom: Q, a: U, ctl: U, now: U) -> U:
    """The instruction's memory operand through the bus, low byte first, one M-cycle each."""
    o = CpuLocals()
    t = now + ((ctl >> U(isa.READ_CYCLE_SHIFT)) & U(7))
    adjusts = (ctl & U(HL_FROM_ADDRESS)) != U(0)
    bug = wp.where(adjusts, U(OAM_BUG_READ_INCREASE), U(OAM_BUG_READ))
    o.value = bus_read(c, mem, rom, a, t, bug)
    if (ctl & U(READ16)) != U(0):
        stable = c.stable
        high = bus_read(c, mem, rom, (a + U(1)) & WORD, t + U(1), bug)
        o.value = o.value | (high << U(8))
        c.stable = earlier(stable, c.stable)
    return o.value


@wp.func(inline=False)
def slow_write(c: wp.ref[Console], mem: Q, rom: Q, a: U, value: U, ctl: U, now: U):
    """Store through the bus. Pushes write the high byte first, LD (n16), SP the low one."""
    t = now + ((ctl >> U(isa.WRITE_CYCLE_SHIFT)) & U(7))
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


@wp.func(inline=True)
def rotate(r: wp.ref[Registers], kind: U, y: U, carry: U):
    """RLC RRC RL RR SLA SRA SWAP SRL: rotate by 1, 7 or 4, then fill the bit shifted in."""
    right = (kind & U(1)) != U(0)
    swap = kind == U(6)
    turn = wp.where(swap, U(4), wp.where(right, U(1), U(7)))
    turned = ((y * U(0x101)) >> turn) & U(255)
    out = wp.where(swap, U(0), wp.where(right, y & U(1), y >> U(7)))
    hole = wp.where(kind < U(2) or swap, U(0), wp.where(right, U(0x80), U(1)))
    fill = wp.where(kind == U(2), carry, wp.where(kind == U(3), carry << U(7), U(0)))
    fill = wp.where(kind == U(5), y & U(0x80), fill)
    r.result = (turned & (hole ^ U(255))) | fill
    r.carries = out << U(8)


@wp.func(inline=True)
def decimal_adjust(r: wp.ref[Registers], hi: U):
    """DAA. https://gbdev.io/gb-opcodes/optables/"""
    a = hi >> U(24)
    after_sub = (hi & U(N_BIT)) != U(0)
    low = (hi & U(H_BIT)) != U(0) or (not after_sub and (a & U(15)) > U(9))
    high = (hi & U(C_BIT)) != U(0) or (not after_sub and a > U(0x99))
    adjust = wp.where(low, U(6), U(0)) | wp.where(high, U(0x60), U(0))
    r.result = wp.where(after_sub, a - adjust, a + adjust)
    r.carries = wp.where(high, U(0x100), U(0))


@wp.func(inline=True)
def skip_countdown(r: wp.ref[Registers]):
    """All but the last turn of 'dec a; jr nz' at once, as far as the deadline allows."""
    a = r.hi >> U(24)
    r.turns = wp.min((a - U(1)) & U(255), (r.deadline - r.now - U(1)) >> U(2))
    if r.turns > U(0):
        left = (a - r.turns) & U(255)
        half = wp.where((left & U(15)) == U(15), U(H_BIT), U(0))
        r.hi = (left << U(24)) | U(N_BIT) | half | (r.hi & U(0x10FFFF))
        r.now = r.now + (r.turns << U(2))


@wp.func(inline=True)
def skip_idle_loop(r: wp.ref[Registers], ctl: U, next_pc: U):
    """Exact idle-loop skipping, at a backward branch.

    Same registers as at the last visit, nothing written since, and every I/O read stays as it is
    until `stable`: then the loop repeats, and whole periods can pass up to the next deadline.
    """
    if (ctl & U(WRITE)) != U(0):
        r.stable = r.now
    if (ctl & U(BRANCH)) != U(0) and r.pc < next_pc:
        place = r.pc | (r.sp << U(16))
        period = r.now - r.seen_time
        span = earlier(r.stable, r.deadline) - r.now
        same = place == r.seen_place and r.lo == r.seen_lo and r.hi == r.seen_hi
        if same and I(span) > I(period):
            r.now = r.now + (span - U(1)) / period * period
        r.seen_lo = r.lo
        r.seen_hi = r.hi
        r.seen_place = place
        r.seen_time = r.now
        r.stable = r.now + FAR


@wp.func(inline=True)
def fetch(r: wp.ref[Registers], c: wp.ref[Console], b: wp.ref[Bases]):
    """Put the predecoded word at PC into `r.word`."""
    if ((r.pc >> U(15)) | (r.fast >> U(31))) == U(0):
        bank = wp.where(r.pc >= U(0x4000), r.rom_high, r.rom_low)
        r.word = ld32_constant(b.words + Q(r.pc + bank) * Q(4))
    else:
        r.word = U(SLOW_FETCH)
    if (r.word & U(SLOW_FETCH)) != U(0):
        skipped = c.halt_bug
        r.word = fetch_slow(c, r.mem, b.rom, b.control, r.pc, r.now)
        r.pc = (r.pc - skipped) & WORD
        r.deadline = c.deadline
        r.fast = c.fast
        r.stable = earlier(r.stable, c.stable)
        if (r.word & U(COUNTDOWN)) != U(0) and b.idle_skip != U(0):
            skip_countdown(r)


@wp.func(inline=True)
def step(r: wp.ref[Registers], c: wp.ref[Console], b: wp.ref[Bases]):
    """Execute one instruction (or a skipped run of idle ones) of one console."""
    fetch(r, c, b)
    word = r.word
    w0 = U(0)
    w1 = U(0)
    w2 = U(0)
    w3 = U(0)
    w4 = U(0)
    w5 = U(0)
    w6 = U(0)
    w7 = U(0)
    row = b.control + Q((word & U(511)) << U(5))
    ld128_constant(row, w0, w1, w2, w3)
    ld128_constant(row + Q(16), w4, w5, w6, w7)
    lo = r.lo
    hi = r.hi
    sp = r.sp
    start = r.now
    now = start + (w7 & U(255))
    next_pc = r.pc + ((w7 >> U(8)) & U(255))
    met = ((hi & w5 & U(Z_BIT | C_BIT)) != U(0)) != ((w5 & U(0x00080000)) != U(0))
    ctl = wp.where(met, w6, w6 & NOT_TAKEN)

    # Address. Each 16-bit operand is a byte permute of the register file, SP and the immediate.
    operands = prmt(lo, hi, w0)
    base = (prmt(operands, prmt(sp, word, U(0x7610)), w3 >> U(24)) | (w0 >> U(16))) & WORD
    adjusted = (base + U(I(w1) >> I(24))) & WORD
    a = wp.where((ctl & U(ADJUST_FIRST)) != U(0), adjusted, base)
    p = plain_address(a, b.rom, r.mem, r.rom_low, r.rom_high, r.ram_offset)
    splits = (ctl & U(WIDE)) != U(0) and (a & U(0x1FFE)) == U(0x1FFE)
    bits = wp.where(splits, U(0), fast_bits(r.fast, a))

    # Read
    reads = wp.where((bits & U(1)) != U(0), ctl, U(0))
    r.memory = ld8_if(p, reads & U(READ), reads & U(READ16))
    if (ctl & U(READ)) > (reads & U(READ)):
        r.memory = slow_read(c, r.mem, b.rom, a, ctl, start)
        r.deadline = c.deadline
        r.fast = c.fast
        r.stable = earlier(r.stable, c.stable)

    # Operands and the adder/logic unit: v = (x & y) + (x ^ y) + (x & y) + carry, terms by mask
    y = prmt(operands, prmt(r.memory, word, U(0x7610)), w3 >> U(8))
    y = (y & prmt(w4, w4, U(0x9999))) ^ prmt(w4, w4, U(0xAAAA))
    x = prmt(hi, prmt(sp, next_pc, U(0x5410)), w3)
    x = (x & prmt(w4, w4, U(0x8888))) | U(I(w2) >> I(24))
    carry = (((hi & w7) ^ (w7 << U(4))) >> U(20)) & U(1)
    both = x & y & U(I(w4) >> I(31))
    either = (x ^ y) & prmt(w5, w5, U(0x8888))
    r.result = both + either + (both & prmt(w5, w5, U(0x9999))) + carry
    r.carries = (x ^ y ^ r.result) >> wp.where((ctl & U(FLAGS16)) != U(0), U(8), U(0))
    kind = w6 >> U(24)
    r.now = now
    if (ctl & U(SLOW)) != U(0):
        if kind < U(8):
            rotate(r, kind, y & U(255), (hi >> U(20)) & U(1))
        elif kind == U(8):
            decimal_adjust(r, hi)

    # Write back
    v = r.result
    zero = wp.where((v & U(255)) == U(0), U(Z_BIT), U(0))
    half = (r.carries << U(17)) & U(H_BIT)
    computed = zero | half | ((r.carries << U(12)) & U(C_BIT))
    r.lo = prmt(lo, v, w1)
    new_hi = prmt(hi, v, w2)
    flags = ((new_hi & w3) ^ (computed & w1)) ^ w2
    new_hi = (new_hi & F_BYTE) | (flags & F_NIBBLE)
    r.hi = wp.where((ctl & U(HL_FROM_ADDRESS)) != U(0), prmt(new_hi, adjusted, U(0x3254)), new_hi)
    sp_or_result = wp.where((ctl & U(SP_FROM_RESULT)) != U(0), v & WORD, sp)
    r.sp = wp.where((ctl & U(SP_FROM_ADDRESS)) != U(0), adjusted, sp_or_result)
    target = wp.where((ctl & U(BRANCH_IMMEDIATE)) != U(0), word >> U(16), v)
    branches = (ctl & U(BRANCH)) != U(0)
    r.pc = wp.where(branches, target, next_pc) & WORD
    r.now = now + wp.where(branches, w7 >> U(24), U(0))
    r.work = r.work + U(1)
    if b.idle_skip != U(0):
        skip_idle_loop(r, ctl, next_pc)

    # Store
    writes = wp.where((bits & U(0x10000)) != U(0), ctl, U(0))
    st8_if(p, v, writes & U(WRITE), writes & U(WRITE16))
    if (ctl & U(WRITE)) > (writes & U(WRITE)):
        slow_write(c, r.mem, b.rom, a, v, ctl, start)
        load_map(r, c)
    if (ctl & U(INC_DEC_PAIR)) != U(0) and (v & U(0xFC00)) == U(0xFC00):
        before = wp.where((w7 & U(0x10000)) != U(0), v - U(1), v + U(1))
        inc_dec_oam_bug(c, r.mem, b.rom, before, now)
        r.deadline = c.deadline
    if (ctl & U(SLOW)) != U(0) and kind > U(8):
        r.pc = control_op(c, r.mem, b.rom, kind, r.now, r.pc, (w7 >> U(8)) & U(255))
        r.deadline = c.deadline
        r.fast = c.fast
        r.stable = r.now
