"""Serial port without a partner: the internal clock shifts in ones.

A transfer takes sixteen half-periods of the 8192 Hz clock, which is tapped from the divider. While it runs, SB in the
memory row is the byte at `serial_start`, when `serial_edges` half-periods had passed.
https://gbdev.io/pandocs/Serial_Data_Transfer_(Link_Cable).html
"""

import warp as wp

from emulator.constants import INTERRUPT_SERIAL
from emulator.kernels.intrinsics import FAR, I, Q, U, st8
from emulator.kernels.memory import io_registers as io
from emulator.kernels.memory.io_registers import io_get, io_set, request_interrupt
from emulator.state.batch import Console

HALF_PERIOD_SHIFT = 6  # the serial clock toggles every 64 M-cycles of the divider


@wp.func
def serial_edges(c: wp.ref[Console], t: U) -> U:
    """Return the number of half-periods of the serial clock since the transfer started, at most 16."""
    zero = c.div_zero
    edges = ((t - zero) >> U(HALF_PERIOD_SHIFT)) - ((c.serial_start - zero) >> U(HALF_PERIOD_SHIFT))
    return wp.min(edges + c.serial_edges, U(16))


@wp.func
def serial_shifted(c: wp.ref[Console], mem: Q, edges: U) -> U:
    """Return SB of a running transfer after `edges` half-periods: the bits that went out are replaced by ones."""
    bits = (edges >> U(1)) - (c.serial_edges >> U(1))
    return ((io_get(mem, U(io.SB)) << bits) | ((U(1) << bits) - U(1))) & U(255)


@wp.func
def serial_retime(c: wp.ref[Console], mem: Q, t: U, edges: U):
    """Compute SB and the transfer's end anew if it has had `edges` half-periods at time `t`."""
    zero = c.div_zero
    io_set(mem, U(io.SB), serial_shifted(c, mem, edges))
    c.serial_start = t
    c.serial_edges = edges
    c.serial_end = zero + ((((t - zero) >> U(HALF_PERIOD_SHIFT)) + U(16) - edges) << U(HALF_PERIOD_SHIFT))


@wp.func
def serial_write_control(c: wp.ref[Console], mem: Q, value: U, t: U):
    """Write SC: bit 7 with bit 0 starts a transfer with the internal clock.

    A transfer that runs ends without interrupt: SB keeps what was shifted, and a bit in its second half is shifted too.
    """
    if c.serial_active != U(0):
        io_set(mem, U(io.SB), serial_shifted(c, mem, serial_edges(c, t) + U(1)))
    io_set(mem, U(io.SC), value)
    c.serial_active = U(0)
    c.serial_end = t + FAR
    if (value & U(0x81)) == U(0x81):
        count = c.serial_count
        if I(count) < I(c.serial_capacity):
            st8(mem + Q(c.serial_log + count), io_get(mem, U(io.SB)))
        c.serial_count = count + U(1)
        c.serial_active = U(1)
        c.serial_edges = U(0)
        serial_retime(c, mem, t, U(0))


@wp.func
def serial_data(c: wp.ref[Console], mem: Q, t: U) -> U:
    """Return SB at time `t`."""
    return serial_shifted(c, mem, wp.where(c.serial_active != U(0), serial_edges(c, t), c.serial_edges))


@wp.func
def serial_write_data(c: wp.ref[Console], mem: Q, value: U, t: U):
    """Write SB; a running transfer goes on with the new byte, of which only the bits still to come are shifted."""
    if c.serial_active != U(0):
        serial_retime(c, mem, t, serial_edges(c, t))
    io_set(mem, U(io.SB), value)


@wp.func
def serial_finish(c: wp.ref[Console], mem: Q, t: U):
    """End a transfer at time `t`: SC bit 7 is cleared, the interrupt is requested."""
    io_set(mem, U(io.SB), serial_shifted(c, mem, U(16)))
    io_set(mem, U(io.SC), io_get(mem, U(io.SC)) & U(0x7F))
    c.serial_active = U(0)
    c.serial_end = t + FAR
    request_interrupt(mem, U(INTERRUPT_SERIAL))


@wp.func
def serial_div_write(c: wp.ref[Console], mem: Q, edges_before: U, t: U):
    """Compute the end of a running transfer anew after a write to DIV; `div_zero` is already the new one.

    `edges_before`: half-periods counted before the write.
    """
    if c.serial_active != U(0):
        serial_retime(c, mem, t, wp.min(edges_before, U(16)))
