"""Samples as a WAV file: 16 bits, two channels."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np


def pcm(samples: np.ndarray, volume: float = 1.0) -> bytes:
    """float32[n, 2] in -1..1 as little-endian 16-bit frames; what is louder is cut."""
    return (np.clip(samples * volume, -1.0, 1.0) * 32767).astype("<i2").tobytes()


def write_wav(path: Path, samples: np.ndarray, rate: int) -> None:
    """Write `samples` float32[n, 2]. Raises OSError."""
    with path.open("wb") as file, wave.open(file, "wb") as out:
        out.setnchannels(2)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(pcm(samples))
