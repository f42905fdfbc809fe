"""Archive of a run in one file: `<run_id>.tar.gz`, whose first member lists all others with their hashes.

Gzip, since every supported Python has it (Zstandard is in the standard library from 3.14 on), and weights, the largest
part of a run, hardly shrink under either. An archive is created atomically; restored files are compared byte for byte
before the run's directory gets its name.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import os
import shutil
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import msgspec

from trainer_core.lab import durable_files
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.runs import wandb_run
from trainer_core.runs.index import RunRegistry
from trainer_core.runs.log_writer import disk_error
from trainer_core.runs.run_lock import RunLock
from trainer_core.wire.decoding import parsing
from trainer_core.wire.errors import ConfigError, LabError, in_words
from trainer_core.wire.regular_files import open_regular
from trainer_core.wire.run_record import (
    ARCHIVED,
    LATEST_S,
    STORAGE_TAG,
    RunRecord,
    is_archived,
    is_run_id,
    where_archived,
)

MANIFEST = "archive.json"
SUFFIX = ".tar.gz"
MOST_MANIFEST_BYTES = 8 << 20
"""Greatest size of an archive's manifest: some 50,000 files; a run has hundreds."""
PIECE_BYTES = 1 << 20
LEFT_OUT = {"lock", "frames.bin", "mail", wandb_run.FILE}
"""Names in a run's folder that are not archived: they only served the process that trained, or its user's agreement."""


class ArchivedFile(msgspec.Struct, frozen=True):
    sha256: str
    size: int


class Manifest(msgspec.Struct, kw_only=True, frozen=True):
    v: int = 1
    run_id: str
    record: RunRecord
    created_at: float
    files: dict[str, ArchivedFile]


def archive(home: HomePaths, run_id: str, folder: Path, *, remove: bool = False) -> Path:
    """Write the archive of an ended run into `folder`; return its path.

    With `remove` the run's directory is deleted after the archive was read back and compared; its line of the index
    names the archive. Raises LabError if the run has not ended or is in use, or the disk is full.
    """
    with alone(home):
        record = RunRegistry(home).reconcile().get(run_id)
    paths = home.run(run_id)
    if record is not None and is_archived(record) and not paths.root.exists():
        raise ConfigError(where_archived(record))
    if record is None or not paths.config.is_file():
        raise ConfigError(f"no run {run_id!r} below {home.runs}; `dmglab runs` lists them")
    if not record.state.is_end:
        raise ConfigError(f"run {record.title} is {record.state}: only an ended run can be archived")
    kept = {name: value for name, value in record.tags.items() if name != STORAGE_TAG}
    record = msgspec.structs.replace(record, tags=kept)  # it will be restored into the home itself
    target = folder / f"{run_id}{SUFFIX}"
    partial = target.with_name(f".{target.name}.tmp")
    lock = RunLock.take(paths)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write(paths, record, partial)
        durable_files.rename(partial, target)
        if remove:
            check(target)
            _remove(home, record, target)
    except OSError as error:
        path = Path(error.filename or target)
        option = "--out" if path.is_relative_to(folder) else "--home"
        raise disk_error(path, error, option) from None
    finally:
        lock.release()
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
    return target


def check(file: Path) -> Manifest:
    """Return an archive's manifest after comparing the hash of every file in it. Raises LabError naming the fault."""
    with _opened(file) as tar:
        manifest = _manifest(file, tar)
        for name, source in _members(file, tar, manifest):
            _copy(file, name, source, manifest.files[name], None)
    return manifest


def restore(file: Path, home: HomePaths) -> RunRecord:
    """Restore the run in an archive into the home, under its own id; return its record. Raises LabError, changing
    nothing."""
    with _opened(file) as tar, alone(home):
        manifest = _manifest(file, tar)
        paths = home.run(manifest.run_id)
        if paths.root.exists():
            known = RunRegistry(home).load().get(manifest.run_id)
            if known is not None and is_archived(known):  # killed before the index was updated
                return _registered(home, manifest)
            raise ConfigError(f"{paths.root}: is there already; archive or move it first")
        stage = way_back(home, manifest.run_id)
        try:
            _refuse_beyond_disk(file, manifest, stage.parent)
            stage.mkdir()
            for name, source in _members(file, tar, manifest):
                place = stage / name
                place.parent.mkdir(parents=True, exist_ok=True)
                with place.open("xb") as out:
                    _copy(file, name, source, manifest.files[name], out)
                    os.fsync(out.fileno())
            durable_files.rename(stage, paths.root)
            record = _registered(home, manifest)
        except OSError as error:
            raise disk_error(Path(error.filename or stage), error) from None
        finally:
            shutil.rmtree(stage, ignore_errors=True)
    return record


