"""Outputs of the four sound channels, as a digital 0-15 in each M-cycle; made beside a launch (sound/channels.py).

What programs can read is followed by `sound_registers`: which channels are on, lengths, sweep, the wave channel's
position. Here is the rest: duty, envelopes, the noise channel's shift register, and what writes in between do to
them. Times are M-cycles; a step function is called once for each, after `apu_sync`.
https://gbdev.io/pandocs/Audio_details.html; what is not there follows SameBoy as a DMG-CPU B.
"""

import warp as wp

from emulator.kernels.intrinsics import Q, U
from emulator.kernels.memory import io_registers as io
from emulator.kernels.memory.io_registers import io_get

DUTIES = 0x7E_E1_81_80  # a byte for each duty, bit n the level at position n; bit 7 of the pulse comes last
NEVER = 0x8000


@wp.struct
class Voice:
    """Hidden state of a channel."""

    wait: wp.uint32  # M-cycles to the next step
    place: wp.uint32  # duty position, or the noise channel's counter
    output: wp.uint32  # 0-15; counts while the channel is on
    volume: wp.uint32
    left: wp.uint32  # envelope clocks to the next change
    due: wp.uint32  # 1: the next event changes the volume
    ends: wp.uint32  # 1: that change is the last
    ended: wp.uint32  # 1: the envelope has come to its end
    hidden: wp.uint32  # 1: just triggered, the output is 0 until the first step (noise: until `starts` ends)
    fresh: wp.uint32  # 1: a step fell into this M-cycle
    ticked: wp.uint32  # 1: a step since the trigger
    byte: wp.uint32  # wave: byte that is played
    bits: wp.uint32  # noise: shift register
    starts: wp.uint32  # noise: M-cycles until a delayed trigger
    counts: wp.uint32  # noise: 1 since a trigger with the DAC on
    runs: wp.uint32  # noise: 1 since a trigger
    muted: wp.uint32  # noise: 1 if the last trigger was with the DAC off
    phase: wp.uint32  # noise: M-cycles since the power went on, modulo 2


@wp.func(inline=False)
def clear_voice(v: wp.ref[Voice], wait: U):
    """Set a voice to its state after the power went off or on."""
    v.wait = wait
    v.place = U(0)
    v.output = U(0)
    v.volume = U(0)
    v.left = U(0)
    v.due = U(0)
    v.ends = U(0)
    v.ended = U(0)
    v.hidden = U(0)
    v.fresh = U(0)
    v.ticked = U(0)
    v.byte = U(0)
    v.bits = U(0)
    v.starts = U(0)
    v.counts = U(0)
    v.runs = U(0)
    v.muted = U(0)
    v.phase = U(0)


@wp.func(inline=False)
def volume_changed(v: wp.ref[Voice], high: wp.bool):
    if v.hidden == U(0):
        v.output = wp.where(high, v.volume, U(0))


@wp.func(inline=False)
def pulse_is_high(v: wp.ref[Voice], mem: Q, channel: U) -> wp.bool:
    duty = io_get(mem, U(io.NR11) + U(5) * channel) >> U(6)
    return ((U(DUTIES) >> (duty * U(8) + v.place)) & U(1)) != U(0)


@wp.func(inline=False)
def shows_high(v: wp.ref[Voice], mem: Q, channel: U) -> wp.bool:
    """Return whether a pulse or noise channel is in the high half of its wave."""
    high = (v.bits & U(1)) != U(0)
    if channel < U(2):
        high = pulse_is_high(v, mem, channel)
    return high


# ---- envelopes ---------------------------------------------------------------------------------


@wp.func(inline=False)
def not_due(v: wp.ref[Voice]):
    if v.due != U(0):
        v.due = U(0)
        v.ended = v.ended | v.ends


