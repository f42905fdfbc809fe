"""A guest's run, without its library: what is asked of it, and what it notices, as of ours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.trainer_core.building import read_log
from trainer_core.host.commands_while_validating import Attending
from trainer_core.host.control import Control
from trainer_core.host.evaluate import Course
from trainer_core.host.progress import Rates
from trainer_core.host.validator import Validator
from trainer_core.lab.checkpoint_manifest import list_checkpoints
from trainer_core.lab.paths import HomePaths
from trainer_core.runners.guest import run as guest_run
from trainer_core.runners.guest.run import GuestRun, Intervals, Model, RunEnded
from trainer_core.runs.log_writer import MovedError, RunWriter
from trainer_core.wire import records
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import RunSpec

FILE = "model.bin"


def fill(folder: Path) -> None:
    (folder / FILE).write_bytes(b"weights")


MODEL = Model(policy="p", file=FILE, fill=fill, logits=lambda obs: torch.zeros(len(obs), 7).float())


@pytest.fixture
def run(tmp_path: Path) -> GuestRun:
    paths = HomePaths(tmp_path).run("run")
    spec = RunSpec(runner="sb3", task="tiny_goal", target_success=0.95, options={"algo": "ppo"})
    made = GuestRun(spec, paths, RunWriter(paths), Control())
    made.intervals = Intervals(validate=100, eval_episodes=8)
    made.find_task()
    made.begin((1, 72, 80), 7, 1)
    return made


def at_step(monkeypatch: pytest.MonkeyPatch, step: int, act: Callable[[], Any]) -> list[Course]:
    """Have that done before that step of a validation; the steps that were begun."""
    seen: list[Course] = []

    class Watched(Attending):
        def __call__(self, course: Course) -> None:
            seen.append(course)
            if len(seen) == step:
                act()
            super().__call__(course)

    monkeypatch.setattr(guest_run, "Attending", Watched)
    return seen


def kinds(run: GuestRun) -> list[str]:
    return [record["type"] for record in read_log(run.home.root)]


def test_a_stop_ends_its_validation_within_a_step(
    run: GuestRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = at_step(monkeypatch, 7, lambda: run.control.stop("stopped by you"))
    with pytest.raises(RunEnded) as ended:
        run.boundary(100, MODEL)
    assert (ended.value.state, str(ended.value)) == (RunState.STOPPED, "stopped by you")
    assert len(seen) == 7
    assert kinds(run) == ["meta", "checkpoint"]
    assert not list(run.paths.episodes.glob("*"))


def test_a_checkpoint_is_kept_within_its_validation(
    run: GuestRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_step(monkeypatch, 3, run.control.request_checkpoint)
    run.boundary(100, MODEL)
    assert kinds(run)[:2] == ["meta", "checkpoint"]
    saved = [one["reason"] for one in read_log(run.home.root) if one["type"] == "checkpoint"]
    assert saved == ["request", "best"]


def test_a_model_that_its_validation_changes_is_saved_before(run: GuestRun) -> None:
    class Changes(Validator):
        leaves_model_alone = False

    validator = Changes(run.validating, run.home, MODEL, run.paths)
    model = Model(policy="p", file=FILE, fill=fill, validator=validator)
    run.boundary(100, model)
    assert kinds(run)[:2] == ["meta", "checkpoint"]


def test_a_folder_that_is_moved_ends_it_with_one_line(run: GuestRun, tmp_path: Path) -> None:
    run.boundary(50, MODEL)
    run.paths.root.rename(tmp_path / "elsewhere")
    for act in (
        lambda: run.record(60, {"loss": 1.0}),
        lambda: run.save(60, MODEL, "periodic"),
        lambda: run.boundary(100, MODEL),
    ):
        with pytest.raises(MovedError, match="moved, deleted or replaced"):
            act()
    run.report(MovedError("it was moved"))
    assert not run.paths.root.exists(), "nothing is made anew under its name"


def test_a_target_that_is_not_confirmed_calls_for_another_validation(run: GuestRun) -> None:
    run.progress.take(Rates(greedy=1.0, least=1.0, sampled=0.3, least_sampled=0.3), 100, 0.95)
    for update in range(1, 5):
        assert not run._looks_done(), "four updates are wanted between two"
        run.record(100 + update, {})
    assert run._looks_done()
    assert run._limit() == ""
    run.progress.take(Rates(greedy=1.0, least=1.0, sampled=0.3, least_sampled=0.3), 200, 0.95)
    assert run._limit().startswith("validation reached 1.000 in greedy play")
    assert not run._looks_done()


def test_it_says_what_is_not_confirmed(run: GuestRun, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    tell = run.writer.tell

    def hear(kind: type[records.Record], **fields: Any) -> None:
        told.append(fields.get("detail", ""))
        tell(kind, **fields)

    class Lucky(Validator):
        def validate(self, update: int, env_steps: int) -> Any:
            self.rates = Rates(greedy=1.0, least=1.0, sampled=0.3, least_sampled=0.3)
            yield from ()

    monkeypatch.setattr(run.writer, "tell", hear)
    validator = Lucky(run.validating, run.home, MODEL, run.paths)
    run.boundary(100, Model(policy="p", file=FILE, fill=fill, validator=validator))
    assert "greedy 1.00, sampled 0.30: not confirmed" in told
    assert [int(folder.name) for folder in list_checkpoints(run.paths)] == [100]
