"""Parser from bytes of a child's event stream to records: bad lines are reported, the stream continues."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from trainer_core.wire import records
from trainer_core.wire.errors import ProtocolError

CLOCK_LINES = 64
"""Number of ignored lines between two looks at the clock."""


@dataclass(frozen=True, slots=True)
class BadLine:
    """Line that cannot be read as a record, shortened for display."""

    reason: str
    text: str


class LineParser:
    """Parser that collects bytes and returns one parsed line at a time.

    A line longer than the protocol allows is dropped as it arrives and reported once, so that a faulty child costs no
    memory.
    """

    def __init__(
        self, limit: int = records.MAX_LINE_BYTES, decode: Callable[[bytes], records.Event | None] = records.decode
    ) -> None:
        """Set up; `decode` is a runner's `parse`, which returns None for a line to ignore."""
        self._limit, self._decode = limit, decode
        self._buffer = bytearray()
        self._start = 0
        self._skipping = False
        self.bad_lines = 0

    @property
    def backlog(self) -> int:
        """Bytes waiting to be parsed."""
        return len(self._buffer) - self._start

    @property
    def waits(self) -> bool:
        """True while a complete line waits to be parsed."""
        return self._buffer.find(b"\n", self._start) >= 0

    def feed(self, chunk: bytes) -> None:
        if self._start > self._limit:  # parsed bytes must not pile up while more arrive
            del self._buffer[: self._start]
            self._start = 0
        self._buffer += chunk

    def next(self, deadline: float = math.inf) -> records.Event | BadLine | None:
        """Return the next record or bad line; None when no complete line waits.

        Also returns None once time.perf_counter() passes `deadline` while lines are being ignored.
        """
        lines = 0
        while (end := self._buffer.find(b"\n", self._start)) >= 0:
            lines += 1
            if lines % CLOCK_LINES == 0 and time.perf_counter() > deadline:
                return None
            line = bytes(self._buffer[self._start : end])
            self._start = end + 1
            if self._skipping:
                self._skipping = False
            elif len(line) > self._limit:
                return self._too_long()
            elif line.strip() and (item := self._parse(line)) is not None:
                return item
        del self._buffer[: self._start]
        self._start = 0
        if len(self._buffer) > self._limit:
            self._buffer.clear()
            if not self._skipping:
                self._skipping = True
                return self._too_long()
        return None

    def finish(self) -> BadLine | None:
        """Return the incomplete last line at the stream's end as a bad line, None if there is none."""
        rest = bytes(self._buffer[self._start :]).strip()
        self._buffer.clear()
        self._start = 0
        if not rest or self._skipping:
            return None
        self.bad_lines += 1
        return BadLine("the stream ended in the middle of a line", _readable(rest))

    def _parse(self, line: bytes) -> records.Event | BadLine | None:
        try:
            return self._decode(line)
        except ProtocolError as error:
            reason = str(error)
        except Exception as error:  # an error in a runner's parser must not end the stream
            reason = f"{type(error).__name__}: {error}"
        self.bad_lines += 1
        return BadLine(reason, _readable(line))

    def _too_long(self) -> BadLine:
        self.bad_lines += 1
        return BadLine(f"a line is longer than {self._limit} bytes and was dropped", "")


def _readable(line: bytes) -> str:
    return line[:200].decode("utf-8", "replace")
