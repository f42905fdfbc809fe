"""What the player records is what the app's replay reads: frames, and the steps over them."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from gui.features.replay.model import Replay
from tests.support.made_homes import make_home
from trainer_core.host.agent import Agent
from trainer_core.lab import recording
from trainer_core.lab.paths import CHECKOUT, HomePaths
from trainer_core.lab.recording import (
    PICTURE_BYTES,
    RecordedStep,
    Recording,
    list_recordings,
    read_buttons,
    read_recording,
    read_steps,
    write_recording,
)
from trainer_core.lab.unfinished_recordings import UNFINISHED, is_unfinished, note_unfinished, recover, recover_below
from trainer_core.play.clips.opening import open_clip
from trainer_core.play.played_game import Player
from trainer_core.service import PlayerService
from trainer_core.wire.buttons import ACTION_MASKS, ACTIONS
from trainer_core.wire.errors import LabError, ProtocolError
from trainer_core.wire.frames import FrameReader
from trainer_core.wire.playing import PlayerConfig

WALK = [ACTIONS.index(name) for name in ("DOWN", "LEFT", "A", "UP", "RIGHT", "DOWN", "LEFT", "UP")]


class Walker:
    """An agent that walks a fixed way."""

    checkpoint = sha256 = "walker"
    probabilities: tuple[float, ...] = ()
    value = None

    def __init__(self) -> None:
        self.asked = 0
        self.mind: dict[str, list[str]] = {}

    def act(self) -> int:
        self.asked += 1
        return WALK[(self.asked - 1) % len(WALK)]

    def see(self, observation: np.ndarray) -> None: ...

    def begin(self, observation: np.ndarray) -> None: ...


@pytest.fixture
def player(tmp_path: Path) -> Player:
    def tell(*_: object, **__: object) -> None: ...

    made = Player(tmp_path, HomePaths(tmp_path), PlayerConfig(task="tiny_goal"), tell)
    made.agent = cast(Agent, Walker())
    made.human = False
    return made


def play(player: Player, frames: int) -> None:
    for _ in range(frames):
        player.one_frame()


def recorded(player: Player, frames: int) -> Replay:
    player.record(True)
    play(player, frames)
    return Replay(Path(player.record(False)))


def check_steps(player: Player, replay: Replay) -> None:
    """Buttons and pictures of every step are the ones its line speaks of."""
    judge = player.game.judge
    assert judge is not None
    for step in replay.steps:
        span = replay.buttons[step.first_frame : step.last_frame + 1]
        assert set(span.tolist()) <= {0, ACTION_MASKS[step.action]}
        judge.begin(replay.picture(step.last_frame)[::2, ::2])
        assert judge.dist == step.dist, "the last frame shows what was judged"
        for frame in (step.first_frame, step.last_frame):
            assert replay.steps[replay.step_at(frame)] is step
            assert f"   {ACTIONS[step.action]}   " in f"{replay.describe(frame)}   "


def test_a_frame_is_told_with_the_step_it_belongs_to(player: Player) -> None:
    replay = recorded(player, 5 * 24)
    assert [(step.first_frame, step.last_frame) for step in replay.steps] == [
        (24 * number, 24 * number + 23) for number in range(5)
    ]
    assert [step.action for step in replay.steps] == WALK[:5]
    pressed = np.flatnonzero(replay.buttons)
    assert [replay.steps[replay.step_at(int(frame))].action for frame in pressed] == [
        ACTION_MASKS.index(replay.buttons[frame]) for frame in pressed
    ]
    assert len(set(replay.buttons[pressed].tolist())) == 5, "the walk must press all five"
    check_steps(player, replay)


def test_what_the_live_view_shows_is_what_was_recorded(player: Player) -> None:
    """Picture, buttons, action, reward and distance of every frame, as frames.bin has them."""
    reader = FrameReader(player.directory / "frames.bin")
    player.record(True)
    shown = []
    for _ in range(3 * 24 + 5):
        play(player, 1)
        found = reader.latest()
        assert found is not None
        shown.append(found[1:])
    replay = Replay(Path(player.record(False)))
    assert len(replay) == len(shown)
    for frame, (info, picture) in enumerate(shown):
        assert picture == replay.picture(frame).tobytes()
        assert info.buttons == replay.buttons[frame]
        index = replay.step_at(frame)
        if index >= 0:
            assert info.action == replay.steps[index].action, "of the step that runs"
        if index >= 0 and frame == replay.steps[index].last_frame:
            step = replay.steps[index]
            assert (info.env_steps, info.reward) == (step.step, pytest.approx(step.reward))
            assert info.dist == pytest.approx(step.dist)
            assert sum(step.terms.values()) == pytest.approx(step.reward)
    reader.close()


def test_a_recording_that_begins_and_ends_inside_steps(player: Player) -> None:
    play(player, 10)
    replay = recorded(player, 14 + 24 + 7)
    assert [(step.first_frame, step.last_frame) for step in replay.steps] == [(0, 13), (14, 37)]
    assert [step.step for step in replay.steps] == [1, 2]
    assert replay.step_at(38) == -1, "no step had ended with these frames"
    assert replay.describe(44) == ""
    check_steps(player, replay)


def test_frames_that_a_take_over_cut_off_belong_to_no_step(player: Player) -> None:
    player.record(True)
    play(player, 24 + 5)
    player.take_over(True)
    play(player, 5)
    player.take_over(False)  # the agent's step begins now
    play(player, 24)
    replay = Replay(Path(player.record(False)))
    assert [(step.first_frame, step.last_frame) for step in replay.steps] == [(0, 23), (34, 57)]
    assert [replay.step_at(frame) for frame in (23, 24, 33, 34)] == [0, -1, -1, 1]
    check_steps(player, replay)


def bare_recording(folder: Path, frames: int, lines: list[dict[str, Any]]) -> Recording:
    folder.mkdir()
    (folder / "pictures.bin").write_bytes(bytes(frames * PICTURE_BYTES))
    (folder / "buttons.bin").write_bytes(bytes(frames))
    (folder / "steps.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    recording = Recording(task="t", rom_sha256="", state="s", frames=frames, created_at=0.0)
    write_recording(folder, recording)
    return read_recording(folder)


def test_an_older_recording_tells_the_same(tmp_path: Path) -> None:
    """Its lines named one frame: how many there were when the step had ended."""
    facts = {"action": 3, "reward": 0.5, "dist": 0.25, "success": False, "done": False, "trunc": False}
    lines = [{"frame": end, "step": step, **facts} for step, end in ((4, 14), (5, 38))]
    recording = bare_recording(tmp_path / "old", 40, lines)
    assert read_steps(tmp_path / "old", recording) == [
        RecordedStep(step=4, first_frame=0, last_frame=13, **facts),
        RecordedStep(step=5, first_frame=14, last_frame=37, **facts),
    ]
    assert [Replay(tmp_path / "old").step_at(frame) for frame in (0, 13, 14, 37, 38)] == [0, 0, 1, 1, -1]


@pytest.mark.parametrize(
    "line",
    [
        {"step": 1},
        {"step": 1, "first_frame": 0, "last_frame": "x"},
        {"step": 1, "first_frame": 3, "last_frame": 2},
        {"step": 1, "first_frame": 0, "last_frame": 40},
        {"step": 1, "first_frame": -1, "last_frame": 5},
        {"step": 1, "frame": 41},
    ],
)
def test_a_line_that_is_no_step_of_the_recording_is_named(line: dict[str, Any], tmp_path: Path) -> None:
    recording = bare_recording(tmp_path / "bad", 40, [line])
    with pytest.raises(ProtocolError, match=r"steps\.jsonl, line 1: "):
        read_steps(tmp_path / "bad", recording)


def test_recordings_are_found_without_a_look_into_any_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = make_home(tmp_path, 20, 1, checkpoints=2)
    older, newer = (home.players / name / "recordings" / name for name in ("b", "a"))
    for second, folder in enumerate((older, newer)):
        folder.mkdir(parents=True)
        (folder / recording.MANIFEST).write_text("{}")
        os.utime(folder / recording.MANIFEST, (second, second))
    seen: list[str] = []
    real = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: (seen.append(str(path)), real(path))[1])
    assert recording.list_recordings(home.root) == [older, newer]
    assert seen
    assert not [path for path in seen if "run-0" in path]


class SmallDisk(io.FileIO):
    """A file of a folder that holds so many bytes in all, as a full disk has it."""

    room = 40 * recording.PICTURE_BYTES

    def write(self, data: Any) -> int:
        folder = Path(str(self.name)).parent
        used = sum(path.stat().st_size for path in folder.glob("*.bin"))
        if used + len(data) > self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(data) or 0


def test_a_short_recording_outlives_a_full_disk(player: Player) -> None:
    """Its buttons are all in a buffer when the disk takes no more."""
    player.record(True)
    writer = player.recorder.writer
    assert writer is not None
    for part, name in (("_pictures", "pictures.bin"), ("_buttons", "buttons.bin")):
        getattr(writer, part).close()
        setattr(writer, part, io.BufferedWriter(SmallDisk(writer.folder / name, "w")))
    play(player, 60)
    assert player.recorder.writer is None, "it ended by itself"
    kept = Replay(Path(player.recorder.last))
    assert 24 <= len(kept) < 40
    assert len(kept.buttons) == len(kept)
    assert all(step.last_frame < len(kept) for step in kept.steps)


RECORDING = """
import sys, time
from pathlib import Path
from types import SimpleNamespace
import numpy as np
from trainer_core.envs import recording_writer
from trainer_core.envs.recording_writer import RecordingWriter

