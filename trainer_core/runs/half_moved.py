"""Runs that were on their way into or out of an archive when the process was killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from trainer_core.protocol.paths import HomePaths, RunPaths
from trainer_core.protocol.runs import is_archived
from trainer_core.runs import durable
from trainer_core.runs.index import RunRegistry
from trainer_core.runs.writer import disk_error

_OUT, _BACK = ".archived.tmp", ".restored.tmp"


def way_out(home: HomePaths, run_id: str) -> Path:
    """What an archived run's folder is called while it is deleted."""
    return home.runs / f".{run_id}{_OUT}"


def way_back(home: HomePaths, run_id: str) -> Path:
    """What a run's folder is called while it is restored."""
    return home.runs / f".{run_id}{_BACK}"


@contextlib.contextmanager
def alone(home: HomePaths) -> Iterator[None]:
    """One process at a time moves runs of a home; what one left that was killed is put right first.

    Waits for another one. Raises DiskError.
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
    """A run's folder, its configuration first: without that nobody takes it for a whole one."""
    with contextlib.suppress(OSError):
        RunPaths(folder).config.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def _put_right(home: HomePaths) -> None:
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
        else:  # the index still has it here
            with contextlib.suppress(OSError):
                durable.rename(folder, paths.root)
