"""The index of runs: append-only `runs.jsonl`, the last line of a run holds.

Run directories are the truth; this file only says where to look and how each run ended. One line is
one `write` with O_APPEND, so several processes may append, and a line torn by a crash is skipped.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from trainer_core.protocol.errors import BAD_JSON
from trainer_core.protocol.regular_files import open_regular
from trainer_core.protocol.runs import RunRecord, is_run_id
from trainer_core.runs import durable

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(RunRecord)


def append_line(path: Path, record: RunRecord) -> None:
    """Add one line, for good. Raises OSError.

    A line that was torn before is closed first, so that it spoils nothing but itself.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    line = _encoder.encode(record) + b"\n"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
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
        durable.sync_folder(path.parent)


def load_lines(path: Path) -> dict[str, RunRecord]:
    """The last record of every run, in the order in which runs first appear."""
    return IndexTail(path).read_all()


def decode_lines(data: bytes) -> Iterator[RunRecord]:
    """The records of these lines; what is none, or names no folder of a run, is skipped."""
    for line in data.splitlines():
        try:
            record = _decoder.decode(line)
        except BAD_JSON:
            continue
        if is_run_id(record.run_id):
            yield record


class IndexTail:
    """What was appended since the last look, for those who follow an index."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset, self._inode = 0, 0

    def read_all(self) -> dict[str, RunRecord]:
        """The last record of every run, in the order in which runs first appear. Raises OSError.

        `read` goes on from here; a last line that does not end yet is told now and once more then.
        """
        try:
            with open_regular(self._path) as file:
                self._inode, data = os.fstat(file.fileno()).st_ino, file.readall()
        except FileNotFoundError:
            self._offset = 0
            return {}
        self._offset = data.rfind(b"\n") + 1
        return {record.run_id: record for record in decode_lines(data)}

    def read(self) -> list[RunRecord]:
        """Records of whole lines that are new; all of them when the file was replaced.

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
        with open_regular(self._path) as file:
            file.seek(self._offset)
            data = file.readall()
        end = data.rfind(b"\n") + 1
        self._offset += end
        return list(decode_lines(data[:end]))