# -- writing ---------------------------------------------------------------------------------


def _write(paths: RunPaths, record: RunRecord, partial: Path) -> None:
    names = list(_files(paths.root))
    files = {name: hashed(paths.root / name) for name in names}
    manifest = Manifest(run_id=record.run_id, record=record, created_at=time.time(), files=files)
    with partial.open("wb") as raw:
        with tarfile.open(fileobj=raw, mode="w:gz", compresslevel=6) as tar:
            _add(tar, MANIFEST, msgspec.json.encode(manifest))
            for name in names:
                with (paths.root / name).open("rb") as source:
                    info = tarfile.TarInfo(f"{record.run_id}/{name}")
                    info.size, info.mtime = files[name].size, os.fstat(source.fileno()).st_mtime
                    tar.addfile(info, source)
        raw.flush()
        os.fsync(raw.fileno())


def _files(root: Path) -> Iterator[str]:
    """Yield the regular files below a run's directory, by their path in it; links are not followed."""
    for folder, folders, names in os.walk(root):
        here = Path(folder)
        top = here == root
        folders[:] = sorted(name for name in folders if not (top and name in LEFT_OUT))
        for name in sorted(names):
            path = here / name
            if not (top and name in LEFT_OUT) and path.is_file() and not path.is_symlink():
                yield path.relative_to(root).as_posix()


def hashed(path: Path) -> ArchivedFile:
    """Return a file's SHA-256 and size. Raises OSError."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            digest.update(piece)
            size += len(piece)
    return ArchivedFile(digest.hexdigest(), size)


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mtime = len(data), time.time()
    tar.addfile(info, io.BytesIO(data))


def _remove(home: HomePaths, record: RunRecord, target: Path) -> None:
    registry, gone = RunRegistry(home), way_out(home, record.run_id)
    moved = msgspec.structs.replace(record, reason=f"{ARCHIVED}{target}")
    with alone(home):
        durable_files.rename(home.run(record.run_id).root, gone)
        try:
            registry.append(moved)
            delete(gone)
        except OSError:  # deleting frees space on a full disk
            delete(gone)
            registry.append(moved)


# -- reading ---------------------------------------------------------------------------------


@contextlib.contextmanager
def _opened(file: Path) -> Iterator[tarfile.TarFile]:
    """Open an archive. Raises LabError if it is none, or if reading it inside the block fails."""
    try:
        with (
            open_regular(file) as source,
            parsing(f"{file}: damaged, or no archive of a run"),
            tarfile.open(fileobj=source, mode="r|gz") as tar,
        ):
            yield tar
    except OSError as error:
        raise LabError(in_words(error)) from None


def _manifest(file: Path, tar: tarfile.TarFile) -> Manifest:
    first = tar.next()
    source = tar.extractfile(first) if first is not None and first.isreg() else None
    if first is None or source is None or first.name != MANIFEST:
        raise LabError(f"{file}: its first member is not {MANIFEST}: no archive of a run")
    if first.size > MOST_MANIFEST_BYTES:
        raise LabError(f"{file}: {MANIFEST} has {first.size} bytes")
    with parsing(f"{file}: {MANIFEST}"):
        manifest = msgspec.json.decode(source.read(), type=Manifest)
    if not all(map(_is_safe, [manifest.run_id, *manifest.files])):
        raise LabError(f"{file}: names files outside its run's folder")
    if not is_run_id(manifest.run_id):
        raise LabError(f"{file}: {manifest.run_id!r} is no run's name; those are letters, digits, - _ and .")
    record = manifest.record
    if record.run_id != manifest.run_id or not record.state.is_end:
        raise LabError(f"{file}: {MANIFEST} contradicts itself")
    rates = record.best_success_rate, record.best_leaving_rate
    times = record.created_at, record.finished_at
    if not all(0 <= rate <= 1 for rate in rates) or not all(0 <= at < LATEST_S for at in times):
        raise LabError(f"{file}: {MANIFEST} has a rate or a time that no run can have")
    return manifest


def _is_safe(name: str) -> bool:
    path = PurePosixPath(name)
    return (
        bool(name)
        and name.isprintable()
        and not path.is_absolute()
        and (".." not in path.parts and str(path) == name and not name.startswith("."))
    )


def _members(file: Path, tar: tarfile.TarFile, manifest: Manifest) -> Iterator[tuple[str, io.BufferedReader]]:
    """Yield path and content of every file that the manifest lists. Raises LabError for any other member of the
    archive."""
    left = set(manifest.files)
    for info in tar:
        if info.name == MANIFEST:
            continue
        name = info.name.removeprefix(f"{manifest.run_id}/")
        source = tar.extractfile(info) if info.isreg() and name in left else None
        if source is None or info.size != manifest.files[name].size:
            raise LabError(f"{file}: {info.name!r} is not what {MANIFEST} lists")
        left.remove(name)
        yield name, source  # type: ignore[misc]
    if left:
        raise LabError(f"{file}: lacks {', '.join(sorted(left)[:3])}")


def _copy(
    file: Path, name: str, source: io.BufferedReader, wanted: ArchivedFile, out: io.BufferedWriter | None
) -> None:
    digest = hashlib.sha256()
    while piece := source.read(PIECE_BYTES):
        digest.update(piece)
        if out is not None:
            out.write(piece)
    if digest.hexdigest() != wanted.sha256:
        raise LabError(f"{file}: {name} is damaged: its hash differs from {MANIFEST}'s")
    if out is not None:
        out.flush()


def _refuse_beyond_disk(file: Path, manifest: Manifest, folder: Path) -> None:
    needed = sum(entry.size for entry in manifest.files.values())
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise LabError(f"{file}: needs {needed:,} bytes, {folder} has {free:,} free")


def _registered(home: HomePaths, manifest: Manifest) -> RunRecord:
    """Append the run's record from the archive's manifest to the index, and return it.

    If the index knows the run, its name there is kept.
    """
    registry = RunRegistry(home)
    known = registry.load().get(manifest.run_id)
    record = manifest.record
    if known is not None:
        record = msgspec.structs.replace(record, name=known.name)
    registry.append(record)
    return record


_OUT, _BACK = ".archived.tmp", ".restored.tmp"
MOVED, UNLINKED = ".moved.tmp", ".unlinked.tmp"
"""Ends of the temporary names of a run's folder while a link replaces it, and of that link while a folder does."""


