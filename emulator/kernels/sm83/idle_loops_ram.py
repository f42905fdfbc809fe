"""Waiting loops in RAM: all turns but the last are skipped at once, with the same result as executing them.

Turns are skipped only while no event is due.
"""

import warp as wp

from emulator.constants import FLAG_H, FLAG_N, FLAG_Z, HRAM, OAM_SIZE, ROW_ORIGIN
from emulator.kernels.intrinsics import I, Q, U, earlier, ld8
from emulator.kernels.io.hardware_events import next_due, set_deadline
from emulator.kernels.io.oam_dma import dma_begin, dma_copies_whole, dma_request, dma_sync, dma_whole
from emulator.state.batch import Console

N_BIT = FLAG_N << 16
H_BIT = FLAG_H << 16
DONE_FLAGS = (FLAG_Z | FLAG_N) << 16  # of a DEC that has reached 0
FLAGS_KEPT = wp.constant(wp.uint32(0xFF10FFFF))  # all of `hi` but Z, N and H
NO_A = wp.constant(wp.uint32(0x00FFFFFF))
NO_B = wp.constant(wp.uint32(0xFFFF00FF))
NO_C = wp.constant(wp.uint32(0xFFFFFF00))
JR_NZ_BACK = 0xFD20  # 'jr nz, -3', back over a one-byte DEC


@wp.struct
class CountdownLocals:
    turns: wp.uint32
    pc: wp.uint32
    start: wp.uint32
    end: wp.uint32
    load: wp.uint32
    dec: wp.uint32


@wp.func
def skip_countdown(c: wp.ref[Console]):
    """Skip all but the last turn of a loop 'dec a; jr nz', as far as the deadline allows."""
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
    """Return the two code bytes at `pc`, an address in HRAM, as one number."""
    p = mem + Q(pc - U(ROW_ORIGIN))
    return ld8(p) | (ld8(p + Q(1)) << U(8))


@wp.func
def boundary_behind(o: wp.ref[CountdownLocals], dma: U) -> U:
    """Return the first instruction boundary of the loop at or after time `dma`, the end of a transfer.

    Boundaries lie 0, 1 (after DEC) and 4 M-cycles into a turn, and at the end of the loop.
    """
    into = (dma - o.start) & U(3)
    return earlier(o.end, dma + wp.where(into >= U(2), U(4) - into, U(0)))


@wp.func(inline=True)
def write_dma_and_wait(c: wp.ref[Console], mem: Q, rom: Q, value: U, t: U):
    """Write FF46 at `t`, with no transfer running, and skip the loop in HRAM that waits for the new transfer.

    The loop is '[ld r, n]; dec r; jr nz, -3' with r = A, B or C. It is skipped only if no event but the transfer's end
    comes before the loop is over; the transfer ends at the same instruction boundary as without the skip.
    https://gbdev.io/pandocs/OAM_DMA_Transfer.html
    """
    o = CountdownLocals()
    source = dma_begin(c, mem, value, t, U(0))
    find_countdown(c, mem, o)
    set_deadline(c, mem, t)  # without the transfer
    dma = t + U(1) + U(OAM_SIZE)
    fits = o.dec != U(0) and I(o.end - next_due(c)) < I(0) and I(c.deadline - dma) >= I(0)
    if fits and I(o.end - dma) >= I(0) and dma_copies_whole(source):
        dma_whole(c, mem, rom, source, boundary_behind(o, dma))
        end_countdown(c, o)
    else:
        dma_request(c, source, t)
        if fits:
            if I(o.end - dma) >= I(0):
                dma_sync(c, mem, rom, boundary_behind(o, dma))
            end_countdown(c, o)
        set_deadline(c, mem, wp.where(fits, c.now, t))


@wp.func
def find_countdown(c: wp.ref[Console], mem: Q, o: wp.ref[CountdownLocals]):
    """Find a countdown loop at PC: `o.dec` becomes its DEC opcode or 0 (none), `o.start` and `o.end` its times."""
    o.pc = c.pc
    o.dec = U(0)
    o.end = c.now
    if o.pc >= U(HRAM) and o.pc < U(0xFFF8):
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
            o.dec = dec
            counter = wp.where(dec == U(5), c.lo >> U(8), c.lo)
            counter = wp.where(dec == U(0x3D), c.hi >> U(24), counter)
            counter = wp.where(o.turns == U(0), counter, o.turns)
            o.turns = ((counter - U(1)) & U(0xFF)) + U(1)
            # DEC takes one M-cycle, JR three, the last JR two.
            o.end = o.start + U(4) * o.turns - U(1)


@wp.func
def end_countdown(c: wp.ref[Console], o: wp.ref[CountdownLocals]):
    """Set the CPU to the state after the loop that `find_countdown` has found."""
    c.now = o.end
    c.pc = o.pc + U(3)
    c.hi = (c.hi & FLAGS_KEPT) | U(DONE_FLAGS)
    if o.dec == U(0x3D):
        c.hi = c.hi & NO_A
    elif o.dec == U(0x05):
        c.lo = c.lo & NO_B
    else:
        c.lo = c.lo & NO_C
