"""Importing a checkpoint: copied, verified, registered; a damaged one leaves nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from tests.support.made_checkpoints import make_checkpoint
from trainer_core.lab import checkpoint_manifest
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.index import RunRegistry
from trainer_core.runs.run_lock import RunLock
from trainer_core.service import import_checkpoint, read_history
from trainer_core.wire import records
from trainer_core.wire.errors import CheckpointError, LabError
from trainer_core.wire.run_record import RunState


def test_the_copy_is_a_run_with_one_verified_checkpoint(tmp_path: Path) -> None:
    source, home = make_checkpoint(tmp_path / "mail"), HomePaths(tmp_path / "home")
    run, copy = import_checkpoint(source, home)
    assert run.state is RunState.FINISHED
    assert (run.task, run.env_steps, run.best_success_rate) == ("tiny_goal", 4096, 0.75)
    checkpoint_manifest.verify(copy)
    assert RunRegistry(home).load()[run.run_id] == run
    meta, record = read_history(home.run(run.run_id).train_log).events
    assert isinstance(meta, records.MetaRecord)
    assert isinstance(record, records.CheckpointRecord)
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


def test_an_import_that_was_resumed_is_never_written_over(tmp_path: Path) -> None:
    source, home = make_checkpoint(tmp_path / "mail"), HomePaths(tmp_path / "home")
    run, copy = import_checkpoint(source, home)
    paths = home.run(run.run_id)
    later = make_checkpoint(paths.checkpoint(8192), b"later")
    with paths.train_log.open("ab") as log:
        log.write(b"what the resumed run said\n")
    said = paths.train_log.read_bytes()
    shutil.rmtree(copy)  # retention thinned the imported checkpoint out
    again, copy_again = import_checkpoint(source, home)
    assert (again.run_id, copy_again) == (run.run_id, copy)
    checkpoint_manifest.verify(copy)
    checkpoint_manifest.verify(later)
    assert paths.train_log.read_bytes() == said


def test_the_homes_own_copy_is_found_when_the_index_is_lost(tmp_path: Path) -> None:
    home = HomePaths(tmp_path / "home")
    run, copy = import_checkpoint(make_checkpoint(tmp_path / "mail"), home)
    home.runs_index.unlink()
    again, same = import_checkpoint(copy, home)
    assert same == copy
    checkpoint_manifest.verify(copy)
    assert RunRegistry(home).load()[run.run_id] == again
    assert (again.run_id, again.env_steps) == (run.run_id, run.env_steps)


def test_an_import_waits_for_nobody_who_trains_there(tmp_path: Path) -> None:
    source, home = make_checkpoint(tmp_path / "mail"), HomePaths(tmp_path / "home")
    run, copy = import_checkpoint(source, home)
    shutil.rmtree(copy)
    lock = RunLock.take(home.run(run.run_id))
    with pytest.raises(LabError, match="is being trained"):
        import_checkpoint(source, home)
    lock.release()


def test_a_manifest_cannot_name_files_of_other_folders(tmp_path: Path) -> None:
    source, home = make_checkpoint(tmp_path / "mail"), HomePaths(tmp_path / "home")
    (tmp_path / "secret").write_bytes(b"secret")
    meta = checkpoint_manifest.read_meta(source)
    files = {**meta.files, "../secret": checkpoint_manifest.file_sha256(tmp_path / "secret")}
    raw = msgspec.json.encode(msgspec.structs.replace(meta, files=files))
    (source / checkpoint_manifest.META).write_bytes(raw)
    with pytest.raises(CheckpointError, match="mail"):
        import_checkpoint(source, home)
    assert not list(home.root.rglob("secret"))


@pytest.mark.parametrize("damage", ["no folder", "no manifest", "flipped byte"])
def test_what_is_no_checkpoint_is_refused_and_leaves_nothing(tmp_path: Path, damage: str) -> None:
    folder, home = tmp_path / "mail", HomePaths(tmp_path / "home")
    if damage != "no folder":
        make_checkpoint(folder)
    if damage == "no manifest":
        (folder / checkpoint_manifest.META).unlink()
    if damage == "flipped byte":
        (folder / checkpoint_manifest.POLICY).write_bytes(b"weightz")
    with pytest.raises(CheckpointError, match="mail"):
        import_checkpoint(folder, home)
    assert not home.root.exists()
