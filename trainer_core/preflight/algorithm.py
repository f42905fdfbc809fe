"""What an algorithm is known not to learn, said before it starts."""

from __future__ import annotations

from trainer_core.preflight.findings import Check
from trainer_core.protocol.algorithms import find_algorithm
from trainer_core.protocol.config import RunConfig
from trainer_core.protocol.task_lists import split_tasks
from trainer_core.protocol.tasks import BUILT_IN_TASKS


def check_algorithm(config: RunConfig) -> Check | None:
    """A warning where this run will most likely learn nothing, else None."""
    caution = find_algorithm(config.algo).caution
    if not caution or set(split_tasks(config.task)) <= set(BUILT_IN_TASKS):
        return None
    return Check(
        name="Algorithm", status="warn", detail=caution, fix="Use PPO", remedy={"algo": "ppo"}
    )
