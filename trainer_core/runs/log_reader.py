"""Reader of a run's train_log.jsonl, also of a run that is in progress."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from trainer_core.lab.paths import RunPaths
from trainer_core.wire import records
from trainer_core.wire.errors import LabError, ProtocolError
from trainer_core.wire.regular_files import open_regular

MOST_AT_ONCE = 1 << 30
"""Greatest size of a log that is read as a whole: a million records."""


@dataclass(frozen=True, slots=True)
class History:
    """Records read from a part of a log, and the byte offset at which it ends."""

    events: tuple[records.Event, ...]
    offset: int
    """Offset for the next read: the end of the last complete line."""
    bad_lines: int = 0


def read_history(path: Path, offset: int = 0, most_bytes: int = -1) -> History:
    """Return the complete lines from `offset` on, of at most `most_bytes`; an unfinished last line is left.

    A missing file gives an empty history: the worker has not written its first line yet. Raises LabError for a log that
    is too long to be read as a whole, OSError.
    """
    try:
        with open_regular(path) as file:
            if most_bytes < 0 and os.fstat(file.fileno()).st_size - offset > MOST_AT_ONCE:
                raise LabError(f"{path}: longer than {MOST_AT_ONCE >> 20} MiB: no log of a run")
            file.seek(offset)
            data = file.read(most_bytes)
    except FileNotFoundError:
        return History((), offset)
    end = data.rfind(b"\n") + 1
    if not end and len(data) == most_bytes:  # one line longer than `most_bytes`
        return History((), offset + len(data), 1)
    events: list[records.Event] = []
    bad_lines = 0
    for line in data[:end].splitlines():
        try:
            events.append(records.decode(line))
        except ProtocolError:
            bad_lines += 1
    return History(tuple(events), offset + end, bad_lines)


TAIL_BYTES, MOST_BYTES = 256 << 10, 4 << 20


def records_between(run: RunPaths, first: int, end: int) -> list[records.Event]:
    """Return the records of a log with a seq from `first` to `end` - 1, as far as they are in its last 4 MiB."""
    try:
        size = run.train_log.stat().st_size
        tail = TAIL_BYTES
        while True:
            events = read_history(run.train_log, max(0, size - tail), tail).events
            known = [event for event in events if isinstance(event, records.LogRecord)]
            if tail >= min(size, MOST_BYTES) or (known and known[0].seq <= first):
                return [event for event in known if first <= event.seq < end]
            tail *= 4
    except OSError:
        return []
