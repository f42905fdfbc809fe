"""Which of some launch shapes is fastest for what the consoles do now: tried while they run.

States do not depend on the shape, so a run may try them on its own launches. Which one is best
depends on the ROM, on how unlike its consoles are, and on what they are doing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import warp as wp

from emulator.launch.shapes import Shape

ROUNDS = 4
"""Launches of each shape in a trial. They come in turn, for consoles change what they do."""
HOPELESS = (2.0, 1.2, 1.1)
"""Times the fastest, on average after so many rounds: what is slower is left out from then on."""
AGAIN_AFTER = 200
"""Launches between trials."""


class Span(Protocol):
    """How long the device takes for a launch."""

    def begin(self) -> None: ...

    def end(self) -> None: ...

    def milliseconds(self) -> float | None:
        """None while the device is not through with it."""
        ...


class DeviceSpan:
    """By two events on the current stream: nobody waits."""

    def __init__(self, device: str) -> None:
        self._begin = wp.Event(device, enable_timing=True)
        self._end = wp.Event(device, enable_timing=True)

    def begin(self) -> None:
        wp.record_event(self._begin)

    def end(self) -> None:
        wp.record_event(self._end)

    def milliseconds(self) -> float | None:
        if not self._end.is_complete:
            return None
        return wp.get_event_elapsed_time(self._begin, self._end, synchronize=False)


class Trial:
    """Of `shapes`; the first is taken where nothing is known. `span` times one launch at a time."""

    def __init__(self, shapes: Sequence[Shape], span: Span) -> None:
        self.shapes = list(shapes)
        self.best = 0
        self._span = span
        self._frames = 0
        self._begin()

    def launch(self, frames: int, run: Callable[[Shape], Any]) -> None:
        """`run` a launch of so many frames with the shape whose turn it is."""
        if frames != self._frames:  # other launches tell nothing about these
            self._frames = frames
            self._begin()
        self._look()
        if self._rest:
            self._rest -= 1
            run(self.shapes[self.best])
            if not self._rest:
                self._begin()
        elif self._waiting is not None:
            run(self.shapes[self.best])
        else:
            self._waiting = self._turns.pop(0)
            self._span.begin()
            run(self.shapes[self._waiting])
            self._span.end()

    def _begin(self) -> None:
        self._rest = 0
        self._round = 0
        self._waiting: int | None = None
        self._turns = list(range(len(self.shapes)))
        self._taken: dict[int, float] = {}
        self._slower = [0.0] * len(self.shapes)
        """Of each that is still tried, the sum of the logarithms of what it took in each round, in
        terms of the round's mean."""

    def _look(self) -> None:
        """Take note of a launch that is over, and decide once all of a round are."""
        taken = None if self._waiting is None else self._span.milliseconds()
        if self._waiting is None or taken is None:
            return
        self._taken[self._waiting] = math.log(max(taken, 1e-3))
        self._waiting = None
        if not self._turns:
            self._decide()

    def _decide(self) -> None:
        mean = sum(self._taken.values()) / len(self._taken)
        for index, taken in self._taken.items():
            self._slower[index] += taken - mean
        self.best = min(self._taken, key=lambda index: self._slower[index])
        self._round += 1
        limit = self._round * math.log(HOPELESS[min(self._round, len(HOPELESS)) - 1])
        least = self._slower[self.best]
        left = [index for index in self._taken if self._slower[index] - least < limit]
        self._taken = {}
        if self._round == ROUNDS or len(left) == 1:
            self._rest = AGAIN_AFTER
        else:
            first = self._round % len(left)  # each has its turn early in a round and late
            self._turns = left[first:] + left[:first]
