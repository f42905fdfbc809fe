"""Paths of shipped files, of the data of a home, and of the files of a run directory.

Only this module knows these layouts, and whether this code runs from a checkout (a source archive counts as one) or
from an installed wheel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from trainer_core.wire.environment import chosen_home

_ROOT = Path(__file__).resolve().parents[2]
"""Folder that holds our packages: the checkout, or `dmglab` when installed (setup.py)."""
CHECKOUT = _ROOT if (_ROOT / "pyproject.toml").is_file() else None
"""Root folder of the checkout; None when installed."""
ASSETS = _ROOT / "assets" if CHECKOUT else _ROOT / "dmglab_assets"
"""Folder of shipped games, tasks and icons; setup.py sets its name in the wheel."""
DOCS = _ROOT / "docs" if CHECKOUT else _ROOT / "dmglab_docs"
"""Folder of the guide and the reference with their pictures; in a wheel CHANGELOG.md too."""


def shipped_file(path: str) -> Path:
    """Return the file that a shipped task names by its path in the checkout, `assets/...`."""
    return ASSETS / Path(path).relative_to("assets")


def default_home() -> Path:
    """Return the default home: DMGLAB_HOME if set, else `var/` of the checkout, else the platform's folder for user
    data."""
    if chosen := chosen_home():
        return Path(chosen).expanduser().resolve()
    if CHECKOUT:
        return CHECKOUT / "var"
    return platformdirs.user_data_path("dmglab", appauthor=False)


def child_folder() -> Path:
    """Return the working directory of child processes, from which `python -m trainer_core...` finds our packages.

    `-m` puts the working directory first on the path, so that another package of the same name is never imported.
    """
    return _ROOT


@dataclass(frozen=True, slots=True)
class HomePaths:
    """Paths of one home, the folder of a user's data: runs, their index, the user's own tasks, registered ROMs."""

    root: Path

    @property
    def runs(self) -> Path:
        return self.root / "training" / "runs"

    @property
    def runs_index(self) -> Path:
        """Index of runs: append-only JSON lines. It only locates runs; their directories hold the data."""
        return self.root / "training" / "runs.jsonl"

    @property
    def queue(self) -> Path:
        """Queue of runs that wait for a device, in their order of starting (runs.queue)."""
        return self.root / "training" / "queue.json"

    @property
    def devices(self) -> Path:
        """Folder with one lock file per device, held by the process that trains on it (runs.device_lock)."""
        return self.root / "training" / "devices"

    @property
    def moving_lock(self) -> Path:
        """Lock held by the process that moves runs into an archive or back."""
        return self.runs.parent / "moving.lock"

    @property
    def detached_lock(self) -> Path:
        """Lock held by the detached host of this home (service.detached)."""
        return self.root / "training" / "keeper.lock"

    @property
    def detached_log(self) -> Path:
        return self.root / "training" / "keeper.log"

    @property
    def runs_cache(self) -> Path:
        """SQLite database of all runs for queries; rebuilt from the index and the logs if missing."""
        return self.root / "training" / "runs.sqlite"

    @property
    def archives(self) -> Path:
        return self.root / "archives"

    @property
    def videos(self) -> Path:
        """Folder of short clips of training (host.clips)."""
        return self.root / "training" / "videos"

    @property
    def trash(self) -> Path:
        """Folder of runs that are deleted after some time (runs.storage)."""
        return self.root / "training" / "trash"

    @property
    def storage_profiles(self) -> Path:
        return self.root / "storage_profiles.toml"

    @property
    def tasks(self) -> Path:
        return self.root / "tasks"

    @property
    def players(self) -> Path:
        return self.root / "players"

    @property
    def settings(self) -> Path:
        return self.root / "settings"

    def run(self, run_id: str) -> RunPaths:
        return RunPaths(self.runs / run_id)


@dataclass(frozen=True, slots=True)
class RunPaths:
    """Paths of the files in one run's directory."""

    root: Path

    @property
    def run_id(self) -> str:
        return self.root.name

    @property
    def config(self) -> Path:
        return self.root / "config.json"

    @property
    def job(self) -> Path:
        """Job on another host that trains the run; no such file if none ever did (runners.remote)."""
        return self.root / "job.json"

    @property
    def train_log(self) -> Path:
        return self.root / "train_log.jsonl"

    @property
    def checkpoints(self) -> Path:
        return self.root / "checkpoints"

    @property
    def episodes(self) -> Path:
        return self.root / "episodes"

    @property
    def videos(self) -> Path:
        return self.root / "videos"

    @property
    def failures(self) -> Path:
        return self.root / "failures"

    @property
    def lock(self) -> Path:
        """Lock held by the process that trains here (runs.run_lock); the file contains its process id."""
        return self.root / "lock"

    @property
    def mail(self) -> Path:
        """Folder of commands from processes that did not start the run, and their answers (runs.command_files)."""
        return self.root / "mail"

    @property
    def worker_log(self) -> Path:
        return self.root / "worker.log"

    @property
    def frames(self) -> Path:
        return self.root / "frames.bin"

    def checkpoint(self, env_steps: int) -> Path:
        """Return the folder of the checkpoint at `env_steps`, zero-padded, so that names sort as numbers do."""
        return self.checkpoints / f"{env_steps:012d}"


def home_of(run: RunPaths) -> HomePaths:
    """Return the home whose `runs` holds that directory; the default home for a directory elsewhere."""
    return _home_holding(run.root, lambda home: home.runs)


def home_of_player(folder: Path) -> HomePaths:
    """Return the home whose `players` holds that folder; the default home for a folder elsewhere."""
    return _home_holding(folder, lambda home: home.players)


def _home_holding(folder: Path, shelf: Callable[[HomePaths], Path]) -> HomePaths:
    parent = folder.absolute().parent.resolve()  # a moved run's folder is a link
    homes = map(HomePaths, parent.parents)
    return next((home for home in homes if shelf(home) == parent), HomePaths(default_home()))


def run_at(path: Path) -> RunPaths | None:
    """Return the run whose folder or train_log.jsonl `path` is; None for anything else."""
    run = RunPaths((path if path.is_dir() else path.parent).absolute())
    is_its = path.is_dir() or path.name == run.train_log.name
    return run if is_its and run.train_log.is_file() else None
