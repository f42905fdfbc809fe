"""AgentRunner: what the lab must know of a trainer to start, watch, stop, resume and replay it.

A runner is data and command lines. Nothing of the library that it stands for is imported here: its
process has an interpreter of its own, and everything that needs the library is asked there. ADR 10
maps the contract onto the plan it comes from.
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
    """How what a runner lacks is brought: on request only, never by itself."""

    argv: tuple[str, ...]
    """A tool for `service.run_job`: it prints its progress as JSON lines."""
    folder: Path
    """Where everything that it writes lies."""
    needed_bytes: int
    """Free disk that it asks for."""
    discard: Callable[[], None]
    """Remove what a killed installation left; blocks."""


@dataclass(frozen=True, kw_only=True)
class AgentRunner(ABC):
    """One trainer. Fields say what it is; the methods, what to run and how to read it."""

    id: str
    title: str
    summary: str
    capabilities: RunnerCapabilities = UNKNOWN
    algorithms: tuple[str, ...]
    """What its option `algo` may be; the first when it has no such option."""
    config_type: type
    """Frozen dataclass of its options. It may also declare neutral fields of RunSpec."""
    interpreter: str = sys.executable
    modules: tuple[str, ...] = ()
    """Python modules that its interpreter must find."""
    install: str = ""
    """The command line that provides them."""
    own_tasks: bool = False
    """Its tasks are its own: whatever one is called, no folder of ours has to be there."""
    screens_only: bool = False
    """Its networks take a Game Boy's pictures alone, none of another size."""
    waits: bool = False
    """Its process may be started ahead of its run: see service.preload."""
    writes_log: bool = False
    """Its process appends train_log.jsonl itself; else the service keeps what `parse` returns."""

    def at(self, home: HomePaths) -> AgentRunner:
        """This runner as `home` has it: an environment of its own lies there."""
        return self

    def installation(self, home: HomePaths) -> Installation | None:
        """What would make it ready below `home`; None when nothing can, or nothing is missing.

        Looks at files only: an app asks whenever it draws.
        """
        return None

    def removal(self, home: HomePaths) -> Callable[[], None] | None:
        """Blocks, and takes what `installation` made away again; None when nothing is there.

        Raises LabError while another process makes it. Looks at files only until it is called.
        """
        return None

    # -- before a run -----------------------------------------------------------------------

    def configure(self, spec: RunSpec) -> Any:
        """The instance of `config_type` that `spec` asks for. Raises ConfigError."""
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
        """`spec` with every option, defaults too: its process may not know `config_type`."""
        return spec.with_options(self.configure(spec))

    def algorithm(self, spec: RunSpec) -> str:
        """The one of `algorithms` that `spec` asks for. Raises ConfigError."""
        return getattr(self.configure(spec), "algo", self.algorithms[0])

    def readiness(self) -> list[str]:
        """Command that prints `Found` as one JSON object, in this runner's own interpreter.

        It should answer within three seconds of a quiet computer; preflight waits longer.
        """
        return [self.interpreter, "-c", PROBE, *self.modules]

    def check_task(self, spec: RunSpec, home: HomePaths) -> Check:
        """Whether its task is there: one of our task folders, unless a runner has its own."""
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
        """What only this runner can judge: memory, a data set, a service it needs."""
        return ()

    # -- a run ------------------------------------------------------------------------------

    @abstractmethod
    def command(self, run_dir: Path) -> list[str]:
        """The exact argv that trains in `run_dir`, whose config.json holds the RunSpec.

        The same for a resumed run: the process finds its checkpoints itself.
        """

    def folder(self, run_dir: Path) -> Path:
        """Working directory of its processes."""
        return run_dir

    def parse(self, line: bytes) -> records.Event | None:
        """What one line of its event stream means; None = nothing. Raises ProtocolError.

        Envelope fields (run_id, seq) may be anything when the service keeps the log.
        """
        return records.decode(line)

    def find_checkpoints(self, run_dir: Path) -> list[Path]:
        """Whole checkpoints, oldest first."""
        return list_checkpoints(RunPaths(run_dir))

    def play(self, player_dir: Path) -> list[str]:
        """The argv of its player; config.json in `player_dir` names task, checkpoint and mode.

        Never asked of a runner without the capability `play`.
        """
        raise ConfigError(f"{self.title} has no player for its checkpoints")
