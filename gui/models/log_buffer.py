"""Log lines on their way to the view: classified, counted, handed out in batches."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass

LEVELS = ("All", "Warnings", "Errors")
MAX_LINES = 5000
_ERROR = re.compile(r"\b(error|traceback|exception|fatal|failed|killed)\b", re.IGNORECASE)
_WARNING = re.compile(r"\b(warn|warning|deprecated|bad line)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LogLine:
    level: int
    """0 plain, 1 warning, 2 error."""
    text: str


def level_of(text: str) -> int:
    if _ERROR.search(text):
        return 2
    return 1 if _WARNING.search(text) else 0


class LogBuffer:
    """The last 5,000 lines, and those that the view has not taken yet."""

    def __init__(self) -> None:
        self.lines: deque[LogLine] = deque(maxlen=MAX_LINES)
        self._new: deque[LogLine] = deque(maxlen=MAX_LINES)

    def add(self, text: str, level: int | None = None) -> None:
        line = LogLine(level_of(text) if level is None else level, text)
        self.lines.append(line)
        self._new.append(line)

    def take_new(self) -> list[LogLine]:
        taken = list(self._new)
        self._new.clear()
        return taken
