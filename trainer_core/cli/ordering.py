"""Put a command line into the queue, for `train --detach` and `queue add`; without torch."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer_core.cli.output import Result
from trainer_core.lab.paths import HomePaths
from trainer_core.runners.catalog import AgentRunner
from trainer_core.runs import queue_steps
from trainer_core.runs.life import new_run_id
from trainer_core.runs.queue import RunQueue
from trainer_core.runs.wandb_run import agree
from trainer_core.service.preflight import run_checks
from trainer_core.wire.checks import require
from trainer_core.wire.run_record import RunRecord
from trainer_core.wire.spec import RunSpec


@dataclass(frozen=True)
class Order:
    """A requested run and its data folder."""

    runner: AgentRunner
    spec: RunSpec
    home: HomePaths
    name: str = ""
    wandb: str = ""
    """PROJECT[/NAME] at W&B to which it is to be sent."""


def put_into_queue(
    order: Order, *, priority: int = 0, held: bool = False, devices: tuple[str, ...] = (), detached: bool = False
) -> RunRecord:
    """Check the order as the app does and put it into the queue. Raises LabError without queueing it."""
    spec = order.runner.complete(order.spec)
    asyncio.run(_check(order, spec))
    run_id = new_run_id(order.home)
    agree(order.home.run(run_id), order.wandb, order.name)
    return queue_steps.enqueue(
        order.home,
        run_id,
        spec,
        algo=order.runner.algorithm(spec),
        name=order.name,
        priority=priority,
        held=held,
        devices=devices,
        detached=detached,
    )


async def _check(order: Order, spec: RunSpec) -> None:
    checks = [check async for check in run_checks(spec, order.home, order.runner, order.wandb)]
    for check in checks:
        require(check)


def waiting_result(record: RunRecord, home: HomePaths) -> dict[str, Any]:
    """Return the result of a command that has put a run into the queue."""
    ids = [entry.run_id for entry in RunQueue(home).entries()]
    position = ids.index(record.run_id) + 1 if record.run_id in ids else 0
    folder: Path = home.run(record.run_id).root
    found = {
        "ok": True,
        "run_id": record.run_id,
        "name": record.name,
        "run_dir": str(folder),
        "state": record.state.value,
        "position": position,
    }
    text = (
        f"Run {record.title} waits for its device, at position {position}; `dmglab queue list` lists the waiting runs."
    )
    return Result(found, text)
