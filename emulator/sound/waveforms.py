"""Waveforms of the four channels: tables of levels, and their exact mean over a sample's time.

https://gbdev.io/pandocs/Audio_Registers.html: a square wave goes through 8 levels at 8 * 131072 / (2048 - x)
Hz, the wave channel through 32 at 32 * 65536 / (2048 - x) Hz, the noise channel through its shift register's
bits at 262144 / (r * 2^s) Hz, r = 0 counting as 0.5.
"""

from __future__ import annotations

from functools import cache

import numpy as np

DUTIES = ("00000001", "10000001", "10000111", "01111110")
"""Square waves by NRx1 bits 6-7, eight levels each: duty 12.5, 25, 50 and 75 %."""


class Wave:
    """Periodic waveform as a table of levels."""

    def __init__(self, levels: np.ndarray) -> None:
        """Make a wave of `levels`, float64[L]."""
        self.levels = levels
        self._sums = np.concatenate([[0.0], np.cumsum(levels)])

    def means(self, phase: float, pace: float, count: int) -> np.ndarray:
        """Return the mean level over each of `count` samples, float64[count], from table position `phase` on.

        `pace`: table steps a sample. The mean over a sample's time is a box filter: a tone above half the sample rate
        fades instead of aliasing.
        """
        length = len(self.levels)
        if pace <= 0.0:
            return np.full(count, self.levels[int(phase) % length])
        places = phase + pace * np.arange(count + 1)
        whole = np.floor(places)
        rounds, index = np.divmod(whole.astype(np.int64), length)
        begun = self._sums[index] + (places - whole) * self.levels[index]
        return np.diff(rounds * self._sums[-1] + begun) / pace


@cache
def square(duty: int) -> Wave:
    """Return the square wave of duty number 0 to 3, levels 0 and 1."""
    return Wave(np.array([float(bit) for bit in DUTIES[duty]]))


@cache
def noise(is_short: bool) -> Wave:
    """Return the noise channel's wave, the 32,767 (`is_short`: 127) bits of its shift register since the trigger."""
    state, bits = 0, []
    for _ in range(127 if is_short else 32767):
        bits.append(state & 1)
        new = ~(state ^ state >> 1) & 1
        state = (state & 0x7FFF | new << 15) if not is_short else (state & 0x7F7F | new << 7)
        state >>= 1
    return Wave(np.array(bits, np.float64))


@cache
def wave_ram(data: bytes, shift: int) -> Wave:
    """Return the wave of the 32 samples in wave RAM, upper nibble first, shifted right by `shift`; levels 0 to 15."""
    nibbles = [nibble >> shift for byte in data for nibble in (byte >> 4, byte & 15)]
    return Wave(np.array(nibbles, np.float64))


def square_frequency(x: int) -> float:
    """Return the frequency in Hz of channels 1 and 2 for the 11-bit value of NRx3 and NRx4."""
    return 131072 / (2048 - x)


def wave_frequency(x: int) -> float:
    """Return the frequency of channel 3 in Hz."""
    return 65536 / (2048 - x)


def noise_clock(register: int) -> float:
    """Return the frequency in Hz at which NR43 clocks the shift register; shifts 14 and 15 do not clock it."""
    shift, divider = register >> 4, register & 7
    return 0.0 if shift >= 14 else 262144 / (divider or 0.5) / 2**shift
