"""Progress reports while an environment is made, which may take minutes for tasks of other authors."""

from __future__ import annotations

import time
from collections.abc import Callable

EVERY_S = 2.0
"""Least number of seconds between two reports."""


class Preparing:
    """Reporter of progress: calls `say` with a line of text, at most once in `every_s` seconds."""

    def __init__(self, say: Callable[[str], None], every_s: float = EVERY_S) -> None:
        self._say, self._every_s = say, every_s
        self._next = time.monotonic() + every_s

    def __call__(self, what: str, done: int, of: int) -> None:
        """Report that `done` of `of` steps of the work `what` are complete, unless the last report is too recent."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self._every_s
            self._say(f"preparing {what}: {done:,} of {of:,}")


def silent() -> Preparing:
    """Return a reporter without output."""
    return Preparing(lambda text: None)