def save_state(path):
    path.write_bytes(b"state")

game = SimpleNamespace(
    screen=SimpleNamespace(colours=(), palette=()), save_state=save_state, task="t", rom_sha256="",
    frames_per_step=4,
)
recording_writer.FLUSH_S = 0.0
writer = RecordingWriter(
    Path(sys.argv[1]), game, mode="human", checkpoint="", checkpoint_sha256="",
)
if sys.argv[2:] == ["none"]:
    print("ready", flush=True)
    sys.stdin.read()
def frames(first, last):
    for frame in range(first, last):
        writer.add_frame(np.full((144, 160), frame % 4, np.uint8), frame)
        if frame % 4 == 3:
            writer.add_step(step=1, action=-1, reward=0.0, dist=0.0, success=frame == 7)
frames(0, 6)
writer.jump(game)
frames(6, 10)
writer.jump(game)
writer.take_back(game, was_frame=False)
frames(10, 11)
recording_writer.FLUSH_S = 1e9
frames(11, 14)  # these are lost with the process
writer.jump(game)
print("ready", flush=True)
sys.stdin.read()
"""


def killed_recording(folder: Path, *words: str) -> None:
    """A process records there, and is killed."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with subprocess.Popen(
        [sys.executable, "-c", RECORDING, str(folder), *words],
        cwd=CHECKOUT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        with pytest.raises(ProtocolError, match="recorded still"):
            recover(folder)
        with pytest.raises(LabError, match="recorded still"):
            open_clip(folder, folder.parent / "clip", "", HomePaths(folder))
        child.kill()


