"""The SM83 as one uniform data path steered by the control rows of isa.py.

`execute` runs any instruction through the same sequence: address, read, operand select by byte
permute, one adder/logic unit, branch and look-up of the next instruction, write-back, store. Lanes
of a warp at different opcodes therefore run together, those that wait with a row that does nothing.
It has one branch, for rotates, DAA and reads that are not plain; what is rare behind it is for
`finish`. HALT and the like, and accesses that need the bus, leave a request for `attend`
(kernels/cpu_slow.py). Nothing here calls: what lives across a call would live in memory.
"""

import warp as wp

from emulator import isa
from emulator.constants import FLAG_C, FLAG_H, FLAG_N, FLAG_Z
from emulator.kernels.cpu_slow import (
    ASK_CONTROL,
    ASK_FETCH,
    ASK_OAM_BUG,
    ASK_WRITE,
    WORD,
    fast_bits,
    fetched,
)
from emulator.kernels.in_place import (
    LONGEST,
    read_or_ask,
    select_buttons,
    set_bank,
    set_ime,
    stores_plainly,
)
from emulator.kernels.intrinsics import (
    ALL_ONES,
    FAR,
    I,
    Q,
    U,
    both,
    earlier,
    either,
    ld8,
    ld_operand_if,
    prmt,
    st128,
    st_operand_if,
)
from emulator.kernels.memory import plain_address
from emulator.kernels.registers import UNREADY, Bases, Registers, load_word, stop
from emulator.machine import Console

READ = isa.READ
WRITE = isa.WRITE
TAKEN_ONLY = isa.TAKEN_ONLY
SP_FROM_ADDRESS = isa.SP_FROM_ADDRESS
SP_FROM_RESULT = isa.SP_FROM_RESULT
HL_FROM_ADDRESS = isa.HL_FROM_ADDRESS
ADJUST_FIRST = isa.ADJUST_FIRST
BRANCH = isa.BRANCH
BRANCH_IMMEDIATE = isa.BRANCH_IMMEDIATE
SLOW = isa.SLOW
CONTROL = isa.CONTROL
INC_DEC_PAIR = isa.INC_DEC_PAIR
NEAR_OAM = wp.constant(wp.uint32(0xFDFF0000))
# A second bit, never set: the compiler tests two bits in one machine instruction, one in three.
NEVER = isa.NEVER
Z_BIT = FLAG_Z << 16
N_BIT = FLAG_N << 16
H_BIT = FLAG_H << 16
C_BIT = FLAG_C << 16


@wp.struct
class Operands:
    """What rare cases change for the rest of an instruction, and what `finish` must know of it."""

    registers: wp.uint32
    w1: wp.uint32
    w2: wp.uint32
    w3: wp.uint32
    w7: wp.uint32
    ctl: wp.uint32
    result: wp.uint32
    carry: wp.uint32
    a: wp.uint32
    p: wp.uint64
    v: wp.uint32
    w5: wp.uint32
    start: wp.uint32
    stores: wp.uint32
    repeats: wp.bool
    unfinished: wp.bool


@wp.func(inline=True)
def rotate(o: wp.ref[Operands], kind: U, y: U, carry: U):
    """RLC RRC RL RR SLA SRA SWAP SRL: rotate by 1, 7 or 4, then fill the bit shifted in."""
    right = (kind & U(1)) != U(0)
    swap = kind == U(6)
    turn = wp.where(swap, U(4), wp.where(right, U(1), U(7)))
    turned = ((y * U(0x101)) >> turn) & U(255)
    out = wp.where(swap, U(0), wp.where(right, y & U(1), y >> U(7)))
    hole = wp.where(kind < U(2) or swap, U(0), wp.where(right, U(0x80), U(1)))
    fill = wp.where(kind == U(2), carry, wp.where(kind == U(3), carry << U(7), U(0)))
    fill = wp.where(kind == U(5), y & U(0x80), fill)
    o.result = (turned & (hole ^ U(255))) | fill
    o.carry = out


