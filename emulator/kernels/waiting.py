"""Waiting loops in RAM, all turns but the last at once: exact, and only while nothing comes due."""

import warp as wp

from emulator.constants import FLAG_H, FLAG_N, FLAG_Z, ROW_ORIGIN
from emulator.kernels.dma import dma_end, dma_sync
from emulator.kernels.events import next_due, set_deadline
from emulator.kernels.intrinsics import I, Q, U, ld8
from emulator.machine import Console

N_BIT = FLAG_N << 16
H_BIT = FLAG_H << 16
DONE_FLAGS = (FLAG_Z | FLAG_N) << 16  # of a DEC that has reached 0
FLAGS_KEPT = wp.constant(wp.uint32(0xFF10FFFF))  # everything of `hi` but Z, N and H
NO_A = wp.constant(wp.uint32(0x00FFFFFF))
NO_B = wp.constant(wp.uint32(0xFFFF00FF))
NO_C = wp.constant(wp.uint32(0xFFFFFF00))
JR_NZ_BACK = 0xFD20  # 'jr nz, -3', back over a one-byte DEC


@wp.struct
class CountdownLocals:
    turns: wp.uint32
    pc: wp.uint32
    start: wp.uint32
    sync: wp.uint32
    load: wp.uint32


@wp.func
def skip_countdown(c: wp.ref[Console]):
    """All but the last turn of 'dec a; jr nz' at once, as far as the deadline allows."""
    o = CountdownLocals()
    a = c.hi >> U(24)
    o.turns = wp.min((a - U(1)) & U(255), (c.deadline - c.now - U(1)) >> U(2))
    if o.turns > U(0):
        left = (a - o.turns) & U(255)
        half = wp.where((left & U(15)) == U(15), U(H_BIT), U(0))
        c.hi = (left << U(24)) | U(N_BIT) | half | (c.hi & U(0x10FFFF))
        c.now = c.now + (o.turns << U(2))


@wp.func
def code_at(mem: Q, pc: U) -> U:
    """Two code bytes in HRAM."""
    p = mem + Q(pc - U(ROW_ORIGIN))
    return ld8(p) | (ld8(p + Q(1)) << U(8))


@wp.func(inline=False)
def skip_dma_wait(c: wp.ref[Console], mem: Q, rom: Q):
    """FF46 was just written: pass over the loop in HRAM that waits for the transfer.

    '[ld r, n]; dec r; jr nz, -3' with r = A, B or C. Only if nothing but the transfer's end comes
    due before the loop is over; the transfer ends at the boundary at which it would have.
    https://gbdev.io/pandocs/OAM_DMA_Transfer.html
    """
    o = CountdownLocals()
    o.pc = c.pc
    if o.pc >= U(0xFF80) and o.pc < U(0xFFF8) and c.deadline == dma_end(c):
        first = code_at(mem, o.pc)
        o.turns = U(0)
        o.start = c.now
        o.load = first & U(0xFF)
        if o.load == U(0x3E) or o.load == U(0x06) or o.load == U(0x0E):
            o.turns = U(0x100) | (first >> U(8))
            o.start = c.now + U(2)
            o.pc = o.pc + U(2)
            o.load = o.load - U(1)
        dec = ld8(mem + Q(o.pc - U(ROW_ORIGIN)))
        known = dec == U(0x3D) or dec == U(0x05) or dec == U(0x0D)
        same = o.turns == U(0) or o.load == dec
        if known and same and code_at(mem, o.pc + U(1)) == U(JR_NZ_BACK):
            count_down(c, mem, rom, o, dec)


@wp.func
def count_down(c: wp.ref[Console], mem: Q, rom: Q, o: wp.ref[CountdownLocals], dec: U):
    """Run the loop at `o.pc` that begins at `o.start` to its end."""
    if o.turns == U(0):
        o.turns = wp.where(dec == U(0x3D), c.hi >> U(24), c.lo >> wp.where(dec == U(5), U(8), U(0)))
    o.turns = ((o.turns - U(1)) & U(0xFF)) + U(1)
    # DEC takes one M-cycle, JR three, the last JR two.
    end = o.start + U(4) * o.turns - U(1)
    dma = dma_end(c)
    # The first boundary at or after the transfer's end: 0, 1 (behind a DEC) or 4 into a turn.
    into = (dma - o.start) & U(3)
    o.sync = dma + wp.where(into >= U(2), U(4) - into, U(0))
    o.sync = wp.where(I(o.sync - end) > I(0), end, o.sync)
    ended = I(end - dma) >= I(0)
    held = c.dma_state
    c.dma_state = U(0)
    due = next_due(c)
    c.dma_state = held
    if I(end - due) < I(0):
        if ended:
            dma_sync(c, mem, rom, o.sync)
        c.now = end
        c.pc = o.pc + U(3)
        c.hi = (c.hi & FLAGS_KEPT) | U(DONE_FLAGS)
        if dec == U(0x3D):
            c.hi = c.hi & NO_A
        elif dec == U(0x05):
            c.lo = c.lo & NO_B
        else:
            c.lo = c.lo & NO_C
        set_deadline(c, mem, c.now)
