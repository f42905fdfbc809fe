"""Every shipped task folder: its hashes, its inputs, and that one button never solves it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.warp
pytest.importorskip("warp")

from kit.game_batch import ACTIONS, CHECKOUT, Codec, GameBatch, success_rate  # noqa: E402
from kit.task_folder import RANDOM_ALLOWED, TASKS, Start, play, read_goal, sha256  # noqa: E402

from emulator.state.snapshot import load_snapshots  # noqa: E402

FOLDERS = sorted(path.parent for path in TASKS.glob("*/*/task.toml"))
STEPS = 24  # of each quick rollout
SOME = (0, -1)


@pytest.fixture(params=FOLDERS, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def folder(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture
def manifest(folder: Path) -> dict:
    return tomllib.loads((folder / "task.toml").read_text())


@pytest.fixture
def codec(manifest: dict) -> Codec:
    return Codec(*(manifest["codec"][k] for k in ("frames_per_step", "release_after_frames")))


def test_hashes_are_those_of_the_files(folder: Path, manifest: dict):
    assert manifest["rom"]["sha256"] == sha256(CHECKOUT / manifest["rom"]["path"])
    for part in ("starts", "goal"):
        assert manifest[part]["sha256"] == sha256(folder / manifest[part]["file"])


def test_inputs_make_the_stored_states(folder: Path, manifest: dict, codec: Codec):
    rows = json.loads((folder / "starts.json").read_text())
    assert len(rows) == manifest["starts"]["count"] >= 64
    starts = [Start(rows[k]["wait_frames"], tuple(rows[k]["actions"].split())) for k in SOME]
    _, pictures = play(CHECKOUT / manifest["rom"]["path"], starts, codec)
    with np.load(folder / "starts.npz") as data:
        assert np.array_equal(data["pictures"][list(SOME)], pictures)


def test_start_states_differ(folder: Path):
    states = {snapshot.row.tobytes() for snapshot in load_snapshots(folder / "starts.npz")}
    assert len(states) >= 32


def test_neither_chance_nor_one_button_solves_it(folder: Path, manifest: dict, codec: Codec):
    snapshots = load_snapshots(folder / "starts.npz")[::10]
    templates, mask = read_goal(folder)
    goal = (snapshots, templates, manifest["goal"]["tau"])
    rom = CHECKOUT / manifest["rom"]["path"]
    one_button = np.tile(np.repeat(np.arange(len(ACTIONS)), len(snapshots)), (STEPS, 1))
    batch = GameBatch(rom, one_button.shape[1], codec)
    assert success_rate(batch, *goal, one_button, mask) == 0
    chance = np.random.default_rng(3).integers(0, len(ACTIONS), (STEPS, 64))
    assert success_rate(GameBatch(rom, 64, codec), *goal, chance, mask) <= RANDOM_ALLOWED
