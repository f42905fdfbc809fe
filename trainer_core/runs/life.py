"""Registration of a run by the process that trains it, from begin or resume to end: lock, config.json, index.

All trainers update the index by it. It has few lines of a run: `runs.index.catch_up` reads later changes from the log.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time

import msgspec

from trainer_core.lab import durable_files
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.command_files import Mailbox
from trainer_core.runs.config_file import write_config
from trainer_core.runs.index import HOST, RunRegistry, catch_up, create_time
from trainer_core.runs.log_writer import disk_error
from trainer_core.runs.rebuild_index import from_files
from trainer_core.runs.run_lock import RunLock
from trainer_core.wire import records
from trainer_core.wire.run_names import run_name
from trainer_core.wire.run_record import RunRecord, RunState, fold
from trainer_core.wire.spec import RunSpec

WORTH_A_LINE = records.CheckpointRecord | records.EvalRecord


class RunLife:
    """Run that this process trains, from `begin` or `resume` to `end`: its lock, and its present record."""

    def __init__(self, home: HomePaths, record: RunRecord, lock: RunLock) -> None:
        self.record, self.lock = record, lock
        self.paths = home.run(record.run_id)
        self._registry = RunRegistry(home)

    @classmethod
    def begin(
        cls,
        home: HomePaths,
        run_id: str,
        spec: RunSpec,
        *,
        algo: str,
        name: str = "",
        state: RunState = RunState.STARTING,
        created_at: float = 0.0,
        tags: dict[str, str] | None = None,
    ) -> RunLife:
        """Make the run directory, lock it, write config.json and the first line of the index.

        Raises LabError when the directory is locked, DiskError when it cannot be written.
        """
        paths = home.run(run_id)
        record = RunRecord(
            run_id=run_id,
            runner=spec.runner,
            task=spec.task,
            algo=algo,
            device=spec.device,
            state=state,
            created_at=created_at or time.time(),
            config_sha256=spec.sha256,
            name=name,
            tags=tags or {},
        )
        if state is not RunState.QUEUED:  # a queued run has no process
            record = _kept_here(record)
        try:
            paths.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise disk_error(paths.root, error) from None
        life = cls(home, record, RunLock.take(paths))
        try:
            write_config(paths, spec, name, tags)
            durable_files.sync_folder(paths.root.parent)
            life._write()
        except OSError as error:
            life.lock.release()
            raise disk_error(paths.root, error) from None
        return life

    @classmethod
    def resume(
        cls,
        home: HomePaths,
        run_id: str,
        lock: RunLock,
        *,
        algo: str = "",
        state: RunState = RunState.STARTING,
        device: str = "",
    ) -> RunLife:
        """Return the RunLife of an ended run that continues in this process; the caller took its `lock`.

        Name, creation, best success and last checkpoint stay; `device` is a new one. A run that the index does not know
        is read from its config.json (under `algo`) and its log. Raises LabError.
        """
        try:
            known = RunRegistry(home).load().get(run_id)
            record = from_files(home, run_id, algo) if known is None else known
            record = catch_up(record, home.run(run_id))
            record = msgspec.structs.replace(
                _kept_here(record), state=state, device=device or record.device, finished_at=0.0, reason=""
            )
            life = cls(home, record, lock)
            Mailbox(life.paths).clear()
            life._write()
        except OSError as error:
            lock.release()
            raise disk_error(home.runs_index, error) from None
        except BaseException:
            lock.release()
            raise
        return life

    def launched(self, pid: int) -> None:
        """Record the child process `pid` as the one that trains; it has inherited the run's lock."""
        self.lock.name_holder(pid)
        self.record = msgspec.structs.replace(
            self.record, state=RunState.STARTING, pid=pid, pid_create_time=create_time(pid)
        )
        self._write_if_possible()

    def move(self, state: RunState) -> None:
        """Set a state that the host decides, not the training process: queued, pausing or stopping."""
        self.record = msgspec.structs.replace(self.record, state=state)
        self._write_if_possible()

    def fold(self, event: records.Record) -> bool:
        """Update the record by an event of the run; return True if a line of the index was written.

        An end is not recorded before the process has ended, and no event undoes a stop. Raises ProtocolError for a
        state that cannot follow.
        """
        old = self.record
        if isinstance(event, records.StateEvent) and old.state is RunState.STOPPING:
            self.lock.touch()
            return False
        new = fold(old, event)
        if new.state.is_end:
            new = msgspec.structs.replace(new, state=old.state)
        self.record = new
        if new.state is old.state and not isinstance(event, WORTH_A_LINE):
            return False
        self._write_if_possible()
        return True

    def park(self) -> None:
        """Release the run's lock without ending the run, while it waits in the queue."""
        self.lock.release()

    def rename(self, name: str) -> None:
        self.record = msgspec.structs.replace(self.record, name=name)
        self._write_if_possible()

    def end(self, state: RunState, reason: str, finished_at: float = 0.0) -> None:
        """Append the run's last line to the index and release the lock. Raises DiskError when it cannot be written."""
        self.record = msgspec.structs.replace(
            self.record, state=state, reason=reason, finished_at=finished_at or time.time()
        )
        try:
            self._write()
        except OSError as error:
            raise disk_error(self._registry.path, error) from None
        finally:
            self.lock.release()

    def _write(self) -> None:
        self._registry.append(self.record)

    def _write_if_possible(self) -> None:
        """Append the record to the index; ignore a failure, since readers can get the same state from the log."""
        with contextlib.suppress(OSError):
            self._write()


def new_run_id(home: HomePaths) -> str:
    """Return a new run id of time and random digits, whose name no run of the home has: ids sort by age, two in one
    second differ."""
    try:
        taken = set(map(run_name, os.listdir(home.runs)))
    except OSError:
        taken = set()
    while run_name(found := f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}") in taken:
        pass
    return found


def _kept_here(record: RunRecord) -> RunRecord:
    """Return `record` with the id of this process, which stands for the run until the training process has started."""
    return msgspec.structs.replace(record, pid=os.getpid(), pid_create_time=create_time(os.getpid()), host=HOST)
