"""`dmglab bench load`: bounds that fail, replays that agree, files that travel."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.launch.launch_shapes import built_in
from trainer_core.cli.bench import replays, rig
from trainer_core.cli.main import main

ROM = next(iter(sorted((Path(__file__).parents[2] / "assets" / "games").rglob("*.gb"))))
SMALL = ("--num-envs", 8, "--steps", 40, "--replays", 3, "--pixel-steps", 1, "--min-distinct", 0.1)

pytestmark = pytest.mark.warp


def load(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, dict]:
    code = main(["bench", "load", *map(str, words)])
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture
def saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A file of three replays."""
    path = tmp_path / "replays.npz"
    code, found = load(capsys, "--rom", ROM, *SMALL, "--save", path)
    assert code == 0, found
    return path


def test_the_load_is_counted_and_replays_agree(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = load(capsys, "--rom", ROM, *SMALL)
    assert (code, found["ok"], found["steps"], found["note"]) == (0, True, 40, "")
    work = found["instructions_per_frame"]
    assert 0 < work["mean"] <= work["max"] <= work["max_of_a_launch"] < 17_556
    assert work["longest_to_mean"] >= 1
    assert math.isclose(found["frames_rendered_share"], 1 / 8, rel_tol=0.1)
    assert found["distinct"]["share"] == found["distinct"]["states"] / 8
    assert found["pixels"]["ms_with"] > 0
    (row,) = found["replays"]
    assert row == {"how": "each alone on the cpu", "machines": 3, "steps": 40, "different": []}


def test_machines_that_are_all_alike_fail(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = load(capsys, "--rom", ROM, "--num-envs", 16, "--steps", 1, "--replays", 0, "--pixel-steps", 0)
    assert (code, found["replays"], found["pixels"]) == (1, [], {})
    assert "distinct states, 90% wanted" in found["error"]


def test_a_time_limit_is_said_and_what_was_played_still_agrees(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = load(capsys, "--rom", ROM, *SMALL, "--steps", 500, "--max-seconds", 0)
    assert (code, found["steps"]) == (0, 50)
    assert "after 50 of 500" in found["note"]
    assert found["replays"][0]["steps"] == 50


def test_a_file_is_checked_elsewhere(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = load(capsys, "--rom", ROM, "--replay", saved)
    assert (code, found["what"], found["replays"][0]["machines"]) == (0, "load_replay", 3)


@pytest.mark.parametrize("part", ["buttons", "hashes", "pictures"])
def test_a_replay_that_ends_differently_fails(part: str, saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with np.load(saved) as data:
        arrays = {name: data[name].copy() for name in data.files}
    if part == "buttons":
        arrays["buttons"][:, 1] = 8  # START all the time: another screen
    elif part == "hashes":
        arrays["hashes"][1] = "0" * 16
    else:
        arrays["pictures"][1, 0, 0] ^= 1
    np.savez(saved, **arrays)
    code, found = load(capsys, "--rom", ROM, "--replay", saved)
    assert code == 1
    assert found["replays"][0]["different"] == [int(arrays["machines"][1])]
    assert "1 of 3 replays end differently" in found["error"]


def test_a_file_of_another_game_or_version_is_named(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.gb"
    other.write_bytes(ROM.read_bytes() + bytes(1))
    code, found = load(capsys, "--rom", other, "--replay", saved)
    assert (code, "made with the ROM" in found["error"]) == (2, True)
    with np.load(saved) as data:
        arrays: dict[str, Any] = {name: data[name] for name in data.files} | {"layout_version": np.int64(0)}
    np.savez(saved, **arrays)
    code, found = load(capsys, "--rom", ROM, "--replay", saved)
    assert (code, "another version" in found["error"]) == (2, True)
    saved.write_bytes(b"no file of ours")
    code, found = load(capsys, "--rom", ROM, "--replay", saved)
    assert (code, "holds no replays" in found["error"]) == (2, True)


def test_a_batch_of_replays_ends_like_each_alone(saved: Path) -> None:
    """What a GPU host without Warp's CPU does, tried on this device."""
    game = rig.load_game(rig.GameOptions(rom=ROM))
    played = replays.Played.load(saved, game)
    ends = replays._play_batch(played, game, "cpu", [2, 0], built_in(1))
    assert [end[0] for end in ends] == [played.hashes[2], played.hashes[0]]
    assert np.array_equal(ends[1][1], played.pictures[0])
