"""Edited recordings: a changed state is that of a fresh replay, and branches are whole."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest

from trainer_core.envs.recording_writer import RecordingWriter, first_difference
from trainer_core.envs.single_game import ConsoleGame, TinyGame, open_game
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.recording import read_buttons, read_recording, read_steps
from trainer_core.play.branching import observation, write_branch
from trainer_core.play.episode import Script, play_episode
from trainer_core.play.played_game import Player
from trainer_core.play.roll import Roll
from trainer_core.wire.errors import LabError
from trainer_core.wire.playing import PlayerConfig

TASK = "pocket_quest/leave_bedroom"
DOWN, A = 8, 16


@pytest.fixture(scope="module")
def game() -> ConsoleGame:
    found = open_game(TASK, HomePaths(Path("/nowhere")))
    assert isinstance(found, ConsoleGame)
    return found


@pytest.fixture(scope="module")
def recorded(game: ConsoleGame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """16 steps of leave_bedroom: 384 frames."""
    folder = tmp_path_factory.mktemp("roll") / "take"
    game.restart(0)
    writer = RecordingWriter(folder, game, mode="script", checkpoint="", checkpoint_sha256="")
    play_episode(game, Script([5, 3, 6, 4]), 0, max_steps=16, recording=writer)
    return writer.finish()


def fresh_hash(game: ConsoleGame, folder: Path) -> str:
    """The console's state after pressing all of a recording's buttons, frame by frame."""
    game.load_state(folder / read_recording(folder).state)
    for mask in read_buttons(folder, read_recording(folder)):
        game.frame(mask)
    return game._emulator.state_hash()[0]


def test_an_edited_recordings_state_is_that_of_a_fresh_replay(
    game: ConsoleGame, recorded: Path, tmp_path: Path
) -> None:
    roll = Roll(recorded, game, tmp_path / "pictures.bin")
    roll.advance(1000)
    assert (roll.known, roll.differs, roll.is_changed) == (384, -1, False)
    roll.splice(200, 3, bytes([DOWN, DOWN, A, A, A]))
    assert (len(roll), roll.known, roll.fork) == (386, 200, 200)
    roll.go_to(385)
    edited = game._emulator.state_hash()[0]
    roll.go_to(70)
    seen = game.picture().copy()
    folder = write_branch(roll, tmp_path / "take-b1")
    about = read_recording(folder)
    assert (about.parent, about.forked_at, about.frames) == ("take", 200, 386)
    assert fresh_hash(game, folder) == edited
    assert first_difference(folder, game) == -1
    assert fresh_hash(game, recorded) != edited
    again = Roll(folder, game, tmp_path / "again.bin")
    again.go_to(70)
    np.testing.assert_array_equal(game.picture(), seen)
    with pytest.raises(LabError, match="is there already"):
        write_branch(roll, folder)


def test_steps_after_a_change_are_judged_as_the_task_judges(game: ConsoleGame, recorded: Path, tmp_path: Path) -> None:
    roll = Roll(recorded, game, tmp_path / "pictures.bin")
    before = read_steps(recorded, read_recording(recorded))
    # The seventh step pressed another button: what a player of these actions would have got.
    roll.splice(6 * 24, 8, bytes([DOWN] * 8))
    folder = write_branch(roll, tmp_path / "b")
    steps = read_steps(folder, read_recording(folder))
    assert steps[:6] == before[:6]
    assert [(s.step, s.first_frame, s.last_frame) for s in steps] == [
        (s.step, s.first_frame, s.last_frame) for s in before
    ]
    other = tmp_path / "fresh"
    game.restart(0)
    writer = RecordingWriter(other, game, mode="script", checkpoint="", checkpoint_sha256="")
    actions = [step.action for step in before]
    actions[6] = 4
    play_episode(game, Script(actions), 0, max_steps=16, recording=writer)
    fresh = read_steps(writer.finish(), read_recording(other))
    assert steps == fresh
    assert sum(step.reward for step in steps) == pytest.approx(sum(sum(step.terms.values()) for step in steps))


def test_what_an_agent_sees_is_read_from_the_picture(game: ConsoleGame, recorded: Path, tmp_path: Path) -> None:
    roll = Roll(recorded, game, tmp_path / "p")
    roll.advance(100)
    roll.go_to(95)
    np.testing.assert_array_equal(observation(roll, 95), game.observation())


def test_a_seek_restores_a_state_near_it_and_plays_few_frames(
    game: ConsoleGame, recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roll = Roll(recorded, game, tmp_path / "p")
    roll.advance(1000)
    played: list[int] = []
    frame = game.frame
    monkeypatch.setattr(game, "frame", lambda mask: (played.append(mask), frame(mask)))
    for target in (383, 10, 250, 251, 100):
        played.clear()
        roll.go_to(target)
        assert 0 < len(played) <= roll.key_every
    began = time.process_time()
    for target in range(0, 384, 7):
        roll.go_to(383 - target)
    assert (time.process_time() - began) / 55 < 0.1, "seconds of CPU a seek"


def test_changes_outside_and_over_a_loaded_state_are_refused(tmp_path: Path) -> None:
    def tell(*_: object, **__: object) -> None: ...

    player = Player(tmp_path, HomePaths(tmp_path), PlayerConfig(task="tiny_goal"), tell)
    player.record(True)
    for _ in range(30):
        player.one_frame()
    player.restart(3)
    for frame in range(60):
        player.press(1 if frame // 5 % 2 else 8)
        player.one_frame()
    folder = Path(player.record(False))
    roll = Roll(folder, TinyGame(), tmp_path / "p")
    for what in ((89, 2, b""), (0, 90, b""), (25, 10, b"\0"), (20, 0, b"\0" * 36_000), (10, 80, b"")):
        with pytest.raises(LabError):
            roll.splice(*what)
    roll.splice(10, 2, b"\1")  # shorter by one: the loaded state comes a frame earlier
    assert list(roll.jumps) == [29]
    branch = write_branch(roll, tmp_path / "branch")
    assert [jump.frame for jump in read_recording(branch).jumps] == [29]
    assert first_difference(branch, TinyGame()) == -1
    steps = read_steps(branch, read_recording(branch))
    assert [(s.step, s.first_frame, s.last_frame) for s in steps] == [(1, 0, 23), (1, 29, 52), (2, 53, 76)]
    assert not list(tmp_path.glob(".*"))


def test_a_recording_that_does_not_play_back_is_told(tmp_path: Path, recorded: Path, game: ConsoleGame) -> None:
    folder = tmp_path / "other"
    shutil.copytree(recorded, folder)
    pictures = bytearray((folder / "pictures.bin").read_bytes())
    pictures[100 * 5760 + 7] ^= 1
    (folder / "pictures.bin").write_bytes(pictures)
    roll = Roll(folder, game, tmp_path / "p")
    roll.advance(1000)
    assert roll.differs == 100
    manifest = folder / "recording.json"
    about = msgspec.json.decode(manifest.read_bytes()) | {"rom_sha256": "ab" * 32}
    manifest.write_bytes(msgspec.json.encode(about))
    with pytest.raises(LabError, match="another game"):
        Roll(folder, game, tmp_path / "p")


def test_playing_on_as_a_branch_records_the_beginning_too(tmp_path: Path) -> None:
    def tell(*_: object, **__: object) -> None: ...

    player = Player(tmp_path, HomePaths(tmp_path), PlayerConfig(task="tiny_goal"), tell)
    for _ in range(7):
        player.one_frame()
    player.record(True)
    for frame in range(90):
        player.press(1 if frame // 5 % 2 else 8)
        player.one_frame()
    folder = Path(player.record(False))
    player.play_on(folder, 59, branch=True)
    for _ in range(30):
        player.press(2)
        player.one_frame()
    branch = Path(player.record(False))
    about, before = read_recording(branch), read_recording(folder)
    assert (about.parent, about.forked_at, about.frames) == (folder.name, 60, 90)
    assert read_buttons(branch, about)[:60] == read_buttons(folder, before)[:60]
    assert set(read_buttons(branch, about)[60:]) == {2}
    assert first_difference(branch, TinyGame()) == -1
    lines = [(s.step, s.first_frame, s.last_frame) for s in read_steps(branch, about)]
    assert lines == [(1, 0, 16), (2, 17, 40), (3, 41, 64), (4, 65, 88)]
    assert read_steps(branch, about)[:2] == read_steps(folder, before)[:2]
