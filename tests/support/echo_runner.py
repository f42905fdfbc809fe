"""A second runner: its own interpreter, options, task, lines, checkpoints and player.

Its process, echo_trainer.py, is of the standard library and knows nothing of ours: it prints lines
that begin with `@@`, stops on SIGTERM, and writes `saves/step-*.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from trainer_core.lab.paths import HomePaths
from trainer_core.runners.base import AgentRunner
from trainer_core.wire import records
from trainer_core.wire.capabilities import RunnerCapabilities
from trainer_core.wire.checks import Check, Found
from trainer_core.wire.errors import ProtocolError
from trainer_core.wire.fields import check_fields, option
from trainer_core.wire.spec import RunSpec

TRAINER = Path(__file__).with_name("echo_trainer.py")
MARK = b"@@"


@dataclass(frozen=True, slots=True, kw_only=True)
class EchoConfig:
    """What EchoRunner may be asked, besides the neutral fields of RunSpec."""

    algo: str = "counting"
    episodes: int = option(30, "Episodes", "basics", minimum=1, maximum=1_000_000)
    """Episodes to train for."""
    warm_start: str = option("", "Warm start", "learning")
    """Checkpoint that the run begins with; its counters begin anew."""
    pause_s: float = 0.01
    """Time that an episode takes."""

    def __post_init__(self) -> None:
        check_fields(self)


class EchoRunner(AgentRunner):
    """Counts steps in a hallway; stopped by SIGTERM, goes on where it was."""

    def check_task(self, spec: RunSpec, home: HomePaths) -> Check:
        if spec.task != "hallway":
            return Check(name="Task", status="fail", detail=f"Echo has no task {spec.task!r}")
        return Check(name="Task", status="ok", detail="hallway, Echo's own")

    def check_options(self, spec: RunSpec, found: Found, home: HomePaths) -> Iterable[Check]:
        config = self.configure(spec)
        yield Check(name="Patience", status="ok", detail=f"{config.episodes * config.pause_s:g} s")

    def command(self, run_dir: Path) -> list[str]:
        return [self.interpreter, str(TRAINER), "train", str(run_dir)]

    def parse(self, line: bytes) -> records.Event | None:
        if not line.startswith(MARK):
            return None  # what libraries print besides
        said = json.loads(line[len(MARK) :])
        at = {"run_id": "", "seq": 0, "time": said["t"], "env_steps": said["step"]}
        if said["event"] == "scalar":
            return records.UpdateRecord(
                **at, wall_time_s=said["seconds"], sps=said["speed"], metrics={said["tag"]: said["value"]}
            )
        if said["event"] == "saved":
            return records.CheckpointRecord(
                **at,
                path=said["path"],
                sha256=said["sha256"],
                size_bytes=said["size"],
                success_rate=0.0,
                reason=said["why"],
            )
        raise ProtocolError(f"{self.title} said {said['event']!r}")

    def find_checkpoints(self, run_dir: Path) -> list[Path]:
        return sorted(run_dir.glob("saves/step-*.json"))

    def play(self, player_dir: Path) -> list[str]:
        asked = json.loads((player_dir / "config.json").read_text())
        return [self.interpreter, str(TRAINER), "play", str(player_dir), asked["checkpoint"]]


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
    )
