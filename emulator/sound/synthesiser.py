"""Samples for a sound card from the outputs of the channels: mixer, box filter, the console's capacitor.

https://gbdev.io/pandocs/Audio_details.html
"""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np

from emulator import constants as k

ALL_CHANNELS = 0xF
LEAK = 0.999958
"""Share of the capacitor's charge that is left after a T-cycle, on a DMG."""
FULL = 15 * 4 * 8
"""Sum of four channels at full output and full volume."""


class Synthesiser:
    """Generator of audio samples, which follow each other without a gap from call to call."""

    def __init__(self, rate: int = 48_000) -> None:
        """Start silent, with `rate` samples a second."""
        self.rate = rate
        self.channels = ALL_CHANNELS
        """Bit mask of the audible channels."""
        self._rest = np.zeros((0, 2))
        """Levels that are not in a sample yet."""
        self._begun = 0.0
        """Share of the first of them that is."""
        self._charge = np.zeros(2)

    def frame(self, outputs: np.ndarray, stretch: float = 1.0) -> np.ndarray:
        """Return the samples of a stretch of time, float32[n, 2], left and right in -1..1.

        `outputs`: uint8[M-cycles, 6] of `Channels`. `stretch`: factor on the duration; pitch falls by the same factor
        (2 at half speed). A sample is the mean over its time, so that tones above half the rate fade, not alias.
        """
        levels = np.concatenate([self._rest, self._mixed(outputs)])
        per_sample = k.M_CYCLES_PER_SECOND / (self.rate * stretch)
        count = int((len(levels) - self._begun) / per_sample)
        ends = self._begun + per_sample * np.arange(count + 1)
        whole = ends.astype(np.int64)
        sums = np.concatenate([np.zeros((1, 2)), np.cumsum(levels, axis=0)])
        padded = np.concatenate([levels, np.zeros((1, 2))])
        until = sums[whole] + (ends - whole)[:, None] * padded[whole]
        self._rest, self._begun = levels[whole[-1] :], float(ends[-1] - whole[-1])
        return self._without_offset(np.diff(until, axis=0) / per_sample, stretch)

    def _mixed(self, outputs: np.ndarray) -> np.ndarray:
        """Return the levels 0 to 1 of both sides in each M-cycle, float64[n, 2]."""
        mixing = outputs[:, 4].astype(np.int64) << 8 | outputs[:, 5]
        changes = np.flatnonzero(np.diff(mixing)) + 1
        mixed = np.empty((len(outputs), 2))
        for first, last in zip([0, *changes], [*changes, len(outputs)], strict=True):
            volume, panning = divmod(int(mixing[first]) if len(mixing) else 0, 256)
            # NR50 and NR51 have the left side in their upper nibbles.
            sides = ((volume >> 4 & 7) + 1, panning >> 4 & self.channels), ((volume & 7) + 1, panning & self.channels)
            weights = [[gain * (to >> channel & 1) / FULL for gain, to in sides] for channel in range(4)]
            mixed[first:last] = outputs[first:last, :4] @ np.array(weights)
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
