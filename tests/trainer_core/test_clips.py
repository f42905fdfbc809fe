"""Rollouts, GIFs, input movies as recordings: every frame and step is what the source says."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from gui.features.replay.model import Replay
from tests.support.decoders import DECODERS
from trainer_core.envs.recording_writer import first_difference
from trainer_core.envs.single_game import ConsoleGame, open_game
from trainer_core.formats.gif import GREENS, save_gif, shades_image, true_delays
from trainer_core.formats.video import Clip, export_clip
from trainer_core.lab.arc_games import PALETTE
from trainer_core.lab.paths import ASSETS, HomePaths
from trainer_core.lab.recording import read_steps
from trainer_core.play.clips.movies import PYBOY_BOOT_FRAMES, VBM_BUTTONS
from trainer_core.play.clips.opening import open_clip
from trainer_core.play.rollout import Rollout
from trainer_core.wire.buttons import ACTION_MASKS, MASK_BITS
from trainer_core.wire.errors import LabError

ROM = ASSETS / "games" / "pocket_quest" / "pocket_quest.gb"
TASK = "pocket_quest/leave_bedroom"
NOWHERE = HomePaths(Path("/nowhere"))


def _chunk(kind: bytes, data: bytes) -> bytes:
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


TOO_LARGE_PNG = (
    b"\x89PNG\r\n\x1a\n"
    + _chunk(b"IHDR", struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0))
    + _chunk(b"IDAT", b"")
)


def opened(path: Path, out: Path, rom: str = "") -> tuple[Replay, dict[str, Any]]:
    found = open_clip(path, out, rom, NOWHERE)
    assert not list(out.parent.glob(".*"))
    return Replay(out), found


# -- animations ------------------------------------------------------------------------------


@pytest.mark.parametrize(("suffix", "kind"), [(".gif", "GIF"), (".apng", "PNG")])
def test_colours_of_any_size_are_shown_as_long_as_they_last(tmp_path: Path, suffix: str, kind: str) -> None:
    pictures = []
    for number in range(4):
        picture = np.zeros((30, 50, 3), np.uint8)
        picture[:, : 10 + number] = (255, 0, 40 * number)
        pictures.append(Image.fromarray(picture))
    path = tmp_path / f"clip{suffix}"
    pictures[0].save(path, format=kind, save_all=True, append_images=pictures[1:], duration=[100, 200, 100, 50], loop=0)
    replay, found = opened(path, tmp_path / "out")
    assert (found["width"], found["height"], found["format"]) == (50, 30, "rgb888")
    assert not replay.can_play_on
    assert len(replay) == 27, "0.45 s at 59.7 frames a second"
    for frame, number in ((0, 0), (5, 0), (6, 1), (17, 1), (18, 2), (23, 2), (24, 3), (26, 3)):
        np.testing.assert_array_equal(replay.picture(frame), np.asarray(pictures[number]))
    assert replay.describe(3) == ""
    exported = export_clip(tmp_path / "out", tmp_path / "again.apng", Clip(scale=2))
    assert (exported["width"], exported["height"]) == (100, 60)
    with pytest.raises(LabError, match="pictures only"):
        first_difference(tmp_path / "out", open_game("tiny_goal", NOWHERE))


def test_a_gif_of_ours_becomes_shades_again(tmp_path: Path) -> None:
    shades = np.random.default_rng(1).integers(0, 4, (144, 160), np.uint8)
    save_gif(tmp_path / "a.gif", iter([shades_image(shades, GREENS, 3)]), 4)
    replay, _ = opened(tmp_path / "a.gif", tmp_path / "out")
    np.testing.assert_array_equal(replay.picture(0), shades)


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.gif", b"GIF89a", "no GIF, APNG or PNG"),
        ("a.png", b"\x89PNG\r\n\x1a\n" + b"\0" * 40, "no GIF, APNG or PNG"),
        ("a.png", TOO_LARGE_PNG, "no animation that can be read: .* pixels"),
        ("a.vbm", b"something", "does not begin with VBM"),
        ("a.replay", zlib.compress(b"[1, 2]"), "no movie"),
        ("a.replay", b"\0" * 99, "no movie"),
        ("missing.gif", None, "no such file"),
        ("a.json", b"{}", "no movie"),
        ("a.jsonl", b"{}\n", "line 1: no line of an ARC-AGI-3 recording"),
        ("a.jsonl", b'{"data":{"frame":[[[16]]]}}', "<= 15"),
        ("a.jsonl", b'\n{"data":{"frame":[[[1], [1, 2]]]}}', "line 2: its frame is no animation"),
        ("a.jsonl", b'{"data":{"game_id":"ls20-1"}}', "no line has a frame"),
        ("a.jsonl", b'{"data":{"frame":[' + b"[[0]]," * 800_000 + b"[[0]]]}}", "more than 4 MiB"),
        ("a.replay", zlib.compress(b"[[" + b"[]," * 3_000_000), "array` of length 3"),
        ("a.replay", zlib.compress(b'[[[1e999,[8],""]],"AA==",null]'), "Expected `int`"),
        ("a.replay", zlib.compress(b"[" * 200_000), "nested too deep"),
    ],
)
def test_what_cannot_be_read_is_one_line_and_leaves_nothing(
    tmp_path: Path, name: str, data: bytes | None, said: str
) -> None:
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(LabError, match=said) as caught:
        open_clip(path, tmp_path / "out", "", NOWHERE)
    assert name in str(caught.value)
    assert [found.name for found in tmp_path.iterdir()] == ([name] if data is not None else [])


def test_an_unknown_word_for_an_action_of_arc_presses_nothing(tmp_path: Path) -> None:
    line = {"data": {"game_id": "l", "frame": [[[0] * 64] * 64], "action_input": {"id": "ACTION²"}}}
    (tmp_path / "a.jsonl").write_text(json.dumps(line))
    replay, _ = opened(tmp_path / "a.jsonl", tmp_path / "out")
    assert [step.action for step in replay.steps] == [-1]


def test_a_gif_that_is_longer_than_any_recording_says_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trainer_core.play.clips.animations.MAX_FRAMES", 250)
    pictures = [Image.new("RGB", (4, 4), (number % 2 * 255, 0, 0)) for number in range(300)]
    pictures[0].save(tmp_path / "a.gif", save_all=True, append_images=pictures[1:], duration=10)
    told: list[float] = []
    with pytest.raises(LabError, match="more than 250 pictures"):
        open_clip(tmp_path / "a.gif", tmp_path / "out", "", NOWHERE, told.append)
    assert len(told) == 2
    assert told == sorted(told)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("meta.json", {"mode": "dance"}),
        ("meta.json", {"frames_per_step": 10**12}),
        ("meta.json", {"frames_per_step": 0}),
        ("meta.json", {"release_after_frames": -1}),
        ("meta.json", {"task": ["x"]}),
        ("rollout.jsonl", {"reward": "x"}),
        ("receipt.json", {"error": {}}),
        ("receipt.json", {"config": []}),
        ("receipt.json", {"wrong": {"step": 1e300, "env": 0, "what": ""}}),
        ("receipt.json", {"wrong": {"step": 1, "env": 0}}),
    ],
)
def test_a_folder_with_a_wrong_field_is_one_line_and_leaves_nothing(
    tmp_path: Path, name: str, changes: dict[str, Any]
) -> None:
    DECODERS["receipt" if name == "receipt.json" else "rollout"].make(tmp_path / "folder")
    path = tmp_path / "folder" / name
    first = json.loads(path.read_text().splitlines()[0])
    path.write_text(json.dumps(first | changes) + "\n")
    with pytest.raises(LabError, match=r"no r.* that can be") as refused:
        open_clip(tmp_path / "folder", tmp_path / "out", "", NOWHERE)
    assert str(tmp_path / "folder") in str(refused.value)
    assert [found.name for found in tmp_path.iterdir()] == ["folder"]


def test_a_pipe_that_is_called_a_gif_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.gif")
    with pytest.raises(LabError, match=r"a.gif: .*not a regular file"):
        open_clip(tmp_path / "a.gif", tmp_path / "out", "", NOWHERE)


# -- ARC-AGI-3 -------------------------------------------------------------------------------


def test_lines_of_arc_in_their_old_and_new_words_become_pictures_and_steps(tmp_path: Path) -> None:
    grids = np.random.default_rng(2).integers(0, 16, (4, 64, 64))
    rows: list[dict[str, Any]] = [
        {"game_id": "ls20-1", "frame": grids[:1].tolist(), "state": "NOT_FINISHED", "score": 0,
         "action_input": {"id": 0}, "guid": "x"},
        {"game_id": "ls20-1", "frame": grids[1:3].tolist(), "state": "NOT_FINISHED",
         "levels_completed": 1, "win_levels": 2, "action_input": {"id": "ACTION6", "data": {}}},
        {"game_id": "ls20-1", "frame": grids[3:].tolist(), "state": "WIN", "score": 2,
         "win_score": 2, "action_input": {"id": 3}},
        {"game_id": "ls20-1", "frame": [], "state": "WIN", "action_input": {"id": "ACTION1"}},
        {"card_id": "c", "won": 1},
    ]  # fmt: skip
    lines = [json.dumps({"timestamp": "2026-11-22T22:00:00+00:00", "data": row}) for row in rows]
    (tmp_path / "ls20-1.jsonl").write_text("\n".join(lines))
    replay, found = opened(tmp_path / "ls20-1.jsonl", tmp_path / "out")
    assert (found["frames"], found["format"], found["can_be_edited"]) == (48, "rgb888", False)
    rgb = np.array([(c >> 16, c >> 8 & 255, c & 255) for c in PALETTE], np.uint8)
    for frame in (0, 11, 12, 24, 47):
        np.testing.assert_array_equal(replay.picture(frame), rgb[grids[frame // 12]])
    click, left = read_steps(tmp_path / "out", replay.recording)
    assert (click.first_frame, click.last_frame, click.action, click.reward) == (12, 35, -1, 1)
    assert (left.action, left.reward, left.dist, left.success) == (5, 1, 0, True)
    assert (replay.recording.task, replay.recording.success) == ("arc/ls20", True)


# -- movies ----------------------------------------------------------------------------------


def vbm(masks: list[int], **changed: int) -> bytes:
    """A movie of Pocket Quest, written out by the format's own offsets."""
    rom = ROM.read_bytes()
    data = bytearray(256)
    data[0:4] = b"VBM\x1a"
    struct.pack_into("<III", data, 4, changed.get("version", 1), 7, changed.get("frames", len(masks)))
    data[0x14], data[0x15] = changed.get("start", 0), changed.get("controllers", 1)
    data[0x16] = changed.get("system", 0)
    data[0x24:0x30] = rom[0x134:0x140]
    data[0x32:0x34] = rom[0x14E:0x150] if not changed.get("other") else b"\1\2"
    struct.pack_into("<I", data, 0x3C, 256)
    for mask in masks:
        word = sum(1 << bit for bit, name in enumerate(VBM_BUTTONS) if mask >> MASK_BITS.index(name) & 1)
        data += struct.pack("<H", word | changed.get("reset", 0))
    return bytes(data)


