"""Where everything lies: what we ship, the data of a home, the files of a run directory.

The only place that knows these layouts, and whether this code runs from a checkout (a source
archive counts as one) or was installed from a wheel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from trainer_core.wire.environment import chosen_home

_ROOT = Path(__file__).resolve().parents[2]
"""The folder with our packages in it: the checkout, or one below `dmglab` (setup.py)."""
CHECKOUT = _ROOT if (_ROOT / "pyproject.toml").is_file() else None
"""None when installed."""
ASSETS = _ROOT / "assets" if CHECKOUT else _ROOT / "dmglab_assets"
"""Games, tasks and icons that we ship; the wheel's name for the folder is set in setup.py."""


def shipped_file(path: str) -> Path:
    """The file that a shipped task names by its path in the checkout, `assets/...`."""
    return ASSETS / Path(path).relative_to("assets")


def default_home() -> Path:
    """DMGLAB_HOME if set, else `var/` of the checkout, else the platform's folder for data."""
    if chosen := chosen_home():
        return Path(chosen).expanduser().resolve()
    if CHECKOUT:
        return CHECKOUT / "var"
    return platformdirs.user_data_path("dmglab", appauthor=False)


def child_folder() -> Path:
    """Where child processes run: their `python -m trainer_core...` finds our packages from there.

    `-m` puts the working directory before everything else on the path, so that nobody else's
    package of such a name is taken for ours.
    """
    return _ROOT


@dataclass(frozen=True, slots=True)
class HomePaths:
    """One home: every run, the index of runs, the user's own tasks and registered ROMs."""

    root: Path

    @property
    def runs(self) -> Path:
        return self.root / "training" / "runs"

    @property
    def runs_index(self) -> Path:
        """Append-only JSON lines; the run directories are the truth, this is how to find them."""
        return self.root / "training" / "runs.jsonl"

    @property
    def queue(self) -> Path:
        """Runs that wait for a device, in the order in which they are started (runs.queue)."""
        return self.root / "training" / "queue.json"

    @property
    def devices(self) -> Path:
        """One lock file a device, held by whoever trains on it (runs.device_lock)."""
        return self.root / "training" / "devices"

    @property
    def moving_lock(self) -> Path:
        """Held by the process that moves runs into an archive or back."""
        return self.runs.parent / "moving.lock"

    @property
    def detached_lock(self) -> Path:
        """Held by the detached host of this home (service.detached)."""
        return self.root / "training" / "keeper.lock"

    @property
    def detached_log(self) -> Path:
        return self.root / "training" / "keeper.log"

    @property
    def runs_cache(self) -> Path:
        """SQLite; made again from the index and the logs whenever it is not there."""
        return self.root / "training" / "runs.sqlite"

    @property
    def archives(self) -> Path:
        return self.root / "archives"

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
    """One run directory (DESIGN: a run on disk)."""

    root: Path

    @property
    def run_id(self) -> str:
        return self.root.name

    @property
    def config(self) -> Path:
        return self.root / "config.json"

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
        """Held by whoever trains here (runs.run_lock); it holds that process's number."""
        return self.root / "lock"

    @property
    def mail(self) -> Path:
        """Commands from processes that do not keep the run, and their answers (runs.mailbox)."""
        return self.root / "mail"

    @property
    def worker_log(self) -> Path:
        return self.root / "worker.log"

    @property
    def frames(self) -> Path:
        return self.root / "frames.bin"

    def checkpoint(self, env_steps: int) -> Path:
        """Zero-padded, so that names sort as numbers do."""
        return self.checkpoints / f"{env_steps:012d}"


def home_of(run: RunPaths) -> HomePaths:
    """The home whose `runs` holds that directory; the default home for a directory elsewhere."""
    return _home_holding(run.root, lambda home: home.runs)


def home_of_player(folder: Path) -> HomePaths:
    """The same for a player's folder and `players`."""
    return _home_holding(folder, lambda home: home.players)


def _home_holding(folder: Path, shelf: Callable[[HomePaths], Path]) -> HomePaths:
    parent = folder.resolve().parent
    homes = map(HomePaths, parent.parents)
    return next((home for home in homes if shelf(home) == parent), HomePaths(default_home()))
