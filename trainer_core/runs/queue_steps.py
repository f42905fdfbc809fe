"""Steps of a queued run: enqueued, claimed by a process, or dropped.

Each step changes queue and index under the queue's lock, in such an order that a kill between the two leaves a run
waiting rather than lost: it is queued before the index says so, and removed from the queue once its process has
started.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import os
import time
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from trainer_core.lab.paths import HomePaths
from trainer_core.runs.config_file import read_config, read_spec, tags_of, write_config
from trainer_core.runs.device_lock import DeviceLock, full_name
from trainer_core.runs.index import RunRegistry
from trainer_core.runs.life import RunLife
from trainer_core.runs.log_writer import disk_error
from trainer_core.runs.queue import QueueBusyError, QueueEntry, RunQueue
from trainer_core.runs.run_lock import RunLock
from trainer_core.wire.errors import LabError
from trainer_core.wire.run_record import RunRecord, RunState
from trainer_core.wire.spec import RunSpec

DETACHED_START_S = 30.0
"""Seconds to wait for a detached host that was started for a detached run."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Queued run that this process is going to start; its entry stays in the queue until the training has started."""

    life: RunLife
    spec: RunSpec
    device: DeviceLock | None
    """None for a run on another host."""


def enqueue(
    home: HomePaths,
    run_id: str,
    spec: RunSpec,
    *,
    algo: str,
    name: str = "",
    priority: int = 0,
    held: bool = False,
    devices: tuple[str, ...] = (),
    tags: dict[str, str] | None = None,
    detached: bool = False,
) -> RunRecord:
    """Add a new waiting run: its directory, its line of the index, its entry in the queue.

    `detached`: see QueueEntry; a caller that sets it starts the detached host. Raises LabError, DiskError, leaving no
    run waiting.
    """
    queue = RunQueue(home)
    entry = QueueEntry(
        run_id=run_id,
        devices=tuple(map(full_name, devices or (spec.device,))),
        is_remote=spec.is_remote,
        priority=priority,
        held=held,
        detached=detached,
    )
    with queue.locked() as entries:
        before = list(entries)
        queue.put(entries, entry)
        try:
            life = RunLife.begin(home, run_id, spec, algo=algo, name=name, state=RunState.QUEUED, tags=tags)
        except LabError:
            with contextlib.suppress(LabError):
                queue.write(before)
            raise
        life.park()
    return life.record


def enqueue_again(home: HomePaths, record: RunRecord, *, first: bool = False) -> RunRecord:
    """Add an ended run to the queue, so that it is resumed; return its new record. Raises LabError."""
    queue, registry = RunQueue(home), RunRegistry(home)
    entry = QueueEntry(
        run_id=record.run_id,
        devices=(full_name(record.device),),
        detached=first,
        is_remote=read_spec(home.run(record.run_id)).is_remote,
    )
    waiting = msgspec.structs.replace(
        record, state=RunState.QUEUED, pid=0, pid_create_time=0.0, finished_at=0.0, reason=""
    )
    with queue.locked() as entries:
        before = list(entries)
        queue.put(entries, entry, first=first)
        try:
            registry.append(waiting)
        except OSError as error:
            queue.write(before)
            raise disk_error(registry.path, error) from None
    return waiting


def drop(home: HomePaths, run_id: str, reason: str) -> RunRecord | None:
    """Remove a waiting run from the queue and end it; return None when it was not waiting.

    Raises LabError.
    """
    queue, registry = RunQueue(home), RunRegistry(home)
    with queue.locked() as entries:
        kept = [entry for entry in entries if entry.run_id != run_id]
        if len(kept) == len(entries):
            return None
        record = registry.load().get(run_id)
        if record is not None and record.state not in (RunState.QUEUED, RunState.LOST):
            return None  # another process just claimed it
        entries[:] = kept
        queue.write(entries)
        return _ended(registry, record, RunState.STOPPED, reason)


def claim(home: HomePaths, knows: Callable[[str], bool], *, is_detached_host: bool = False) -> Claim | None:
    """Claim the first run whose device is free and whose runner (by id) this process `knows`.

    Detached runs are left to the detached host. Returns None if there is no such run, or another process holds the
    queue. A run that can never start is ended as failed. Raises DiskError if no lock can be written.
    """
    queue = RunQueue(home)
    if all(entry.held for entry in queue.entries()):
        return None
    try:
        busy: set[str] = set()  # a device that becomes free meanwhile belongs to the first run that waits for it
        with queue.locked(0.0) as entries:
            for entry in list(entries):
                if entry.held:
                    continue
                if entry.detached and not is_detached_host and _detached_host_comes(home, entry):
                    busy.update(entry.wanted)
                    continue
                found = _claim_one(home, queue, entries, entry, knows, busy)
                if found is not None:
                    return found
    except QueueBusyError:
        pass
    return None