@wp.func(inline=False)
def sequencer_event(v: wp.ref[Voice], mem: Q, channel: U, step: U):
    """Follow an event of the frame sequencer, a falling edge of the divider, after which it stands at `step`."""
    if step == U(7) and v.due == U(0):
        v.left = (v.left - U(1)) & U(7)
    if v.due != U(0):
        not_due(v)
        envelope = io_get(mem, U(io.NR12) + U(5) * channel)
        if v.ended == U(0) and (envelope & U(7)) != U(0):
            v.volume = (v.volume + wp.where((envelope & U(8)) != U(0), U(1), U(15))) & U(15)
            volume_changed(v, shows_high(v, mem, channel))


@wp.func(inline=False)
def load_envelope(v: wp.ref[Voice], mem: Q, channel: U):
    """Load the countdown of an envelope whose countdown has ended, at a rising edge of the divider."""
    if v.left == U(0):
        envelope = io_get(mem, U(io.NR12) + U(5) * channel)
        v.left = envelope & U(7)
        if v.left == U(0):
            not_due(v)
        elif v.due == U(0):
            v.due = U(1)
            last = wp.where((envelope & U(8)) != U(0), U(15), U(0))
            v.ends = wp.where(v.volume == last, U(1), U(0))


@wp.func(inline=False)
def rewrite_envelope(v: wp.ref[Voice], old: U, value: U):
    """Change the volume as a write of `value` over `old` to NRx2 does while the channel is on ("zombie mode")."""
    if v.due != U(0):
        v.left = value & U(7)
    steps = (value & U(7)) != U(0) and (old & U(7)) == U(0) and v.ended == U(0)
    if (value & U(15)) == U(8) and (old & U(15)) == U(8) and v.ended == U(0):
        steps = wp.bool(True)
    if ((value ^ old) & U(8)) != U(0):
        if (value & U(8)) == U(0):
            v.volume = (U(16) - v.volume) & U(15)
        elif (old & U(7)) == U(0) and v.ended == U(0):
            v.volume = v.volume ^ U(15)
        else:
            v.volume = (U(14) - v.volume) & U(15)
        if (value & U(8)) != U(0):
            steps = wp.bool(False)
    if steps:
        v.volume = (v.volume + wp.where((value & U(8)) != U(0), U(1), U(15))) & U(15)
    elif (value & U(7)) == U(0):
        not_due(v)


@wp.func(inline=False)
def start_envelope(v: wp.ref[Voice], envelope: U):
    v.due = U(0)
    v.ended = U(0)
    v.volume = envelope >> U(4)
    v.left = envelope & U(7)


# ---- pulse ---------------------------------------------------------------------------------------


@wp.func(inline=False)
def tone_period(mem: Q, channel: U) -> U:
    low = io_get(mem, U(io.NR13) + U(5) * channel)
    return U(2048) - (low | ((io_get(mem, U(io.NR14) + U(5) * channel) & U(7)) << U(8)))


@wp.func(inline=False)
def step_pulse(v: wp.ref[Voice], mem: Q, channel: U):
    """Advance a pulse channel that is on by one M-cycle."""
    v.wait = v.wait - U(1)
    v.fresh = U(0)
    if v.wait == U(0):
        v.wait = tone_period(mem, channel)
        v.place = (v.place + U(1)) & U(7)
        v.hidden = U(0)
        v.fresh = U(1)
        v.ticked = U(1)
        volume_changed(v, pulse_is_high(v, mem, channel))


