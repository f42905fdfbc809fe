"""AgentRunner: interface by which the lab starts, watches, stops, resumes and replays a trainer.

A runner is data and command lines. It imports nothing of its library: the library's process has its own interpreter,
and every question that needs the library is answered there. ADR 10 maps the contract onto the plan it comes from.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer_core.lab.arc_games import is_arc
from trainer_core.lab.checkpoint_manifest import list_checkpoints
from trainer_core.lab.guest_environment import PROBE
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.lab.task_checks import check_guest_task
from trainer_core.wire import records
from trainer_core.wire.capabilities import RunnerCapabilities
from trainer_core.wire.checks import Check, Found
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.fields import check_fields
from trainer_core.wire.spec import RunSpec

UNKNOWN = RunnerCapabilities()


@dataclass(frozen=True)
class Installation:
    """Installation of a runner's missing library, started only at the user's request."""

    argv: tuple[str, ...]
    """Command of an installer for `service.run_job`, which prints progress as JSON lines."""
    folder: Path
    """Folder of everything it writes."""
    needed_bytes: int
    """Required free disk space."""
    discard: Callable[[], None]
    """Function that removes what a killed installation left; blocks."""


@dataclass(frozen=True, kw_only=True)
class AgentRunner(ABC):
    """Description of one trainer: its fields are data, its methods give command lines and read results."""

    id: str
    title: str
    summary: str
    capabilities: RunnerCapabilities = UNKNOWN
    algorithms: tuple[str, ...]
    """Choices of its option `algo`; the first one if it has no such option."""
    config_type: type
    """Frozen dataclass of its options, which may also declare neutral fields of RunSpec."""
    interpreter: str = sys.executable
    modules: tuple[str, ...] = ()
    """Python modules that the runner's interpreter must be able to import."""
    install: str = ""
    """Command line that installs them."""
    own_tasks: bool = False
    """True if the runner has its own tasks and needs no task folder of ours."""
    screens_only: bool = False
    """True if its networks accept only a Game Boy's pictures (72 by 80) and no other size."""
    trains: bool = True
    """False if its runs end without a policy."""
    waits: bool = False
    """True if its process may be started ahead of its run: see service.preload."""
    writes_log: bool = False
    """True if its process appends to train_log.jsonl itself; else the service writes the events from `parse`."""

    def at(self, home: HomePaths) -> AgentRunner:
        """Return this runner for `home`, which may contain its environment."""
        return self

    def installation(self, home: HomePaths) -> Installation | None:
        """Return the installation of the missing library in `home`; None if it is impossible or not needed.

        Looks at files only: an app calls it at every repaint.
        """
        return None

    def removal(self, home: HomePaths) -> Callable[[], None] | None:
        """Return a blocking function that removes what `installation` made; None if nothing is there.

        The function raises LabError while another process installs. Looks at files only until it is called.
        """
        return None

    def placed(self, spec: RunSpec) -> AgentRunner:
        """Return the runner whose process trains `spec`: another one if the spec names another host."""
        return self

    # -- before a run -----------------------------------------------------------------------

    def configure(self, spec: RunSpec) -> Any:
        """Return the `config_type` instance for `spec`. Raises ConfigError."""
        config = spec.configure(self.config_type)
        check_fields(config)
        algo = getattr(config, "algo", self.algorithms[0])
        if algo not in self.algorithms:
            known = ", ".join(self.algorithms)
            raise ConfigError(f"{self.title} has no algorithm {algo!r}; it has {known}")
        if getattr(config, "warm_start", "") and not self.capabilities.warm_start:
            raise ConfigError(f"{self.title} cannot begin with the weights of a checkpoint")
        return config

    def complete(self, spec: RunSpec) -> RunSpec:
        """Return `spec` with all options, defaults included, since the trainer's process may not know `config_type`."""
        return spec.with_options(self.configure(spec))

    def algorithm(self, spec: RunSpec) -> str:
        """Return the algorithm of `algorithms` that `spec` selects. Raises ConfigError."""
        return getattr(self.configure(spec), "algo", self.algorithms[0])

    def readiness(self) -> list[str]:
        """Return the command that reports, in this runner's own interpreter, what is installed there.

        It prints `Found` as one JSON object. It should answer within three seconds on an idle computer; preflight waits
        longer.
        """
        return [self.interpreter, "-c", PROBE, *self.modules]

    def check_task(self, spec: RunSpec, home: HomePaths) -> Check:
        """Check that the task exists: one of our task folders, unless the runner has its own tasks."""
        if self.own_tasks:
            return Check(name="Task", status="ok", detail=f"{spec.task}, {self.title}'s own")
        if self.screens_only and is_arc(spec.task):
            return Check(
                name="Task",
                status="fail",
                detail=f"{self.title} takes a Game Boy's pictures, {spec.task} shows other ones",
                fix="Pick a Game Boy task; sb3, skrl and DMG Lab's own trainer take both",
            )
        return check_guest_task(spec.task, home)

    def check_options(self, spec: RunSpec, found: Found, home: HomePaths) -> Iterable[Check]:
        """Return further checks of this runner's own: memory, a data set, a service."""
        return ()

    # -- a run ------------------------------------------------------------------------------

    @abstractmethod
    def command(self, run_dir: Path) -> list[str]:
        """Return the argv of the process that trains in `run_dir`, whose config.json holds the RunSpec.

        A resume uses the same argv: the process finds its checkpoints itself.
        """

    def folder(self, run_dir: Path) -> Path:
        """Return the working directory of its processes."""
        return run_dir

    def parse(self, line: bytes) -> records.Event | None:
        """Decode one line of the process's standard output; return the event, or None for a line to ignore.

        Raises ProtocolError. The fields run_id and seq may be anything when the service writes the log.
        """
        return records.decode(line)

    def find_checkpoints(self, run_dir: Path) -> list[Path]:
        """Return intact checkpoints, oldest first."""
        return list_checkpoints(RunPaths(run_dir))

    def play(self, player_dir: Path) -> list[str]:
        """Return the argv of its player; config.json in `player_dir` names task, checkpoint and mode.

        Called only for runners with the capability `play`.
        """
        raise ConfigError(f"{self.title} has no player for its checkpoints")
