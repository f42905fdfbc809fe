"""Where an update's time goes, without making the host wait for the device."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import torch

SECTIONS: tuple[str, ...] = ("emulate", "observe", "forward", "learn", "log")


class Stopwatch:
    """Adds up seconds per section: host time on a CPU, event pairs on CUDA."""

    def __init__(self, device: torch.device) -> None:
        self._on_gpu = device.type == "cuda"
        self._seconds = dict.fromkeys(SECTIONS, 0.0)
        self._pairs: list[tuple[str, torch.cuda.Event, torch.cuda.Event]] = []

    @contextlib.contextmanager
    def __call__(self, section: str) -> Iterator[None]:
        if self._on_gpu and section != "log":
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            yield
            end.record()
            self._pairs.append((section, begin, end))
            return
        started = time.perf_counter()
        yield
        self._seconds[section] += time.perf_counter() - started

    def take(self) -> dict[str, float]:
        """Seconds per section since the last call; call it after the record's synchronisation."""
        for section, begin, end in self._pairs:
            if end.query():
                self._seconds[section] += begin.elapsed_time(end) / 1000
        self._pairs.clear()
        taken, self._seconds = self._seconds, dict.fromkeys(SECTIONS, 0.0)
        return taken
