"""Queue of one home: the runs that wait for a device, in their order of starting.

`queue.json` is replaced as a whole, under a lock; the app, `dmglab queue` and the detached host share it. A waiting run
already has its directory and its line of the index, so a lost or damaged queue file is rebuilt from the index.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from trainer_core.lab import durable_files
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.index_file import load_lines
from trainer_core.runs.log_writer import disk_error
from trainer_core.wire.errors import BAD_JSON, ConfigError, LabError, shown
from trainer_core.wire.fields import check_device
from trainer_core.wire.regular_files import read_regular
from trainer_core.wire.run_record import RunState, is_run_id

PATIENCE_S = 5.0
"""Seconds to wait for another process to release the queue, which it holds for a few milliseconds."""
MOST_BYTES = 16 << 20
"""Greatest size of a queue file; a larger one is not ours."""


class QueueEntry(msgspec.Struct, kw_only=True, frozen=True):
    """Entry of the queue: one waiting run."""

    run_id: str
    devices: tuple[str, ...]
    """Devices on which the run may start; it takes the first free one."""
    priority: int = 0
    """Priority; a new entry is put before those with a lower one, behind those with the same."""
    held: bool = False
    """True if the run must wait even when a device is free."""
    added_at: float = 0.0
    detached: bool = False
    """True if the run must outlive the process that queued it: it is left to the detached host while there is one."""

    is_remote: bool = False
    """True if the run trains on another host, and so waits for no device here."""

    @property
    def wanted(self) -> tuple[str, ...]:
        """Devices of this computer of which it needs one."""
        return () if self.is_remote else self.devices

    @property
    def problem(self) -> str:
        """Reason why the entry can never start; empty for a valid one."""
        if not is_run_id(self.run_id):
            return "its run_id is no name of a run's folder"
        if not self.devices:
            return "it names no device"
        try:
            for device in self.devices:
                check_device(device)
        except ConfigError as error:
            return str(error)
        return ""


VERSION = 1


class QueueFile(msgspec.Struct, kw_only=True, frozen=True):
    v: int = VERSION
    entries: tuple[QueueEntry, ...] = ()


_decoder = msgspec.json.Decoder(QueueFile)


class RunQueue:
    def __init__(self, home: HomePaths) -> None:
        self.home, self.path = home, home.queue

    def entries(self) -> list[QueueEntry]:
        """Return the waiting runs, the next one first; reads without the lock."""
        try:
            return _read(self.path)
        except FileNotFoundError:
            return []
        except (LabError, OSError, *BAD_JSON):
            return self._from_index()

    # -- changing it ------------------------------------------------------------------------

    def add(self, entry: QueueEntry) -> None:
        """Add an entry behind all entries with the same or a higher priority. Raises LabError."""
        with self.locked() as entries:
            self.put(entries, entry)

    def put(self, entries: list[QueueEntry], entry: QueueEntry, *, first: bool = False) -> None:
        """Add an entry to `entries`, in front of all with `first`, and write the queue; the caller holds the lock."""
        others = [other for other in entries if other.run_id != entry.run_id]
        at = next((i for i, other in enumerate(others) if other.priority < entry.priority), len(others))
        if first:
            at = 0
        entry = msgspec.structs.replace(entry, added_at=entry.added_at or time.time())
        others.insert(at, entry)
        entries[:] = others
        self.write(entries)

    def remove(self, run_id: str) -> bool:
        """Remove a run; return whether it was queued. Raises LabError when the queue cannot be changed."""
        with self.locked() as entries:
            kept = [entry for entry in entries if entry.run_id != run_id]
            if len(kept) == len(entries):
                return False
            entries[:] = kept
            self.write(entries)
        return True

    def move(self, run_id: str, position: int) -> None:
        """Move a run to `position`, where 1 is next, regardless of priorities. Raises LabError."""
        if position < 1:
            raise ConfigError(f"positions count from 1, got {position}")
        with self.locked() as entries:
            entry = _find(entries, run_id)
            entries.remove(entry)
            entries.insert(position - 1, entry)
            self.write(entries)

    def hold(self, run_id: str, held: bool = True) -> None:
        """Hold a run, so that it waits even if a device is free, or release it. Raises LabError."""
        with self.locked() as entries:
            entry = _find(entries, run_id)
            entries[entries.index(entry)] = msgspec.structs.replace(entry, held=held)
            self.write(entries)

    @contextlib.contextmanager
    def locked(self, patience_s: float = PATIENCE_S) -> Iterator[list[QueueEntry]]:
        """Yield the entries while no other process can change them; `write` saves changes.

        Raises LabError when another process holds the queue for longer than `patience_s`, and for a file of a newer
        version, which is left unchanged.
        """
        descriptor = self._take(patience_s)
        try:
            try:
                entries = _read(self.path)
            except FileNotFoundError:
                entries = []
            except (OSError, *BAD_JSON):
                entries = self._from_index()
                with contextlib.suppress(OSError):
                    os.replace(self.path, self.path.with_suffix(".damaged"))
            yield entries
        finally:
            os.close(descriptor)

    def write(self, entries: list[QueueEntry]) -> None:
        """Write the entries; only inside `locked`. Raises DiskError, leaving the queue unchanged."""
        data = msgspec.json.format(msgspec.json.encode(QueueFile(entries=tuple(entries))), indent=1)
        try:
            durable_files.replace_file(self.path, data + b"\n")
        except OSError as error:
            raise disk_error(self.path, error) from None

    def _take(self, patience_s: float) -> int:
        lock = self.path.with_suffix(".lock")
        try:
            lock.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise disk_error(lock, error) from None
        deadline = time.monotonic() + patience_s
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return descriptor
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                    os.close(descriptor)
                    raise disk_error(lock, error) from None
            if time.monotonic() >= deadline:
                os.close(descriptor)
                raise QueueBusyError(
                    f"{lock}: another process has held the queue for {patience_s:g} s; "
                    "is one of DMG Lab's processes stopped?"
                )
            time.sleep(0.005)

    def _from_index(self) -> list[QueueEntry]:
        """Return entries for the runs that the index lists as queued, oldest first, in place of a missing or damaged
        file."""
        try:
            runs = load_lines(self.home.runs_index).values()
        except OSError:
            return []
        waiting = [record for record in runs if record.state is RunState.QUEUED]
        return [
            QueueEntry(run_id=record.run_id, devices=(record.device,), added_at=record.created_at)
            for record in sorted(waiting, key=lambda record: record.created_at)
        ]


class QueueBusyError(LabError):
    """Error that another process holds the queue's lock for too long."""


def _read(path: Path) -> list[QueueEntry]:
    """Return the entries of a queue file; of a run listed twice only the first entry counts.

    Raises OSError, BAD_JSON for an invalid file, LabError for one of a newer version.
    """
    found = _decoder.decode(read_regular(path, MOST_BYTES))
    if found.v != VERSION:
        raise LabError(
            f"{path}: version {shown(found.v)} of the queue, this DMG Lab knows {VERSION}: update "
            "it, or remove the file; it is made again from the index of runs"
        )
    first: dict[str, QueueEntry] = {}
    for entry in found.entries:
        first.setdefault(entry.run_id, entry)
    return list(first.values())


def _find(entries: list[QueueEntry], run_id: str) -> QueueEntry:
    for entry in entries:
        if entry.run_id == run_id:
            return entry
    waiting = ", ".join(entry.run_id for entry in entries[:5]) or "nothing"
    raise ConfigError(f"run '{shown(run_id)}' is not in the queue; waiting: {waiting}")
