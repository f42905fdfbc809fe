"""Tasks from captured states: whole or not at all, with a tau that the start does not meet."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from emulator.snapshot import Snapshot
from emulator.snapshot_set import load_snapshots
from trainer_core.console import open_console
from trainer_core.envs.task_files import save_goal
from trainer_core.protocol.errors import TaskError
from trainer_core.protocol.paths import HomePaths
from trainer_core.protocol.tasks import find_task
from trainer_core.task_maker import TaskRequest, make_task

BASE = "pocket_quest/leave_bedroom"

pytestmark = pytest.mark.warp


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A start state, the goal a few tiles away, and a goal that is the start."""
    folder = tmp_path_factory.mktemp("captured")
    console = open_console(BASE, HomePaths(folder))
    console.restart(0)
    console.save_state(folder / "start.npz")
    save_goal(folder / "same.npz", console.observation()[None])
    for mask in (4, 8, 1, 2):  # up, down, right, left: one of them is free
        for _ in range(96):
            console.frame(mask)
    save_goal(folder / "goal.npz", console.observation()[None])
    return folder / "start.npz", folder / "goal.npz", folder / "same.npz"


def request(captured: tuple[Path, Path, Path], **changes: object) -> TaskRequest:
    fields = {"id": "mine/walk", "title": "Walk", "base": BASE, "starts": captured[:1],
              "goal": captured[1]}  # fmt: skip
    return TaskRequest(**{**fields, **changes})  # type: ignore[arg-type]


def test_the_task_can_be_read_played_and_is_not_solved_at_its_start(
    captured: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    home = HomePaths(tmp_path)
    folder = make_task(request(captured), home)
    task = find_task("mine/walk", home)
    assert task.folder == folder
    assert task.manifest.title == "Walk"
    assert task.manifest.rom == find_task(BASE, home).manifest.rom
    assert hashlib.sha256(task.starts_path.read_bytes()).hexdigest() == task.manifest.starts.sha256
    (state,) = load_snapshots(task.starts_path)
    np.testing.assert_array_equal(state.row, Snapshot.load(captured[0]).row)
    console = open_console("mine/walk", home)
    console.restart(0)
    console.judge.begin(console.observation())
    assert console.judge.dist > task.manifest.goal.tau > 0
    with np.load(captured[1]) as goal:
        console.judge.begin(goal["templates"][0])
    assert console.judge.dist == 0


def test_a_goal_that_is_the_start_is_refused_and_leaves_nothing(
    captured: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    with pytest.raises(TaskError, match="looks like a start state"):
        make_task(request(captured, goal=captured[2]), HomePaths(tmp_path))
    assert not list((tmp_path / "tasks").rglob("*.toml"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": "../escape"}, "lower-case letters"),
        ({"starts": ()}, "at least one start state"),
        ({"starts": (Path("/no/such.npz"),)}, "/no/such.npz"),
        ({"goal": Path("/no/goal.npz")}, "/no/goal.npz"),
        ({"base": "no/such"}, "no/such"),
    ],
)
def test_what_is_wrong_is_named(
    captured: tuple[Path, Path, Path], tmp_path: Path, changes: dict, message: str
) -> None:
    with pytest.raises(TaskError, match=message):
        make_task(request(captured, **changes), HomePaths(tmp_path))
    assert not list(tmp_path.rglob("*.toml"))


def test_an_id_that_is_taken_is_refused(captured: tuple[Path, Path, Path], tmp_path: Path) -> None:
    make_task(request(captured), HomePaths(tmp_path))
    with pytest.raises(TaskError, match="exists"):
        make_task(request(captured), HomePaths(tmp_path))
