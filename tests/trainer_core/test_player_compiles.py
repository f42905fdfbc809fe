"""A player on a fresh computer: what it compiles is told, and waited for longer than a picture."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from trainer_core import player
from trainer_core.envs import compile_progress
from trainer_core.lab.paths import HomePaths
from trainer_core.service import player_service as service
from trainer_core.wire import records
from trainer_core.wire.errors import LabError


class Silent:
    """A process that is there and shows nothing."""

    async def wait(self, patience_s: float) -> None:
        await asyncio.sleep(patience_s)


class Lines:
    def __init__(self) -> None:
        self.told: list[records.Event] = []

    def write(self, line: bytes) -> None:
        self.told.append(records.decode(line))


def test_what_compiles_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_progress, "_story", compile_progress._Story())
    monkeypatch.setattr(compile_progress._story.watch, "install", lambda: True)
    pipe = Lines()
    player._tell_compiling(player.Events(pipe, "player"))  # type: ignore[arg-type]
    compile_progress._story.on_part(1, "launch.native", -1.0)
    event = pipe.told[0]
    assert isinstance(event, records.StateEvent)
    assert event.detail == f"{records.COMPILING}: part 1, launch.native"


def test_kernels_are_waited_for_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "FIRST_PICTURE_TIMEOUT_S", 0.0)
    players = service.PlayerService(HomePaths(tmp_path))

    async def waits() -> None:
        await players._first_picture(Silent(), tmp_path)  # type: ignore[arg-type]

    players._compiles = True
    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(waits(), 0.3))
    players._compiles = False
    with pytest.raises(LabError, match="told of nothing new for 0 s"):
        asyncio.run(waits())


def test_a_start_that_gets_on_has_no_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "FIRST_PICTURE_TIMEOUT_S", 0.2)
    players = service.PlayerService(HomePaths(tmp_path))

    class Speaks(Silent):
        async def wait(self, patience_s: float) -> None:
            await super().wait(patience_s)
            players._spoke = time.monotonic()  # as at each StateEvent

    async def waits() -> None:
        await players._first_picture(Speaks(), tmp_path)  # type: ignore[arg-type]

    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(waits(), 0.6))
