"""The shipped task folders: whole, distinct starts, not solved by chance or by one button."""

from __future__ import annotations

import json
import tomllib

import numpy as np
import pytest

pytestmark = pytest.mark.warp
pytest.importorskip("warp")

import difficulty  # noqa: E402
from game_batch import ACTIONS, ROM  # noqa: E402
from make_tasks import STAGES, Start, play, sha256  # noqa: E402

from emulator.snapshot_set import load_snapshots  # noqa: E402


@pytest.fixture(params=STAGES, ids=lambda stage: stage.id.split("/")[1])
def stage(request):
    return request.param


@pytest.fixture
def folder(stage):
    return difficulty.TASKS / stage.id


@pytest.fixture
def manifest(folder):
    return tomllib.loads((folder / "task.toml").read_text())


def test_hashes_are_those_of_the_files(folder, manifest):
    assert manifest["rom"]["sha256"] == sha256(ROM)
    for part in ("starts", "goal"):
        assert manifest[part]["sha256"] == sha256(folder / manifest[part]["file"])


def test_inputs_make_the_stored_states(folder):
    rows = json.loads((folder / "starts.json").read_text())
    some = [0, len(rows) // 2, len(rows) - 1]
    starts = [Start(rows[k]["wait_frames"], tuple(rows[k]["actions"].split())) for k in some]
    snapshots, pictures = play(starts)
    stored = load_snapshots(folder / "starts.npz")
    with np.load(folder / "starts.npz") as data:
        assert np.array_equal(data["pictures"][some], pictures)
    for k, snapshot in zip(some, snapshots, strict=True):
        assert np.array_equal(stored[k].row[:0x6000], snapshot.row[:0x6000])  # VRAM and work RAM


def test_starts_are_distinct_and_far_enough(folder, manifest):
    snapshots = load_snapshots(folder / "starts.npz")
    assert len(snapshots) == manifest["starts"]["count"]
    with np.load(folder / "goal.npz") as data:
        graph = difficulty.Graph(data["templates"], manifest["goal"]["tau"])
    keys = graph.add(snapshots)
    assert len(set(keys)) == len(keys) >= 64
    graph.explore()
    steps = graph.steps_to_goal()
    assert min(steps[key] for key in keys) >= difficulty.SHORTEST_ALLOWED
    assert max(steps[key] for key in keys) <= manifest["episode"]["horizon"]


def test_neither_chance_nor_one_button_solves_it(folder, manifest):
    snapshots = load_snapshots(folder / "starts.npz")[::8]
    with np.load(folder / "goal.npz") as data:
        game = (snapshots, data["templates"], manifest["goal"]["tau"], 48)
    one_button = np.tile(np.repeat(np.arange(len(ACTIONS)), len(snapshots)), (48, 1))
    assert difficulty.success_rate(*game, one_button) == 0
    chance = np.random.default_rng(3).integers(0, len(ACTIONS), (48, 128))
    assert difficulty.success_rate(*game, chance) <= difficulty.RANDOM_ALLOWED