@wp.func(inline=False)
def write_pulse(v: wp.ref[Voice], mem: Q, channel: U, place: U, old: U, value: U, period: U, was_on: wp.bool):
    """Follow a write of `value` over `old` to NRx`place`; `period` was the period before."""
    envelope = io_get(mem, U(io.NR12) + U(5) * channel)
    if place == U(2) and was_on:
        rewrite_envelope(v, old, U(0xFF))
        rewrite_envelope(v, U(0xFF), value)
        volume_changed(v, pulse_is_high(v, mem, channel))
    if place == U(4) and value < U(0x80) and was_on and (old & U(7)) == U(7) and (value & U(7)) != U(7):
        if v.ticked != U(0) and v.wait == period:
            v.place = (v.place - U(1)) & U(7)
            v.hidden = U(0)
    if place >= U(3) and v.fresh != U(0):
        v.wait = tone_period(mem, channel)
    if place == U(4) and value >= U(0x80):
        v.wait = tone_period(mem, channel) + wp.where(was_on, U(1), U(2))
        v.ticked = U(0)
        start_envelope(v, envelope)
        if was_on:
            volume_changed(v, pulse_is_high(v, mem, channel))
        elif envelope >= U(8):
            v.output = U(0)
            v.hidden = U(1)


# ---- wave ----------------------------------------------------------------------------------------


@wp.func(inline=False)
def play_wave(v: wp.ref[Voice], mem: Q, index: U):
    """Put out sample `index` of the byte that was read, shifted by NR32."""
    volume = (io_get(mem, U(io.NR32)) >> U(5)) & U(3)
    nibble = wp.where((index & U(1)) != U(0), v.byte & U(15), v.byte >> U(4))
    v.output = nibble >> wp.where(volume == U(0), U(4), volume - U(1))


# ---- noise ---------------------------------------------------------------------------------------


@wp.func(inline=False)
def shift_noise(v: wp.ref[Voice], narrow: wp.bool, is_on: wp.bool):
    new = (v.bits ^ (v.bits >> U(1)) ^ U(1)) & U(1)
    feeds = wp.where(narrow, U(0x4040), U(0x4000))
    v.bits = (v.bits >> U(1)) & (U(0x7FFF) ^ feeds)
    if new != U(0):
        v.bits = v.bits | feeds
    if is_on:
        v.output = wp.where((v.bits & U(1)) != U(0), v.volume, U(0))


@wp.func(inline=False)
def noise_bit(counter: U, register: U) -> U:
    """Return the bit of the counter whose rise shifts the register."""
    return (counter >> (register >> U(4))) & U(1)


@wp.func(inline=False)
def noise_divider(register: U) -> U:
    """Return the M-cycles between two steps of the counter."""
    return wp.max((register & U(7)) * U(2), U(1))


@wp.func(inline=False)
def step_noise(v: wp.ref[Voice], mem: Q, is_on: wp.bool):
    """Advance the noise channel by one M-cycle."""
    register = io_get(mem, U(io.NR43))
    sounds = is_on and v.hidden == U(0)
    v.phase = v.phase ^ U(1)
    if (v.counts | v.runs) != U(0):
        if v.wait == U(0):
            v.wait = noise_divider(register)
        v.wait = v.wait - U(1)
        v.fresh = U(0)
        if v.wait == U(0):
            v.wait = noise_divider(register)
            old = noise_bit(v.place, register)
            v.place = (v.place + U(1)) & U(0x3FFF)
            v.fresh = U(1)
            v.ticked = U(1)
            if old == U(0) and noise_bit(v.place, register) != U(0) and sounds:
                shift_noise(v, (register & U(8)) != U(0), sounds)
    if v.starts != U(0):
        v.starts = v.starts - U(1)
        if v.starts == U(0):
            start_noise(v, mem, sounds)