@wp.func(inline=True)
def decimal_adjust(o: wp.ref[Operands], hi: U):
    """DAA. https://gbdev.io/gb-opcodes/optables/"""
    a = hi >> U(24)
    after_sub = (hi & U(N_BIT)) != U(0)
    low = (hi & U(H_BIT)) != U(0) or (not after_sub and (a & U(15)) > U(9))
    high = (hi & U(C_BIT)) != U(0) or (not after_sub and a > U(0x99))
    adjust = wp.where(low, U(6), U(0)) | wp.where(high, U(0x60), U(0))
    o.result = wp.where(after_sub, a - adjust, a + adjust) & U(255)
    o.carry = wp.where(high, U(1), U(0))


@wp.func(inline=True)
def rotate_or_adjust(r: wp.ref[Registers], o: wp.ref[Operands], hi: U, kind: U, y: U):
    """Have the result pass through the adder as operand y, and C come out of the toggled flags."""
    if kind < U(8):
        rotate(o, kind, y, (hi >> U(20)) & U(1))
    else:
        decimal_adjust(o, hi)
    o.registers = o.result
    r.memory = o.result
    o.w2 = o.w2 | (o.carry << U(20))


@wp.func(inline=True)
def watch_for_idle_loop(r: wp.ref[Registers], o: wp.ref[Operands], next_pc: U):
    """At a backward branch: does it repeat the last one, with the same registers?

    If not, this one is what the next is compared with. No branch: many instructions are one.
    """
    backward = both((o.ctl & U(BRANCH | NEVER)) != U(0), r.pc < next_pc)
    place = prmt(r.pc, r.sp, U(0x5410))
    changes = (place ^ r.seen_place) | (r.lo ^ r.seen_lo) | (r.hi ^ r.seen_hi)
    o.repeats = both(backward, changes == U(0))
    new = both(backward, changes != U(0))
    r.seen_place = wp.where(new, place, r.seen_place)
    r.seen_lo = wp.where(new, r.lo, r.seen_lo)
    r.seen_hi = wp.where(new, r.hi, r.seen_hi)
    r.seen_time = wp.where(new, r.now, r.seen_time)
    r.stable = wp.where(new, r.now + FAR, r.stable)


@wp.func(inline=True)
def skip_idle_loop(r: wp.ref[Registers]):
    """Exact idle-loop skipping, at a backward branch that repeats the last one.

    Nothing written and no VRAM read since, and every I/O read stays as it is until `stable`: then
    the loop repeats, and whole periods can pass up to the next deadline.
    """
    period = r.now - r.seen_time
    span = earlier(r.stable, r.deadline) - r.now
    if I(span) > I(period):
        r.now = r.now + (span - U(1)) / period * period
    r.seen_time = r.now
    r.stable = r.now + FAR


@wp.func(inline=True)
def read_or_change(
    r: wp.ref[Registers], b: wp.ref[Bases], o: wp.ref[Operands], a: U, p: Q, need: U, w5: U
):
    """Read what is not always plain memory, or rotate. What has to ask becomes an idle row."""
    if (need & U(READ)) != U(0):
        wide = I(w5) < I(0)
        splits = wide and (((a + U(1)) & U(0x1FFF)) == U(0) or a == U(0xFFFE))
        read_or_ask(r, b, a, p, o.ctl, splits, wide)
    if r.asked != U(0):
        r.deadline = r.now
        r.held = r.word
        r.work = r.work - U(1)
        o.ctl = U(0)
        o.w1 = U(isa.IDLE_LO)
        o.w2 = U(isa.IDLE_HI)
        o.w3 = U(isa.IDLE_FLAGS)
        o.w7 = U(0)
    elif (o.ctl & U(SLOW)) != U(0):
        y = prmt(o.registers, prmt(r.memory, r.word, U(0x7610)), o.w3 >> U(8)) & U(255)
        rotate_or_adjust(r, o, r.hi, o.ctl >> U(24), y)


