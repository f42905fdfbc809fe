"""Sound registers as they read back; no sound is made.

https://gbdev.io/pandocs/Audio_Registers.html
"""

import warp as wp

from emulator.kernels.intrinsics import Q, U, io_get, io_set
from emulator.machine import Console


@wp.func(inline=False)
def apu_sync(c: wp.ref[Console], mem: Q, t: U):
    c.apu_mark = t


@wp.func(inline=False)
def apu_read(c: wp.ref[Console], mem: Q, register: U, t: U) -> U:
    return io_get(mem, register)


@wp.func(inline=False)
def apu_write(c: wp.ref[Console], mem: Q, register: U, value: U, t: U):
    io_set(mem, register, value)
