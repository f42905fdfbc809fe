"""Records of a home's runs: those of the index, corrected for processes that have ended."""

from __future__ import annotations

import contextlib
import platform
import time
from collections.abc import Container

import msgspec
import psutil

from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.runs.index_file import append_line, load_lines
from trainer_core.runs.log_reader import read_history
from trainer_core.runs.queue import RunQueue
from trainer_core.runs.rebuild_index import from_files, unlisted, unreadable
from trainer_core.runs.run_lock import is_locked, is_locked_here
from trainer_core.wire.errors import LabError, in_words
from trainer_core.wire.run_record import RunRecord, RunState, fold

HOST = platform.node()
LOST_REASON = "the app or the computer stopped while this ran"
FORGOTTEN = "it waited, and the queue does not know it any more"
TAIL_BYTES = 256 << 10
"""Bytes at the end of a log that are read for its newest records."""


class RunRegistry:
    """Reader and writer of the index of one home."""

    def __init__(self, home: HomePaths) -> None:
        self.home = home
        self.path = home.runs_index
        self.problem = ""
        """Reason why the index could not be read at the last attempt; empty when it could."""

    def append(self, record: RunRecord) -> None:
        """Append `record` to the index and sync it. Raises OSError."""
        append_line(self.path, record)

    def load(self) -> dict[str, RunRecord]:
        """Return the last record of every run, in the order in which runs first appear.

        An unreadable index counts as lost: `recover` finds the runs by their folders.
        """
        self.problem = ""
        try:
            return load_lines(self.path)
        except OSError as error:
            self.problem = in_words(error)
            return {}

    def reconcile(self, known: dict[str, RunRecord] | None = None) -> dict[str, RunRecord]:
        """Return the records of `load`, with runs that have not ended updated from their logs.

        `known` is the result of `load`, if the caller has it already.

        Runs whose process is gone are recorded as lost, or only returned so if the index cannot be written; one that is
        still in the queue waits again. No file of an ended run is read: a home may hold thousands. Runs missing from
        the index are recovered from their folders.
        """
        found = self.load() if known is None else dict(known)
        found |= self.recover(found)
        for run_id, record in found.items():
            if not record.state.is_end:
                found[run_id] = self.settle(record)
        return found

    def recover(self, known: Container[str]) -> dict[str, RunRecord]:
        """Return the records of runs that have a folder and whose ids `known` lacks, and append them to the index.

        A run with unreadable files is returned with the reason, and not appended.
        """
        missing = unlisted(self.home, known)
        if not missing:
            return {}
        live = {name for name in missing if is_locked_here(self.home.run(name))}
        # A new run is locked until its line is written, so unlocked runs are in the index by now, or lost.
        listed = self.load()
        found: dict[str, RunRecord] = {}
        for run_id in missing:
            if run_id in listed:
                found[run_id] = listed[run_id]
            elif run_id not in live:
                found[run_id] = self._found_again(run_id)
        return found

    def _found_again(self, run_id: str) -> RunRecord:
        paths = self.home.run(run_id)
        try:
            record = from_files(self.home, run_id)
        except LabError as error:
            return unreadable(run_id, paths, error)
        if self._waits(run_id):
            record = msgspec.structs.replace(record, state=RunState.QUEUED, reason="", finished_at=0.0)
        return self._write(record)

    def settle(self, record: RunRecord) -> RunRecord:
        """Return the present record of a run whose last known `record` is no end.

        A running one is updated from its log. One whose process is gone is lost, or queued again if the queue still has
        it; this is appended to the index.
        """
        paths = self.home.run(record.run_id)
        if record.state is RunState.QUEUED:
            return record if self._waits(record.run_id) else self._forgotten(record)
        now = catch_up(record, paths)
        if is_held(record, paths):
            return now
        newest = self.load().get(record.run_id, record)
        if newest.state.is_end or newest.pid != record.pid:  # changed since it was read
            return newest
        if self._waits(record.run_id):  # its process died before the training began
            state, reason, ended = RunState.QUEUED, "", 0.0
        else:
            state, reason, ended = RunState.LOST, LOST_REASON, time.time()
        return self._write(msgspec.structs.replace(now, state=state, reason=reason, finished_at=ended, pid=0))

    def _waits(self, run_id: str) -> bool:
        return any(entry.run_id == run_id for entry in RunQueue(self.home).entries())

    def _forgotten(self, record: RunRecord) -> RunRecord:
        """Record a run as lost if the index calls it queued and the queue does not have it, which is checked under its
        lock."""
        try:
            with RunQueue(self.home).locked() as entries:
                now = self.load().get(record.run_id, record)
                waits = any(entry.run_id == record.run_id for entry in entries)
                if now.state is not RunState.QUEUED or waits:
                    return now
                return self._write(
                    msgspec.structs.replace(now, state=RunState.LOST, reason=FORGOTTEN, finished_at=time.time())
                )
        except LabError:  # read-only home, or a busy queue
            return record

    def _write(self, record: RunRecord) -> RunRecord:
        with contextlib.suppress(OSError):  # read-only home
            self.append(record)
        return record


def catch_up(record: RunRecord, paths: RunPaths) -> RunRecord:
    """Return `record` updated from the last lines of the run's log, which is newer than the index."""
    try:
        size = paths.train_log.stat().st_size
    except OSError:
        return record
    known = record
    for event in read_history(paths.train_log, max(0, size - TAIL_BYTES)).events:
        record = fold(record, event)
    return msgspec.structs.replace(record, state=known.state, reason=known.reason)


def is_alive(record: RunRecord) -> bool:
    """Return whether the recorded process still runs: pid and creation time must match."""
    if not record.pid:
        return False
    try:
        process = psutil.Process(record.pid)
        same = abs(process.create_time() - record.pid_create_time) < 0.05
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def is_held(record: RunRecord, paths: RunPaths) -> bool:
    """Return whether the process that trains the run is alive; for one on another computer, whether the run is
    locked."""
    if record.host not in ("", HOST):
        return is_locked(paths)
    return is_alive(record) or is_locked_here(paths)


def create_time(pid: int) -> float:
    """Return the creation time of process `pid` by psutil, 0 if there is no such process."""
    try:
        return psutil.Process(pid).create_time()
    except psutil.Error:
        return 0.0