MASKS = [0] * 100 + [128] * 6 + [0] * 60 + [8] * 20 + [16, 32, 64, 1, 2, 4]


def test_a_vbm_movie_presses_its_buttons_on_our_console(tmp_path: Path) -> None:
    (tmp_path / "m.vbm").write_bytes(vbm(MASKS))
    replay, found = opened(tmp_path / "m.vbm", tmp_path / "out")
    assert replay.buttons.tolist() == MASKS
    assert found["can_be_edited"]
    game = open_game(str(ROM), NOWHERE)
    assert first_difference(tmp_path / "out", game) == -1
    game.restart(0)
    for mask in MASKS[:120]:
        game.frame(mask)
    np.testing.assert_array_equal(replay.picture(119), game.picture())


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"system": 2}, "Game Boy Color"),
        ({"system": 1}, "Advance"),
        ({"start": 1}, "save state"),
        ({"start": 2}, "battery"),
        ({"controllers": 3}, "controllers 0011"),
        ({"version": 2}, "version"),
        ({"reset": 0x400}, "resets the console in frame 1"),
        ({"frames": 10**6}, "cut short"),
        ({"other": 1}, "name it with --rom"),
    ],
)
def test_variants_of_vbm_that_do_not_say_what_a_dmg_needs_are_named(
    tmp_path: Path, changed: dict[str, int], said: str
) -> None:
    (tmp_path / "m.vbm").write_bytes(vbm([0, 1], **changed))
    with pytest.raises(LabError, match=said):
        open_clip(tmp_path / "m.vbm", tmp_path / "out", "", NOWHERE)


