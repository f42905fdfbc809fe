"""Plan of a run before anything is started, and the timeouts of its stop."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path

from trainer_core.lab.paths import HomePaths
from trainer_core.runners.base import AgentRunner
from trainer_core.wire.spec import RunSpec


@dataclass(frozen=True, slots=True)
class StopLadder:
    """Seconds that each step of a stop may take before the next, harder one."""

    command_s: float = 10.0
    """Limit for the stop command; each message of the process about its end restarts it."""
    terminate_s: float = 5.0
    saving_s: float = 120.0
    """Limit for a checkpoint whose writing was announced."""


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """Plan of a run: its runner, specification, directory and command."""

    run_id: str
    runner: AgentRunner
    spec: RunSpec
    run_dir: Path
    argv: tuple[str, ...]
    cwd: Path
    name: str = ""
    tags: dict[str, str] = field(default_factory=dict)
    """Labels that group it with other runs (RunRecord.tags)."""
    wandb: str = ""
    """PROJECT/NAME at W&B to which the user agreed to send it; empty without that."""

    @property
    def command_line(self) -> str:
        return shlex.join(self.argv)


def plan_run(
    runner: AgentRunner, spec: RunSpec, home: HomePaths, run_id: str, name: str, tags: dict[str, str] | None = None
) -> LaunchPlan:
    """Return the plan of a run; raises ConfigError when the runner cannot do what `spec` asks for."""
    spec = runner.complete(spec)
    runner = runner.placed(spec)
    run_dir = home.run(run_id).root
    argv = tuple(runner.command(run_dir))
    return LaunchPlan(run_id, runner, spec, run_dir, argv, runner.folder(run_dir), name, tags or {})
