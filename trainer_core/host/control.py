"""Commands for a run, which its loop reads between two updates."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Control:
    """Thread-safe requests: any thread sets them, the training loop reads them between two updates."""

    def __init__(self) -> None:
        self._wake = threading.Condition()
        self._stop_reason = ""
        self._stopped_at = 0.0
        self._paused = False
        self._checkpoint = False
        self._watch = 0
        self.on_begin: Callable[[], None] = lambda: None
        """Callback in the loop's thread before the first update."""
        self.begun = False
        """True once the run's log is open and a checkpoint can be saved."""

    def begin(self) -> None:
        self.begun = True
        self.on_begin()

    def stop(self, reason: str) -> None:
        """Request a stop: the loop finishes its update, saves and ends."""
        with self._wake:
            if not self._stop_reason:
                self._stop_reason, self._stopped_at = reason, time.monotonic()
            self._wake.notify_all()

    def pause(self, paused: bool) -> None:
        with self._wake:
            self._paused = paused
            self._wake.notify_all()

    def request_checkpoint(self) -> None:
        with self._wake:
            self._checkpoint = True
            self._wake.notify_all()

    def watch(self, envs: int) -> None:
        with self._wake:
            self._watch = envs

    @property
    def stop_reason(self) -> str:
        return self._stop_reason

    def stopped_for_s(self) -> float:
        """Return the seconds since the stop request; 0 without one."""
        return time.monotonic() - self._stopped_at if self._stop_reason else 0.0

    @property
    def paused(self) -> bool:
        return self._paused and not self._stop_reason

    @property
    def watched_envs(self) -> int:
        return self._watch

    def take_checkpoint_request(self) -> bool:
        with self._wake:
            asked, self._checkpoint = self._checkpoint, False
            return asked

    def wait_while_paused(self, most_s: float | None = None) -> None:
        """Block until resumed, stopped or asked for a checkpoint, at most `most_s` seconds."""
        with self._wake:
            self._wake.wait_for(lambda: not self.paused or self._checkpoint, most_s)
