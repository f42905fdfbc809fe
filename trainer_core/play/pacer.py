"""When the player's next frame is due, and how fast it really went."""

from __future__ import annotations

import time
from collections import deque

from trainer_core.lab.recording import FRAMES_PER_SECOND

RESYNC_S = 0.25
"""Later than this behind its schedule, the player drops the schedule instead of racing after it."""
SPEED_WINDOW = 60
"""Frames over which the speed is measured."""
SLOW = 0.9
"""Under this part of the wanted speed the player does not keep it."""


class Pacer:
    """Says when the next frame is due, at a steady rate, and measures the rate that was kept."""

    def __init__(self, speed: float) -> None:
        self.speed = speed
        self._due = time.monotonic()
        self._shown: deque[float] = deque(maxlen=SPEED_WINDOW)

    def wait(self) -> None:
        """Sleep until the next frame is due; at speed 0 never."""
        now = time.monotonic()
        if self.speed > 0:
            self._due += 1 / (FRAMES_PER_SECOND * self.speed)
            if now - self._due > RESYNC_S:
                self._due = now
            elif self._due > now:
                time.sleep(self._due - now)
        self._shown.append(time.monotonic())

    def restart(self) -> None:
        """After a pause: the schedule begins now."""
        self._due = time.monotonic()
        self._shown.clear()

    def hold(self, seconds: float) -> None:
        """Show the present picture for longer."""
        self._due += seconds

    @property
    def kept(self) -> float:
        """The wanted speed, or a lower one where the computer was too slow for it for a while."""
        measured = self.measured if len(self._shown) == SPEED_WINDOW else self.speed
        return measured if 0 < measured < SLOW * self.speed else self.speed

    @property
    def measured(self) -> float:
        """The rate of the last SPEED_WINDOW frames over 59.7."""
        if len(self._shown) < 2:
            return 0.0
        elapsed = self._shown[-1] - self._shown[0]
        return (len(self._shown) - 1) / max(elapsed, 1e-6) / FRAMES_PER_SECOND