def way_out(home: HomePaths, run_id: str) -> Path:
    """Return the temporary path to which an archived run's folder is renamed while it is deleted."""
    return home.runs / f".{run_id}{_OUT}"


def way_back(home: HomePaths, run_id: str) -> Path:
    """Return the temporary path of a run's folder while it is restored from an archive."""
    return home.runs / f".{run_id}{_BACK}"


@contextlib.contextmanager
def alone(home: HomePaths) -> Iterator[None]:
    """Hold the home's lock for archiving and restoring in the block, after removing the temporary folders of a killed
    process.

    Waits while another process holds it. Raises DiskError.
    """
    path = home.moving_lock
    try:
        home.runs.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise disk_error(path, error) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            raise disk_error(path, error) from None
        _put_right(home)
        yield
    finally:
        os.close(descriptor)


def delete(folder: Path) -> None:
    """Delete a run's folder, its configuration first: without it the folder is not taken for a complete run.

    Of a moved run the link and the folder behind it are deleted.
    """
    with contextlib.suppress(OSError):
        RunPaths(folder).config.unlink(missing_ok=True)
    shutil.rmtree(folder.resolve(), ignore_errors=True)
    if folder.is_symlink():
        folder.unlink()


def _put_right(home: HomePaths) -> None:
    for folder in (*home.runs.glob(f".*{MOVED}"), *home.runs.glob(f".*{UNLINKED}")):
        root = home.run(folder.name[1:].removesuffix(MOVED).removesuffix(UNLINKED)).root
        if not os.path.lexists(root):
            with contextlib.suppress(OSError):
                durable_files.rename(folder, root)
        elif RunPaths(root).config.is_file():
            delete(folder)
    for folder in home.runs.glob(f".*{_BACK}"):
        shutil.rmtree(folder, ignore_errors=True)
    leaving = list(home.runs.glob(f".*{_OUT}"))
    known = RunRegistry(home).load() if leaving else {}
    for folder in leaving:
        run_id = folder.name[1 : -len(_OUT)]
        paths, record = home.run(run_id), known.get(run_id)
        is_told = record is None or is_archived(record)
        if is_told or paths.root.exists() or not RunPaths(folder).config.is_file():
            delete(folder)
        else:  # the index does not know of the archive
            with contextlib.suppress(OSError):
                durable_files.rename(folder, paths.root)
