"""Commands that come while a run validates in its own process: none waits for the validation."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.long_validation import long_validation
from tests.support.processes import in_service, start, until
from tests.trainer_core.building import read_log, tiny_config, train_in, without_clocks
from trainer_core.host.commands_while_validating import Attending
from trainer_core.host.control import Control
from trainer_core.host.evaluate import Course, EvaluationStopped
from trainer_core.host.validator import Validator
from trainer_core.lab.checkpoint_manifest import list_checkpoints, read_meta
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.log_check import check_log
from trainer_core.service import RunChanged
from trainer_core.wire import commands, records
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import RunSpec

UPDATE = 16 * 8


@pytest.mark.usefixtures("warm")
@pytest.mark.slow
async def test_a_worker_that_validates_for_minutes_obeys_within_a_step(tmp_path: Path) -> None:
    """The real process behind the real service: save, hold, go on, stop."""
    config = tiny_config(eval_every=1, eval_episodes=8, total_env_steps=0, target_success=0.0)
    async with in_service(tmp_path, long_validation(), within_s=150) as service:
        told = list[RunChanged]()
        service.subscribe(lambda n: told.append(n) if isinstance(n, RunChanged) else None)
        plan = service.plan(RunSpec.of(config))
        run_id = (await service.start(plan)).run_id
        paths = service.home.run(run_id)
        await until(lambda: any(n.detail.startswith(records.VALIDATING) for n in told), 60)
        word = next(n for n in told if n.detail.startswith("validating"))
        assert re.match(r"validating \d+ of 24 episodes, \d+% played$", word.detail)
        assert 0 <= word.progress < 1
        await until(lambda: bool(list_checkpoints(paths)))  # before anybody asked
        await service.request(run_id, commands.SaveCheckpoint)
        await service.pause(run_id)
        await until(lambda: service.runs[run_id].state is RunState.PAUSED)
        await service.unpause(run_id)
        began = time.monotonic()
        await service.stop(run_id)
        assert time.monotonic() - began < 8
        ended = service.runs[run_id]
        assert (ended.state, ended.reason) == (RunState.STOPPED, "stopped by you")
        assert any("what was played does not count" in n.detail for n in told)
        assert [int(folder.name) for folder in list_checkpoints(paths)] == [UPDATE]
        log = read_log(service.home.root, run_id)
        assert {line["type"] for line in log} == {"meta", "update", "checkpoint"}
        assert not list(paths.episodes.glob("*"))


@pytest.mark.slow
async def test_a_stop_before_the_first_update_does_not_wait_for_what_loads(tmp_path: Path) -> None:
    async with in_service(tmp_path, within_s=150, command_s=60.0) as service:
        told = list[str]()
        service.subscribe(lambda n: told.append(n.detail) if isinstance(n, RunChanged) else None)
        plan = service.plan(RunSpec.of(tiny_config(total_env_steps=0)))
        run_id = (await service.start(plan)).run_id
        await until(lambda: "loading torch" in told, 60)
        await service.stop(run_id)
        ended = service.runs[run_id]
        assert (ended.state, ended.reason) == (RunState.STOPPED, "stopped by you")
        assert not service.home.run(run_id).train_log.read_bytes()


class At:
    """Does something once, before that step of the first validation."""

    def __init__(self, step: int, act: Callable[[], Any]) -> None:
        self.step, self.act, self.seen = step, act, 0

    def __call__(self, inner: Attending, course: Course) -> None:
        self.seen += 1
        if self.seen == self.step:
            self.act()
        Attending.__call__(inner, course)


def interrupt(monkeypatch: pytest.MonkeyPatch, step: int, act: Callable[[], Any]) -> At:
    at = At(step, act)

    class Watched(Attending):
        def __call__(self, course: Course) -> None:
            at(self, course)

    monkeypatch.setattr("trainer_core.host.validations.Attending", Watched)
    return at


def test_a_stop_ends_a_validation_and_a_resumed_run_makes_up_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny_config(eval_every=2, total_env_steps=4 * UPDATE)
    train_in(tmp_path / "whole", config)
    control = Control()
    with monkeypatch.context() as patch:
        at = interrupt(patch, 5, lambda: control.stop("test"))
        outcome = train_in(tmp_path / "two", config, control=control)
    assert (outcome.state, outcome.env_steps, at.seen) == (RunState.STOPPED, 2 * UPDATE, 5)
    kinds = [record["type"] for record in read_log(tmp_path / "two")]
    assert "eval" not in kinds
    assert "episode" not in kinds
    assert kinds[-1] == "checkpoint"
    train_in(tmp_path / "two", config)
    assert evals(tmp_path / "two") == evals(tmp_path / "whole")
    assert check_log(HomePaths(tmp_path / "two").run("run").train_log).errors == []


def evals(home: Path) -> list[dict[str, Any]]:
    found = [without_clocks(record) for record in read_log(home) if record["type"] == "eval"]
    return [{**record, "wall_time_s": 0} for record in found]


def test_no_file_is_left_of_a_task_that_was_played_before_the_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    validator = Validator(tiny_config(task="tiny_goal"), HomePaths(tmp_path), None, HomePaths(tmp_path).run("run"))
    validator.paths.root.mkdir(parents=True)
    validator.tasks = ("tiny_goal", "tiny_goal")
    monkeypatch.setattr(validator, "_forward", lambda env, envs: lambda obs: (obs[:, 0, 0, :7], 0))
    calls = []

    def attend(course: Course) -> None:
        calls.append(course.share)
        if course.share >= 0.6:
            raise EvaluationStopped

    validator.attend = attend
    with pytest.raises(EvaluationStopped):
        list(validator.validate(0, 0))
    assert calls == sorted(calls)
    assert not list(validator.paths.episodes.glob("*"))


def test_a_checkpoint_is_kept_within_a_validation_and_again_with_what_it_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    control = Control()
    interrupt(monkeypatch, 3, control.request_checkpoint)
    train_in(tmp_path, tiny_config(eval_every=4, total_env_steps=4 * UPDATE), control=control)
    saved = [record for record in read_log(tmp_path) if record["type"] == "checkpoint"]
    assert [(one["reason"], one["validated_env_steps"]) for one in saved] == [("request", -1), ("best", 4 * UPDATE)]
    (folder,) = list_checkpoints(HomePaths(tmp_path).run("run"))
    assert read_meta(folder).validated_env_steps == 4 * UPDATE


def test_a_long_validation_has_a_checkpoint_and_a_short_one_costs_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny_config(eval_every=2, total_env_steps=2 * UPDATE)
    train_in(tmp_path / "short", config)
    monkeypatch.setattr("trainer_core.host.commands_while_validating.SAVE_AFTER_S", 0.0)
    train_in(tmp_path / "long", config)
    reasons = {
        home: [one["reason"] for one in read_log(tmp_path / home) if one["type"] == "checkpoint"]
        for home in ("short", "long")
    }
    assert reasons == {"short": ["best"], "long": ["periodic", "best"]}
    for home in reasons:
        assert check_log(HomePaths(tmp_path / home).run("run").train_log).errors == []


async def test_a_stop_waits_for_a_worker_that_says_what_it_does(tmp_path: Path) -> None:
    """The ladder has 0.4 s for it; it takes 0.6 s to finish and 0.6 s to save."""
    async with in_service(tmp_path, command_s=0.4, terminate_s=0.1) as service:
        run_id = await start(
            service,
            updates=1000,
            interval_s=0.01,
            stop_words=[["finishing the update", 0.2]] * 3 + [["saving a checkpoint", 0.6]],
        )
        await until(lambda: service.runs[run_id].env_steps > 0)
        await service.stop(run_id)
        assert service.runs[run_id].reason == "stopped by you"


async def test_a_stop_does_not_wait_for_a_worker_that_only_beats(tmp_path: Path) -> None:
    async with in_service(tmp_path, command_s=0.2, terminate_s=5.0) as service:
        run_id = await start(service, updates=1000, ignore_stop=True)
        await until(lambda: service.runs[run_id].state is RunState.RUNNING)
        async with asyncio.timeout(20):
            await service.stop(run_id)
        assert "forced" in service.runs[run_id].reason
