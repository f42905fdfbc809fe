"""What is told while an environment is made: a task of somebody else's may take minutes."""

from __future__ import annotations

import time
from collections.abc import Callable

EVERY_S = 2.0
"""Between two lines."""


class Preparing:
    """Tells `say` how far a piece of the preparation is, not oftener than a person reads."""

    def __init__(self, say: Callable[[str], None], every_s: float = EVERY_S) -> None:
        self._say, self._every_s = say, every_s
        self._next = time.monotonic() + every_s

    def __call__(self, what: str, done: int, of: int) -> None:
        """Say that `done` of `of` are there, unless something was said a moment ago."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self._every_s
            self._say(f"preparing {what}: {done:,} of {of:,}")


def silent() -> Preparing:
    """Return one that tells nobody."""
    return Preparing(lambda text: None)
