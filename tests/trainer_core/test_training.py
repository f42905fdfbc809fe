"""Whole runs on TinyGoalEnv: learning, exact resume, failures, retention, warm start."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import io
import itertools
import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from PIL import Image

from tests.trainer_core.building import (
    prepared_run,
    read_log,
    shorten_episodes,
    tiny_config,
    train_in,
    trainer_of,
    weights_of,
    without_clocks,
)
from trainer_core.host import checkpoint as ckpt
from trainer_core.host import run as train_run
from trainer_core.host.checkpoint import fullest, png_bytes
from trainer_core.host.control import Control
from trainer_core.host.progress import RunProgress
from trainer_core.host.run import Host
from trainer_core.lab import durable_files
from trainer_core.lab.checkpoint_manifest import (
    MACHINES,
    META,
    POLICY,
    THUMBNAIL,
    TRAINER,
    file_sha256,
    list_checkpoints,
    read_meta,
    retain,
    tidy,
    verify,
)
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.recording import read_recording, read_steps
from trainer_core.play.clips.opening import open_clip
from trainer_core.runs.log_check import check_log
from trainer_core.runs.log_writer import DiskError, RunWriter
from trainer_core.wire import records
from trainer_core.wire.errors import CheckpointError, LabError
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import RunSpec

FOUR_UPDATES = 16 * 8 * 4


@pytest.fixture(scope="module")
def four_updates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose run ended after four updates, with checkpoints of the second and the fourth."""
    home = tmp_path_factory.mktemp("four_updates")
    train_in(home, tiny_config(checkpoint_every=2))
    return home


@pytest.fixture
def trained(four_updates: Path, tmp_path: Path) -> Path:
    """A copy of that home, for a test to damage or to go on with."""
    return Path(shutil.copytree(four_updates, tmp_path / "trained"))


def updates_of(home: Path) -> list[dict[str, Any]]:
    return [without_clocks(r) for r in read_log(home) if r["type"] == "update"]


def test_ppo_learns_the_tiny_goal(tmp_path: Path) -> None:
    few = tiny_config(num_minibatches=4, num_steps=16, eval_every=16, eval_episodes=8, total_env_steps=16 * 256)
    outcome = train_in(tmp_path / "screen", few)
    assert outcome.state is RunState.FINISHED
    assert outcome.success_rate >= 0.95, "on start states that training never saw"
    noise = train_in(tmp_path / "noise", dataclasses.replace(few, obs_source="noise"))
    assert noise.success_rate <= 1 / 8, "a policy that sees noise must not succeed"


def test_a2c_learns_the_tiny_goal(tmp_path: Path) -> None:
    config = tiny_config(
        algo="a2c",
        num_envs=64,
        num_steps=8,
        num_minibatches=1,
        eval_every=25,
        eval_episodes=16,
        learning_rate=2e-3,
        target_success=0.8,
        total_env_steps=100_000,
    )
    assert train_in(tmp_path, config).success_rate >= 0.8


@pytest.mark.parametrize("algo", ["ppo", "a2c"])
def test_the_same_seed_gives_the_same_weights(algo: str, tmp_path: Path) -> None:
    weights = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        run = prepared_run(tmp_path / name, tiny_config(algo=algo, seed=seed))
        run.train()
        weights.append(weights_of(trainer_of(run)))
        run.close()
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


