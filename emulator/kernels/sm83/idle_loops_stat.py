"""Loops that wait for a value of STAT or LY: turns are skipped up to the one that leaves the loop.

The result is exact: every turn that is skipped has been shown to read the same value.
https://gbdev.io/pandocs/STAT.html
"""

import warp as wp

from emulator.constants import LY, M_CYCLES_PER_LINE, STAT, VRAM
from emulator.kernels.intrinsics import WORD, I, Q, U, earlier, ld8
from emulator.kernels.io.bus import OAM_BUG_READ, OAM_BUG_READ_INCREASE, bus_read
from emulator.kernels.memory.address_map import address_in, is_flat
from emulator.kernels.ppu.lcd_registers import ppu_before_line, ppu_hblank, ppu_status
from emulator.rom import control_rows
from emulator.state.batch import Console

HL_FROM_ADDRESS = control_rows.HL_FROM_ADDRESS
READ16 = control_rows.READ16
WAIT_BY_MASK = wp.constant(wp.uint32(0xFA2002E6))  # 'and 2; jr nz, -6'
WAIT_BY_BIT = 0xFC20  # 'jr nz, -4'
AND, XOR, OR, CP, SUB = 0xE6, 0xEE, 0xF6, 0xFE, 0xD6  # A with n8
JR_NZ, JR_C = 0x20, 0x38
A_CARRY_HL = wp.constant(wp.uint32(0xFF10FFFF))  # of Console.hi


@wp.struct
class ReadLocals:
    value: wp.uint32


@wp.func(inline=False)
def slow_read(c: wp.ref[Console], mem: Q, rom: Q, a: U, ctl: U, now: U) -> U:
    """Return the instruction's memory operand, read through the bus, low byte first, one byte an M-cycle."""
    o = ReadLocals()
    t = now + ((ctl >> U(control_rows.READ_CYCLE_SHIFT)) & U(7))
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
    """Return the four code bytes after the read in a loop that waits for an I/O register; 0 if it is no such loop.

    The loop is in ROM: 'ldh a, (n8); and, xor, or, cp or sub n8; jr cc, -6' or 'bit b, (hl); jr cc, -4'.
    """
    o = WaitLocals()
    o.code = U(0)
    if c.pc < U(VRAM) and (c.pc & U(0x3FFF)) < U(0x3FF8) and (c.fast >> U(31)) == U(0):
        p = address_in(c, mem, rom, c.pc + U(2))
        code = ld8(p) | (ld8(p + Q(1)) << U(8)) | (ld8(p + Q(2)) << U(16)) | (ld8(p + Q(3)) << U(24))
        jump = code
        tests = ((code & U(0xFF)) | U(0x18)) == U(0xFE) or (code & U(0xFF)) == U(SUB)
        if (word & U(511)) == U(0xF0) and tests:
            jump = code >> U(16)
        short = (word & U(0x1C7)) == U(0x146) and (jump & U(0xFF00)) == U(0xFC00)
        if short or (jump != code and (jump & U(0xFF00)) == U(0xFA00)):
            if (jump & U(0xE7)) == U(0x20):
                o.code = code
    return o.code


@wp.func
def test_value(o: wp.ref[WaitLocals], c: wp.ref[Console], word: U):
    """Compute A, F and whether the branch is taken for one turn of a waiting loop that has read `o.value`."""
    n = (o.code >> U(8)) & U(255)
    jump = o.code
    o.a = c.hi >> U(24)
    o.carry = (c.hi & U(0x100000)) != U(0)
    if (word & U(0x100)) != U(0):
        o.zero = ((o.value >> ((word >> U(3)) & U(7))) & U(1)) == U(0)
        o.flags = U(0x20) | wp.where(o.carry, U(0x10), U(0))
    else:
        jump = o.code >> U(16)
        test = o.code & U(0xFF)
        compares = test == U(CP) or test == U(SUB)
        o.carry = compares and o.value < n
        half = wp.where((o.value & U(15)) < (n & U(15)), U(0x60), U(0x40))
        half = wp.where(compares, half, wp.where(test == U(AND), U(0x20), U(0)))
        o.flags = half | wp.where(o.carry, U(0x10), U(0))
        left = (o.value - n) & U(255)
        o.a = wp.where(test == U(AND), o.value & n, wp.where(test == U(OR), o.value | n, left))
        o.a = wp.where(test == U(XOR), o.value ^ n, o.a)
        o.zero = o.a == U(0)
        o.a = wp.where(test == U(CP), o.value, o.a)
    condition = wp.where((jump & U(0x10)) != U(0), o.carry, o.zero)
    o.taken = condition == ((jump & U(8)) != U(0))
    o.flags = o.flags | wp.where(o.zero, U(0x80), U(0))


