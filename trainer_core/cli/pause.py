"""`dmglab pause RUN`: hold any run of the home at its next update; `dmglab resume` goes on."""

from __future__ import annotations

import asyncio
from typing import Any

from trainer_core.cli.steering import steer
from trainer_core.service import TrainerService
from trainer_core.wire.errors import FailureError
from trainer_core.wire.run_record import RunState

PATIENCE_S = 60.0
"""Seconds for an update to end."""


def run(argv: list[str]) -> dict[str, Any]:
    return steer("pause", argv, _pause)


async def _pause(service: TrainerService, run_id: str) -> None:
    await service.pause(run_id)
    await reach(service, run_id, RunState.PAUSED)


async def reach(service: TrainerService, run_id: str, state: RunState) -> None:
    """Wait until the run is in `state`. Raises LabError when it ended or takes too long."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE_S
    while (now := service.runs[run_id]).state is not state:
        if now.state.is_end:
            raise FailureError(f"run {now.title} has ended: {now.state}")
        if loop.time() > deadline:
            raise FailureError(f"run {now.title} is {now.state} still, after {PATIENCE_S:g} s")
        await asyncio.sleep(0.05)
