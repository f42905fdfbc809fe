"""Disk space used by runs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from trainer_core.lab.paths import HomePaths


@dataclass(frozen=True, slots=True)
class DiskUse:
    """Sizes in bytes of one run's checkpoints, logs and other files."""

    run_id: str
    checkpoints: int
    logs: int
    other: int

    @property
    def total(self) -> int:
        return self.checkpoints + self.logs + self.other


def disk_use(home: HomePaths, run_id: str) -> DiskUse:
    """Return the disk space of a run; all zero if its directory is gone."""
    paths = home.run(run_id)
    checkpoints = _size(paths.checkpoints)
    logs = sum(_length(path) for path in (paths.train_log, paths.worker_log, Path(f"{paths.worker_log}.1")))
    return DiskUse(run_id, checkpoints, logs, max(0, _size(paths.root) - checkpoints - logs))


def _size(folder: Path) -> int:
    return sum(_length(Path(root) / name) for root, _, names in os.walk(folder) for name in names)


def _length(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0