@wp.func
def read_status(c: wp.ref[Console], mem: Q, rom: Q, a: U, ctl: U) -> U:
    """Return LY or STAT, the operand at address `a` of the instruction at `c.now`; by the bus if an event is due."""
    o = ReadLocals()
    t = c.now + ((ctl >> U(control_rows.READ_CYCLE_SHIFT)) & U(7))
    plain = (ctl & U(READ16)) == U(0) and not is_flat(c)
    if plain and I(t - U(1) - c.deadline) < I(0):
        o.value = ppu_status(c, mem, a & U(0xFF), t)
    else:
        o.value = slow_read(c, mem, rom, a, ctl, c.now)
    return o.value


@wp.func
def turns_in(span: U, period: U) -> U:
    """Return the number of whole turns of `period` 6 or 8 M-cycles that end before `span` M-cycles have passed."""
    turns = wp.where(period == U(6), (span - U(1)) / U(6), (span - U(1)) >> U(3))
    return wp.min(turns, U(0xFFFF))


@wp.func
def wait_for_hblank(o: wp.ref[WaitLocals], c: wp.ref[Console], mem: Q, ctl: U, word: U) -> wp.bool:
    """Skip a loop that waits until bit 1 of STAT is 0, the commonest one; return False if an event comes before.

    The loop is 'ldh a, (41); and 2; jr nz, -6' or 'bit 1, (hl); jr nz, -4' and has read mode 2 or 3. Every turn up to
    the one that reads mode 0 leaves the same A and F.
    """
    o.taken = wp.bool(False)
    masks = (word & U(511)) == U(0xF0) and o.code == WAIT_BY_MASK
    tests = (word & U(511)) == U(0x14E) and (o.code & WORD) == U(WAIT_BY_BIT)
    if (masks or tests) and (o.value & U(2)) != U(0):
        t = c.now + ((ctl >> U(control_rows.READ_CYCLE_SHIFT)) & U(7))
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


@wp.func
def wait_for_line(o: wp.ref[WaitLocals], c: wp.ref[Console], mem: Q, rom: Q, ctl: U):
    """Skip turns of a loop that waits for LY = n8, up to two lines before that line and at most to the deadline.

    The loop is 'ldh a, (44); cp or sub n8; jr nz or jr c, -6'. All skipped turns branch back; A and F are set by a
    later turn.
    """
    test = o.code & U(0xFF)
    jump = (o.code >> U(16)) & U(0xFF)
    compares = test == U(CP) or test == U(SUB)
    if compares and (jump == U(JR_NZ) or jump == U(JR_C)):
        t = c.now + ((ctl >> U(control_rows.READ_CYCLE_SHIFT)) & U(7))
        until = ppu_before_line(c, mem, I((o.code >> U(8)) & U(0xFF)), t)
        until = earlier(until, c.deadline - U(M_CYCLES_PER_LINE))
        if I(until - t) > I(M_CYCLES_PER_LINE):
            c.now = c.now + turns_in(until - t, o.period) * o.period
            o.value = read_status(c, mem, rom, U(LY), ctl)
            o.stable = earlier(o.stable, c.stable)


@wp.func(inline=False)
def wait_for_register(c: wp.ref[Console], mem: Q, rom: Q, a: U, ctl: U, word: U, first: U) -> U:
    """Run a waiting loop up to the turn that leaves it or the deadline; return the last value read.

    `first` is the value read by the turn at `c.now`, which moves on to the last turn. A turn may be skipped if its read
    comes before `c.stable`, and if none of its instruction boundaries comes at or after the deadline.
    """
    o = WaitLocals()
    o.code = wait_code(c, mem, rom, word)
    o.value = first
    o.stable = c.stable
    o.period = wp.where((word & U(0x100)) != U(0), U(6), U(8))
    o.taken = o.code != U(0)
    if o.taken and a == U(STAT) and (ctl & U(READ16)) == U(0) and not is_flat(c):
        o.taken = not wait_for_hblank(o, c, mem, ctl, word)
    plain = (ctl & U(READ16)) == U(0) and (word & U(0x100)) == U(0) and not is_flat(c)
    while o.taken:
        if plain and a == U(LY):
            wait_for_line(o, c, mem, rom, ctl)
        test_value(o, c, word)
        t = c.now + ((ctl >> U(control_rows.READ_CYCLE_SHIFT)) & U(7))
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
