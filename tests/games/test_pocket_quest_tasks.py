"""The shipped task folders: whole, distinct starts, not solved by chance or by one button."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest

pytestmark = pytest.mark.warp
pytest.importorskip("warp")

import difficulty  # noqa: E402
from kit.game_batch import ACTIONS, success_rate  # noqa: E402
from make_tasks import STAGES  # noqa: E402
from walker import GameBatch  # noqa: E402

from emulator.state.snapshot import load_snapshots  # noqa: E402


@pytest.fixture(params=STAGES, ids=lambda stage: stage.id.split("/")[1])
def stage(request):
    return request.param


@pytest.fixture
def folder(stage):
    return difficulty.TASKS / stage.id


@pytest.fixture
def manifest(folder):
    return tomllib.loads((folder / "task.toml").read_text())


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
        goal = (snapshots, data["templates"], manifest["goal"]["tau"])
    one_button = np.tile(np.repeat(np.arange(len(ACTIONS)), len(snapshots)), (48, 1))
    assert success_rate(GameBatch(one_button.shape[1]), *goal, one_button) == 0
    chance = np.random.default_rng(3).integers(0, len(ACTIONS), (48, 128))
    assert success_rate(GameBatch(128), *goal, chance) <= difficulty.RANDOM_ALLOWED
