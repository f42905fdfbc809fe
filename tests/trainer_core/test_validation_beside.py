"""Validation beside the learner: late, and of exactly the weights that its records name."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest
import safetensors.torch
import torch

from tests.trainer_core.building import prepared_run, read_log, tiny_config, train_in, trainer_of, without_clocks
from trainer_core.host import checkpoint as ckpt
from trainer_core.host import validation_process
from trainer_core.host.late_validation import LateValidation
from trainer_core.host.run import Host
from trainer_core.lab.checkpoint_manifest import MACHINES, list_checkpoints, read_meta
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.log_check import check_log
from trainer_core.runs.names import _merit

UPDATE = 16 * 8


def evals_of(home: Path) -> dict[tuple[int, str], dict[str, Any]]:
    """By env steps and mode, without what a clock said."""
    found = [without_clocks(record) for record in read_log(home) if record["type"] == "eval"]
    return {(record["env_steps"], record["mode"]): record for record in found}


def late_of(run: Host) -> LateValidation:
    assert run.validations is not None
    assert run.validations.late is not None
    return run.validations.late


def ready(run: Host) -> validation_process.ValidationProcess:
    """The run's process, once it has loaded."""
    late = late_of(run)
    while not late.process.is_idle:
        assert not late.process.is_over
        late.process.wait(60.0)
        late.process.take()
    return late.process


def test_weights_that_lie_channels_last_are_copied_whole() -> None:
    weights = torch.arange(48.0).reshape(2, 3, 2, 4)
    given = {"conv": weights.to(memory_format=torch.channels_last), "steps": [weights.permute(3, 2, 1, 0)[0]]}
    held = ckpt._copied(given)
    assert torch.equal(safetensors.torch.load(safetensors.torch.save({"conv": held["conv"]}))["conv"], weights)
    assert held["conv"].data_ptr() != given["conv"].data_ptr()
    assert torch.equal(held["steps"][0], weights.permute(3, 2, 1, 0)[0])


@pytest.mark.usefixtures("warm")
def test_what_is_recorded_late_is_what_the_learner_would_have_found(tmp_path: Path) -> None:
    limits = {"total_env_steps": 6 * UPDATE, "learning_rate": 3e-3, "seed": 2}
    train_in(tmp_path / "here", tiny_config(eval_every=1, keep_checkpoints=99, **limits))
    config = tiny_config(eval_every=1, checkpoint_every=3, validate_on="cpu", **limits)
    run = prepared_run(tmp_path / "beside", config)
    process = ready(run)
    run.train()
    run.close()
    assert process.is_over
    assert process._child.pid not in {child.pid for child in psutil.Process().children()}

    late, here = evals_of(tmp_path / "beside"), evals_of(tmp_path / "here")
    assert late == {place: here[place] for place in late}
    assert (6 * UPDATE, "greedy") in late, "the last weights are validated before the end"
    assert run.validations is not None
    validator = run.validations.validator
    assert validator is not None
    assert not validator._envs, "the learner itself played nothing"

    paths = HomePaths(tmp_path / "beside").run("run")
    assert check_log(paths.train_log).errors == []
    best = read_meta(max(list_checkpoints(paths), key=_merit))
    assert best.validated_env_steps == best.env_steps
    assert best.success_rate == max(record["success_rate"] for (_, mode), record in late.items() if mode == "greedy")
    assert best.success_rate == late[best.env_steps, "greedy"]["success_rate"]


