"""P1: two rows of four buttons. https://gbdev.io/pandocs/Joypad_Input.html"""

import warp as wp

from emulator.kernels.intrinsics import Q, U, io_get, io_set, raise_if
from emulator.machine import Console


@wp.func
def joypad_lines(select: U, buttons: U) -> U:
    """Low nibble of P1 for the rows that `select` (raw P1) pulls low: 0 = pressed."""
    directions = wp.where((select & U(0x10)) == U(0), buttons & U(15), U(0))
    actions = wp.where((select & U(0x20)) == U(0), buttons >> U(4), U(0))
    return U(15) ^ ((directions | actions) & U(15))


@wp.func
def joypad_read(c: wp.ref[Console], mem: Q) -> U:
    select = io_get(mem, U(0)) & U(0x30)
    return U(0xC0) | select | joypad_lines(select, c.buttons)


@wp.func
def joypad_change(c: wp.ref[Console], mem: Q, select: U, buttons: U):
    """Set row selection and held buttons; a line that falls requests the interrupt."""
    before = joypad_lines(io_get(mem, U(0)), c.buttons)
    after = joypad_lines(select, buttons)
    io_set(mem, U(0), select & U(0x30))
    c.buttons = buttons
    if (before & (U(15) ^ after)) != U(0):
        raise_if(mem, U(0x10))
