"""Exact outputs of the four sound channels of every console of an emulator, in each M-cycle.

The kernels that run games make no sound. Here they log writes to sound registers and DIV, and behind each launch one
thread a console plays the log again, from a copy of the sound state that was made before it
(docs/adr/0038-sound-from-a-log-of-writes.md).
"""

from __future__ import annotations

from typing import Any

import warp as wp

from emulator import constants as k
from emulator.emulator import Buttons, Emulator
from emulator.kernels.intrinsics import Q, U, ld32, st32
from emulator.kernels.io.sound_registers import SEQUENCER_SHIFT, SKIP_NEXT, apu_sync, apu_write, power_is_on
from emulator.kernels.io.voices import (
    NEVER,
    Voice,
    clear_voice,
    load_envelope,
    play_wave,
    sequencer_event,
    step_noise,
    step_pulse,
    tone_period,
    write_noise,
    write_pulse,
)
from emulator.kernels.memory import io_registers as io
from emulator.kernels.memory.io_registers import io_get
from emulator.rom.cartridge import EmulatorError
from emulator.state.arguments import whole_number
from emulator.state.batch import Batch, Console

FIRST = io.NR10
REGISTERS = 0x30
COLUMNS = 6
"""Pulse 1, pulse 2, wave, noise, NR50, NR51."""
AHEAD = 64
"""M-cycles by which a launch may end after its last frame."""
STEP = 1 << SEQUENCER_SHIFT
AT_HAND_OFF = wp.constant(wp.uint32(0x100))


@wp.struct
class PlayLocals:
    t: wp.uint32
    entry: wp.uint32
    count: wp.uint32
    power: wp.bool
    was_on: wp.bool
    old: wp.uint32
    period: wp.uint32
    skip: wp.uint32
    wave: wp.uint32


@wp.func
def fresh_voice(c: wp.ref[Console], mem: Q, channel: U) -> Voice:
    """Return a channel's hidden state where nothing is known of it: the envelope begins at the volume of NRx2."""
    v = Voice()
    v.phase = U(1)
    if channel != U(2):
        v.volume = io_get(mem, U(io.NR12) + U(5) * channel) >> U(4)
    if channel < U(2):
        v.wait = tone_period(mem, channel)
    if channel == U(0) and c.pc == AT_HAND_OFF and c.now == U(0):
        # The boot program's sound, faded out.
        v.volume = U(0)
        v.ended = U(1)
        v.wait = U(7)
        v.place = U(2)
    return v


@wp.kernel(enable_backward=False)
def copy_before(
    batch: Batch,
    console: wp.array[Console],
    before: wp.array[Console],
    registers: wp.array2d[wp.uint8],
    voices: wp.array2d[Voice],
):
    """Copy what a console's sound depends on, and clear its log; voices of a console that was reset begin anew."""
    env = wp.tid()
    mem = batch.ram_base + Q(env) * Q(batch.row_stride)
    for i in range(REGISTERS):
        registers[env, i] = wp.uint8(io_get(mem, U(FIRST + i)))
    cpu = console[env].lo == before[env].lo and console[env].hi == before[env].hi and console[env].pc == before[env].pc
    clock = console[env].now == before[env].now and console[env].div_zero == before[env].div_zero
    if not (cpu and clock and console[env].ppu_origin == before[env].ppu_origin):
        for i in range(4):
            voices[env, i] = fresh_voice(console[env], mem, U(i))
    before[env] = console[env]
    before[env].serial_capacity = U(0)
    st32(mem + Q(console[env].serial_log), U(0))


@wp.func(inline=False)
def follow_sequencer(one: wp.ref[Voice], two: wp.ref[Voice], four: wp.ref[Voice], mem: Q, step: U):
    sequencer_event(one, mem, U(0), step)
    sequencer_event(two, mem, U(1), step)
    sequencer_event(four, mem, U(3), step)


