"""Synthesis of samples from sound registers: four channels, their mixer, its capacitor.

https://gbdev.io/pandocs/Audio_details.html. The emulator computes which channels are on, their lengths and
the sweep (kernels/io/sound_registers.py); the envelopes and the samples are made here.
"""

from __future__ import annotations

import wave
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from emulator import constants as k
from emulator.sound import waveforms
from emulator.sound.register_slices import Slice

CHANNELS = ("pulse 1", "pulse 2", "wave", "noise")
ALL_CHANNELS = 0xF
LEAK = 0.999958
"""Share of the capacitor's charge that is left after a T-cycle, on a DMG."""
WAVE_SHIFTS = (4, 0, 1, 2)
"""Right shift of wave samples by NR32 bits 5-6: silent, full, half, quarter volume."""
SWEPT = 0x07


def at(register: int) -> int:
    """Return the index of a sound register's address in `Slice.registers`."""
    return register - k.NR10


class Tone(NamedTuple):
    """Output of one channel for a time in which nothing changes."""

    wave: waveforms.Wave
    clock: float
    """Steps through the wave's table a second."""
    level: float
    """Volume as a share of the maximum, 0 to 1."""


@dataclass
class _Channel:
    volume: int = 0
    rises: bool = False
    period: int = 0
    left: int = 0
    """Number of 64 Hz clocks to the envelope's next step."""
    phase: float = 0.0

    def trigger(self, envelope: int) -> None:
        """Restart the volume envelope; `envelope` is NRx2."""
        self.volume, self.rises, self.period = envelope >> 4, bool(envelope & 8), envelope & 7
        self.left = self.period

    def clock_envelope(self) -> None:
        if self.period == 0:
            return
        self.left -= 1
        if self.left <= 0:
            self.left = self.period
            self.volume = min(15, self.volume + 1) if self.rises else max(0, self.volume - 1)


