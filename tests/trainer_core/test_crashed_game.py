"""A game whose processor will never run again is told so, and not for longer than it is true."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gui.features.replay.model import Replay
from trainer_core.lab.paths import ASSETS, HomePaths
from trainer_core.play.played_game import Player
from trainer_core.wire import records
from trainer_core.wire.playing import PlayerConfig

ROM = ASSETS / "games" / "pocket_quest" / "pocket_quest.gb"
WAIT_THEN_CRASH = bytes.fromhex("0600 0E00 0D 20FD 05 20FA D3")
"""LD B,0; LD C,0; DEC C; JR NZ; DEC B; JR NZ: 15 frames; then an opcode that there is not."""
LOOP, HALTED = bytes.fromhex("18FE"), bytes.fromhex("F3 AF E0FF 76")


def hung_after(tmp_path: Path, code: bytes, frames: int) -> tuple[Player, list[str]]:
    """What the player of a ROM with this `code` told about its processor, frame after frame."""
    data = bytearray(ROM.read_bytes()[:0x8000])
    data[0x100:0x104] = bytes.fromhex("00 C35001")  # NOP; JP $0150
    data[0x148] = 0
    data[0x147] = 0
    data[0x14D] = (-sum(data[0x134:0x14D]) - 0x19) & 0xFF
    data[0x150 : 0x150 + len(code)] = code
    (tmp_path / "game.gb").write_bytes(data)
    told: list[str] = []

    def tell(kind: type[records.Record], /, **fields: Any) -> None:
        if kind is records.PlayEvent:
            told.append(fields["hung"])

    config = PlayerConfig(task=str(tmp_path / "game.gb"), mode="human")
    player = Player(tmp_path, HomePaths(tmp_path), config, tell)
    for _ in range(frames):
        player._next_event = 0.0
        player.one_frame()
    return player, told


def test_an_undefined_opcode_is_told_until_it_is_taken_back(tmp_path: Path) -> None:
    player, told = hung_after(tmp_path, WAIT_THEN_CRASH, 48)
    assert told[-1] == "undefined opcode at $015A"
    while told[-1]:
        player._next_event = 0.0
        assert player.one_frame_back()
    player.close()


def test_a_halt_that_nothing_ends_is_told_a_loop_is_not(tmp_path: Path) -> None:
    for code, expected in ((HALTED, "HALT without an enabled interrupt at $0154"), (LOOP, "")):
        player, told = hung_after(tmp_path, code, 24)
        assert told == [expected]
        player.close()


def test_a_step_without_a_goal_has_neither_reward_nor_distance(tmp_path: Path) -> None:
    player, _ = hung_after(tmp_path, LOOP, 1)
    player.record(True)
    for _ in range(30):
        player.one_frame()
    replay = Replay(Path(player.record(False)))
    player.close()
    assert not replay.has_goal
    assert replay.describe(replay.steps[0].last_frame) == "step 1   none"
