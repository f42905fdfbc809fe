"""Channel 1's frequency sweep, which takes time, as programs see it in NR52 and in the frequency.

A trigger and a 128 Hz event only start a countdown of NR10's step in M-cycles; at its end the frequency is added up and
compared with 2047. The channel is on until then, and writes in between count. All of it is advanced in half M-cycles:
a register is written after the first half, the countdown falls and the frame sequencer steps in the second. Time
marks stay whole: at time t the first half of the next M-cycle has been done too.
https://gbdev.io/pandocs/Audio_details.html, docs/notebook/accuracy.md

`apu_sweep_timer`: 128 Hz events to go, modulo 8.
`apu_sweep_shadow`: bits 0-10 the frequency at the last check, 11-21 the increment.
`apu_sweep_flags`: as `load_sweep` splits it. Bits 0 and 1 come from states of older versions and from PyBoy only: the
sweep was on, and it has decreased; what is missing follows then from NR10.
"""

import warp as wp

from emulator.kernels.intrinsics import Q, U
from emulator.kernels.memory import io_registers as io
from emulator.kernels.memory.io_registers import io_get, io_set
from emulator.state.batch import Console

CHANNEL_ON = 1
MOST = 0x7FF
OLDER = 1
WAITS = 0x1FFFC001  # bits of apu_sweep_flags that are 0 if only an event or a write changes anything
AGAIN = 0x8000
YOUNG = 5  # halves for which a trigger counts as just done


@wp.struct
class Sweep:
    """State of the sweep, split."""

    frequency: wp.uint32  # at the last check; 0 behind a trigger
    increment: wp.uint32  # to be added, or subtracted, next
    checked: wp.uint32  # increment of the last check, complemented if it was subtracted
    triggered: wp.uint32  # 1: no check since a trigger
    at_once: wp.uint32  # 1: a check without countdown is due in the next half
    again: wp.uint32  # 1: `reload` writes the frequency a second time
    reload: wp.uint32  # halves until pace, increment and countdown are loaded
    young: wp.uint32  # halves until a trigger is no longer just done
    delay: wp.uint32  # M-cycles until the countdown begins
    age: wp.uint32  # M-cycles of that delay that have passed
    countdown: wp.uint32  # M-cycles until the check
    half: wp.uint32  # time in `run_sweep`


@wp.func
def get_frequency(mem: Q) -> U:
    """Return channel 1's frequency, NR13 and NR14."""
    return io_get(mem, U(io.NR13)) | ((io_get(mem, U(io.NR14)) & U(7)) << U(8))


@wp.func
def get_pace(mem: Q) -> U:
    return (io_get(mem, U(io.NR10)) >> U(4)) & U(7)


@wp.func
def get_step(mem: Q) -> U:
    return io_get(mem, U(io.NR10)) & U(7)


@wp.func
def decreases(mem: Q) -> U:
    """Return NR10's direction: 1 for a falling frequency."""
    return (io_get(mem, U(io.NR10)) >> U(3)) & U(1)


@wp.func
def signed(mem: Q, increment: U) -> U:
    """Return the increment as the adder gets it: complemented for a falling frequency, to which a carry belongs."""
    return increment ^ (decreases(mem) * U(MOST))


@wp.func
def load_sweep(c: wp.ref[Console], mem: Q) -> Sweep:
    flags = c.apu_sweep_flags
    s = Sweep()
    s.frequency = c.apu_sweep_shadow & U(MOST)
    s.increment = (c.apu_sweep_shadow >> U(11)) & U(MOST)
    s.checked = (flags >> U(3)) & U(MOST)
    s.triggered = (flags >> U(2)) & U(1)
    s.at_once = (flags >> U(14)) & U(1)
    s.again = (flags >> U(15)) & U(1)
    s.reload = (flags >> U(16)) & U(3)
    s.young = (flags >> U(18)) & U(7)
    s.delay = (flags >> U(21)) & U(7)
    s.age = (flags >> U(24)) & U(3)
    s.countdown = (flags >> U(26)) & U(7)
    if (flags & U(OLDER)) != U(0):
        s.increment = s.frequency >> get_step(mem)
        s.checked = s.increment ^ (((flags >> U(1)) & U(1)) * U(MOST))
    return s


