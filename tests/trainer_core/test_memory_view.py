"""The memory of the game that plays, as a file tells it: that of the console at that frame."""

from __future__ import annotations

from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest

from trainer_core.envs.single_game import ConsoleGame
from trainer_core.lab.paths import HomePaths
from trainer_core.play.loop import PlayLoop
from trainer_core.play.played_game import Player
from trainer_core.wire import commands, records
from trainer_core.wire.frames import BASE, MEMORY_FILE, FrameReader
from trainer_core.wire.playing import PlayerConfig

TASK = "pocket_quest/leave_bedroom"


def loop_over(tmp_path: Path, task: str) -> tuple[PlayLoop, list[records.AckEvent]]:
    acks: list[records.AckEvent] = []

    def tell(kind: type[records.Record], /, **fields: Any) -> None:
        if kind is records.AckEvent:
            acks.append(kind(run_id="p", seq=0, time=0.0, **fields))

    config = PlayerConfig(task=task, mode="human")
    player = Player(tmp_path, HomePaths(tmp_path), config, tell)
    return PlayLoop(player, SimpleQueue(), tell), acks


def obey(loop: PlayLoop, *given: commands.AnyCommand) -> None:
    for command in given:
        loop._inbox.put(command)
    loop.paused = False  # else it waits for more
    loop._take_commands()


def test_a_paused_game_tells_the_memory_of_the_frame_on_show(tmp_path: Path) -> None:
    loop, acks = loop_over(tmp_path, TASK)
    player, game = loop.player, loop.player.game
    assert isinstance(game, ConsoleGame)
    obey(loop, commands.ShowMemory(id=1, on=True))
    assert acks[-1].detail == game.rom_sha256
    reader = FrameReader(tmp_path / MEMORY_FILE)
    player.press(1)
    for _ in range(20):
        player.one_frame()  # far sooner than one is due
    loop._inbox.put(None)
    loop._obey(commands.Pause(id=2))
    _, info, found = reader.latest() or pytest.fail("nothing was told")
    assert info.frame == 20
    assert found == game.memory(BASE, 0x8000).tobytes()
    before = np.frombuffer(found, np.uint8)
    loop._allowance = 1
    loop._advance()
    _, info, found = reader.latest() or pytest.fail("nothing was told")
    assert info.frame == 21
    assert (np.frombuffer(found, np.uint8) != before).any(), "a frame changes something"
    obey(loop, commands.ShowMemory(id=3, on=False))
    player.one_frame()
    assert reader.latest() == (reader.seq, info, found)
    player.close()


def test_what_is_no_game_boy_has_no_memory(tmp_path: Path) -> None:
    loop, acks = loop_over(tmp_path, "tiny_goal")
    obey(loop, commands.ShowMemory(id=1, on=True))
    assert (acks[-1].ok, acks[-1].detail) == (False, "tiny_goal: no Game Boy, so there is no memory to look at")
    loop.player.close()


def test_who_looks_changes_nothing(tmp_path: Path) -> None:
    hashes = []
    for looks in (False, True):
        folder = tmp_path / str(looks)
        folder.mkdir()
        player = loop_over(folder, TASK)[0].player
        assert isinstance(player.game, ConsoleGame)
        player.show_memory(looks)
        for frame in range(40):
            player.press(1 << frame // 8 % 8)
            player.one_frame()
            player.refresh_memory()
        hashes.append(player.game._emulator.state_hash())
        player.close()
    assert hashes[0] == hashes[1]
