"""Moving of runs to the folder of a storage profile and back, the trash, and the policy that tidies old runs.

A moved run is a link in the home's folder of runs, so that everything that reads a run finds it. Its files are copied
under a temporary name, read back and compared by hash; only then the link replaces the run's folder, which is deleted
last. After a kill at any instant at least one complete copy has the run's name or a name that `put_right` knows.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import itertools
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from trainer_core.lab import durable_files
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.lab.recording import COMPRESSED, MANIFEST, PICTURES
from trainer_core.lab.storage_profiles import HOME_ITSELF, Storage
from trainer_core.runs import wandb_run
from trainer_core.runs.archive import LEFT_OUT, MOVED, UNLINKED, alone, archive, delete, hashed
from trainer_core.runs.disk_use import disk_use
from trainer_core.runs.index import RunRegistry
from trainer_core.runs.log_writer import disk_error
from trainer_core.runs.names import find_run
from trainer_core.runs.run_lock import RunLock
from trainer_core.wire.errors import ConfigError, LabError
from trainer_core.wire.run_record import STORAGE_TAG, TRASHED, RunRecord

Action = Literal["compress", "move", "archive", "prune", "delete"]
DAY_S = 86_400
NOT_MOVED = LEFT_OUT - {wandb_run.FILE}
"""Names in a run's folder that only served its process. The user's agreement to W&B holds wherever the run is kept."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that the policy does: `bytes` is how much the home shrinks, for `compress` the size before it."""

    action: Action
    name: str
    """Run id, or the path of a recording."""
    bytes: int


# -- moving ----------------------------------------------------------------------------------


def move(home: HomePaths, run_id: str, to: str, storage: Storage) -> Path:
    """Move an ended run to the profile `to`, or back with HOME_ITSELF; return the folder that holds it.

    Raises LabError if the run has not ended or is in use, the profile cannot be used, or a copy differs.
    """
    paths = home.run(run_id)
    folder = home.runs if to == HOME_ITSELF else storage.folder(to)
    with alone(home):
        record = _movable(home, run_id)
        here = paths.root.resolve()
        target = folder / run_id
        if not paths.root.is_symlink() if to == HOME_ITSELF else here == target.resolve():
            return target
        if to != HOME_ITSELF:
            _check_folder(home, folder, storage.profiles[to].kind)
        lock = RunLock.take(paths)
        try:
            if to == HOME_ITSELF:
                _bring_back(paths, here)
            else:
                _copy_out(here, target)
                _link(paths, target)
            tags = {name: value for name, value in record.tags.items() if name != STORAGE_TAG}
            place = {} if to == HOME_ITSELF else {STORAGE_TAG: f"{to} ({storage.profiles[to].kind})"}
            moved = msgspec.structs.replace(record, tags=tags | place)
            try:
                RunRegistry(home).append(moved)
                _delete_left(home, run_id)
            except OSError:  # deleting frees space on a full disk
                _delete_left(home, run_id)
                RunRegistry(home).append(moved)
        except OSError as error:
            raise disk_error(Path(error.filename2 or error.filename or target), error, str(folder)) from None
        finally:
            lock.release()
    return target


def _delete_left(home: HomePaths, run_id: str) -> None:
    for end in (MOVED, UNLINKED):
        if os.path.lexists(left := home.runs / f".{run_id}{end}"):
            delete(left)


def _movable(home: HomePaths, run_id: str) -> RunRecord:
    find_run(run_id, home)
    record = RunRegistry(home).reconcile()[run_id]
    if not record.state.is_end:
        raise ConfigError(f"run {record.title} is {record.state}: only an ended run can be moved")
    return record


def _check_folder(home: HomePaths, folder: Path, kind: str) -> None:
    """Raise ConfigError unless runs can be moved to `folder`; a local one is made.

    A remote folder on the disk of the home is taken for one that is not mounted.
    """
    if folder.resolve().is_relative_to(home.root.resolve()):
        raise ConfigError(f"{folder}: is inside the data folder; name one outside it in {home.storage_profiles.name}")
    try:
        if kind == "local":
            folder.mkdir(parents=True, exist_ok=True)
        elif not folder.is_dir() or folder.stat().st_dev == home.runs.stat().st_dev:
            raise ConfigError(f'{folder}: not mounted; mount it, or set kind = "local" in {home.storage_profiles.name}')
    except OSError as error:
        raise ConfigError(f"{folder}: {error.strerror}; change it in {home.storage_profiles}") from None


