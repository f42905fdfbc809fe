"""Timing of the player's frames, and measurement of their rate."""

from __future__ import annotations

import time
from collections import deque

from trainer_core.lab.recording import FRAMES_PER_SECOND

RESYNC_S = 0.25
"""Delay in seconds after which the player restarts its schedule instead of catching up."""
SPEED_WINDOW = 60
"""Frames over which the speed is measured."""
SLOW = 0.9
"""Share of the wanted speed below which the player is too slow."""


class Pacer:
    """Schedule of frames at a steady rate, with the measured rate."""

    def __init__(self, speed: float) -> None:
        self.speed = speed
        self._due = time.monotonic()
        self._shown: deque[float] = deque(maxlen=SPEED_WINDOW)

    def wait(self) -> None:
        """Sleep until the next frame is due; return at once at speed 0."""
        now = time.monotonic()
        if self.speed > 0:
            self._due += 1 / (FRAMES_PER_SECOND * self.speed)
            if now - self._due > RESYNC_S:
                self._due = now
            elif self._due > now:
                time.sleep(self._due - now)
        self._shown.append(time.monotonic())

    def restart(self) -> None:
        """Restart the schedule now, after a pause."""
        self._due = time.monotonic()
        self._shown.clear()

    def hold(self, seconds: float) -> None:
        """Delay the next frame by `seconds`, so that the current picture stays longer."""
        self._due += seconds

    @property
    def kept(self) -> float:
        """Actual speed: the wanted one, or the measured one if the computer has been too slow for a while."""
        measured = self.measured if len(self._shown) == SPEED_WINDOW else self.speed
        return measured if 0 < measured < SLOW * self.speed else self.speed

    @property
    def measured(self) -> float:
        """Rate of the last SPEED_WINDOW frames divided by 59.7."""
        if len(self._shown) < 2:
            return 0.0
        elapsed = self._shown[-1] - self._shown[0]
        return (len(self._shown) - 1) / max(elapsed, 1e-6) / FRAMES_PER_SECOND