@wp.func(inline=False)
def start_noise(v: wp.ref[Voice], mem: Q, is_on: wp.bool):
    """Trigger the noise channel, in step with the divider by 2; when its first step comes depends on what it did."""
    register = io_get(mem, U(io.NR43))
    envelope = io_get(mem, U(io.NR42))
    divider = register & U(7)
    shifts = wp.bool(False)
    wait = U(3)  # halves of a step: M-cycles
    if divider == U(0) and v.wait == U(1) and is_on:
        wait = U(17)
    elif divider == U(1):
        wait = U(5)
        if v.wait == U(1) and is_on:
            if v.ticked == U(0):
                wait = wait - U(2)
            old = noise_bit(v.place, register)
            v.place = (v.place + U(1)) & U(0x3FFF)
            shifts = old == U(0) and noise_bit(v.place, register) != U(0)
        if is_on and register < U(0x10):
            wait = wait - U(2)
    elif divider > U(1):
        wait = divider * U(2) + U(1)
    if envelope < U(8) and divider > U(1):
        wait = wait + U(2)
    if v.runs != U(0) and not is_on:
        if divider == U(0) and v.muted != U(0):
            wait = wait + U(14)
        elif divider == U(1):
            wait = wait - U(2)
    v.counts = wp.where(envelope >= U(8), U(1), U(0))
    v.muted = U(1) - v.counts
    v.runs = U(1)
    v.wait = wait
    v.bits = U(0)
    if shifts:
        shift_noise(v, (register & U(8)) != U(0), is_on)
    start_envelope(v, envelope)
    v.ticked = U(0)
    v.hidden = U(0)
    if envelope >= U(8):
        v.output = U(0)


@wp.func(inline=False)
def change_noise(v: wp.ref[Voice], old: U, value: U, is_on: wp.bool):
    """Shift the register as it does when NR43 changes from `old` to `value`, for a moment through a mix of both."""
    if ((old ^ value) & U(0xF0)) != U(0):
        narrow = (value & U(8)) != U(0)
        counter = v.place
        if v.fresh != U(0):
            counter = counter | ((counter - U(1)) & U(0x3FFF))
        before = noise_bit(counter, old)
        between = noise_bit(counter, (old & U(0x7F)) | (value & U(0x80)))
        after = noise_bit(counter, value)
        slow = (value & U(0xF0)) > U(0x20)
        third = (counter & U(8)) != U(0)
        if before == after and after != between:
            if after == U(0):
                shift_noise(v, narrow, is_on)
        elif before == U(0) and after != U(0):
            shift_noise(v, wp.bool(True), is_on)
            if not slow and between != U(0) and not third:
                shift_noise(v, narrow, is_on)
                feeds = wp.where(narrow, U(0x4040), U(0x4000))
                v.bits = (v.bits & (U(0x7FFF) ^ feeds)) | ((v.bits << U(1)) & feeds)
        elif not slow and (before | between | after) == U(0) and third:
            shift_noise(v, narrow, is_on)


@wp.func(inline=False)
def write_noise(v: wp.ref[Voice], mem: Q, place: U, old: U, value: U, was_on: wp.bool):
    """Follow a write of `value` over `old` to NR4`place`."""
    if place == U(2):
        if value < U(8):
            if was_on and (io_get(mem, U(io.NR43)) & U(7)) != U(0):
                v.place = v.place + wp.where(v.wait <= U(1), U(1), U(0))
                v.runs = U(0)
            v.counts = U(0)
        elif was_on:
            rewrite_envelope(v, old, U(0xFF))
            rewrite_envelope(v, U(0xFF), value)
            v.output = wp.where((v.bits & U(1)) != U(0), v.volume, U(0))
    elif place == U(3):
        if v.fresh != U(0):
            v.wait = noise_divider(value)
            if v.wait > U(1):
                v.wait = v.wait + U(1) + v.phase
            earlier = (v.place - U(1)) & U(0x3FFF)
            rises = noise_bit(v.place, old) == U(0) and noise_bit(v.place, value) != U(0)
            fell = noise_bit(earlier, old) != U(0) and noise_bit(earlier, value) == U(0)
            both = (v.place & earlier & U(0x80)) != U(0)
            if rises and fell and both:
                shift_noise(v, (old & U(8)) != U(0), was_on)
        change_noise(v, old, U(0xFF), was_on)
        change_noise(v, U(0xFF), value, was_on)
    elif place == U(4) and value >= U(0x80):
        v.due = U(0)
        v.ended = U(0)
        if v.phase != U(0):
            v.starts = U(3)
            if not was_on:
                v.hidden = U(1)
        else:
            start_noise(v, mem, was_on)
