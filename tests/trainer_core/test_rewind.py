"""Going back: frame by frame through the history, to a saved state, inside a recording."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from trainer_core.author.inputs import read_inputs
from trainer_core.envs.recording_writer import first_difference
from trainer_core.envs.single_game import ConsoleGame, TinyGame, open_game
from trainer_core.lab.paths import ASSETS, HomePaths
from trainer_core.lab.recording import read_recording, read_steps
from trainer_core.lab.tasks import Codec
from trainer_core.play import history as history_module
from trainer_core.play.history import History
from trainer_core.play.played_game import Player
from trainer_core.wire import records
from trainer_core.wire.errors import LabError, ProtocolError, TaskError
from trainer_core.wire.playing import PlayerConfig

ROM = ASSETS / "games" / "pocket_quest" / "pocket_quest.gb"
KEYS = (0, 1, 2, 4, 8, 16, 32)


@pytest.fixture
def told() -> list[tuple[type[records.Record], dict[str, Any]]]:
    return []


@pytest.fixture
def player(tmp_path: Path, told: list[Any]) -> Player:
    def tell(kind: type[records.Record], /, **fields: Any) -> None:
        told.append((kind, fields))

    return Player(tmp_path, HomePaths(tmp_path), PlayerConfig(task="tiny_goal"), tell)


def play(player: Player, frames: int, first: int = 0) -> None:
    """Other buttons in every seventh frame; the same ones for the same number."""
    for frame in range(first, first + frames):
        player.press(KEYS[frame // 7 % len(KEYS)])
        player.one_frame()


def test_a_state_is_kept_now_and_then_and_the_frames_between_are_played_again() -> None:
    kept: list[int] = []

    class Counted(TinyGame):
        def snapshot(self) -> Any:
            kept.append(len(history))
            return super().snapshot()

    game = Counted()
    history = History(game)
    game.restart(0)
    history.begin(0)
    frames = 4 * history_module.KEY_EVERY
    for frame in range(frames):
        game.frame(KEYS[frame % len(KEYS)])
        history.add(KEYS[frame % len(KEYS)], frame)
    assert len(kept) == 1 + frames // history_module.KEY_EVERY


def test_a_console_goes_back_to_every_state_it_was_in(tmp_path: Path) -> None:
    game = open_game(str(ROM), HomePaths(tmp_path))
    assert isinstance(game, ConsoleGame)
    history, hashes = History(game), []
    game.restart(0)
    history.begin(0)
    for frame in range(70):
        hashes.append(game._emulator.state_hash()[0])
        buttons = KEYS[frame // 7 % len(KEYS)]
        game.frame(buttons)
        history.add(buttons, frame + 1)
    for frame in reversed(range(20, 70)):
        undone, present = history.back() or pytest.fail("the history is too short")
        assert undone.known == frame + 1
        assert present.known == frame
        assert game._emulator.state_hash()[0] == hashes[frame], f"state {frame}"
    game.frame(1)  # another way on from here forgets the old one
    history.add(1, "other")
    undone, present = history.back() or pytest.fail("the history is too short")
    assert (undone.known, present.known) == ("other", 20)
    assert game._emulator.state_hash()[0] == hashes[20]


def test_the_history_is_bounded_and_ends_at_a_state_that_was_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_module, "MAX_FRAMES", 100)
    game = TinyGame()
    history = History(game)
    history.begin(None)
    for frame in range(500):
        game.frame(KEYS[frame // 7 % len(KEYS)])
        history.add(KEYS[frame // 7 % len(KEYS)], game.snapshot())
    kept = len(history)
    assert 60 <= kept <= 100
    while found := history.back():
        assert found[1].known == game.snapshot()
        kept -= 1
    assert kept == 0


def test_a_player_knows_again_what_it_knew(player: Player) -> None:
    known = [player._known()]
    for frame in range(60):
        play(player, 1, frame)
        known.append(player._known())
    for frame in reversed(range(60)):
        assert player.one_frame_back()
        assert player._known() == known[frame]
        assert player._frame == frame
    assert not player.one_frame_back(), "there is nothing before the beginning"


def test_what_is_rewound_was_never_recorded(player: Player, told: list[Any], tmp_path: Path) -> None:
    play(player, 5)
    player.record(True)
    play(player, 60)
    for _ in range(24):
        player.one_frame_back()
    player._next_event = 0.0
    player.one_frame_back()
    assert told[-1][1]["recording_frames"] == 35, "the clock of the recording goes back as well"
    play(player, 30, 1000)
    folder = Path(player.record(False))
    recording = read_recording(folder)
    assert (recording.frames, recording.jumps) == (65, ())
    assert first_difference(folder, TinyGame()) == -1
    steps = read_steps(folder, recording)
    assert [step.last_frame for step in steps] == [18, 42]
    assert [step.step for step in steps] == [1, 2]


def test_rewound_beyond_its_beginning_a_recording_begins_there(player: Player) -> None:
    play(player, 40)
    player.record(True)
    play(player, 3)
    for _ in range(20):
        player.one_frame_back()
    play(player, 30, 500)
    folder = Path(player.record(False))
    assert read_recording(folder).frames == 30
    assert first_difference(folder, TinyGame()) == -1


def test_a_recording_goes_on_over_jumps_and_can_be_pressed_again(player: Player) -> None:
    state = player.directory / "slot.npz"
    player.game.save_state(state)
    player.record(True)
    play(player, 30)
    player.restart(-1)
    play(player, 30, 300)
    player.load_state(state)
    play(player, 10, 600)
    player.undo_load()
    play(player, 10)
    folder = Path(player.record(False))
    recording = read_recording(folder)
    assert [jump.frame for jump in recording.jumps] == [30, 60, 70]
    assert first_difference(folder, TinyGame()) == -1


def test_a_recording_for_an_episode_ends_with_it_and_none_begins(player: Player) -> None:
    player.record(True, "episode")
    play(player, 10)
    player.restart(-1)
    assert player.recorder.writer is None
    assert read_recording(Path(player.record(False))).frames == 10
    play(player, 10)
    assert player.recorder.writer is None


def test_a_load_can_be_taken_back_and_again(player: Player, tmp_path: Path) -> None:
    player.game.save_state(tmp_path / "s.npz")
    before = player.game.snapshot()
    play(player, 40)
    there, known = player.game.snapshot(), player._known()
    player.load_state(tmp_path / "s.npz")
    assert player.game.snapshot() == before
    player.undo_load()
    assert player.game.snapshot() == there
    assert player._known() == known
    player.undo_load()
    assert player.game.snapshot() == before


def test_nothing_to_take_back_and_a_state_of_another_game_are_errors(player: Player, tmp_path: Path) -> None:
    with pytest.raises(LabError, match="no state was loaded"):
        player.undo_load()
    console = open_game(str(ROM), HomePaths(tmp_path))
    console.save_state(tmp_path / "console.npz")
    play(player, 10)
    there = player.game.snapshot()
    with pytest.raises(TaskError):
        player.load_state(tmp_path / "console.npz")
    assert player.game.snapshot() == there
    with pytest.raises(LabError, match="no state was loaded"):
        player.undo_load()


class FullDisk:
    """A file on a disk that is full from now on."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def write(self, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    def flush(self) -> None:
        self.file.flush()

    def close(self) -> None:
        self.file.close()