def _copy_out(source: Path, target: Path) -> None:
    """Copy a run to `target`, unless the same run is there already. Raises LabError, OSError; nothing is there then."""
    if target.exists():  # a kill before the link was made, or another home's
        if _digests(target) != _digests(source):
            raise LabError(f"{target}: is there already and differs; move it away first")
        return
    partial = target.with_name(f".{target.name}{MOVED}")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        copy_checked(source, partial)
        durable_files.rename(partial, target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _link(paths: RunPaths, target: Path) -> None:
    """Replace the run's folder, or its link to another profile, by a link to `target`; the folder stays as `.moved`."""
    link = paths.root.with_name(f".{paths.run_id}.link.tmp")
    link.unlink(missing_ok=True)
    link.symlink_to(target)
    durable_files.rename(paths.root, paths.root.with_name(f".{paths.run_id}{MOVED}"))
    durable_files.rename(link, paths.root)


def _bring_back(paths: RunPaths, source: Path) -> None:
    """Replace the link of a moved run by a copy of its files; the link stays as `.unlinked`."""
    partial = paths.root.with_name(f".{paths.run_id}.restored.tmp")
    try:
        copy_checked(source, partial)
        durable_files.rename(paths.root, paths.root.with_name(f".{paths.run_id}{UNLINKED}"))
        durable_files.rename(partial, paths.root)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def copy_checked(source: Path, target: Path) -> None:
    """Copy a run's folder, links as links; read each copy back and compare its hash. Raises LabError, OSError."""
    needed, free = sum(path.lstat().st_size for path in _entries(source)), shutil.disk_usage(target.parent).free
    if needed > free:
        raise LabError(f"{target.parent}: {needed:,} bytes needed, {free:,} free")
    target.mkdir()
    for path in _entries(source):
        place = target / path.relative_to(source)
        if path.is_dir() and not path.is_symlink():
            place.mkdir()
            continue
        shutil.copy2(path, place, follow_symlinks=False)
        if not path.is_symlink():
            with place.open("rb+") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)  # read from the disk, not from memory
            if hashed(place) != hashed(path):
                raise LabError(f"{place}: the copy differs from {path}; check that disk")


def _entries(root: Path) -> Iterator[Path]:
    """Yield every folder, file and link below a run's folder that is worth keeping, folders before their files."""
    for folder, folders, names in os.walk(root):
        here = Path(folder)
        left_out = NOT_MOVED if here == root else set()
        folders[:] = sorted(set(folders) - left_out)
        for name in [*folders, *sorted(set(names) - left_out)]:
            path = here / name
            if path.is_symlink() or path.is_dir() or path.is_file():
                yield path


def _digests(root: Path) -> dict[str, object]:
    files = (path for path in _entries(root) if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(root)): hashed(path) for path in files}


# -- the trash -------------------------------------------------------------------------------


def trash(home: HomePaths, run_id: str) -> None:
    """Move an ended run to the trash. Raises LabError if it has not ended or is in use."""
    with alone(home):
        record, paths = _movable(home, run_id), home.run(run_id)
        lock = RunLock.take(paths)
        try:
            home.trash.mkdir(exist_ok=True)
            os.utime(paths.root, follow_symlinks=False)  # from now on its time in the trash counts
            _rename(paths.root, home.trash / run_id)
            try:
                RunRegistry(home).append(msgspec.structs.replace(record, reason=f"{TRASHED}{record.reason}"))
            except OSError:
                _rename(home.trash / run_id, paths.root)
                raise
        except OSError as error:
            raise disk_error(Path(error.filename or home.trash), error) from None
        finally:
            lock.release()


def _rename(source: Path, target: Path) -> None:
    """Rename a run's folder or link, unless `target` exists. Raises ConfigError, OSError."""
    if os.path.lexists(target):
        raise ConfigError(f"{target}: is there already; move it away first")
    durable_files.rename(source, target)


def in_trash(home: HomePaths) -> dict[str, float]:
    """Return the ids of the runs in the trash with the times, seconds since 1970, at which they came there."""
    with contextlib.suppress(OSError), os.scandir(home.trash) as entries:
        return {entry.name: entry.stat(follow_symlinks=False).st_mtime for entry in entries}
    return {}


