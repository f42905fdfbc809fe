"""Log lines on their way to the view: cut, counted, taken in slices.

A runaway worker writes 100 MB a second. The number of stored lines and their length are bounded, and no level is
computed before a line is shown.
"""

from __future__ import annotations

import functools
import re
import time
from collections import deque
from collections.abc import Sequence

LEVELS = ("All", "Warnings", "Errors")
MAX_LINES = 5000
LINE_LENGTH = 1000
"""Characters stored of a line; the run's own log file has the rest."""
JUDGED = 200
"""Characters in which words of a warning or error are looked for."""
_ERROR = re.compile(r"\b(error|traceback|exception|fatal|failed|killed)\b", re.IGNORECASE)
_WARNING = re.compile(r"\b(warn|warning|deprecated|bad line)\b", re.IGNORECASE)


class LogLine:
    """Line with a `level`: 0 plain, 1 a warning, 2 an error; computed on demand."""

    __slots__ = ("_level", "at", "text")

    def __init__(self, text: str, level: int | None = None) -> None:
        self.at = int(time.time())
        self.text = text if len(text) <= LINE_LENGTH else f"{text[:LINE_LENGTH]} ..."
        self._level = level

    @property
    def clock(self) -> str:
        """Time of arrival as local time of day."""
        return _clock(self.at)

    @property
    def level(self) -> int:
        if self._level is None:
            self._level = level_of(self.text)
        return self._level


@functools.lru_cache(maxsize=64)
def _clock(at: int) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at))


def level_of(text: str) -> int:
    head = text[:JUDGED]
    if _ERROR.search(head):
        return 2
    return 1 if _WARNING.search(head) else 0


class LogBuffer:
    """The last 5,000 lines, and those that the view has not taken yet."""

    def __init__(self) -> None:
        self.lines: deque[LogLine] = deque(maxlen=MAX_LINES)
        self._new: deque[LogLine] = deque(maxlen=MAX_LINES)
        self._skipped = 0

    def add(self, text: str, level: int | None = None) -> None:
        self._keep(LogLine(text, level))

    def add_all(self, texts: Sequence[str]) -> None:
        """Add lines in their order; if more than fit, only the last are looked at."""
        self._skipped += max(0, len(texts) - MAX_LINES)
        for text in texts[-MAX_LINES:]:
            self._keep(LogLine(text))

    def _keep(self, line: LogLine) -> None:
        self._skipped += len(self._new) == MAX_LINES
        self.lines.append(line)
        self._new.append(line)

    def take_new(self, most: int = MAX_LINES) -> list[LogLine]:
        """Return the oldest lines not taken yet, after a line on how many were dropped unseen."""
        taken = [self._new.popleft() for _ in range(min(most, len(self._new)))]
        if self._skipped:
            text = f"... {self._skipped:,} lines came too fast to show; worker.log has them"
            taken.insert(0, LogLine(text, 1))
            self._skipped = 0
        return taken

    def start_over(self) -> None:
        """Make every stored line available once more."""
        self._new = deque(self.lines, maxlen=MAX_LINES)
        self._skipped = 0