@pytest.mark.parametrize(
    "changes",
    [
        {"algo": "a2c"},
        {"stack_k": 3, "lr_schedule": "linear"},
        {"obs_source": "noise", "log_every": 2},
        {"obs_source": "marked", "threads": 2},
    ],
    ids=str,
)
def test_a_resumed_run_goes_on_bit_for_bit(
    changes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten_episodes(monkeypatch)
    config = tiny_config(
        num_envs=8, num_steps=4, checkpoint_every=3, eval_every=3, eval_episodes=2, total_env_steps=8 * 8 * 4, **changes
    )
    train_in(tmp_path / "whole", config)
    control = Control()
    run = prepared_run(tmp_path / "cut", config)
    run.control = control
    update = trainer_of(run).run_update

    def stop_after_four() -> Any:
        losses = update()
        if trainer_of(run).update == 4:
            control.stop("test")
        return losses

    trainer_of(run).run_update = stop_after_four
    assert run.train().state is RunState.STOPPED
    run.close()
    train_in(tmp_path / "cut", config)
    assert updates_of(tmp_path / "cut") == updates_of(tmp_path / "whole")
    report = check_log(HomePaths(tmp_path / "cut").run("run").train_log)
    assert report.errors == []
    assert report.records["resume"] == 1


def test_a_killed_run_repeats_the_updates_since_its_checkpoint(tmp_path: Path) -> None:
    """As after kill -9: the directory is copied at an instant when nothing had been closed."""
    config = tiny_config(checkpoint_every=3, total_env_steps=3 * FOUR_UPDATES)
    run = prepared_run(tmp_path / "whole", config)
    update, cut = trainer_of(run).run_update, tmp_path / "cut"

    def copy_after_five() -> Any:
        losses = update()
        if trainer_of(run).update == 5:
            shutil.copytree(tmp_path / "whole", cut)
            log = HomePaths(cut).run("run").train_log
            log.write_bytes(log.read_bytes() + b'{"type":"update","torn')
            half = HomePaths(cut).run("run").checkpoints / ".000000000640.tmp"
            half.mkdir()
        return losses

    trainer_of(run).run_update = copy_after_five
    run.train()
    run.close()
    train_in(cut, config)
    whole, resumed = updates_of(tmp_path / "whole"), updates_of(cut)
    assert [r["update"] for r in resumed] == [1, 2, 3, 4, *range(4, 13)]
    assert resumed[4:] == whole[3:]
    assert check_log(HomePaths(cut).run("run").train_log).errors == []


def test_a_damaged_checkpoint_is_skipped_for_the_one_before(trained: Path) -> None:
    paths = HomePaths(trained).run("run")
    newest = list_checkpoints(paths)[-1]
    (newest / POLICY).write_bytes(b"damage")
    with pytest.raises(CheckpointError, match=r"policy\.safetensors"):
        verify(newest)
    train_in(trained, tiny_config(checkpoint_every=2, total_env_steps=FOUR_UPDATES + 128))
    resume = next(r for r in read_log(trained) if r["type"] == "resume")
    assert resume["update"] == 2


def test_a_file_is_whole_by_all_digits_of_its_hash(trained: Path) -> None:
    """A damage that leaves the first two digits as they were is one in 256: not one to miss."""
    folder = list_checkpoints(HomePaths(trained).run("run"))[-1]
    whole = (folder / THUMBNAIL).read_bytes()
    wanted = read_meta(folder).files[THUMBNAIL]
    damaged = next(
        data
        for number in range(100_000)
        if hashlib.sha256(data := whole + b"%d" % number).hexdigest()[:2] == wanted[:2]
    )
    (folder / THUMBNAIL).write_bytes(damaged)
    with pytest.raises(CheckpointError, match="changed or damaged"):
        verify(folder)


def test_a_missing_thumbnail_costs_nothing(trained: Path) -> None:
    newest = list_checkpoints(HomePaths(trained).run("run"))[-1]
    (newest / THUMBNAIL).unlink()
    train_in(trained, tiny_config(checkpoint_every=2, total_env_steps=FOUR_UPDATES + 128))
    resume = next(r for r in read_log(trained) if r["type"] == "resume")
    assert resume["update"] == 4


@pytest.mark.parametrize("name", [POLICY, TRAINER, MACHINES, META])
def test_a_run_with_nothing_but_damaged_checkpoints_does_not_begin_anew(name: str, trained: Path) -> None:
    older, only = list_checkpoints(HomePaths(trained).run("run"))
    shutil.rmtree(older)
    if name == META:
        (only / META).unlink()
    else:
        (only / name).write_bytes(b"damage")
    with pytest.raises(CheckpointError, match="none of 1 checkpoints can be lo"):
        train_in(trained, tiny_config(total_env_steps=2 * FOUR_UPDATES))
    assert not [r for r in read_log(trained) if r["type"] == "resume"]


def test_thinned_out_checkpoints_of_several_ranks_stay_whole(trained: Path) -> None:
    paths = HomePaths(trained).run("run")
    older, newest = list_checkpoints(paths)
    for folder in (older, newest):
        files = {**read_meta(folder).files, "machines-1.bin": file_sha256(newest / MACHINES)}
        shutil.copy(newest / MACHINES, folder / "machines-1.bin")
        meta = msgspec.structs.replace(read_meta(folder), files=files)
        (folder / META).write_bytes(msgspec.json.encode(meta))
    retain(paths, older.name, 3)
    assert not list(older.glob("machines*"))
    assert len(list(newest.glob("machines*"))) == 2
    verify(older)
    assert ckpt.load_trainer_state(older, 1)[1] is None
    assert ckpt.load_trainer_state(newest, 1)[1] is not None


def test_what_a_crash_left_half_done_is_tidied(trained: Path) -> None:
    paths = HomePaths(trained).run("run")
    older, newest = list_checkpoints(paths)
    shutil.copytree(older, paths.checkpoints / ".000000000001.gone")
    shutil.copytree(older, paths.checkpoints / ".000000000999.tmp")
    shutil.copytree(older, paths.checkpoints / f".{older.name}.old")
    newest.rename(paths.checkpoints / f".{newest.name}.old")  # between the renames of a save
    tidy(paths)
    assert sorted(path.name for path in paths.checkpoints.iterdir()) == [older.name, newest.name]
    verify(newest)
    paths.checkpoints.joinpath(".000000000777.tmp").mkdir()
    train_in(trained, tiny_config(total_env_steps=FOUR_UPDATES + 128))
    assert not list(paths.checkpoints.glob(".*")), "a run tidies when it goes on"


def test_the_time_limit_counts_from_the_first_update(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(0.0, 0.001)  # every look at it takes a millisecond

    def slow(self: Host) -> None:
        nonlocal clock
        real(self)
        clock = itertools.count(1000.0, 0.001)

    real = Host._open_life
    monkeypatch.setattr(Host, "_open_life", slow)
    monkeypatch.setattr(train_run, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    outcome = train_in(tmp_path, tiny_config(total_env_steps=0, seconds=0.1))
    assert outcome.env_steps > 0
    assert read_log(tmp_path)[1]["wall_time_s"] < 0.1


def test_an_error_while_preparing_is_told_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any) -> None:
        raise ValueError("no validation today")

    monkeypatch.setattr("trainer_core.host.native.Validator", broken)
    with pytest.raises(LabError, match="ValueError: no validation today"):
        train_in(tmp_path, tiny_config())


def test_a_receipt_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = prepared_run(tmp_path, tiny_config())
    real = durable_files.write_file

    def full(path: Path, data: bytes) -> None:
        if path.name == "receipt.json":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        real(path, data)

    monkeypatch.setattr(durable_files, "write_file", full)
    run.report(ValueError("what really happened"))
    run.close()
    assert not list(run.paths.failures.iterdir())
    last = read_log(tmp_path)[-1]
    assert (last["message"], last["receipt"]) == ("what really happened", "")


def test_a_loss_that_is_not_finite_leaves_a_receipt_and_no_checkpoint(tmp_path: Path) -> None:
    config = tiny_config(checkpoint_every=1)
    run = prepared_run(tmp_path, config)
    run.train()
    parameter = trainer_of(run).learner.parameters[0]
    parameter.data.fill_(float("nan"))
    run.spec = RunSpec.of(tiny_config(checkpoint_every=1, total_env_steps=2 * FOUR_UPDATES))
    with pytest.raises(LabError, match="update 5") as caught:
        run.train()
    run.report(caught.value)
    run.close()
    error = read_log(tmp_path)[-1]
    assert error["type"] == "error"
    assert error["receipt"] == f"failures/{error['trace_id']}"
    folder = HomePaths(tmp_path).run("run").root / error["receipt"]
    found = {path.name for path in folder.iterdir()}
    assert found == {"last_frames.npy", "last_frames.png", "last_actions.npy", "last_steps.npz", "receipt.json"}
    made = open_clip(folder, tmp_path / "clip", "", HomePaths(tmp_path))
    assert "values is nan: step" in made["note"]
    about = read_recording(tmp_path / "clip")
    assert about.cursor % 24 == 0
    assert read_steps(tmp_path / "clip", about)[about.cursor // 24].value is None
    receipt = json.loads((folder / "receipt.json").read_text())
    assert receipt["config"]["task"] == "tiny_goal"
    assert set(receipt["dist"]) == {"p10", "p50", "p90"}
    for checkpoint in list_checkpoints(HomePaths(tmp_path).run("run")):
        policy, _ = ckpt.load_policy(checkpoint)
        assert all(p.isfinite().all() for p in policy.parameters())


def test_retention_keeps_newest_best_and_a_spread_of_others(tmp_path: Path) -> None:
    config = tiny_config(checkpoint_every=1, total_env_steps=20 * 128, keep_checkpoints=3)
    train_in(tmp_path, config)
    paths = HomePaths(tmp_path).run("run")
    found = list_checkpoints(paths)
    assert len(found) == 4
    assert int(found[-1].name) == 20 * 128
    assert [folder for folder in found if (folder / MACHINES).exists()] == [found[-1]]
    for folder in found:
        verify(folder)
    best = found[0].name
    retain(paths, best, 0)
    assert [folder.name for folder in list_checkpoints(paths)] == [best, found[-1].name]


def test_a_checkpoint_is_announced_with_the_hash_of_its_weights(tmp_path: Path) -> None:
    outcome = train_in(tmp_path, tiny_config())
    paths = HomePaths(tmp_path).run("run")
    record = next(r for r in read_log(tmp_path) if r["type"] == "checkpoint")
    folder = paths.root / record["path"]
    assert record["path"] == outcome.checkpoint
    assert record["sha256"] == file_sha256(folder / POLICY) == read_meta(folder).files[POLICY]
    assert record["trace_id"] == read_meta(folder).trace_id == f"run-{read_meta(folder).update}"
    assert record["size_bytes"] == sum(path.stat().st_size for path in folder.iterdir())
    assert (folder / "thumbnail.png").read_bytes().startswith(b"\x89PNG")


def test_a_checkpoint_of_a_game_in_colour_shows_its_colours() -> None:
    colours = np.arange(64 * 64 * 3, dtype=np.uint8).reshape(64, 64, 3)
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(png_bytes(colours)))), colours)
    assert fullest(np.stack([colours * 0, colours])).max(), "not the blank one of a room change"


