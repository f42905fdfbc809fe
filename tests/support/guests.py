"""What tests with real libraries need: a home with their environments, a service, a checkout."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.extras import need_extras
from tests.support.processes import until
from trainer_core.lab import checkpoint_manifest, trust
from trainer_core.lab.paths import HomePaths, default_home
from trainer_core.runners.catalog import find_runner
from trainer_core.runners.guest.runner import GuestRunner
from trainer_core.service import PlayerService, TrainerService
from trainer_core.wire import commands, records
from trainer_core.wire.errors import LabError
from trainer_core.wire.playing import PlayerConfig
from trainer_core.wire.run_record import RunRecord
from trainer_core.wire.spec import RunSpec

PATIENCE_S = 180.0
"""Libraries load for seconds, and a busy computer takes several times that."""


def home_with(runner_id: str, folder: Path) -> HomePaths:
    """A fresh home in `folder` with the environments of the default one; skips without it."""
    need_extras()
    runner = find_runner(runner_id)
    assert isinstance(runner, GuestRunner)
    there = runner.environment(HomePaths(default_home()))
    manifest = there.folder / trust.ENVIRONMENT
    if manifest.is_file():  # the tests' own list of what is trusted begins empty
        trust.trust(trust.sha256_of(manifest))
    try:
        there.check()
    except LabError as error:
        pytest.skip(str(error))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "envs").symlink_to(there.folder.parent)
    return HomePaths(folder)


def cleanrl_checkout() -> str:
    """CleanRL's source as the user has it; skips without it."""
    need_extras()
    folder = Path(os.environ.get("DMGLAB_CLEANRL", default_home() / "cleanrl"))
    if not (folder / "cleanrl" / "dqn.py").is_file():
        pytest.skip(f"clone vwxyzjn/cleanrl into {folder}, or name it in DMGLAB_CLEANRL")
    return str(folder)


async def run_to_end(service: TrainerService, spec: RunSpec, patience_s: float = PATIENCE_S) -> RunRecord:
    record = await service.start(service.plan(spec))
    return await ended(service, record.run_id, patience_s)


async def ended(service: TrainerService, run_id: str, patience_s: float = PATIENCE_S) -> RunRecord:
    await until(lambda: service.runs[run_id].state.is_end, patience_s)
    return service.runs[run_id]


async def history(service: TrainerService, run_id: str, kind: type) -> list[Any]:
    events = (await service.history(run_id)).events
    return [event for event in events if isinstance(event, kind)]


def newest(home: HomePaths, run_id: str) -> Path:
    return checkpoint_manifest.list_checkpoints(home.run(run_id))[-1]


async def plays(home: HomePaths, folder: Path, task: str = "tiny_goal") -> None:
    """Its own player shows it: pictures, and events of an agent at the buttons."""
    player, seen = PlayerService(home), []
    player.on_event = seen.append
    await player.start(PlayerConfig(task=task, checkpoint=str(folder), mode="greedy", speed=0.0))
    try:
        acts = lambda: [e for e in seen if isinstance(e, records.PlayEvent)]  # noqa: E731
        await until(lambda: len(acts()) > 3, PATIENCE_S)
        assert {event.who for event in acts()} == {"agent"}
        ack = await player.request(commands.LoadPolicy, checkpoint=str(folder))
        assert ack.ok, ack.detail
    finally:
        await player.stop()