@wp.func(inline=True)
def execute(r: wp.ref[Registers], b: wp.ref[Bases], o: wp.ref[Operands]):
    """Execute the instruction `r.word`, up to what `skip_idle_loop` and `finish` do for few.

    If its operand must be asked for, nothing happens, and it is executed anew with the answer.
    """
    word = r.word
    w0 = r.w0
    w1 = r.w1
    w2 = r.w2
    w3 = r.w3
    w4 = r.w4
    w5 = r.w5
    w6 = r.w6
    w7 = r.w7
    lo = r.lo
    hi = r.hi
    sp = r.sp
    start = r.now
    flag = (hi & w5 & U(Z_BIT | C_BIT)) != U(0)
    ctl = wp.where(flag, w6 ^ (w5 & U(TAKEN_ONLY)), w6)

    # Address. Each 16-bit operand is a byte permute of the register file, SP and the immediate.
    operands = prmt(lo, hi, w0)
    base = (prmt(operands, prmt(sp, word, U(0x7610)), w3 >> U(24)) | (w0 >> U(16))) & WORD
    adjusted = (base + U(I(w1) >> I(24))) & WORD
    a = wp.where((ctl & U(ADJUST_FIRST)) != U(0), adjusted, base)
    p = plain_address(a, b.rom, r.mem, r.rom_low, r.rom_high, r.ram_offset)
    # Two bytes may lie on two pages; FFFE is the last plain byte of its page.
    second = U(I(w5) >> I(31))  # -1 if there is a second byte
    crosses = ((a - second) ^ a) & U(0x2000)
    page = wp.where(a - U(0xFF80) < U(0x7F) + second, U(8), a >> U(13))
    plain = wp.where(crosses != U(0), U(0), (r.fast >> page) & U(READ | WRITE))

    # Read, allowed or not. What lies in `memory` otherwise is used by nobody.
    wanted = ctl & (r.given ^ ALL_ONES)
    r.given = U(0)
    r.memory = ld_operand_if(p, r.memory, wanted & U(READ), w5, crosses)
    o.registers = prmt(lo, hi, w0)
    o.w1 = w1
    o.w2 = w2
    o.w3 = w3
    o.w7 = w7
    o.ctl = ctl
    if (wanted & (plain ^ ALL_ONES) & U(READ | SLOW)) != U(0):
        read_or_change(r, b, o, a, p, wanted & (plain ^ ALL_ONES), w5)

    next_pc = r.pc + prmt(o.w7, U(0), U(0x4441))

    # Operands and the adder/logic unit: v = (x ^ y or 0) + (x & y) * (0, 1 or 2) + carry
    y = prmt(o.registers, prmt(r.memory, word, U(0x7610)), o.w3 >> U(8))
    y = (y & prmt(w4, w4, U(0x9999))) ^ prmt(w4, w4, U(0xAAAA))
    x = prmt(hi, prmt(sp, next_pc, U(0x5410)), o.w3)
    x = (x & prmt(w4, w4, U(0x8888))) | U(I(o.w2) >> I(24))
    carry = ((hi & o.w7) ^ w4) & U(C_BIT)
    differ = x ^ y
    v = (differ & prmt(w5, w5, U(0x8888))) + (x & y) * (w4 >> U(30)) + (carry >> U(20))

    # Where to go on. The next instruction's word is looked up before all that can wait for it.
    target = wp.where((o.ctl & U(BRANCH_IMMEDIATE)) != U(0), word >> U(16), v)
    r.pc = wp.where((o.ctl & U(BRANCH)) != U(0), target, next_pc) & WORD
    load_word(r, b)
    cycles = wp.where((o.ctl & U(BRANCH)) != U(0), U(0x4443), U(0x4440))
    r.now = start + prmt(o.w7, U(0), cycles)

    # Write back
    carries = prmt(differ ^ v, U(0), w5)  # byte 2: carry into bit 4, byte 3: carry out in bit 0
    zero = wp.where((v & U(255)) == U(0), U(Z_BIT), U(0))
    half = (carries << U(1)) & U(H_BIT)
    computed = zero | half | ((carries >> U(4)) & U(C_BIT))
    r.lo = prmt(lo, v, o.w1)
    new_hi = prmt(hi, v, o.w2)
    flags = ((new_hi & o.w3) ^ (computed & o.w1)) ^ o.w2
    new_hi = prmt(new_hi, flags, U(0x3610))
    r.hi = wp.where((o.ctl & U(HL_FROM_ADDRESS)) != U(0), prmt(new_hi, adjusted, U(0x3254)), new_hi)
    sp_or_result = wp.where((o.ctl & U(SP_FROM_RESULT)) != U(0), v & WORD, sp)
    r.sp = wp.where((o.ctl & U(SP_FROM_ADDRESS)) != U(0), adjusted, sp_or_result)

    # Store
    if (o.ctl & U(WRITE)) != U(0):
        r.stable = r.now
    st_operand_if(p, v, o.ctl & plain & U(WRITE), w5)

    # What is rare. An INC or DEC may only have begun in OAM if it ends near.
    watch_for_idle_loop(r, o, next_pc)
    pair = both((o.ctl & U(INC_DEC_PAIR | NEVER)) != U(0), (v << U(16)) >= NEAR_OAM)
    o.unfinished = either((o.ctl & (plain ^ ALL_ONES) & U(WRITE | CONTROL)) != U(0), pair)
    o.a = a
    o.p = p
    o.v = v
    o.w5 = w5
    o.stores = o.ctl & (plain ^ ALL_ONES) & U(WRITE)
    o.start = start


