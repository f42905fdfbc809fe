"""A runner to copy: what docs/write_a_runner.md explains.

Its trainer is a program of its own interpreter that prints lines beginning with `@@`, stops on
SIGTERM, and writes `saves/step-*.json`; nothing here imports it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from trainer_core.runners.base import AgentRunner
from trainer_core.wire import records
from trainer_core.wire.errors import ProtocolError
from trainer_core.wire.fields import check_fields, described

MARK = b"@@"


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateConfig:
    """The options: the form and the command line come from these fields."""

    algo: str = "counting"
    episodes: int = field(
        default=30, metadata=described("Episodes", "basics", minimum=1, maximum=1_000_000)
    )
    """Episodes to train for."""
    warm_start: str = field(default="", metadata=described("Warm start", "learning"))
    """Checkpoint that the run begins with; its counters begin anew."""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, kw_only=True)
class TemplateRunner(AgentRunner):
    trainer: Path
    """The program: `train RUN_DIR`, `play PLAYER_DIR CHECKPOINT`."""

    def command(self, run_dir: Path) -> list[str]:
        return [self.interpreter, str(self.trainer), "train", str(run_dir)]

    def parse(self, line: bytes) -> records.Event | None:
        if not line.startswith(MARK):
            return None  # what libraries print besides
        said = json.loads(line[len(MARK) :])
        at = {"run_id": "", "seq": 0, "time": said["t"], "env_steps": said["step"]}
        if said["event"] == "scalar":
            return records.UpdateRecord(
                **at, wall_time_s=said["seconds"], sps=said["speed"],
                metrics={said["tag"]: said["value"]},
            )  # fmt: skip
        if said["event"] == "saved":
            return records.CheckpointRecord(
                **at, path=said["path"], sha256=said["sha256"], size_bytes=said["size"],
                success_rate=0.0, reason=said["why"],
            )  # fmt: skip
        raise ProtocolError(f"{self.title} said {said['event']!r}")

    def find_checkpoints(self, run_dir: Path) -> list[Path]:
        return sorted(run_dir.glob("saves/step-*.json"))

    def play(self, player_dir: Path) -> list[str]:
        asked = json.loads((player_dir / "config.json").read_text())
        return [self.interpreter, str(self.trainer), "play", str(player_dir), asked["checkpoint"]]