def undo(home: HomePaths, run_ids: Sequence[str] = ()) -> list[str]:
    """Take runs out of the trash, all without `run_ids`; return their ids. Raises LabError."""
    with alone(home):
        known, there = RunRegistry(home).load(), in_trash(home)
        for run_id in run_ids or sorted(there):
            if run_id not in there:
                raise ConfigError(f"no run {run_id!r} in {home.trash}")
            try:
                _rename(home.trash / run_id, home.run(run_id).root)
                if record := known.get(run_id):
                    reason = record.reason.removeprefix(TRASHED)
                    RunRegistry(home).append(msgspec.structs.replace(record, reason=reason))
            except OSError as error:
                raise disk_error(Path(error.filename or home.trash), error) from None
    return list(run_ids or sorted(there))


# -- the policy ------------------------------------------------------------------------------


def plan(home: HomePaths, storage: Storage, now: float | None = None) -> list[Step]:
    """Return what the policy would do at `now`, seconds since 1970, in the order of doing it."""
    policy, now = storage.policy, now or time.time()
    ended = sorted(
        (
            run
            for run in RunRegistry(home).reconcile().values()
            if run.state.is_end and home.run(run.run_id).config.is_file()
        ),
        key=lambda run: run.finished_at,
    )
    steps = [
        Step("delete", run_id, _size(home.trash / run_id))
        for run_id, since in sorted(in_trash(home).items())
        if now - since > policy.trash_days * DAY_S
    ]
    spared = {run.run_id for run in ended[max(0, len(ended) - policy.keep) :]}
    for run in ended:
        age, root = (now - run.finished_at) / DAY_S, home.run(run.run_id).root
        action: Action | None = None
        if run.run_id not in spared:
            if 0 < policy.prune_after_days < age:
                action = "prune"
            elif 0 < policy.archive_after_days < age:
                action = "archive"
            elif 0 < policy.move_after_days < age and not root.is_symlink():
                action = "move"
        if action is not None:
            steps.append(Step(action, run.run_id, disk_use(home, run.run_id).total))
        elif 0 < policy.compress_after_days < age and (
            packable := sum(path.stat().st_size for path in _logs(RunPaths(root)))
        ):
            steps.append(Step("compress", run.run_id, packable))
    if policy.compress_after_days:
        for pictures in sorted(home.players.glob(f"*/recordings/*/{PICTURES}")):
            if (
                now - pictures.stat().st_mtime > policy.compress_after_days * DAY_S
                and (pictures.parent / MANIFEST).is_file()
            ):
                steps.append(Step("compress", str(pictures), pictures.stat().st_size))
    return steps


def carry_out(home: HomePaths, step: Step, storage: Storage) -> None:
    """Do one step of a plan. Raises LabError."""
    match step.action:
        case "delete":
            delete(home.trash / step.name)
        case "prune":
            trash(home, step.name)
        case "archive":
            archive(home, step.name, home.archives, remove=True)
        case "move":
            move(home, step.name, storage.policy.move_to, storage)
        case "compress":
            _compress(home, step.name)


def _compress(home: HomePaths, name: str) -> None:
    """Compress the pictures of a recording, a path, or the logs of a run, an id. Raises LabError."""
    with alone(home), contextlib.ExitStack() as held:
        if Path(name).is_absolute():
            pack(Path(name), Path(f"{name}{COMPRESSED}"))
            return
        paths = home.run(name)
        held.callback(RunLock.take(paths).release)
        for log in _logs(paths):
            numbers = (f"{log}.{number}{COMPRESSED}" for number in itertools.count(1))
            pack(log, next(path for path in map(Path, numbers) if not path.exists()))


def pack(path: Path, packed: Path) -> None:
    """Replace a file by the gzip file `packed`, which is read back and compared before. Raises LabError."""
    partial = packed.with_name(f"{packed.name}.tmp")
    try:
        with path.open("rb") as source, gzip.open(partial, "wb", compresslevel=6) as out:
            shutil.copyfileobj(source, out, 1 << 20)
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
        with path.open("rb") as source, gzip.open(partial, "rb") as again:
            if hashlib.file_digest(source, "sha256").digest() != hashlib.file_digest(again, "sha256").digest():
                raise LabError(f"{partial}: the compressed copy differs from {path}; check that disk")
        shutil.copystat(path, partial)
        durable_files.rename(partial, packed)
        path.unlink()
    except OSError as error:
        raise disk_error(path, error) from None
    finally:
        partial.unlink(missing_ok=True)


def _logs(run: RunPaths) -> list[Path]:
    """Return the logs of a run's process that are not compressed yet."""
    return [path for path in (run.worker_log, Path(f"{run.worker_log}.1")) if path.is_file() and path.stat().st_size]


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in _entries(folder) if not path.is_dir())