def test_a_full_disk_is_reported_and_leaves_no_half_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train_in(tmp_path, tiny_config())
    before = {path.name for path in HomePaths(tmp_path).run("run").checkpoints.iterdir()}

    real = os.write

    def full(descriptor: int, data: Any) -> int:
        if len(data) > 10_000:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(DiskError, match=r"No space left.*free some space") as caught:
        train_in(tmp_path, tiny_config(total_env_steps=2 * FOUR_UPDATES))
    monkeypatch.undo()
    assert str(caught.value).count("\n") == 0
    assert not HomePaths(tmp_path).run("run").failures.exists(), "a full disk needs no receipt"
    assert {path.name for path in HomePaths(tmp_path).run("run").checkpoints.iterdir()} == before
    assert read_log(tmp_path)[-1]["kind"] == "DiskError"


def test_a_line_that_does_not_fit_leaves_the_log_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = RunWriter(HomePaths(tmp_path).run("run"))
    told: list[bytes] = []
    writer._listener = told.append
    fields = {"env_steps": 0, "update": 0, "checkpoint": "", "previous_seq": 0}
    writer.append(records.ResumeRecord, **fields)
    size = writer.paths.train_log.stat().st_size
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[:10]))
    with pytest.raises(DiskError):
        writer.append(records.ResumeRecord, **fields)
    assert writer.paths.train_log.stat().st_size == size
    assert writer.seq == 1
    assert len(told) == 1, "what is not on the disk is not announced"


