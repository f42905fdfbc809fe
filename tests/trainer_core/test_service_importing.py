"""Importing a checkpoint: copied, verified, registered; a damaged one leaves nothing."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from trainer_core.protocol import checkpoints
from trainer_core.protocol.config import RunConfig
from trainer_core.protocol.errors import CheckpointError
from trainer_core.protocol.paths import HomePaths
from trainer_core.protocol.runs import RunState
from trainer_core.registry import RunRegistry
from trainer_core.service import import_checkpoint, read_history


def make_checkpoint(folder: Path, weights: bytes = b"weights") -> Path:
    """A folder that passes protocol.checkpoints.verify, with a file that is no network."""
    folder.mkdir(parents=True)
    (folder / checkpoints.POLICY).write_bytes(weights)
    meta = checkpoints.CheckpointMeta(
        run_id="20261121-000000-beef", task="tiny_goal", env_steps=4096, update=2, policy="small",
        obs_shape=(1, 72, 80), num_actions=7, codec="buttons7.v1", observation_rule="mean2x2.v1",
        config=RunConfig(task="tiny_goal").to_dict(), hashes={}, success_rate=0.75,
        created_at=1000.0,
        files={checkpoints.POLICY: checkpoints.file_sha256(folder / checkpoints.POLICY)},
    )  # fmt: skip
    (folder / checkpoints.META).write_bytes(msgspec.json.encode(meta))
    return folder


def test_the_copy_is_a_run_with_one_verified_checkpoint(tmp_path: Path) -> None:
    source, home = make_checkpoint(tmp_path / "mail"), HomePaths(tmp_path / "home")
    run, copy = import_checkpoint(source, home)
    assert run.state is RunState.FINISHED
    assert (run.task, run.env_steps, run.best_success_rate) == ("tiny_goal", 4096, 0.75)
    checkpoints.verify(copy)
    assert RunRegistry(home).load()[run.run_id] == run
    meta, record = read_history(home.run(run.run_id).train_log).events
    assert meta.config["task"] == "tiny_goal"
    assert home.run(run.run_id).root / record.path == copy


def test_the_same_weights_are_imported_once(tmp_path: Path) -> None:
    home = HomePaths(tmp_path / "home")
    first = import_checkpoint(make_checkpoint(tmp_path / "a"), home)
    second = import_checkpoint(make_checkpoint(tmp_path / "b"), home)
    assert first == second
    assert len(RunRegistry(home).load()) == 1
    other, _ = import_checkpoint(make_checkpoint(tmp_path / "c", b"other"), home)
    assert other.run_id != first[0].run_id


@pytest.mark.parametrize("damage", ["no folder", "no manifest", "flipped byte"])
def test_what_is_no_checkpoint_is_refused_and_leaves_nothing(tmp_path: Path, damage: str) -> None:
    folder, home = tmp_path / "mail", HomePaths(tmp_path / "home")
    if damage != "no folder":
        make_checkpoint(folder)
    if damage == "no manifest":
        (folder / checkpoints.META).unlink()
    if damage == "flipped byte":
        (folder / checkpoints.POLICY).write_bytes(b"weightz")
    with pytest.raises(CheckpointError, match="mail"):
        import_checkpoint(folder, home)
    assert not home.root.exists()
