"""The only writer of a run's log: each record is appended as one line, then written to the pipe."""

from __future__ import annotations

import errno
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from trainer_core.lab import durable_files
from trainer_core.lab.paths import RunPaths
from trainer_core.wire import records
from trainer_core.wire.errors import FailureError, ProtocolError

TAIL_BYTES, MOST_TAIL_BYTES = 4 * records.MAX_LINE_BYTES, 64 << 20
"""Bytes read from a log's end to find its last complete line: at first, and at most."""
KEPT_FOR_GOOD = (
    records.MetaRecord | records.ResumeRecord | records.CheckpointRecord | records.EvalRecord | records.ErrorRecord
)
"""Records that are synced to the disk before they are sent to the listener, to survive a crash of the computer; the
others are in the kernel's cache, which survives a crash of the process."""


class DiskError(FailureError):
    """Error that the disk is full or cannot be written; nothing that was sent to a listener before is lost."""


class MovedError(DiskError):
    """Error that a run's files were moved or deleted, so that further lines would be lost."""


class RunWriter:
    """Writer that appends records to `train_log.jsonl` and then passes each line to `listener`."""

    def __init__(self, paths: RunPaths, listener: Callable[[bytes], None] = lambda line: None) -> None:
        """Open or create the log, removing an unfinished last line left by a crash.

        Raises DiskError.
        """
        self.paths = paths
        self._listener = listener
        self._lock = threading.Lock()
        self._update = 0
        """Number of the update to which the newest record belongs."""
        try:
            paths.root.mkdir(parents=True, exist_ok=True)
            self._cut_torn_tail()
            self.seq = self._next_seq()
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | durable_files.OF_A_FILE
            self._descriptor = os.open(paths.train_log, flags, 0o644)
            self._root = _identity(paths.root)
            self._size = os.fstat(self._descriptor).st_size
            self._checkpoints = _identity(paths.checkpoints)
        except OSError as error:
            raise disk_error(paths.train_log, error) from None

    def append(self, kind: type[records.Record], /, **fields: Any) -> records.Record:
        """Make a record of type `kind`, append it to the log, then pass its line to the listener; return it.

        Raises DiskError when the line cannot be written; the log is then unchanged.
        """
        return self.keep(kind(run_id=self.paths.run_id, seq=0, time=time.time(), **fields))

    def keep(self, record: records.Record) -> records.Record:
        """Append `record`, as `append` does, with this log's run_id and its next seq; return the changed record.

        A record without a trace_id gets that of the newest update or resume. A trainer that does not number its
        updates has them counted here.
        """
        with self._lock:
            record = msgspec.structs.replace(record, run_id=self.paths.run_id, seq=self.seq)
            if isinstance(record, records.UpdateRecord | records.ResumeRecord):
                number = record.update
                self._update = self._update + 1 if number is msgspec.UNSET else number or self._update
            if isinstance(record, records.LogLine) and not record.trace_id:
                trace_id = records.trace_of(record.run_id, self._update)
                record = msgspec.structs.replace(record, trace_id=trace_id)
            line = records.encode(record)
            self._write(line, sync=isinstance(record, KEPT_FOR_GOOD))
            self.seq += 1
            self._listener(line)
        return record

    def tell(self, kind: type[records.Record], /, **fields: Any) -> None:
        """Pass a record that does not belong in the log to the listener: state, heartbeat, ack."""
        with self._lock:
            record = kind(run_id=self.paths.run_id, seq=self.seq, time=time.time(), **fields)
            self._listener(records.encode(record))

    def close(self) -> None:
        os.close(self._descriptor)

    def check_place(self) -> None:
        """Raise MovedError when the log was replaced by another file, or became shorter.

        It was then moved, deleted or emptied: further lines would be lost, or follow a gap.
        """
        found = os.fstat(self._descriptor)
        is_there = _identity(self.paths.train_log) == (found.st_dev, found.st_ino)
        if not is_there or found.st_size < self._size:
            raise _moved(self.paths.train_log)

    def has_folder(self) -> bool:
        """Return whether the run's folder and its folder of checkpoints are still those that this writer opened."""
        known = self._checkpoints
        kept = known is None or _identity(self.paths.checkpoints) == known
        return kept and _identity(self.paths.root) == self._root

    def checkpoints_in_place(self) -> None:
        """Make the run's folder of checkpoints at the first call; later check that it was not moved.

        Raises MovedError, and DiskError.
        """
        self.check_place()
        folder, known = self.paths.checkpoints, self._checkpoints
        if known is None:
            try:
                folder.mkdir(exist_ok=True)
            except OSError as error:
                raise disk_error(folder, error) from None
            self._checkpoints = _identity(folder)
        elif _identity(folder) != known:
            raise _moved(folder)

    def _write(self, line: bytes, *, sync: bool) -> None:
        self.check_place()
        size = os.fstat(self._descriptor).st_size
        try:
            written = os.write(self._descriptor, line)
            if written != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if sync:
                os.fsync(self._descriptor)
        except OSError as error:
            os.ftruncate(self._descriptor, size)
            raise disk_error(self.paths.train_log, error) from None
        self._size = size + len(line)

    def _cut_torn_tail(self) -> None:
        """Truncate the log after its last complete line, which is searched for from the end: logs grow long."""
        try:
            with self.paths.train_log.open("r+b") as log:
                end = log.seek(0, os.SEEK_END)
                while end:
                    start = max(0, end - TAIL_BYTES)
                    log.seek(start)
                    newline = log.read(end - start).rfind(b"\n")
                    if newline >= 0:
                        end = start + newline + 1
                        break
                    end = start
                log.truncate(end)
        except FileNotFoundError:
            pass

    def _next_seq(self) -> int:
        """Return the seq of the next record: that of the log's last one plus 1, 0 for an empty log.

        Notes the number of the update to which the last record belongs.
        """
        try:
            size = self.paths.train_log.stat().st_size
        except FileNotFoundError:
            return 0
        tail = TAIL_BYTES
        while True:
            with self.paths.train_log.open("rb") as log:
                log.seek(max(0, size - tail))
                lines = log.read().splitlines()
            for line in reversed(lines):
                try:
                    last = records.decode(line)
                except ProtocolError:
                    continue
                number = getattr(last, "trace_id", "").rpartition("-")[2]
                self._update = int(number) if number.isdecimal() else 0
                return last.seq + 1
            if tail >= min(size, MOST_TAIL_BYTES):  # such a file is no log of ours
                return 0
            tail *= 4


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the device and inode that identify a file; None if it does not exist."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _moved(path: Path) -> MovedError:
    return MovedError(
        f"{path}: moved, deleted or replaced while the run trained; put it back if you have it, then resume the run"
    )


def disk_error(path: Path, error: OSError, option: str = "--home") -> DiskError:
    """Return a DiskError on `path` caused by `error`; its text names `option`, the command line option for the
    folder."""
    reason = error.strerror or str(error)
    way_out = f"choose a folder that can be written ({option})"
    if error.errno == errno.ENOSPC:
        way_out = "free some space" + (" and resume the run" if option == "--home" else "")
    return DiskError(f"{path}: {reason}; {way_out}")


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file atomically. Raises OSError."""
    durable_files.replace_file(path, json.dumps(value, indent=2, default=str).encode() + b"\n")
