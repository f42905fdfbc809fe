"""Exact outputs of the four sound channels of every console of an emulator, as 0-15 in each M-cycle.

The kernels that run games make no sound. Here they log writes to sound registers and DIV, and behind each launch one
thread a console plays the log again, from a copy of the sound state that was made before it.
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
AHEAD = 64
"""M-cycles by which a launch may end after its last frame."""
HALF_STEP = 1 << (SEQUENCER_SHIFT - 1)


@wp.struct
class PlayLocals:
    t: wp.uint32
    entry: wp.uint32
    count: wp.uint32
    due: wp.uint32  # time of the next logged write
    word: wp.uint32
    old: wp.uint32
    period: wp.uint32
    skip: wp.uint32
    wave: wp.uint32
    on: wp.uint32


@wp.kernel(enable_backward=False)
def copy_before(batch: Batch, before: wp.array[Console], registers: wp.array2d[wp.uint8], voices: wp.array2d[Voice]):
    """Copy what a console's sound depends on, and clear its log; after a reset, start the hidden state anew."""
    env = wp.tid()
    mem = batch.ram_base + Q(env) * Q(batch.row_stride)
    for i in range(REGISTERS):
        registers[env, i] = wp.uint8(io_get(mem, U(FIRST + i)))
    c = batch.console[env]
    b = before[env]
    same = c.lo == b.lo and c.hi == b.hi and c.pc == b.pc and c.sp == b.sp and c.now == b.now
    if not (same and c.div_zero == b.div_zero and c.apu_status == b.apu_status and c.ppu_origin == b.ppu_origin):
        for i in range(4):
            v = Voice()
            v.wait = U(NEVER)
            v.phase = U(1)
            if i != 2:
                v.volume = io_get(mem, U(io.NR12) + U(5) * U(i)) >> U(4)
            if i < 2:
                v.wait = tone_period(mem, U(i))
            if i == 0 and c.pc == U(0x100) and c.now == U(0):  # the boot program's sound has faded out
                v.volume = U(0)
                v.ended = U(1)
                v.wait = U(7)
                v.place = U(2)
            voices[env, i] = v
    before[env] = batch.console[env]
    before[env].serial_capacity = U(0)
    st32(mem + Q(c.serial_log), U(0))


@wp.func
def follow_sequencer(one: wp.ref[Voice], two: wp.ref[Voice], four: wp.ref[Voice], mem: Q, step: U):
    sequencer_event(one, mem, U(0), step)
    sequencer_event(two, mem, U(1), step)
    sequencer_event(four, mem, U(3), step)


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
    o.count = ld32(log)
    most = ld32(log + Q(4))
    if o.count > most:
        lost[env] = lost[env] + o.count - most
        o.count = most
    o.due = U(0xFFFFFFFF)
    if o.count != U(0):
        o.due = ld32(log + Q(8))
    for i in range(AHEAD):
        if U(i) < (o.t / every) and i < out.shape[1]:
            for j in range(4):
                out[env, i, j] = kept[env, i, j]
    end = console[env].now + length
    while o.t < end or o.entry < o.count:
        # Writes happen behind the M-cycle in which time t ends.
        while o.due == o.t and o.entry < o.count:
            o.word = ld32(log + Q(U(12) + (o.entry << U(3))))
            register = o.word & U(255)
            value = o.word >> U(8)
            channel = (register - U(FIRST)) / U(5)
            place = register - U(FIRST) - channel * U(5)
            was_on = ((before[env].apu_status >> channel) & U(1)) != U(0)
            power = power_is_on(mem)
            o.skip = before[env].apu_skip
            o.wave = before[env].apu_wave_next
            o.old = U(0)
            o.period = U(0)
            if register != U(io.DIV):
                o.old = io_get(mem, register)
            if channel < U(2):
                o.period = tone_period(mem, channel)
            apu_write(before[env], mem, register, value, o.t)
            if register == U(io.DIV):
                high = ((o.t - before[env].div_zero) >> U(SEQUENCER_SHIFT - 1)) & U(1)
                before[env].div_zero = o.t
                if power and high != U(0) and o.skip != U(SKIP_NEXT):
                    follow_sequencer(one, two, four, mem, before[env].apu_step)
            elif register == U(io.NR52):
                if power != power_is_on(mem):
                    one = Voice()
                    one.wait = U(NEVER)
                    two = one
                    three = one
                    four = Voice()
            elif power:
                if channel == U(0):
                    write_pulse(one, mem, channel, place, o.old, value, o.period, was_on)
                elif channel == U(1):
                    write_pulse(two, mem, channel, place, o.old, value, o.period, was_on)
                elif channel == U(3):
                    write_noise(four, mem, place, o.old, value, was_on and four.hidden == U(0))
                elif channel == U(2):
                    if place == U(2) and was_on:
                        play_wave(three, mem, before[env].apu_wave_index)
                    if place == U(4) and value >= U(0x80):
                        if was_on and o.wave - o.t * U(2) == U(1):
                            three.byte = io_get(mem, U(io.WAVE_RAM))
                        play_wave(three, mem, U(0))
            o.entry = o.entry + U(1)
            o.due = ld32(log + Q(U(8) + (o.entry << U(3))))
        o.t = o.t + U(1)
        since = o.t - before[env].div_zero
        o.skip = before[env].apu_skip
        o.wave = before[env].apu_wave_next
        apu_sync(before[env], mem, o.t)
        o.on = before[env].apu_status & U(15)
        if power_is_on(mem):
            if (since & U(2 * HALF_STEP - 1)) == U(0) and o.skip != U(SKIP_NEXT):
                follow_sequencer(one, two, four, mem, before[env].apu_step)
            if (since & U(2 * HALF_STEP - 1)) == U(HALF_STEP):
                if (o.on & U(1)) != U(0):
                    load_envelope(one, mem, U(0))
                if (o.on & U(2)) != U(0):
                    load_envelope(two, mem, U(1))
                if (o.on & U(8)) != U(0) and four.hidden == U(0):
                    load_envelope(four, mem, U(3))
            if (o.on & U(1)) != U(0):
                step_pulse(one, mem, U(0))
            if (o.on & U(2)) != U(0):
                step_pulse(two, mem, U(1))
            if (o.on & U(4)) != U(0) and before[env].apu_wave_next != o.wave:
                three.byte = io_get(mem, U(io.WAVE_RAM) + (before[env].apu_wave_index >> U(1)))
                play_wave(three, mem, before[env].apu_wave_index)
            step_noise(four, mem, (o.on & U(8)) != U(0))
        if o.t % every == U(0):
            at = wp.int32(o.t / every) - 1
            behind = at - out.shape[1]
            first = wp.uint8(one.output * (o.on & U(1)))
            second = wp.uint8(two.output * ((o.on >> U(1)) & U(1)))
            third = wp.uint8(three.output * ((o.on >> U(2)) & U(1)))
            fourth = wp.uint8(four.output * ((o.on >> U(3)) & U(1)) * (U(1) - four.hidden))
            if behind < 0:
                out[env, at, 0] = first
                out[env, at, 1] = second
                out[env, at, 2] = third
                out[env, at, 3] = fourth
            elif behind < AHEAD:
                kept[env, behind, 0] = first
                kept[env, behind, 1] = second
                kept[env, behind, 2] = third
                kept[env, behind, 3] = fourth
    voices[env, 0] = one
    voices[env, 1] = two
    voices[env, 2] = three
    voices[env, 3] = four
    before[env] = console[env]