def test_a_recording_whose_player_was_killed_opens_with_what_it_had_written(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    folder = home.players / "p" / "recordings" / "r"
    killed_recording(folder)
    clip = tmp_path / "clip"
    open_clip(folder, clip, "", home)
    found = read_recording(clip)
    assert (found.frames, found.success) == (11, True)
    assert [jump.frame for jump in found.jumps] == [6]
    assert read_buttons(clip, found) == bytes(range(11))
    assert [step.last_frame for step in read_steps(clip, found)] == [3, 7]
    assert is_unfinished(folder), "clip changes nothing of what it opens"
    told: list[str] = []
    service = PlayerService(home)
    service.on_output = told.extend
    asyncio.run(service._tidy())
    assert told == [f"a recording whose player was killed is kept: {folder}"]
    assert read_recording(folder) == found
    assert list_recordings(home.players) == [folder]
    assert not (folder / UNFINISHED).exists()


def test_a_recording_without_a_frame_is_removed_and_a_link_is_not_followed(tmp_path: Path) -> None:
    killed_recording(tmp_path / "none", "none")
    assert recover_below(tmp_path) == []
    assert not (tmp_path / "none").exists()
    mine = tmp_path / "mine"
    mine.write_bytes(b"x" * recording.PICTURE_BYTES * 3)
    folder = tmp_path / "linked"
    folder.mkdir()
    begun = Recording(task="t", rom_sha256="", state="", frames=1, created_at=0.0)
    note_unfinished(folder, begun)
    (folder / recording.PICTURES).symlink_to(mine)
    (folder / recording.BUTTONS).write_bytes(b"1")
    (folder / recording.STEPS).touch()
    assert recover_below(tmp_path) == []
    assert mine.stat().st_size == recording.PICTURE_BYTES * 3
