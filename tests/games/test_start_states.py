"""Start states outlive the emulator's state layout: their inputs are played instead."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

pytestmark = pytest.mark.warp
pytest.importorskip("warp")
pytest.importorskip("torch")

import difficulty  # noqa: E402
from walker import ROM  # noqa: E402

from emulator import Cartridge  # noqa: E402
from emulator.state.snapshot import load_snapshots  # noqa: E402
from trainer_core.envs.start_states import load_starts  # noqa: E402
from trainer_core.lab.tasks import load_task  # noqa: E402
from trainer_core.wire.errors import TaskError  # noqa: E402


@pytest.fixture
def folder(tmp_path):
    """A copy of the first task whose states claim another layout."""
    copy = tmp_path / "task"
    shutil.copytree(difficulty.TASKS / "pocket_quest" / "leave_bedroom", copy)
    with np.load(copy / "starts.npz") as data:
        arrays = dict(data)
    arrays["layout_version"] = np.int64(-1)
    np.savez_compressed(copy / "starts.npz", **arrays)
    return copy


def test_states_of_another_layout_are_played_from_their_inputs(folder):
    states = load_starts(load_task(folder), Cartridge.from_file(ROM))
    stored = load_snapshots(difficulty.TASKS / "pocket_quest" / "leave_bedroom" / "starts.npz")
    assert len(states) == len(stored)
    for state, other in zip(states, stored, strict=True):
        assert np.array_equal(state.row[:0x6000], other.row[:0x6000])


def test_without_inputs_the_error_says_what_to_do(folder):
    (folder / "starts.json").unlink()
    with pytest.raises(TaskError, match="make the states again"):
        load_starts(load_task(folder), Cartridge.from_file(ROM))


def test_broken_inputs_are_named(folder):
    (folder / "starts.json").write_text('[{"wait_frames": 3, "actions": "JUMP"}]')
    with pytest.raises(TaskError, match=r"starts\.json"):
        load_starts(load_task(folder), Cartridge.from_file(ROM))