@wp.func
def store_sweep(c: wp.ref[Console], s: wp.ref[Sweep]):
    if s.delay == U(0) and s.countdown == U(0):
        s.age = U(0)
    c.apu_sweep_shadow = s.frequency | (s.increment << U(11))
    flags = (s.triggered << U(2)) | (s.checked << U(3)) | (s.at_once << U(14)) | (s.again << U(15))
    flags = flags | (s.reload << U(16)) | (s.young << U(18)) | (s.delay << U(21))
    c.apu_sweep_flags = flags | (s.age << U(24)) | (s.countdown << U(26))


@wp.func
def sweep_rests(c: wp.ref[Console]) -> wp.bool:
    """Return whether nothing of the sweep is under way."""
    return (c.apu_sweep_flags & U(WAITS)) == U(0)


@wp.func
def sweeps(c: wp.ref[Console], mem: Q) -> wp.bool:
    """Return whether 128 Hz events sweep the frequency."""
    return (c.apu_status & U(CHANNEL_ON)) != U(0) and get_pace(mem) != U(0)


@wp.func
def overflows(s: wp.ref[Sweep], carry: U) -> wp.bool:
    return s.frequency + s.checked + carry > U(MOST)


@wp.func
def check(c: wp.ref[Console], mem: Q, s: wp.ref[Sweep]):
    """End a countdown: take over frequency and increment; a sum above 2047 turns the channel off.

    But for the first check behind a trigger a DMG adds one more, so that 2047 is too much too.
    """
    s.frequency = get_frequency(mem)
    s.checked = signed(mem, s.increment)
    if decreases(mem) == U(0) and overflows(s, U(1) - s.triggered):
        c.apu_status = c.apu_status - (c.apu_status & U(CHANNEL_ON))
    s.triggered = U(0)


@wp.func
def set_frequency(mem: Q, s: wp.ref[Sweep]):
    """Write the next frequency to NR13 and NR14."""
    frequency = s.frequency + signed(mem, s.increment) + decreases(mem)
    io_set(mem, U(io.NR13), frequency & U(255))
    io_set(mem, U(io.NR14), (io_get(mem, U(io.NR14)) & U(0xF8)) | ((frequency >> U(8)) & U(7)))


@wp.func
def end_pace(mem: Q, s: wp.ref[Sweep]):
    """Sweep once, at the end of the pace; countdown and increment follow about an M-cycle later."""
    if get_pace(mem) != U(0):
        if s.countdown != U(0):
            if s.young > U(2):
                s.frequency = get_frequency(mem)
            s.increment = U(0)
        if get_step(mem) != U(0):
            set_frequency(mem, s)
        s.again = U(1)
        s.reload = U(2)


@wp.func
def load_pace(c: wp.ref[Console], mem: Q, s: wp.ref[Sweep]):
    """Load pace, increment and countdown from the registers as they are now."""
    step = get_step(mem)
    if step != U(0) and s.again != U(0):
        set_frequency(mem, s)
    s.again = U(0)
    if s.young == U(0):
        if step != U(0):
            s.countdown = step
        else:
            s.at_once = U(1)
    s.increment = get_frequency(mem) >> step
    c.apu_sweep_timer = get_pace(mem)