@pytest.mark.usefixtures("warm")
def test_a_kill_after_a_late_best_checkpoint_loses_neither_consoles_nor_what_is_best(tmp_path: Path) -> None:
    config = tiny_config(eval_every=1, validate_on="cpu", total_env_steps=200 * UPDATE)
    run = prepared_run(tmp_path, config)
    ready(run)

    class Killed(BaseException):
        """As SIGKILL: nothing is done after it."""

    learn = trainer_of(run).run_update

    def killed_after_a_best() -> Any:
        if run.progress.best_folder:
            raise Killed
        late_of(run).process.wait(1.0)
        return learn()

    trainer_of(run).run_update = killed_after_a_best
    with pytest.raises(Killed):
        run.train()
    run.close()
    newest = list_checkpoints(run.paths)[-1]
    assert int(newest.name) > int(run.progress.best_folder), "the best one came late"
    assert (newest / MACHINES).is_file(), "a resumed run goes on with the consoles"
    resumed = prepared_run(tmp_path, config)
    assert resumed.progress.best_folder == run.progress.best_folder
    resumed.close()
    assert check_log(run.paths.train_log).errors == []
    # As if it had been killed between the best one's rename and its record.
    lines = run.paths.train_log.read_text().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if '"reason":"best"' in line)
    run.paths.train_log.write_text("".join(lines[:at]))
    shutil.rmtree(newest)
    prepared_run(tmp_path, config).close()
    assert read_log(tmp_path)[-1]["env_steps"] == int(run.progress.best_folder)
    assert check_log(run.paths.train_log).errors == []


@pytest.mark.usefixtures("warm")
def test_a_target_that_is_reached_late_names_the_weights_that_reached_it(tmp_path: Path) -> None:
    config = tiny_config(
        eval_every=1, validate_on="cpu", target_success=0.01, learning_rate=3e-3, total_env_steps=200 * UPDATE
    )
    run = prepared_run(tmp_path, config)
    ready(run)
    outcome = run.train()
    run.close()
    named = read_meta(run.paths.root / outcome.checkpoint)
    # Which play gets there first is a matter of how fast this computer validates.
    if outcome.reached_by == "greedy":
        assert named.success_rate == outcome.success_rate >= 0.01
    else:
        assert outcome.reached_by == "leave_loops"
        assert min(named.leaving_success_rate, outcome.leaving_success_rate) >= 0.01
    assert named.validated_env_steps == named.env_steps <= outcome.env_steps
    whole = train_in(tmp_path, config)  # nothing is left to do, and the newest one can be resumed
    assert whole.env_steps == outcome.env_steps
    assert read_meta(list_checkpoints(run.paths)[-1]).env_steps == outcome.env_steps


@pytest.mark.usefixtures("warm")
def test_a_process_that_dies_costs_no_validation(tmp_path: Path) -> None:
    config = tiny_config(eval_every=2, validate_on="cpu", total_env_steps=4 * UPDATE)
    run = prepared_run(tmp_path, config)
    process = ready(run)
    os.kill(process._child.pid, signal.SIGSTOP)
    learn = trainer_of(run).run_update

    def killed_meanwhile() -> Any:
        if late_of(run).is_under_way:
            os.kill(process._child.pid, signal.SIGKILL)
            process._child.wait()
        return learn()

    trainer_of(run).run_update = killed_meanwhile
    run.train()
    run.close()
    greedy = [steps for steps, mode in evals_of(tmp_path) if mode == "greedy"]
    assert greedy == [3 * UPDATE, 4 * UPDATE]
    assert check_log(run.paths.train_log).errors == []


def test_a_full_disk_ends_the_process_and_not_the_run() -> None:
    process = validation_process.ValidationProcess()
    process._weights.close()
    process._weights = open("/dev/full", "r+b", buffering=0)  # noqa: SIM115
    process.begin(1, UPDATE, b"weights")
    assert process.is_over
    assert not process.is_idle


@pytest.mark.parametrize(
    ("device", "where", "cores", "wanted"),
    [
        ("cuda:0", "auto", 4, True),
        ("cuda:0", "auto", 3, False),
        ("cuda:0", "device", 64, False),
        ("cpu", "auto", 64, False),
        ("cpu", "cpu", 1, True),
    ],
)
def test_who_is_validated_beside_its_learner(
    device: str, where: Any, cores: int, wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validation_process, "cores_of_rank", lambda: cores)
    config = tiny_config(device=device, eval_every=1, validate_on=where)
    assert validation_process.wanted(config) is wanted
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    assert validation_process.wanted(config) is (where == "cpu"), "of ranks only if asked for"
    monkeypatch.setenv("RANK", "1")
    assert not validation_process.wanted(config)


def test_by_default_one_gpu_is_validated_beside_and_a_cpu_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation_process, "cores_of_rank", lambda: 4)
    assert validation_process.wanted(tiny_config(device="cuda:0", eval_every=1))
    assert not validation_process.wanted(tiny_config(eval_every=1))