class Channels:
    """Outputs of the sound channels of every console of an emulator that is run by `run` of this object.

    `every`: M-cycles between two samples, a divisor of the 17,556 of a frame. The emulator is made with a
    `serial_capacity`, whose bytes hold the log of a launch, 8 for each write; bytes sent are no longer kept. After a
    reset or a loaded state, what no register holds (positions in the wave, envelopes) begins anew.
    """

    def __init__(self, emulator: Emulator, every: int = 1) -> None:
        self._emulator, self._every = emulator, whole_number("every", every, 1, k.M_CYCLES_PER_FRAME)
        if k.M_CYCLES_PER_FRAME % every:
            raise EmulatorError(f"every={every}: give a divisor of the {k.M_CYCLES_PER_FRAME} M-cycles of a frame")
        self._n, self._device = emulator.num_envs, emulator.device
        self._before = wp.zeros(self._n, dtype=Console, device=self._device)
        self._voices = wp.zeros((self._n, 4), dtype=Voice, device=self._device)
        self._registers = wp.zeros((self._n, REGISTERS), dtype=wp.uint8, device=self._device)
        self._kept = wp.zeros((self._n, AHEAD, 4), dtype=wp.uint8, device=self._device)
        self._out = wp.zeros((self._n, 0, 4), dtype=wp.uint8, device=self._device)
        self.lost: wp.array[Any] = wp.zeros(self._n, dtype=wp.uint32, device=self._device)
        """uint32[N]: writes for which the log had no room; the sound is wrong from the first on."""
        emulator.log_sound()

    def run(self, buttons: Buttons | None = None, frames: int = 1) -> wp.array[Any]:
        """Run every console as `Emulator.run`; return uint8[N, frames * 17556 / every, 4], valid until the next call.

        Sample i is the output at the end of M-cycle (i + 1) * every of the launch: pulse 1, pulse 2, wave, noise.
        """
        length = frames * k.M_CYCLES_PER_FRAME
        if self._out.shape[1] != length // self._every:
            self._out = wp.zeros((self._n, length // self._every, 4), dtype=wp.uint8, device=self._device)
        batch = self._emulator.batch
        how = {"dim": self._n, "device": self._device}
        wp.launch(copy_before, inputs=[batch, self._before, self._registers, self._voices], **how)
        self._emulator.run(buttons, frames)
        state = [batch, batch.console, self._before, self._registers.ptr, self._voices]
        wp.launch(play_log, inputs=[*state, length, self._every, self._kept, self._out, self.lost], **how)
        return self._out
