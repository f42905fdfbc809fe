"""`dmglab stop RUN`: stop any run of the home after a checkpoint, or take it out of the queue."""

from __future__ import annotations

from typing import Any

from trainer_core.cli.steering import steer
from trainer_core.service import TrainerService
from trainer_core.wire.errors import FailureError


def run(argv: list[str]) -> dict[str, Any]:
    return steer("stop", argv, _stop)


async def _stop(service: TrainerService, run_id: str) -> None:
    await service.stop(run_id)
    if not (now := service.runs[run_id]).state.is_end:
        raise FailureError(f"run {now.title} is {now.state} still; try again")
