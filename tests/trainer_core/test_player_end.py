"""The end of players, with real processes: one that was being replaced ends with the others."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from pathlib import Path

import psutil
import pytest

from tests.support.processes import until
from tests.support.scripted_native import scripted_native
from trainer_core.lab.paths import HomePaths
from trainer_core.service import PlayerService, player_service
from trainer_core.wire.playing import PlayerConfig


async def test_a_deaf_player_ends_although_the_start_that_replaces_it_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(player_service, "STOP_COMMAND_S", 0.2)
    monkeypatch.setattr(player_service, "TERMINATE_S", 0.2)
    service = PlayerService(HomePaths(tmp_path), runners=(scripted_native(),))
    await service.start(PlayerConfig(task="tiny_goal"))
    assert service._child is not None
    first, old = service.directory, psutil.Process(service._child.pid)
    old.send_signal(signal.SIGSTOP)  # it hears neither a command nor SIGTERM
    replacing = asyncio.ensure_future(service.start(PlayerConfig(task="tiny_goal")))
    await until(lambda: service.directory != first)
    replacing.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await replacing
    assert old.is_running()
    await service.stop()
    await until(lambda: not old.is_running() or old.status() == psutil.STATUS_ZOMBIE)
