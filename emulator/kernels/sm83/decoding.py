"""Predecoded words and control bits, as both executors and the service read them."""

import warp as wp

from emulator.kernels.intrinsics import U
from emulator.rom import control_rows

READ16 = control_rows.READ16
WRITE16 = control_rows.WRITE16


@wp.func
def slow_kind(ctl: U) -> U:
    """What an instruction off the uniform path is (control_rows.SLOW_KINDS)."""
    return (ctl >> U(24)) & U(15)


@wp.func(inline=True)
def is_wide(ctl: U) -> wp.bool:
    """Is the memory operand one of two bytes?"""
    return (ctl & U(READ16 | WRITE16)) != U(0)


@wp.func
def fetched(first: U, second: U, third: U) -> U:
    """Predecoded word of three code bytes, as control_rows.predecode makes it."""
    immediate = wp.where((first & U(0xC7)) == U(0xC7), first & U(0x38), second | (third << U(8)))
    plain = first | (immediate << U(16))
    return wp.where(first == U(0xCB), U(256) + second, plain)