class Synthesiser:
    """Generator of audio samples that keeps the channels' phases and envelopes between frames."""

    def __init__(self, rate: int = 48_000) -> None:
        """Start silent, with `rate` samples a second."""
        self.rate = rate
        self.channels = ALL_CHANNELS
        """Bit mask of the audible channels."""
        self._voices = [_Channel() for _ in CHANNELS]
        self._owed = 0.0
        """Fraction of a sample left over from the last frame."""
        self._charge = np.zeros(2)

    def frame(self, slices: Sequence[Slice], stretch: float = 1.0) -> np.ndarray:
        """Return the samples of a frame's slices, float32[n, 2], left and right in -1..1.

        `stretch`: factor on the duration; pitch falls by the same factor (2 at half speed).
        """
        per_cycle = self.rate * stretch / k.M_CYCLES_PER_SECOND
        parts, tones, mixing, length = [], (), b"", 0.0
        for piece in slices:
            now = self._tones(piece)
            panning = piece.registers[at(k.NR50) : at(k.NR52)]
            if length and (now, panning) != (tones, mixing):
                parts.append(self._play(tones, mixing, length, stretch))
                length = 0.0
            if piece.triggered & 0b1100:
                # Wave and noise restart; the time before that is played first.
                if length:
                    parts.append(self._play(tones, mixing, length, stretch))
                    length = 0.0
                self._begin_anew(piece.triggered)
            tones, mixing = now, panning
            length += piece.m_cycles * per_cycle
        if length:
            parts.append(self._play(tones, mixing, length, stretch))
        return self._without_offset(np.concatenate(parts), stretch)

    def resume(self, registers: bytes) -> None:
        """Restart the envelopes after a state was loaded whose sound registers are `registers`.

        The registers do not hold the envelopes' progress.
        """
        for number, voice in enumerate(self._voices):
            if number != 2:
                voice.trigger(registers[at(k.NR12) + 5 * number])

    # -- inside ---------------------------------------------------------------------------------

    def _tones(self, piece: Slice) -> tuple[Tone, ...]:
        """Return the four channels' tones in a slice, and advance their envelopes."""
        registers, tones = piece.registers, []
        for number, voice in enumerate(self._voices):
            if number != 2:
                if piece.triggered >> number & 1:
                    voice.trigger(registers[at(k.NR12) + 5 * number])
                elif piece.envelope_clocks:
                    voice.clock_envelope()
            tones.append(self._tone(number, voice, registers, bool(piece.on >> number & 1)))
        return tuple(tones)

    def _tone(self, number: int, voice: _Channel, registers: bytes, is_on: bool) -> Tone:
        is_on = is_on and bool(self.channels >> number & 1)
        low, high = registers[at(k.NR13) + 5 * number], registers[at(k.NR14) + 5 * number]
        x = low | (high & SWEPT) << 8
        if number == 2:
            shift = WAVE_SHIFTS[registers[at(k.NR32)] >> 5 & 3]
            wave = waveforms.wave_ram(registers[at(k.WAVE_RAM) : at(k.WAVE_RAM) + 16], shift)
            return Tone(wave, 32 * waveforms.wave_frequency(x), is_on / 15)
        level = is_on * voice.volume / 15
        if number == 3:
            register = registers[at(k.NR43)]
            return Tone(waveforms.noise(bool(register & 8)), waveforms.noise_clock(register), level)
        duty = registers[at(k.NR11) + 5 * number] >> 6
        return Tone(waveforms.square(duty), 8 * waveforms.square_frequency(x), level)

    def _begin_anew(self, triggered: int) -> None:
        for number in (2, 3):
            if triggered >> number & 1:
                self._voices[number].phase = 0.0

    def _play(self, tones: tuple[Tone, ...], mixing: bytes, length: float, stretch: float) -> np.ndarray:
        """Return `length` samples of unchanging tones, float64[n, 2], levels 0 to 1; `mixing`: NR50 and NR51."""
        self._owed += length
        count = int(self._owed)
        self._owed -= count
        mixed = np.zeros((count, 2))
        volume, panning = mixing  # NR50, NR51
        # NR50 and NR51 have the left side in their upper nibbles.
        sides = (((volume >> 4 & 7) + 1) / 32, panning >> 4), (((volume & 7) + 1) / 32, panning)
        for number, (tone, voice) in enumerate(zip(tones, self._voices, strict=True)):
            pace = tone.clock / (self.rate * stretch)
            if tone.level:
                heard = tone.level * tone.wave.means(voice.phase, pace, count)
                for side, (gain, to) in enumerate(sides):
                    if to >> number & 1:
                        mixed[:, side] += gain * heard
            voice.phase = (voice.phase + pace * count) % len(tone.wave.levels)
        return mixed

    def _without_offset(self, mixed: np.ndarray, stretch: float) -> np.ndarray:
        """Return the samples after the console's high-pass filter: charge' = f * charge + (1-f) * x.

        Solved for all samples at once: charge_n = f^n * (charge_0 + (1-f) * sum of x_k f^-k).
        """
        count = len(mixed)
        if count == 0:
            return np.zeros((0, 2), np.float32)
        leak = LEAK ** (k.T_CYCLES_PER_SECOND / (self.rate * stretch))
        powers = leak ** np.arange(1, count + 1)[:, None]
        charges = powers * (self._charge + (1 - leak) * np.cumsum(mixed / powers, axis=0))
        before = np.concatenate([self._charge[None], charges[:-1]])
        self._charge = charges[-1]
        return (mixed - before).astype(np.float32)


def pcm(samples: np.ndarray, volume: float = 1.0) -> bytes:
    """Convert float32[n, 2] in -1..1 to little-endian 16-bit frames, clipped."""
    return (np.clip(samples * volume, -1.0, 1.0) * 32767).astype("<i2").tobytes()


def write_wav(path: Path, samples: np.ndarray, rate: int) -> None:
    """Write `samples`, float32[n, 2] in -1..1, as a WAV file. Raises OSError."""
    with path.open("wb") as file, wave.open(file, "wb") as out:
        out.setnchannels(2)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(pcm(samples))