def test_a_disk_that_fills_up_leaves_a_whole_clip_and_says_so(player: Player, told: list[Any]) -> None:
    player.record(True)
    play(player, 50)
    assert player.recorder.writer is not None
    player.recorder.writer._pictures = FullDisk(player.recorder.writer._pictures)  # type: ignore[assignment]
    play(player, 10, 50)
    assert player.recorder.writer is None, "the game goes on without it"
    folder = Path(player.record(False))
    recording = read_recording(folder)
    assert recording.frames == 50
    assert first_difference(folder, TinyGame()) == -1
    errors = [fields["message"] for kind, fields in told if kind is records.ErrorRecord]
    assert errors == ["the recording ends after 50 frames: No space left on device"]


def test_a_disk_too_full_to_close_gives_up_the_last_frames(player: Player) -> None:
    class FullAtClose(FullDisk):
        def __init__(self, file: Any) -> None:
            super().__init__(file)
            self.closes = 0

        def close(self) -> None:
            self.closes += 1
            self.file.close()
            raise OSError(errno.ENOSPC, "No space left on device")

    player.record(True)
    play(player, 50)
    assert player.recorder.writer is not None
    player.recorder.writer._buttons = FullAtClose(player.recorder.writer._buttons)  # type: ignore[assignment]
    folder = Path(player.record(False))
    recording = read_recording(folder)
    assert recording.frames == 42
    assert [step.last_frame for step in read_steps(folder, recording)] == [23]
    assert first_difference(folder, TinyGame()) == -1


def test_a_way_with_a_jump_in_it_is_no_demonstration(player: Player) -> None:
    player.record(True)
    play(player, 10)
    player.restart(-1)
    play(player, 10)
    folder = Path(player.record(False))
    with pytest.raises((TaskError, ProtocolError), match="another state before frame 10"):
        read_inputs(folder, Codec())


def test_playing_on_from_a_frame_is_the_same_way_again(player: Player, tmp_path: Path) -> None:
    player.record(True)
    play(player, 30)
    player.restart(-1)
    play(player, 50, 300)
    folder = Path(player.record(False))
    end = player.game.snapshot()
    play(player, 100, 700)
    elsewhere = player.game.snapshot()
    player.play_on(folder, 79)
    assert player.game.snapshot() == end
    player.play_on(folder, 40)
    play(player, 39, 311)
    assert player.game.snapshot() == end, "the same buttons from there lead to the same end"
    player.play_on(folder, 10)
    assert player.one_frame_back()
    player.play_on(folder, 79)
    player.undo_load()
    assert player.game.snapshot() != elsewhere


def test_playing_on_refuses_another_game_and_a_frame_that_is_not_there(player: Player, tmp_path: Path) -> None:
    player.record(True)
    play(player, 20)
    folder = Path(player.record(False))
    with pytest.raises(LabError, match="has the frames 0 to 19, not 20"):
        player.play_on(folder, 20)
    manifest = folder / "recording.json"
    manifest.write_text(manifest.read_text().replace('"rom_sha256": ""', '"rom_sha256": "abc"'))
    there = player.game.snapshot()
    with pytest.raises(LabError, match="another game"):
        player.play_on(folder, 5)
    assert player.game.snapshot() == there


def test_a_console_plays_on_from_a_frame_of_its_recording_bit_for_bit(tmp_path: Path) -> None:
    def tell(*_: object, **__: object) -> None: ...

    console = Player(tmp_path, HomePaths(tmp_path), PlayerConfig(task=str(ROM)), tell)
    game = console.game
    assert isinstance(game, ConsoleGame)
    play(console, 90)
    console.record(True)
    play(console, 60)
    folder = Path(console.record(False))
    hashed = game._emulator.state_hash()
    play(console, 50, 1000)
    assert game._emulator.state_hash() != hashed
    console.play_on(folder, 59)
    assert game._emulator.state_hash() == hashed
    for _ in range(5):
        console.one_frame_back()
    console.play_on(folder, 54)
    found = game._emulator.state_hash()
    console.play_on(folder, 59)
    for _ in range(5):
        console.one_frame_back()
    assert game._emulator.state_hash() == found
    console.close()
