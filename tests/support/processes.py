"""An open TrainerService around a test's body, and eyes on the processes that it starts."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import psutil

from tests.support.scripted_native import scripted_native
from trainer_core.lab.paths import HomePaths
from trainer_core.runners.base import AgentRunner
from trainer_core.service import StopLadder, TrainerService
from trainer_core.wire.config import RunConfig
from trainer_core.wire.spec import RunSpec

PATIENCE_S = 60.0
"""Of a wait for what must come: a computer at load 8 is that slow, and who gets it waits no longer.
"""
SPEC = RunSpec.of(RunConfig(task="tiny_goal"))


@contextlib.asynccontextmanager
async def in_service(
    home: Path, runner: AgentRunner | None = None, within_s: float = 3 * PATIENCE_S, **ladder: float
) -> AsyncIterator[TrainerService]:
    """An open service; what is left at the end is ended.

    `within_s` is for the body: a real worker loads torch, on a busy computer for long.
    """
    runners: dict[str, Any] = {} if runner is None else {"runners": (runner,)}
    service = TrainerService(HomePaths(home), ladder=StopLadder(**ladder) if ladder else None, **runners)
    service.open()
    try:
        async with asyncio.timeout(within_s):
            yield service
    finally:
        service.ladder = StopLadder(0.1, 0.1)
        await service.close()


async def until(condition: Callable[[], bool], timeout_s: float = PATIENCE_S) -> None:
    """Let asyncio run until the condition holds."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "the condition never held"
        await asyncio.sleep(0.01)


async def start(service: TrainerService, **script: object) -> str:
    """Start a run of echo_worker.py with these options; its id."""
    service.runners = (scripted_native(**script),)
    plan = service.plan(SPEC)
    await service.start(plan)
    return plan.run_id


def wait_until(condition: Callable[[], object], timeout_s: float = PATIENCE_S) -> None:
    """Sleep until the condition holds: for tests without a loop."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "the condition never held"
        time.sleep(0.02)


def group_of(pid: int) -> list[psutil.Process]:
    """Live processes of that group."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == pid and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.Error, ProcessLookupError):
            continue
    return found
