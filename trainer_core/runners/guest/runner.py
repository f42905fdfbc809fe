"""GuestRunner: base class of the runners of other libraries ("guests").

Their processes run our code in a Python environment that has the library.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from trainer_core.lab import checkpoint_manifest
from trainer_core.lab.guest_environment import PYTHONS, OurEnvironment, RunnerEnvironment, install_command
from trainer_core.lab.paths import HomePaths, RunPaths, child_folder, home_of, home_of_player
from trainer_core.lab.trust import require_trust
from trainer_core.runners.base import AgentRunner, Installation
from trainer_core.wire.checks import Check, Found, judged
from trainer_core.wire.errors import CheckpointError
from trainer_core.wire.spec import RunSpec

PROCESS = "trainer_core.worker"
"""Module for training: `python -m PROCESS RUN_DIR WORKER`."""
WARM_START = "Warm start"
"""Name of the check of a warm start's checkpoint."""


@dataclass(frozen=True, kw_only=True)
class GuestRunner(AgentRunner):
    """Runner with its own interpreter in the run's home; its worker writes the log itself."""

    worker: str
    """Module with the `make_trainee` that host.worker calls."""
    player: str = ""
    """Module of the agent for its checkpoints: `python -m trainer_core.player DIR MODULE`."""
    writes_log: bool = True
    own_environment: bool = True
    """False for a guest that needs only DMG Lab's own environment."""
    pythons: tuple[tuple[int, int], tuple[int, int]] = PYTHONS
    """Python versions that its library supports: from the first, below the second."""
    torch: bool = True
    """True if its environment contains torch."""
    unpickled: str = ""
    """Checkpoint file that its library unpickles."""

    @property
    def pins(self) -> Path:
        """Path of the file with its environment's requirements, beside the module of its options."""
        return Path(inspect.getfile(self.config_type)).with_name("requirements.txt")

    def environment(self, home: HomePaths) -> RunnerEnvironment:
        if not self.own_environment:
            return OurEnvironment(self.id, self.modules, home)
        top, _, _ = self.config_type.__module__.partition(".")
        linked = () if top == "trainer_core" else (_place(top),)
        return RunnerEnvironment(self.id, self.modules, home, self.pythons, self.torch, self.pins, linked)

    def at(self, home: HomePaths) -> Self:
        interpreter = str(self.environment(home).python)
        install = install_command(self.id) if self.own_environment else self.install
        return dataclasses.replace(self, interpreter=interpreter, install=install)

    def installation(self, home: HomePaths) -> Installation | None:
        environment = self.environment(home)
        if environment.exists and not environment.stale():
            return None
        argv = (sys.executable, "-m", "trainer_core.cli.main", "runner", "install", self.id, "--home", str(home.root))
        return Installation(argv, environment.folder, environment.needed_bytes, environment.discard)

    def removal(self, home: HomePaths) -> Callable[[], None] | None:
        environment = self.environment(home)
        there = self.own_environment and environment.folder.exists()
        return environment.remove if there else None

    def check_options(self, spec: RunSpec, found: Found, home: HomePaths) -> Iterable[Check]:
        environment = self.environment(home)
        if environment.exists and (reason := environment.stale()):
            yield Check(
                name="Environment",
                status="warn",
                detail=f"{environment.folder}: {reason}",
                fix=install_command(self.id),
            )
        donor = getattr(self.configure(spec), "warm_start", "")
        if donor:
            yield self.check_warm_start(spec, Path(donor))

    def check_warm_start(self, spec: RunSpec, folder: Path) -> Check:
        """Check that `folder` is an intact checkpoint of this runner and algorithm."""

        def judge() -> str:
            meta = checkpoint_manifest.verify(folder)
            made_by = (meta.runner, meta.config.get("algo", self.algorithms[0]))
            if made_by != (self.id, self.algorithm(spec)):
                raise CheckpointError(
                    f"{folder} was made by {made_by[0]} {made_by[1]}, this run is {self.id} {self.algorithm(spec)}"
                )
            if self.unpickled:
                require_trust(folder / self.unpickled, self.title)
            return f"{meta.run_id}, {meta.env_steps:,} steps"

        fix = "Pick another checkpoint, or begin without one"
        return judged(WARM_START, judge, fix, warm_start="")

    def command(self, run_dir: Path) -> list[str]:
        return self._argv(home_of(RunPaths(run_dir)), PROCESS, str(run_dir), self.worker)

    def folder(self, run_dir: Path) -> Path:
        # A waiting process starts before its run has a folder; the worker changes to it later.
        return child_folder() if self.waits or not self.own_environment else run_dir

    def play(self, player_dir: Path) -> list[str]:
        home = home_of_player(player_dir)
        return self._argv(home, "trainer_core.player", str(player_dir), self.player)

    def _argv(self, home: HomePaths, module: str, *rest: str) -> list[str]:
        # -P: files in the run's folder must not come before our packages.
        isolated = ["-P"] if self.own_environment else []
        return [str(self.environment(home).python), *isolated, "-m", module, *rest]


def _place(module: str) -> Path:
    """Return the folder of an imported package, or the file of a module."""
    file = Path(sys.modules[module].__file__ or "")
    return file.parent if file.name == "__init__.py" else file