def test_a_warm_start_begins_with_the_donor_and_counts_from_zero(tmp_path: Path) -> None:
    outcome = train_in(tmp_path / "donor", tiny_config())
    folder = HomePaths(tmp_path / "donor").run("run").root / outcome.checkpoint
    config = tiny_config(warm_start=str(folder), seed=9)
    run = prepared_run(tmp_path / "heir", config)
    donor, _ = ckpt.load_policy(folder)
    assert torch.equal(weights_of(trainer_of(run)), torch.cat([p.flatten() for p in donor.parameters()]))
    assert trainer_of(run).env_steps == 0
    run.close()
    with pytest.raises(LabError, match="stack_k=1"):
        prepared_run(tmp_path / "misfit", tiny_config(warm_start=str(folder), stack_k=2))


def test_an_heir_goes_on_without_its_donor_exactly_as_with_it(tmp_path: Path) -> None:
    outcome = train_in(tmp_path / "donor", tiny_config())
    folder = HomePaths(tmp_path / "donor").run("run").root / outcome.checkpoint
    config = tiny_config(warm_start=str(folder), seed=9, checkpoint_every=1)
    train_in(tmp_path / "whole", config)
    train_in(tmp_path / "cut", dataclasses.replace(config, total_env_steps=2 * 128))
    shutil.rmtree(tmp_path / "donor")
    train_in(tmp_path / "cut", config)
    assert updates_of(tmp_path / "cut") == updates_of(tmp_path / "whole")
    with pytest.raises(CheckpointError, match="donor"):
        train_in(tmp_path / "late", config)