@wp.func(inline=True)
def finish(r: wp.ref[Registers], c: wp.ref[Console], b: wp.ref[Bases], o: wp.ref[Operands]):
    """What no plain store does, and what is left for `attend`."""
    a = o.a
    p = o.p
    v = o.v
    w7 = o.w7
    ctl = o.ctl
    start = o.start
    stores = o.stores
    wide = I(o.w5) < I(0)
    splits = wide and (((a + U(1)) & U(0x1FFF)) == U(0) or a == U(0xFFFE))
    control = ctl & U(CONTROL)
    before = wp.where((w7 & U(0x10000)) != U(0), v - U(1), v + U(1))
    pair = wp.where((before & U(0xFF00)) == U(0xFE00), ctl & U(INC_DEC_PAIR), U(0))
    if (pair | control | stores) != U(0):
        if stores != U(0) and not splits and stores_plainly(r, a, p, v, wide, start):
            st_operand_if(p, v, stores, o.w5)
        elif stores != U(0) and a == U(0xFF00) and not wide and I(r.deadline - start) >= I(LONGEST):
            select_buttons(r, c, v & U(255), ctl, start)
        else:
            operand = wp.where(control != U(0), (w7 >> U(8)) & U(255), v)
            st128(r.mem + Q(b.scratch), wp.where(pair != U(0), before, a), operand, ctl, start)
            r.asked = wp.where(stores != U(0), U(ASK_WRITE), U(0))
            r.asked = r.asked | wp.where(pair != U(0), U(ASK_OAM_BUG), U(0))
            r.asked = r.asked | wp.where(control != U(0), U(ASK_CONTROL), U(0))
        if control != U(0):
            r.stable = r.now
            set_ime(r, c, ctl >> U(24))
        elif (a & U(0xE000)) == U(0x2000) and stores != U(0) and not wide:
            set_bank(r, c, a, v & U(255))
            r.word = U(UNREADY)
        stop(r)


@wp.func(inline=True)
def fetch(r: wp.ref[Registers], b: wp.ref[Bases]):
    """Look up what `load_word` has not, or not in this bank; ask for what is not plain."""
    load_word(r, b)
    last = r.pc + U(2)
    page = ((r.pc ^ last) >> U(13)) == U(0) and (r.pc >= U(0xFF80)) == (last >= U(0xFF80))
    if (r.word & U(UNREADY)) != U(0):
        if page and r.pc >= U(0x8000) and (fast_bits(r.fast, r.pc) & U(1)) != U(0):
            p = plain_address(r.pc, b.rom, r.mem, r.rom_low, r.rom_high, r.ram_offset)
            r.word = fetched(ld8(p), ld8(p + Q(1)), ld8(p + Q(2)))
        else:
            r.asked = U(ASK_FETCH)
            stop(r)
