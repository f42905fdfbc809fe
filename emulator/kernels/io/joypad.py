"""P1: two rows of four buttons. https://gbdev.io/pandocs/Joypad_Input.html

A row that is selected pulls its lines low at once. On a DMG the lines of a deselected row rise slowly: for some
M-cycles a program still sees its pressed buttons (the reason why games read P1 several times). The byte in the memory
row holds the selection that the lines follow; `joypad_target` the one that was written, until `joypad_settles`.
"""

import warp as wp

from emulator.constants import INTERRUPT_JOYPAD
from emulator.kernels.intrinsics import I, Q, U, earlier
from emulator.kernels.memory import io_registers as io
from emulator.kernels.memory.io_registers import io_get, io_set, request_interrupt
from emulator.state.batch import Console

SETTLED = 0xC0  # bits of the byte in the row: it is P1's read value until something changes
PENDING = 0x80  # bits of Console.joypad_target
BOUNCES = 0x100  # bit of Console.buttons within a launch: switches bounce
HIDDEN = 0x04  # the row holds P1's read value; bits 0 and 1 are the selection that the lines follow
DIRECTIONS_RISE = 6  # M-cycles until the lines of a deselected row are high again
ACTIONS_RISE = 3


@wp.func
def joypad_lines(select: U, buttons: U) -> U:
    """Return the low nibble of P1 for the rows that `select` (raw P1) pulls low: 0 = pressed."""
    directions = wp.where((select & U(0x10)) == U(0), buttons & U(15), U(0))
    actions = wp.where((select & U(0x20)) == U(0), buttons >> U(4), U(0))
    return U(15) ^ ((directions | actions) & U(15))


@wp.func
def joypad_settle(c: wp.ref[Console], mem: Q, t: U):
    """Complete a pending deselection of button rows if their lines have risen by time `t`.

    Then, or if `joypad_show` has stored a read value for them, P1's byte in the memory row becomes a selection again.
    """
    if c.joypad_target != U(0):
        if I(t - c.joypad_settles) >= I(0):
            io_set(mem, U(io.P1), c.joypad_target & U(0x30))
            c.joypad_target = U(0)
            c.joypad_settles = U(0)
        elif (c.joypad_target & U(HIDDEN)) != U(0):
            io_set(mem, U(io.P1), (c.joypad_target << U(4)) & U(0x30))
            c.joypad_target = c.joypad_target & U(PENDING | 0x30)


@wp.func
def joypad_show(c: wp.ref[Console], mem: Q):
    """Store P1's read value in the memory row, marked by SETTLED, so that reads need no call.

    Nothing is stored while a deselected row still shows a held button: the value will soon change.
    """
    follows = io_get(mem, U(io.P1)) & U(0x30)
    lines = joypad_lines(follows, c.buttons)
    if c.joypad_target == U(0):
        io_set(mem, U(io.P1), U(SETTLED) | follows | lines)
    elif joypad_lines(c.joypad_target, c.buttons) == lines:
        io_set(mem, U(io.P1), U(SETTLED) | (c.joypad_target & U(0x30)) | lines)
        c.joypad_target = c.joypad_target | U(HIDDEN) | (follows >> U(4))


@wp.func
def joypad_read(c: wp.ref[Console], mem: Q, t: U) -> U:
    """Return P1 as read in the M-cycle that begins at `t`; `c.stable` becomes the time until which it holds."""
    joypad_settle(c, mem, t)
    follows = io_get(mem, U(io.P1)) & U(0x30)
    lines = joypad_lines(follows, c.buttons)
    if c.joypad_target != U(0):
        c.stable = earlier(c.stable, t)
        follows = c.joypad_target & U(0x30)
    joypad_show(c, mem)
    return U(SETTLED) | follows | lines


@wp.func
def joypad_change(c: wp.ref[Console], mem: Q, select: U, buttons: U) -> U:
    """Store the row selection `select` and the held `buttons`; a falling line requests the joypad interrupt.

    Returns the lines that fell, as bits.
    """
    before = joypad_lines(io_get(mem, U(io.P1)), c.buttons)
    after = joypad_lines(select, buttons)
    io_set(mem, U(io.P1), select & U(0x30))
    c.buttons = buttons
    falls = before & (U(15) ^ after)
    if falls != U(0):
        request_interrupt(mem, U(INTERRUPT_JOYPAD))
    return falls


@wp.func
def joypad_hold(c: wp.ref[Console], mem: Q, buttons: U, t: U):
    """Set the held buttons to exactly the mask `buttons` from time `t` on; one let go may bounce."""
    joypad_settle(c, mem, t)
    select = io_get(mem, U(io.P1))
    bounces = c.buttons & U(BOUNCES)
    if bounces != U(0) and (joypad_lines(select, buttons) & (U(15) ^ joypad_lines(select, c.buttons))) != U(0):
        request_interrupt(mem, U(INTERRUPT_JOYPAD))
    joypad_change(c, mem, select, buttons | bounces)


@wp.func
def joypad_select(c: wp.ref[Console], mem: Q, value: U, t: U) -> U:
    """Write `value` to P1 in the M-cycle that begins at `t`; return INTERRUPT_JOYPAD if that requests it, enabled."""
    joypad_settle(c, mem, t)
    wanted = value & U(0x30)
    follows = io_get(mem, U(io.P1))
    if c.joypad_target != U(0):
        follows = c.joypad_target & U(0x30)
    rises = wanted & (U(0x30) ^ follows)
    wait = wp.where((rises & U(0x20)) != U(0), U(ACTIONS_RISE), U(0))
    wait = wp.where((rises & U(0x10)) != U(0), U(DIRECTIONS_RISE), wait)
    if c.joypad_target != U(0) and wanted != follows:
        wait = wp.max(wait, c.joypad_settles - t)
    c.joypad_target = wp.where(wait != U(0), U(PENDING) | wanted, U(0))
    c.joypad_settles = wp.where(wait != U(0), t + wait, U(0))
    falls = joypad_change(c, mem, wanted & wp.where(wait != U(0), follows, U(0x30)), c.buttons)
    joypad_show(c, mem)
    return wp.where(falls != U(0), io_get(mem, U(io.IE)) & U(INTERRUPT_JOYPAD), U(0))


@wp.func
def joypad_rest(mem: Q):
    """Reduce P1's byte in the memory row to its selection bits, the form that it has between launches."""
    io_set(mem, U(io.P1), io_get(mem, U(io.P1)) & U(0x30))
