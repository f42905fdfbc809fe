"""Buffer of log lines for the log view: limited in length and number, taken in slices.

A worker out of control may write 100 MB a second, so a line's level is only computed when it is shown.
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
"""Most stored characters of a line; the run's log file has all of them."""
JUDGED = 200
"""Number of characters of a line that are searched for words of a warning or error."""
_ERROR = re.compile(r"\b(error|traceback|exception|fatal|failed|killed)\b", re.IGNORECASE)
_WARNING = re.compile(r"\b(warn|warning|deprecated|bad line)\b", re.IGNORECASE)


class LogLine:
    """Line of the log; `level` is 0 for plain, 1 for a warning, 2 for an error, and computed at the first use."""

    __slots__ = ("_level", "at", "text")

    def __init__(self, text: str, level: int | None = None) -> None:
        self.at = int(time.time())
        self.text = text if len(text) <= LINE_LENGTH else f"{text[:LINE_LENGTH]} ..."
        self._level = level

    @property
    def clock(self) -> str:
        """Local time of day at which the line arrived, as text."""
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
    """The last MAX_LINES lines, and the number of them that the view has not taken yet."""

    def __init__(self) -> None:
        self.lines: deque[LogLine] = deque(maxlen=MAX_LINES)
        self._new: deque[LogLine] = deque(maxlen=MAX_LINES)
        self._skipped = 0

    def add(self, text: str, level: int | None = None) -> None:
        self._keep(LogLine(text, level))

    def add_all(self, texts: Sequence[str]) -> None:
        """Add lines; if there are more than fit, only the last ones are kept."""
        self._skipped += max(0, len(texts) - MAX_LINES)
        for text in texts[-MAX_LINES:]:
            self._keep(LogLine(text))

    def _keep(self, line: LogLine) -> None:
        self._skipped += len(self._new) == MAX_LINES
        self.lines.append(line)
        self._new.append(line)

    def take_new(self, most: int = MAX_LINES) -> list[LogLine]:
        """Return up to `most` of the oldest lines not taken yet.

        If lines were dropped before they were taken, the first returned line tells how many.
        """
        taken = [self._new.popleft() for _ in range(min(most, len(self._new)))]
        if self._skipped:
            text = f"... {self._skipped:,} lines came too fast to show; worker.log has them"
            taken.insert(0, LogLine(text, 1))
            self._skipped = 0
        return taken

    def start_over(self) -> None:
        """Let `take_new` return all stored lines again, for a new filter."""
        self._new = deque(self.lines, maxlen=MAX_LINES)
        self._skipped = 0
