"""What tests with real libraries need: a home with their environments, a service, a checkout."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from trainer_core.protocol.errors import LabError
from trainer_core.protocol.paths import HomePaths, default_home
from trainer_core.runners.catalog import find_runner
from trainer_core.runners.guest.runner import GuestRunner
from trainer_core.service import TrainerService

PATIENCE_S = 180.0
"""Libraries load for seconds, and a busy computer takes several times that."""


def home_with(runner_id: str, folder: Path) -> HomePaths:
    """A fresh home in `folder` with the environments of the default one; skips without it."""
    runner = find_runner(runner_id)
    assert isinstance(runner, GuestRunner)
    there = runner.environment(HomePaths(default_home()))
    try:
        there.check()
    except LabError as error:
        pytest.skip(str(error))
    (folder / "envs").symlink_to(there.folder.parent)
    return HomePaths(folder)


def cleanrl_checkout() -> str:
    """CleanRL's source as the user has it; skips without it."""
    folder = Path(os.environ.get("DMGLAB_CLEANRL", default_home() / "cleanrl"))
    if not (folder / "cleanrl" / "dqn.py").is_file():
        pytest.skip(f"clone vwxyzjn/cleanrl into {folder}, or name it in DMGLAB_CLEANRL")
    return str(folder)


def in_service(home: HomePaths, body: Callable[[TrainerService], Awaitable[None]]) -> None:
    """`body` with an open service; what it leaves is stopped."""

    async def whole() -> None:
        service = TrainerService(home)
        service.open()
        try:
            await asyncio.wait_for(body(service), PATIENCE_S)
        finally:
            await service.close()

    asyncio.run(whole())
