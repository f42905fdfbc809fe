"""The index of runs: append-only `runs.jsonl`, the last line of a run holds.

Run directories are the truth; this file only says where to look and how each run ended. One line is
one `write` with O_APPEND, so several processes may append, and a line torn by a crash is skipped.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec
import psutil

from trainer_core.protocol.paths import HomePaths
from trainer_core.protocol.runs import RunRecord, RunState

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(RunRecord)
LOST_REASON = "the app or the machine stopped while this ran"


class RunRegistry:
    """Reads and appends the index of one home."""

    def __init__(self, home: HomePaths) -> None:
        self.path = home.runs_index

    def append(self, record: RunRecord) -> None:
        """Add one line. A torn last line is closed first, so that it spoils nothing but itself."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = _encoder.encode(record) + b"\n"
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                line = b"\n" + line
            os.write(descriptor, line)
        finally:
            os.close(descriptor)

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
        """Like `load`, after runs whose process is gone were recorded as lost."""
        found = self.load()
        for run_id, record in found.items():
            if record.state.is_end or is_alive(record):
                continue
            found[run_id] = msgspec.structs.replace(
                record, state=RunState.LOST, reason=LOST_REASON, finished_at=time.time()
            )
            self.append(found[run_id])
        return found


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
