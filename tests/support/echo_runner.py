"""A second runner, made from trainer_core/runners/template.py: its own interpreter, options, task.

Its process, echo_trainer.py, is of the standard library and knows nothing of ours; metric names,
checkpoints and player are its own, and the template says how they are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from trainer_core.lab.paths import HomePaths
from trainer_core.runners.template import TemplateConfig, TemplateRunner
from trainer_core.wire.capabilities import RunnerCapabilities
from trainer_core.wire.checks import Check, Found
from trainer_core.wire.spec import RunSpec

TRAINER = Path(__file__).with_name("echo_trainer.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class EchoConfig(TemplateConfig):
    """What EchoRunner may be asked, besides the neutral fields of RunSpec."""

    pause_s: float = 0.01
    """Time that an episode takes."""


class EchoRunner(TemplateRunner):
    """Counts steps in a hallway; stopped by SIGTERM, goes on where it was."""

    def check_task(self, spec: RunSpec, home: HomePaths) -> Check:
        if spec.task != "hallway":
            return Check(name="Task", status="fail", detail=f"Echo has no task {spec.task!r}")
        return Check(name="Task", status="ok", detail="hallway, Echo's own")

    def check_options(self, spec: RunSpec, found: Found, home: HomePaths) -> Iterable[Check]:
        config = self.configure(spec)
        yield Check(name="Patience", status="ok", detail=f"{config.episodes * config.pause_s:g} s")


def echo_runner(interpreter: Path, modules: tuple[str, ...] = ("json",)) -> EchoRunner:
    return EchoRunner(
        id="echo",
        title="Echo",
        summary="Counts the steps of a hallway.",
        capabilities=RunnerCapabilities(exact_resume=True, play=True, warm_start=True),
        algorithms=("counting", "guessing"),
        config_type=EchoConfig,
        interpreter=str(interpreter),
        modules=modules,
        install="nothing can install it",
        trainer=TRAINER,
    )