@wp.func(inline=False)
def follow_write(
    c: wp.ref[Console],
    mem: Q,
    one: wp.ref[Voice],
    two: wp.ref[Voice],
    three: wp.ref[Voice],
    four: wp.ref[Voice],
    register: U,
    value: U,
    t: U,
):
    """Apply a logged write at time `t`."""
    o = PlayLocals()
    channel = (register - U(FIRST)) / U(5)
    place = register - U(FIRST) - channel * U(5)
    o.was_on = ((c.apu_status >> channel) & U(1)) != U(0)
    o.power = power_is_on(mem)
    o.skip = c.apu_skip
    o.wave = c.apu_wave_next - t * U(2)
    if register >= U(FIRST):
        o.old = io_get(mem, register)
    if channel < U(2):
        o.period = tone_period(mem, channel)
    apu_write(c, mem, register, value, t)
    if register == U(io.DIV):
        fell = ((t - c.div_zero) & U(STEP // 2)) != U(0)
        c.div_zero = t
        if o.power and fell and o.skip != U(SKIP_NEXT):
            follow_sequencer(one, two, four, mem, c.apu_step)
    elif register == U(io.NR52) and o.power != power_is_on(mem):
        clear_voice(one, U(NEVER))
        clear_voice(two, U(NEVER))
        clear_voice(three, U(NEVER))
        clear_voice(four, U(0))
    elif o.power and channel == U(0):
        write_pulse(one, mem, channel, place, o.old, value, o.period, o.was_on)
    elif o.power and channel == U(1):
        write_pulse(two, mem, channel, place, o.old, value, o.period, o.was_on)
    elif o.power and channel == U(3):
        write_noise(four, mem, place, o.old, value, o.was_on and four.hidden == U(0))
    elif o.power and channel == U(2):
        if place == U(2):
            play_wave(three, mem, c.apu_wave_index)
        elif place == U(4) and value >= U(0x80):
            if o.was_on and o.wave == U(1):
                three.byte = io_get(mem, U(io.WAVE_RAM))
            play_wave(three, mem, U(0))


@wp.func(inline=False)
def follow_cycle(
    c: wp.ref[Console], mem: Q, one: wp.ref[Voice], two: wp.ref[Voice], three: wp.ref[Voice], four: wp.ref[Voice], t: U
):
    """Advance the channels by the M-cycle that ends at `t`."""
    skip = c.apu_skip
    wave = c.apu_wave_next
    apu_sync(c, mem, t)
    on = c.apu_status
    if power_is_on(mem):
        since = (t - c.div_zero) & U(STEP - 1)
        if since == U(0) and skip != U(SKIP_NEXT):
            follow_sequencer(one, two, four, mem, c.apu_step)
        if since == U(STEP // 2):
            if (on & U(1)) != U(0):
                load_envelope(one, mem, U(0))
            if (on & U(2)) != U(0):
                load_envelope(two, mem, U(1))
            if (on & U(8)) != U(0) and four.hidden == U(0):
                load_envelope(four, mem, U(3))
        if (on & U(1)) != U(0):
            step_pulse(one, mem, U(0))
        if (on & U(2)) != U(0):
            step_pulse(two, mem, U(1))
        if (on & U(4)) != U(0) and c.apu_wave_next != wave:
            three.byte = io_get(mem, U(io.WAVE_RAM) + (c.apu_wave_index >> U(1)))
            play_wave(three, mem, c.apu_wave_index)
        step_noise(four, mem, (on & U(8)) != U(0))


@wp.kernel(enable_backward=False)
def play_log(
    batch: Batch,
    console: wp.array[Console],
    before: wp.array[Console],
    registers: wp.uint64,
    voices: wp.array2d[Voice],
    length: wp.uint32,
    every: wp.uint32,
    kept: wp.array3d[wp.uint8],
    out: wp.array3d[wp.uint8],
    lost: wp.array[wp.uint32],
):
    """Write the outputs of a launch of `length` M-cycles to `out`, those behind its end to `kept` for the next."""
    env = wp.tid()
    log = batch.ram_base + Q(env) * Q(batch.row_stride) + Q(console[env].serial_log)
    mem = registers + Q(env) * Q(REGISTERS) - Q(k.ROW_IO + FIRST)
    one = voices[env, 0]
    two = voices[env, 1]
    three = voices[env, 2]
    four = voices[env, 3]
    o = PlayLocals()
    o.t = before[env].now
    o.count = wp.min(ld32(log), ld32(log + Q(4)))
    lost[env] = lost[env] + ld32(log) - o.count
    for i in range(AHEAD):
        if U(i) < o.t / every and i < out.shape[1]:
            for j in range(COLUMNS):
                out[env, i, j] = kept[env, i, j]
    end = console[env].now + length
    while o.t < end:
        # A write comes behind the M-cycle in which its time ends.
        while o.entry < o.count and ld32(log + Q(U(8) + (o.entry << U(3)))) == o.t:
            word = ld32(log + Q(U(12) + (o.entry << U(3))))
            follow_write(before[env], mem, one, two, three, four, word & U(255), word >> U(8), o.t)
            o.entry = o.entry + U(1)
        o.t = o.t + U(1)
        follow_cycle(before[env], mem, one, two, three, four, o.t)
        if o.t % every == U(0):
            on = before[env].apu_status
            at = wp.int32(o.t / every) - 1
            behind = at - out.shape[1]
            for j in range(COLUMNS):
                value = U(0)
                if j == 0:
                    value = one.output * (on & U(1))
                elif j == 1:
                    value = two.output * ((on >> U(1)) & U(1))
                elif j == 2:
                    value = three.output * ((on >> U(2)) & U(1))
                elif j == 3:
                    value = four.output * ((on >> U(3)) & U(1)) * (U(1) - four.hidden)
                else:
                    value = io_get(mem, U(io.NR50 + j - 4))
                if behind < 0:
                    out[env, at, j] = wp.uint8(value)
                elif behind < AHEAD:
                    kept[env, behind, j] = wp.uint8(value)
    voices[env, 0] = one
    voices[env, 1] = two
    voices[env, 2] = three
    voices[env, 3] = four
    before[env] = console[env]


class Channels:
    """Outputs of the sound channels of every console of an emulator, which is then run by this object's `run`.

    `every`: M-cycles between two samples, a divisor of the 17,556 of a frame. The emulator is made with a
    `serial_capacity`, whose bytes hold the log of a launch, 8 for each write; bytes that are sent are no longer kept.
    After a reset or a loaded state, what no register shows (envelopes, positions in a wave) begins anew.
    """

    def __init__(self, emulator: Emulator, every: int = 1) -> None:
        self._every = whole_number("every", every, 1, k.M_CYCLES_PER_FRAME)
        if k.M_CYCLES_PER_FRAME % every:
            raise EmulatorError(f"every={every}: give a divisor of the {k.M_CYCLES_PER_FRAME} M-cycles of a frame")
        emulator.log_sound()
        n, device = emulator.num_envs, emulator.device
        self._emulator, self._how = emulator, {"dim": n, "device": device}
        self._before = wp.zeros(n, dtype=Console, device=device)
        self._voices = wp.zeros((n, 4), dtype=Voice, device=device)
        self._registers = wp.zeros((n, REGISTERS), dtype=wp.uint8, device=device)
        self._kept = wp.zeros((n, AHEAD, COLUMNS), dtype=wp.uint8, device=device)
        self._out = wp.zeros((n, 0, COLUMNS), dtype=wp.uint8, device=device)
        self.lost: wp.array[Any] = wp.zeros(n, dtype=wp.uint32, device=device)
        """uint32[N]: writes for which the log had no room; the sound is wrong from the first on."""

    def run(self, buttons: Buttons | None = None, frames: int = 1) -> wp.array[Any]:
        """Run every console as `Emulator.run` does; return uint8[N, frames * 17556 / every, 6], valid until the next.

        Sample i is what comes out at the end of M-cycle (i + 1) * every: pulse 1, pulse 2, wave and noise, 0 to 15, and
        the registers NR50 and NR51 that mix them.
        """
        length = frames * k.M_CYCLES_PER_FRAME
        shape = (self._emulator.num_envs, length // self._every, COLUMNS)
        if self._out.shape != shape:
            self._out = wp.zeros(shape, dtype=wp.uint8, device=self._emulator.device)
        batch = self._emulator.batch
        wp.launch(copy_before, inputs=[batch, batch.console, self._before, self._registers, self._voices], **self._how)
        self._emulator.run(buttons, frames)
        state = [batch, batch.console, self._before, self._registers.ptr, self._voices]
        wp.launch(play_log, inputs=[*state, length, self._every, self._kept, self._out, self.lost], **self._how)
        return self._out