@wp.func(inline=False)
def run_sweep(c: wp.ref[Console], mem: Q, done: U, until: U):
    """Advance the sweep from half `done` to half `until`, counted from time 0; even halves end an M-cycle."""
    s = load_sweep(c, mem)
    counts = get_step(mem) != U(0)
    s.half = done
    while s.half != until and (s.at_once + s.reload + s.young + s.delay != U(0) or (counts and s.countdown != U(0))):
        s.half = s.half + U(1)
        if s.at_once != U(0):
            s.at_once = U(0)
            check(c, mem, s)
        elif (s.half & U(1)) == U(0):
            if s.delay != U(0):
                s.delay = s.delay - U(1)
                s.age = wp.min(s.age + U(1), U(3))
            elif s.countdown != U(0) and counts:
                s.countdown = s.countdown - U(1)
                if s.countdown == U(0):
                    check(c, mem, s)
        s.young = s.young - wp.min(s.young, U(1))
        if s.reload != U(0):
            s.reload = s.reload - U(1)
            if s.reload == U(0):
                load_pace(c, mem, s)
    store_sweep(c, s)


@wp.func(inline=False)
def clock_sweep(c: wp.ref[Console], mem: Q):
    """Run one 128 Hz event: sweep if the channel is on and its pace has ended."""
    if (c.apu_status & U(CHANNEL_ON)) != U(0):
        c.apu_sweep_timer = (c.apu_sweep_timer - U(1)) & U(7)
        if c.apu_sweep_timer == U(0):
            s = load_sweep(c, mem)
            end_pace(mem, s)
            store_sweep(c, s)


@wp.func(inline=False)
def trigger_sweep(c: wp.ref[Console], mem: Q):
    """Start anew after a trigger; with a step, a countdown begins two to four M-cycles later."""
    s = load_sweep(c, mem)
    step = get_step(mem)
    c.apu_sweep_timer = get_pace(mem)
    s.frequency = U(0)
    s.increment = U(0)
    s.checked = U(0)
    s.triggered = U(1)
    if s.delay == U(0) and get_pace(mem) == U(1):  # no other pace can end so soon
        s.young = U(YOUNG)
    if step != U(0):
        s.increment = get_frequency(mem) >> step
        if s.delay == U(0) or s.age >= U(2):
            s.delay = U(2)
            if s.countdown < U(2):
                s.delay = s.delay + U(1)
            if s.age == U(2) and s.countdown == step:
                s.delay = s.delay + U(1)
            s.age = U(0)
        s.countdown = step
    store_sweep(c, s)


@wp.func
def keeps_sweep(c: wp.ref[Console], mem: Q, value: U) -> wp.bool:
    """Return whether a write of `value` to NR10 changes only that register while the sweep rests."""
    idle = (c.apu_status & U(CHANNEL_ON)) == U(0)
    frequency = c.apu_sweep_shadow & U(MOST)
    held = frequency + ((c.apu_sweep_flags >> U(3)) & U(MOST)) < U(MOST) or (value & U(8)) != U(0)
    return idle or (held and ((value | io_get(mem, U(io.NR10))) & U(0x70)) == U(0))


@wp.func(inline=False)
def write_sweep(c: wp.ref[Console], mem: Q, value: U):
    """Write NR10 while channel 1 is on or off."""
    step = get_step(mem)
    io_set(mem, U(io.NR10), value)
    s = load_sweep(c, mem)
    if decreases(mem) == U(0) and overflows(s, U(1)):
        c.apu_status = c.apu_status - (c.apu_status & U(CHANNEL_ON))
    if (c.apu_status & U(CHANNEL_ON)) != U(0):
        if s.delay != U(0) and s.age < U(2):
            s.countdown = get_step(mem)
            if s.countdown == U(0):
                s.delay = U(0)
        elif s.countdown != U(0) and step == U(0) and get_step(mem) != U(0):
            s.countdown = s.countdown - U(1)
            if s.countdown == U(0):
                check(c, mem, s)
        if (c.apu_sweep_timer & U(7)) == U(0):
            end_pace(mem, s)
    store_sweep(c, s)


@wp.func
def keep_frequency(c: wp.ref[Console]):
    """Let a frequency just written to NR13 or NR14 not be written over by `load_pace`."""
    c.apu_sweep_flags = c.apu_sweep_flags - (c.apu_sweep_flags & U(AGAIN))
