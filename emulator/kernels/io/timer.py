"""Divider and timer as functions of the clock.

The divider counts M-cycles since `div_zero`; TIMA counts falling edges of one of its bits. TIMA in the memory
row is valid at `tima_mark`; `timer_sync` advances it in one arithmetic step.
https://gbdev.io/pandocs/Timer_Obscure_Behaviour.html
"""

import warp as wp

from emulator.constants import INTERRUPT_TIMER
from emulator.kernels.intrinsics import FAR, Q, U
from emulator.kernels.memory import io_registers as io
from emulator.kernels.memory.io_registers import io_get, io_set, request_interrupt
from emulator.state.batch import Console

TIMA_PLAIN = 0
TIMA_OVERFLOWED = 1  # reads 00 for one M-cycle; a write cancels the reload
TIMA_RELOADED = 2  # TMA is being copied in: writes to TIMA are lost, writes to TMA pass through


@wp.struct
class TimerLocals:
    tima: wp.uint32
    state: wp.uint32
    next: wp.uint32


@wp.func
def timer_shift(tac: U) -> U:
    """Return log2 of the M-cycles per TIMA increment for the clock that TAC selects."""
    return wp.where((tac & U(3)) == U(0), U(8), U(2) * (tac & U(3)))


@wp.func(inline=False)
def timer_sync(c: wp.ref[Console], mem: Q, t: U):
    """Advance TIMA to time `t`, request its interrupts, and compute the time of the next reload."""
    o = TimerLocals()
    mark = c.tima_mark
    tac = io_get(mem, U(io.TAC))
    tma = io_get(mem, U(io.TMA))
    zero = c.div_zero
    shift = timer_shift(tac)
    o.tima = io_get(mem, U(io.TIMA))
    o.state = c.tima_state
    if t != mark:
        if o.state == U(TIMA_OVERFLOWED):
            o.tima = tma
            request_interrupt(mem, U(INTERRUPT_TIMER))
            o.state = wp.where(t == mark + U(1), U(TIMA_RELOADED), U(TIMA_PLAIN))
        else:
            o.state = U(TIMA_PLAIN)
        if (tac & U(4)) != U(0):
            edges = (t - zero) >> shift
            total = o.tima + edges - ((mark - zero) >> shift)
            o.tima = total
            if total > U(255):
                after = total - U(256)
                rest = after % (U(256) - tma)
                last = zero + (edges << shift)
                o.tima = tma + rest
                if rest == U(0) and last == t:
                    # TIMA overflows now and takes TMA one M-cycle later.
                    o.tima = U(0)
                    o.state = U(TIMA_OVERFLOWED)
                    if after > U(0):
                        request_interrupt(mem, U(INTERRUPT_TIMER))
                else:
                    request_interrupt(mem, U(INTERRUPT_TIMER))
                    if rest == U(0) and last + U(1) == t:
                        o.state = U(TIMA_RELOADED)
        io_set(mem, U(io.TIMA), o.tima)
        c.tima_mark = t
        c.tima_state = o.state
    o.next = t + FAR
    if o.state == U(TIMA_OVERFLOWED):
        o.next = t + U(1)
    elif (tac & U(4)) != U(0):
        o.next = zero + ((((t - zero) >> shift) + U(256) - o.tima) << shift) + U(1)
    c.timer_next = o.next


@wp.func
def timer_signal(c: wp.ref[Console], tac: U, t: U) -> U:
    """Return the timer's input: enable bit AND the divider bit that TAC selects."""
    return (tac >> U(2)) & ((t - c.div_zero) >> (timer_shift(tac) - U(1))) & U(1)


@wp.func
def timer_increment(c: wp.ref[Console], mem: Q):
    """Increment TIMA at `tima_mark` for a falling edge caused by a write to DIV or TAC."""
    tima = (io_get(mem, U(io.TIMA)) + U(1)) & U(255)
    io_set(mem, U(io.TIMA), tima)
    if tima == U(0):
        c.tima_state = U(TIMA_OVERFLOWED)


@wp.func
def div_read(c: wp.ref[Console], t: U) -> U:
    """Return DIV: the upper byte of the 16-bit divider."""
    return ((t - c.div_zero) >> U(6)) & U(255)


@wp.func
def timer_div_write(c: wp.ref[Console], mem: Q, t: U):
    """Clear the divider after a write to DIV; a selected bit that was 1 falls, which increments TIMA."""
    timer_sync(c, mem, t)
    if timer_signal(c, io_get(mem, U(io.TAC)), t) != U(0):
        timer_increment(c, mem)
    c.div_zero = t
    timer_sync(c, mem, t)


@wp.func
def timer_write(c: wp.ref[Console], mem: Q, register: U, value: U, t: U):
    """Write TIMA, TMA or TAC at time `t`."""
    timer_sync(c, mem, t)
    state = c.tima_state
    if register == U(io.TIMA):
        if state != U(TIMA_RELOADED):
            io_set(mem, U(io.TIMA), value)
            c.tima_state = U(TIMA_PLAIN)
    elif register == U(io.TMA):
        io_set(mem, U(io.TMA), value)
        if state == U(TIMA_RELOADED):
            io_set(mem, U(io.TIMA), value)
    else:
        before = timer_signal(c, io_get(mem, U(io.TAC)), t)
        io_set(mem, U(io.TAC), value)
        if before != U(0) and timer_signal(c, value, t) == U(0):
            timer_increment(c, mem)
    timer_sync(c, mem, t)


@wp.func
def timer_stable(c: wp.ref[Console], mem: Q, register: U, t: U) -> U:
    """Return the time until which DIV (4) or TIMA (5), just read at `t`, keeps its value."""
    tac = io_get(mem, U(io.TAC))
    shift = wp.where(register == U(io.DIV), U(6), timer_shift(tac))
    zero = c.div_zero
    next_edge = zero + ((((t - zero) >> shift) + U(1)) << shift)
    idle = register == U(io.TIMA) and (tac & U(4)) == U(0)
    busy = register == U(io.TIMA) and c.tima_state == U(TIMA_OVERFLOWED)
    return wp.where(busy, t, wp.where(idle, t + FAR, next_edge))
