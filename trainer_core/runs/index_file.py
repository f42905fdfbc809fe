"""Index of runs: append-only `runs.jsonl`, whose last line of a run is valid.

It only locates run directories, which hold the data, and records how each run ended. Each line is one `write` with
O_APPEND, so that several processes may append; a line torn by a crash is skipped.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

import msgspec

from trainer_core.lab import durable_files
from trainer_core.wire.errors import BAD_JSON
from trainer_core.wire.regular_files import open_regular, read_lines
from trainer_core.wire.run_record import RunRecord, is_run_id

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(RunRecord)


def append_line(path: Path, record: RunRecord) -> None:
    """Append `record` as one line to the index `path` and sync it. Raises OSError.

    An unfinished line before it is ended first, so that only that one is lost.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    line = _encoder.encode(record) + b"\n"
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | durable_files.OF_A_FILE
    descriptor = os.open(path, flags, 0o644)
    try:
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            line = b"\n" + line
        if os.write(descriptor, line) != len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if not size:
        durable_files.sync_folder(path.parent)


def load_lines(path: Path) -> dict[str, RunRecord]:
    """Return the last record of every run, in the order in which runs first appear."""
    return IndexTail(path).read_all()


def decode_line(line: bytes) -> RunRecord | None:
    """Return the record that a line of the index holds; None if it is invalid, or its run_id cannot name a folder."""
    try:
        record = _decoder.decode(line)
    except BAD_JSON:
        return None
    return record if is_run_id(record.run_id) else None


class IndexTail:
    """Reader of an index that returns at each call the lines appended since the last one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset, self._inode = 0, 0

    def read_all(self) -> dict[str, RunRecord]:
        """Return the last record of every run, in the order in which runs first appear. Raises OSError.

        `read` continues from here; an unfinished last line is returned now and once more by `read`.
        """
        self._offset, found = 0, {}
        try:
            with open_regular(self._path) as file:
                self._inode = os.fstat(file.fileno()).st_ino
                for line, self._offset in read_lines(file, 0, torn=True):
                    if record := decode_line(line):
                        found[record.run_id] = record
        except FileNotFoundError:
            return {}
        return found

    def read(self) -> list[RunRecord]:
        """Return the records of new complete lines; of all lines if the file was replaced.

        Raises OSError.
        """
        try:
            found = self._path.stat()
        except FileNotFoundError:
            self._offset = 0
            return []
        if found.st_ino != self._inode or found.st_size < self._offset:
            self._offset, self._inode = 0, found.st_ino
        if found.st_size == self._offset:
            return []
        records, begun = [], self._offset
        with open_regular(self._path) as file:
            for line, self._offset in read_lines(file, begun):
                if record := decode_line(line):
                    records.append(record)
        return records
