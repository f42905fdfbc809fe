"""MBC3 real-time clock, driven by emulated time. https://gbdev.io/pandocs/MBC3.html

Seconds begin at `rtc_zero`; while the clock is halted that field holds the elapsed part of the
running second instead. Registers keep values out of range and only carry from 59 and 23.
"""

import warp as wp

from emulator.constants import M_CYCLES_PER_SECOND
from emulator.kernels.intrinsics import U
from emulator.rom.cartridge import MapperKind
from emulator.state.batch import Console

HUC3 = int(MapperKind.HUC3)
FIRST_CHIP = 2  # value of has_rtc
RTC_HALT = 0x4000  # bits of rtc_days: 0-8 day, 14 halt, 15 day carry, as DL and DH hold them
RTC_CARRY = 0x8000


@wp.struct
class RtcLocals:
    value: wp.uint32


@wp.func
def rtc_tick(c: wp.ref[Console]):
    """Advance the clock by one second."""
    seconds = c.rtc_seconds
    c.rtc_seconds = wp.where(seconds == U(59), U(0), (seconds + U(1)) & U(63))
    if seconds == U(59):
        minutes = c.rtc_minutes
        c.rtc_minutes = wp.where(minutes == U(59), U(0), (minutes + U(1)) & U(63))
        if minutes == U(59):
            hours = c.rtc_hours
            c.rtc_hours = wp.where(hours == U(23), U(0), (hours + U(1)) & U(31))
            if hours == U(23):
                days = c.rtc_days
                day = (days + U(1)) & wp.where(c.mapper == U(HUC3), U(0xFFF), U(0x1FF))
                carry = wp.where(day == U(0), U(RTC_CARRY), days & U(RTC_CARRY))
                c.rtc_days = day | carry | (days & U(RTC_HALT))


@wp.func(inline=False)
def rtc_sync(c: wp.ref[Console], t: U):
    """Advance the clock to time `t`."""
    if (c.rtc_days & U(RTC_HALT)) == U(0):
        while t - c.rtc_zero >= U(M_CYCLES_PER_SECOND):
            c.rtc_zero = c.rtc_zero + U(M_CYCLES_PER_SECOND)
            rtc_tick(c)


@wp.func
def rtc_latch(c: wp.ref[Console], value: U, t: U):
    """Write to 6000-7FFF: copy the running clock to the registers that programs read.

    Programs write 0 and then 1, which every chip accepts; an MBC3A accepts any value (cpp latch-rtc-test;
    https://github.com/gbdev/pandocs/pull/637), the first MBC3 wants bit 0 to rise.
    """
    rtc_sync(c, t)
    if c.has_rtc != U(FIRST_CHIP) or (value & (U(1) ^ c.rtc_latch) & U(1)) != U(0):
        c.rtc_latched_low = c.rtc_seconds | (c.rtc_minutes << U(8)) | (c.rtc_hours << U(16))
        c.rtc_latched_days = c.rtc_days
    c.rtc_latch = value


@wp.func
def rtc_read(c: wp.ref[Console]) -> U:
    """Return the latched value of the selected clock register, 08-0C."""
    o = RtcLocals()
    register = c.ram_bank
    if register <= U(10):
        o.value = (c.rtc_latched_low >> (U(8) * (register - U(8)))) & U(255)
    elif register == U(11):
        o.value = c.rtc_latched_days & U(255)
    else:
        o.value = c.rtc_latched_days >> U(8)
    return o.value


@wp.func
def rtc_write(c: wp.ref[Console], value: U, t: U):
    """Set the selected clock register, 08-0C, of the running clock; seconds also restart the sub-second counter."""
    rtc_sync(c, t)
    register = c.ram_bank
    halted = c.rtc_days & U(RTC_HALT)
    if register == U(8):
        c.rtc_seconds = value & U(63)
        c.rtc_zero = wp.where(halted == U(0), t, U(0))
    elif register == U(9):
        c.rtc_minutes = value & U(63)
    elif register == U(10):
        c.rtc_hours = value & U(31)
    elif register == U(11):
        c.rtc_days = (c.rtc_days & U(0xFF00)) | value
    elif register == U(12):
        days = (c.rtc_days & U(0xFF)) | ((value & U(0xC1)) << U(8))
        if (days & U(RTC_HALT)) != halted:
            c.rtc_zero = t - c.rtc_zero  # elapsed part of the second <-> its start
        c.rtc_days = days
