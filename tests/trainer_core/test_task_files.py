"""Goal files and the split of start states."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trainer_core.envs.task_files import load_goal, save_goal
from trainer_core.lab.tasks import Starts
from trainer_core.wire.errors import TaskError

TEMPLATES = np.random.default_rng(1).integers(0, 4, (3, 72, 80), dtype=np.uint8)
UPPER_HALF = np.zeros((72, 80), bool)
UPPER_HALF[:36] = True


@pytest.mark.parametrize("kind", [bool, np.uint8])
def test_one_mask_serves_every_template(kind: type, tmp_path: Path) -> None:
    path = tmp_path / "goal.npz"
    save_goal(path, TEMPLATES, UPPER_HALF.astype(kind))
    templates, mask = load_goal(path)
    assert np.array_equal(templates, TEMPLATES)
    assert mask.dtype == bool
    assert np.array_equal(mask, np.stack([UPPER_HALF] * 3))


def test_a_mask_for_each_template_and_none(tmp_path: Path) -> None:
    path = tmp_path / "goal.npz"
    each = np.stack([UPPER_HALF, ~UPPER_HALF, UPPER_HALF | True])
    save_goal(path, TEMPLATES, each)
    assert np.array_equal(load_goal(path)[1], each)
    save_goal(path, TEMPLATES)
    assert load_goal(path)[1].all()
    assert load_goal(path)[1].shape == TEMPLATES.shape


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (np.ones((2, 72, 80), bool), r"mask of shape \(2, 72, 80\)"),
        (np.ones((80, 72), bool), r"mask of shape \(80, 72\)"),
        (np.ones((72, 80), np.float32), "bool or uint8, not float32"),
        (np.zeros((72, 80), bool), "keeps no pixel"),
        (np.stack([UPPER_HALF, UPPER_HALF, UPPER_HALF & False]), "keeps no pixel"),
    ],
)
def test_a_mask_that_fits_nothing_is_named(mask: np.ndarray, message: str, tmp_path: Path) -> None:
    save_goal(tmp_path / "goal.npz", TEMPLATES, mask)
    with pytest.raises(TaskError, match=rf"goal\.npz: .*{message}"):
        load_goal(tmp_path / "goal.npz")


def test_no_template_is_no_goal(tmp_path: Path) -> None:
    save_goal(tmp_path / "goal.npz", TEMPLATES[:0])
    with pytest.raises(TaskError, match=r"shape \(0, 72, 80\)"):
        load_goal(tmp_path / "goal.npz")


def test_a_task_without_held_out_starts_validates_on_its_own() -> None:
    split = Starts(file="", sha256="", count=5, heldout=2)
    assert [*split.indices(held_out=False)] == [0, 1, 2]
    assert [*split.indices(held_out=True)] == [3, 4]
    whole = Starts(file="", sha256="", count=5)
    assert whole.indices(held_out=True) == whole.indices(held_out=False) == range(5)