def pyboy_replay(events: list[Any], state: bytes | None = None) -> bytes:
    rom_hash = base64.b64encode(hashlib.sha256(ROM.read_bytes()).digest()).decode()
    begun = base64.b64encode(state).decode() if state else None
    return zlib.compress(json.dumps([events, rom_hash, begun]).encode())


def test_a_pyboy_movie_is_pressed_and_compared_with_its_own_pictures(tmp_path: Path) -> None:
    game = open_game(str(ROM), NOWHERE)
    game.restart(0)
    for _ in range(100):
        game.frame(0)
    # PyBoy 2.8.1's own colours, as a movie recorded by it has them.
    greys = np.array([0xFF, 0x99, 0x55, 0x00], np.uint8)[game.picture()][..., None].repeat(3, -1)
    same = base64.b64encode(greys.tobytes()).decode()
    other = base64.b64encode((greys // 255 * 255).tobytes()).decode()
    boot = PYBOY_BOOT_FRAMES
    for screen, noted in ((same, ""), (other, "1 of the 1 pictures")):
        events = [[boot + 100, [8], screen], [boot + 106, [16, 5, 2], ""], [boot + 110, [13], ""]]
        path = tmp_path / "m.replay"
        path.write_bytes(pyboy_replay(events))
        out = tmp_path / (noted[:1] or "same")
        replay, found = opened(path, out)
        assert replay.buttons.tolist() == [0] * 100 + [128] * 6 + [16 | 8] * 4 + [8] * 60
        assert noted in found["note"]
        assert bool(noted) == bool(found["note"])


# -- rollouts --------------------------------------------------------------------------------


class Walker:
    """An agent that presses what it is told."""

    def __init__(self) -> None:
        self.way = iter([5, 3, 6, 4, 0, 3, 5, 4])

    def act(self) -> int:
        return next(self.way)

    def begin(self, observation: np.ndarray) -> None: ...

    def see(self, observation: np.ndarray) -> None: ...


@pytest.fixture(scope="module")
def game() -> ConsoleGame:
    found = open_game(TASK, NOWHERE)
    assert isinstance(found, ConsoleGame)
    return found


def written_rollout(folder: Path, game: ConsoleGame, every: int, **meta: Any) -> Rollout:
    rollout = Rollout(game, Walker(), every)
    rollout.play(2, 8)
    folder.mkdir()
    images = (shades_image(shades, GREENS) for shades in rollout.pictures)
    save_gif(folder / "rollout.gif", images, true_delays(len(rollout.pictures), rollout.every))
    (folder / "rollout.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rollout.rows))
    about = {
        "task": TASK,
        "rom_sha256": game.rom_sha256,
        "mode": "greedy",
        "start_index": 2,
        "frames_per_step": 24,
        "release_after_frames": 8,
        "gif_every_frames": rollout.every,
    } | meta
    (folder / "meta.json").write_text(json.dumps(about))
    return rollout


@pytest.mark.parametrize("every", [0, 8])
@pytest.mark.parametrize("is_known", [True, False])
def test_a_rollouts_pictures_buttons_and_rewards_are_its_logs(
    tmp_path: Path, game: ConsoleGame, every: int, is_known: bool
) -> None:
    meta = {} if is_known else {"rom_sha256": "ab" * 32}
    played = written_rollout(tmp_path / "rollout", game, every, **meta)
    replay, found = opened(tmp_path / "rollout" / "meta.json", tmp_path / "out")
    assert found["can_be_edited"] == is_known
    assert bool(found["note"]) != is_known
    assert len(replay) == 8 * 24
    assert game.judge is not None
    for row, step in zip(played.rows, replay.steps, strict=True):
        k = row["step"]
        assert (step.step, step.first_frame, step.last_frame) == (k + 1, 24 * k, 24 * k + 23)
        assert (step.action, step.dist) == (row["action"], pytest.approx(row["dist"]))
        assert step.reward == pytest.approx(row["reward"])
        held = replay.buttons[24 * k : 24 * k + 24].tolist()
        assert held == [ACTION_MASKS[row["action"]]] * 8 + [0] * 16
        picture = played.pictures[(k + 1) * 24 // (every or 24)]
        np.testing.assert_array_equal(replay.picture(step.last_frame), picture)
        assert f"step {k + 1}   {row['button']}   " in replay.describe(step.last_frame)