def test_an_heir_killed_before_its_first_checkpoint_begins_with_its_donor_again(tmp_path: Path) -> None:
    outcome = train_in(tmp_path / "donor", tiny_config())
    folder = HomePaths(tmp_path / "donor").run("run").root / outcome.checkpoint
    config = tiny_config(warm_start=str(folder), seed=9)
    run = prepared_run(tmp_path, config)
    run.close()
    again = prepared_run(tmp_path, config)
    donor, _ = ckpt.load_policy(folder)
    assert torch.equal(weights_of(trainer_of(again)), torch.cat([p.flatten() for p in donor.parameters()]))
    again.close()


def test_progress_is_checked_when_it_is_read() -> None:
    progress = RunProgress(success=0.5, best_folder="000000000128", validated_update=7)
    state = progress.state_dict(wall_time_s=12.5)
    found = RunProgress.from_state(state)
    assert (found.wall_before, found.success, found.best_folder) == (12.5, 0.5, "000000000128")
    former = {f"_{name}": value for name, value in state.items()}
    assert RunProgress.from_state(former) == found
    short = {name: value for name, value in state.items() if name != "success"}
    for broken in (state | {"close": 1}, state | {"success": "high"}, short, []):
        with pytest.raises(CheckpointError, match="progress"):
            RunProgress.from_state(broken)  # type: ignore[arg-type]


def test_a_stop_before_the_first_update_still_ends_cleanly(tmp_path: Path) -> None:
    control = Control()
    control.stop("at once")
    outcome = train_in(tmp_path, tiny_config(), control=control)
    assert (outcome.state, outcome.reason) == (RunState.STOPPED, "at once")
    assert outcome.checkpoint == "checkpoints/000000000000"