def _detached_host_comes(home: HomePaths, entry: QueueEntry) -> bool:
    """Return whether a detached host, which will start the entry's run, is running or was started a moment ago."""
    if 0 <= time.time() - entry.added_at < DETACHED_START_S:
        return True
    try:
        descriptor = os.open(home.detached_lock, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except OSError:
        return True
    finally:
        os.close(descriptor)


def started(home: HomePaths, run_id: str) -> None:
    """Remove a run whose process has started from the queue."""
    with contextlib.suppress(LabError):  # otherwise the next reconcile finds it running, or lost
        RunQueue(home).remove(run_id)


def give_up(home: HomePaths, claim: Claim, reason: str) -> None:
    """End a claimed run that cannot be started, as failed for `reason`, and release its device."""
    with contextlib.suppress(LabError):  # full disk: the run is not trained in any case
        claim.life.end(RunState.FAILED, reason)
    started(home, claim.life.record.run_id)
    if claim.device is not None:
        claim.device.release()


def _claim_one(
    home: HomePaths,
    queue: RunQueue,
    entries: list[QueueEntry],
    entry: QueueEntry,
    knows: Callable[[str], bool],
    busy: set[str],
) -> Claim | None:
    if entry.problem:
        return _fail(home, queue, entries, entry, f"{queue.path}: {entry.problem}")
    wanted = tuple(name for name in entry.wanted if name not in busy)
    device = DeviceLock.take_first(home, wanted, entry.run_id)
    if device is None and not entry.is_remote:
        busy.update(wanted)
        return None
    with contextlib.ExitStack() as undo:
        if device is not None:
            undo.callback(device.release)
        paths = home.run(entry.run_id)
        try:
            asked = read_spec(paths)
            if not knows(asked.runner):
                return None
            lock = RunLock.take(paths)
        except LabError as error:
            return _give_up(home, queue, entries, entry, error)
        undo.callback(lock.release)
        spec = asked if device is None else dataclasses.replace(asked, device=device.device)
        if spec != asked:
            raw = read_config(paths)
            write_config(paths, spec, str(raw.get("name", "")), tags_of(raw))
        life = RunLife.resume(home, entry.run_id, lock, state=RunState.PREFLIGHT, device=spec.device)
        undo.pop_all()
    return Claim(life, spec, device)


def _give_up(home: HomePaths, queue: RunQueue, entries: list[QueueEntry], entry: QueueEntry, error: LabError) -> None:
    """Remove an entry whose run cannot be read, and end the run as failed with `error`.

    Nothing happens if the run is locked: another process is starting it.
    """
    try:
        read_spec(home.run(entry.run_id))
    except LabError:
        _fail(home, queue, entries, entry, str(error))


def _fail(home: HomePaths, queue: RunQueue, entries: list[QueueEntry], entry: QueueEntry, reason: str) -> None:
    """Remove an entry from the queue; if its run still waits, end it as failed for `reason`."""
    entries.remove(entry)
    queue.write(entries)
    registry = RunRegistry(home)
    record = registry.load().get(entry.run_id)
    if record is not None and not record.state.is_end:
        _ended(registry, record, RunState.FAILED, reason)


def why_never(home: HomePaths, entry: QueueEntry) -> str:
    """Return the reason why an entry can never start; empty if it can."""
    if entry.problem:
        return entry.problem
    try:
        read_spec(home.run(entry.run_id))
    except LabError as error:
        return str(error)
    return ""


def is_for(home: HomePaths, entry: QueueEntry, knows: Callable[[str], bool]) -> bool:
    """Return whether this process should handle the entry: it `knows` the run's runner (by id), or the run cannot
    start."""
    try:
        return bool(entry.problem) or knows(read_spec(home.run(entry.run_id)).runner)
    except LabError:
        return True


def _ended(registry: RunRegistry, record: RunRecord | None, state: RunState, reason: str) -> RunRecord | None:
    if record is None:
        return None
    ended = msgspec.structs.replace(record, state=state, reason=reason, finished_at=time.time(), pid=0)
    with contextlib.suppress(OSError):
        registry.append(ended)
    return ended
