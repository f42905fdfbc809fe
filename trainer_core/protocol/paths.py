"""Where everything lies. The only place that knows the layout of a home and of a run directory."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
ASSETS = CHECKOUT / "assets"


def default_home() -> Path:
    """DMGLAB_HOME if set, else `var/` of the checkout."""
    return Path(os.environ.get("DMGLAB_HOME") or CHECKOUT / "var").expanduser().resolve()


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
    def worker_log(self) -> Path:
        return self.root / "worker.log"

    @property
    def frames(self) -> Path:
        return self.root / "frames.bin"

    def checkpoint(self, env_steps: int) -> Path:
        """Zero-padded, so that names sort as numbers do."""
        return self.checkpoints / f"{env_steps:012d}"
