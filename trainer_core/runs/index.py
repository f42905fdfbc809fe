"""The index of runs: append-only `runs.jsonl`, the last line of a run holds.

Run directories are the truth; this file only says where to look and how each run ended. One line is
one `write` with O_APPEND, so several processes may append, and a line torn by a crash is skipped.
"""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import time
from pathlib import Path

import msgspec
import psutil

from trainer_core.protocol.paths import HomePaths, RunPaths
from trainer_core.protocol.runs import RunRecord, RunState, fold
from trainer_core.runs import durable
from trainer_core.runs.history import read_history
from trainer_core.runs.lock import is_locked

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(RunRecord)
HOST = platform.node()
LOST_REASON = "the app or the computer stopped while this ran"
TAIL_BYTES = 256 << 10
"""As much of a log's end as is read for its newest records."""


class RunRegistry:
    """Reads and appends the index of one home."""

    def __init__(self, home: HomePaths) -> None:
        self.home = home
        self.path = home.runs_index

    def append(self, record: RunRecord) -> None:
        """Add one line, for good. Raises OSError.

        A line that was torn before is closed first, so that it spoils nothing but itself.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = _encoder.encode(record) + b"\n"
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                line = b"\n" + line
            if os.write(descriptor, line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if not size:
            durable.sync_folder(self.path.parent)

    def load(self) -> dict[str, RunRecord]:
        """The last record of every run, in the order in which runs first appear."""
        found: dict[str, RunRecord] = {}
        for line in _lines(self.path):
            try:
                record = _decoder.decode(line)
            except msgspec.DecodeError:
                continue
            found[record.run_id] = record
        return found

    def reconcile(self) -> dict[str, RunRecord]:
        """Like `load`, with runs that have not ended as far as their logs say they are.

        Those whose process is gone are recorded as lost, or only told so where the index cannot be
        written. Of runs that ended no file is read: a home may hold thousands.
        """
        found = self.load()
        for run_id, record in found.items():
            if record.state.is_end:
                continue
            found[run_id] = catch_up(record, self.home.run(run_id))
            if not self._is_held(record):
                found[run_id] = msgspec.structs.replace(
                    found[run_id], state=RunState.LOST, reason=LOST_REASON, finished_at=time.time()
                )
                with contextlib.suppress(OSError):  # a home that may only be read
                    self.append(found[run_id])
        return found

    def _is_held(self, record: RunRecord) -> bool:
        """Whether the run's process lives; on another computer only its lock can tell."""
        if record.host not in ("", HOST):
            return is_locked(self.home.run(record.run_id))
        return is_alive(record)


def catch_up(record: RunRecord, paths: RunPaths) -> RunRecord:
    """The record after the log's last lines: no index line is written for every update."""
    try:
        size = paths.train_log.stat().st_size
    except OSError:
        return record
    known = record
    for event in read_history(paths.train_log, max(0, size - TAIL_BYTES)).events:
        record = fold(record, event)
    return msgspec.structs.replace(record, state=known.state, reason=known.reason)


def is_alive(record: RunRecord) -> bool:
    """Whether the process that this record names still runs: pid and creation time must match."""
    if not record.pid:
        return False
    try:
        process = psutil.Process(record.pid)
        same = abs(process.create_time() - record.pid_create_time) < 0.05
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def create_time(pid: int) -> float:
    """psutil's creation time of a process, 0 when it is already gone."""
    try:
        return psutil.Process(pid).create_time()
    except psutil.Error:
        return 0.0


def _lines(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().splitlines()
    except FileNotFoundError:
        return []
