"""A guest's run, without its library: what is asked of it, and what it notices, as of ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support import toy_trainee
from tests.trainer_core.building import read_log
from trainer_core.cli.main import main
from trainer_core.host import worker
from trainer_core.host.commands_while_validating import Attending
from trainer_core.host.control import Control
from trainer_core.host.evaluate import Course
from trainer_core.host.progress import Rates, RunProgress
from trainer_core.host.run import Host
from trainer_core.host.trainee import Intervals, RunEnded, Trainee
from trainer_core.host.validator import Validator
from trainer_core.host.worker import LIMITS
from trainer_core.lab.checkpoint_manifest import list_checkpoints
from trainer_core.lab.paths import CHECKOUT, HomePaths
from trainer_core.runs.config_file import read_spec
from trainer_core.runs.life import RunLife
from trainer_core.runs.log_check import check_log
from trainer_core.runs.log_writer import MovedError, RunWriter
from trainer_core.runs.run_lock import INHERITED
from trainer_core.wire import records
from trainer_core.wire.errors import LabError
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import RunSpec

FILE = "model.bin"


class Learns(Trainee):
    """A library's model that picks the first button, and whose loop is the test's."""

    policy, file, obs_shape, num_actions = "p", FILE, (1, 72, 80), 7

    def __init__(self, host: Host) -> None:
        self.host, self.begun = host, 0
        self.validator: type[Validator] = Validator

    def begin(self) -> None:
        self.begun += 1

    def restore(self, folder: Path) -> RunProgress:
        return RunProgress.from_state(json.loads((folder / FILE).read_text()))

    def make_validator(self) -> Validator:
        return self.validator(self.host.validating, self.host.home, self, self.host.paths)

    def logits(self, shades: torch.Tensor) -> torch.Tensor:
        return torch.zeros(len(shades), 7)

    def fill(self, folder: Path, progress: dict[str, Any]) -> None:
        (folder / FILE).write_text(json.dumps(progress))

    def train(self) -> None:
        raise NotImplementedError


def host_in(home: Path, make: Callable[[Host], Trainee] = Learns) -> Host:
    paths = HomePaths(home).run("run")
    spec = RunSpec(runner="sb3", task="tiny_goal", target_success=0.95, options={"algo": "ppo"})
    made = Host(spec, paths, RunWriter(paths), Control(), make)
    made.intervals = Intervals(validate=100, eval_episodes=8)
    made.find_task()
    return made


@pytest.fixture
def run(tmp_path: Path) -> Host:
    made = host_in(tmp_path)
    made.prepare()
    return made


def with_validator(run: Host, kind: type[Validator]) -> None:
    """Have `run` validated by a validator of that kind."""
    assert run.validations is not None
    assert run.trainee is not None
    made = kind(run.validating, run.home, run.trainee, run.paths)
    made.attend = run.validations.attending
    run.validations.validator = made


def at_step(monkeypatch: pytest.MonkeyPatch, step: int, act: Callable[[], Any]) -> list[Course]:
    """Have that done before that step of a validation; the steps that were begun."""
    seen: list[Course] = []

    class Watched(Attending):
        def __call__(self, course: Course) -> None:
            seen.append(course)
            if len(seen) == step:
                act()
            super().__call__(course)

    monkeypatch.setattr("trainer_core.host.validations.Attending", Watched)
    return seen


def kinds(run: Host) -> list[str]:
    return [record["type"] for record in read_log(run.home.root)]


def test_a_stop_ends_its_validation_within_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = host_in(tmp_path)
    seen = at_step(monkeypatch, 7, lambda: run.control.stop("stopped by you"))
    run.prepare()
    with pytest.raises(RunEnded) as ended:
        run.boundary(100)
    assert (ended.value.state, str(ended.value)) == (RunState.STOPPED, "stopped by you")
    assert len(seen) == 7
    assert kinds(run) == ["meta", "checkpoint"]
    assert not list(run.paths.episodes.glob("*"))


def test_a_checkpoint_is_kept_within_its_validation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = host_in(tmp_path)
    at_step(monkeypatch, 3, run.control.request_checkpoint)
    run.prepare()
    run.boundary(100)
    assert kinds(run)[:2] == ["meta", "checkpoint"]
    saved = [one["reason"] for one in read_log(run.home.root) if one["type"] == "checkpoint"]
    assert saved == ["request", "best"]


def test_a_model_that_its_validation_changes_is_saved_before(run: Host) -> None:
    class Changes(Validator):
        leaves_model_alone = False

    with_validator(run, Changes)
    run.boundary(100)
    assert kinds(run)[:2] == ["meta", "checkpoint"]


def test_a_folder_that_is_moved_ends_it_with_one_line(run: Host, tmp_path: Path) -> None:
    run.boundary(50)
    run.paths.root.rename(tmp_path / "elsewhere")
    for act in (lambda: run.record(60, {"loss": 1.0}), lambda: run.save("periodic"), lambda: run.boundary(100)):
        with pytest.raises(MovedError, match="moved, deleted or replaced"):
            act()
    run.report(MovedError("it was moved"))
    assert not run.paths.root.exists(), "nothing is made anew under its name"


def test_a_target_that_is_not_confirmed_calls_for_another_validation(run: Host) -> None:
    played: list[int] = []

    class Lucky(Validator):
        def validate(self, update: int, env_steps: int) -> Any:
            played.append(env_steps)
            self.rates = Rates(greedy=1.0, least=1.0, sampled=0.3, least_sampled=0.3)
            yield from ()

    with_validator(run, Lucky)
    run.boundary(100)
    for update in range(1, 4):
        run.record(100 + update, {})
        run.boundary(100 + update)
    assert played == [100], "four updates are wanted between two"
    run.record(104, {})
    with pytest.raises(RunEnded, match=r"validation reached 1\.000 in greedy play"):
        run.boundary(104)
    assert played == [100, 104]


def test_it_says_what_is_not_confirmed(run: Host, monkeypatch: pytest.MonkeyPatch) -> None:
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
    with_validator(run, Lucky)
    run.boundary(100)
    assert "greedy 1.00, sampled 0.30: not confirmed" in told
    assert [int(folder.name) for folder in list_checkpoints(run.paths)] == [100]


# -- with a library of a few lines ------------------------------------------------------------


def toy(home: Path, control: Control | None = None, **options: Any) -> Host:
    paths = HomePaths(home).run("run")
    config = toy_trainee.ToyConfig(**{"task": "tiny_goal", "eval_every": 0, "threads": 1, **options})
    spec = RunSpec.of(config, "toy")
    return Host(spec, paths, RunWriter(paths), control or Control(), toy_trainee.make_trainee)


def test_one_that_fails_leaves_an_error_and_a_receipt(tmp_path: Path) -> None:
    run = toy(tmp_path, fails_at=96)
    with pytest.raises(LabError, match="ValueError: what a library"):
        run.run()
    error = read_log(tmp_path)[-1]
    assert (error["kind"], error["message"]) == ("ValueError", "what a library says when it fails")
    folder = run.paths.root / error["receipt"]
    assert {path.name for path in folder.iterdir()} == {"last_frames.npy", "last_frames.png", "receipt.json"}
    told = json.loads((folder / "receipt.json").read_text())
    assert (told["env_steps"], told["config"]["fails_at"]) == (96, 96)
    assert any("toy_trainee.py" in line for line in told["traceback"])
    assert check_log(run.paths.train_log).errors == []


def test_one_whose_evidence_fails_too_says_why_it_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise KeyError("its own")

    monkeypatch.setattr(toy_trainee.ToyTrainee, "evidence", broken)
    with pytest.raises(LabError, match="what a library"):
        toy(tmp_path, fails_at=32).run()
    assert read_log(tmp_path)[-1]["receipt"] == ""


def test_it_goes_on_from_the_newest_whole_checkpoint(tmp_path: Path) -> None:
    first = toy(tmp_path, checkpoint_every=32, total_env_steps=128).run()
    assert (first.state, first.env_steps) == (RunState.FINISHED, 128)
    paths = HomePaths(tmp_path).run("run")
    (paths.checkpoint(128) / toy_trainee.FILE).write_bytes(b"half")
    second = toy(tmp_path, checkpoint_every=32, total_env_steps=192).run()
    assert second.env_steps == 192
    resumed = [one for one in read_log(tmp_path) if one["type"] == "resume"]
    assert [(one["env_steps"], one["update"]) for one in resumed] == [(96, 3)]
    assert check_log(paths.train_log).errors == []


def test_one_killed_before_its_first_checkpoint_begins_anew(tmp_path: Path) -> None:
    toy(tmp_path).prepare()
    assert toy(tmp_path, total_env_steps=64).run().env_steps == 64
    assert [one["type"] for one in read_log(tmp_path)][:2] == ["meta", "resume"]


def test_a_stop_cuts_an_update_that_takes_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainer_core.host.run.CUT_S", 0.0)
    control = Control()
    run = toy(tmp_path, control, gradient_steps=10**9)
    seen, within = [], run.within_update

    def stopped_at_the_third() -> None:
        seen.append(0)
        if len(seen) == 3:
            control.stop("stopped by you")
        within()

    monkeypatch.setattr(run, "within_update", stopped_at_the_third)
    ended = run.run()
    assert (ended.state, len(seen), ended.env_steps) == (RunState.STOPPED, 3, 32)
    assert read_log(tmp_path)[-1]["reason"] == "stop"
    within_another = torch.nn.Linear(1, 1)
    torch.optim.Adam(within_another.parameters()).step()
    assert len(seen) == 3, "whose run is over hears of no optimizer"


@pytest.mark.slow
def test_its_process_hears_of_other_limits_and_reports_as_ours(tmp_path: Path) -> None:
    config = toy_trainee.ToyConfig(task="tiny_goal", eval_every=0, threads=1, total_env_steps=64)
    life = RunLife.begin(HomePaths(tmp_path), "run", RunSpec.of(config, "toy"), algo="toy")
    argv = [sys.executable, "-m", "trainer_core.worker", str(life.paths.root), toy_trainee.__name__]

    def work(**env: str) -> list[dict[str, Any]]:
        env = {**os.environ, "PYTHONPATH": str(CHECKOUT), INHERITED: str(life.lock.descriptor), **env}
        with subprocess.Popen(
            argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=(life.lock.descriptor,)
        ) as process:
            assert process.stdout is not None
            told = [json.loads(line) for line in process.stdout]
        assert process.returncode == 0
        return told

    assert work()[-1]["detail"] == "64 environment steps"
    assert work(**{LIMITS: '{"total_env_steps": 96}'})[-1]["detail"] == "96 environment steps"
    assert [one["env_steps"] for one in read_log(tmp_path) if one["type"] == "checkpoint"] == [64, 96]
    assert read_spec(life.paths).total_env_steps == 64


def test_a_shell_hands_other_limits_to_a_librarys_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = []

    async def heard(runner: Any, *_: Any) -> dict[str, Any]:
        told.append((runner.id, os.environ[LIMITS]))
        return {"ok": True}

    monkeypatch.setattr("trainer_core.cli.train_guest._go_on", heard)
    spec = RunSpec(runner="sb3", task="tiny_goal", options={"algo": "ppo"})
    RunLife.begin(HomePaths(tmp_path), "run", spec, algo="ppo").end(RunState.STOPPED, "by you")
    words = ["resume", "run", "--home", str(tmp_path), "--seconds", "5"]
    assert main([*words, "--target-success", "0.5"]) == 0
    assert main([*words, "--target-success", "2"]) == 2
    assert main([*words, "--gpus", "2"]) == 2
    assert told == [("sb3", '{"seconds": 5.0, "target_success": 0.5}')]
    assert LIMITS not in os.environ


@pytest.mark.parametrize(("module", "early"), [("sb3", ["cuda:0"]), ("d3rlpy", [])])
def test_torch_is_loaded_early_where_the_package_says_so(
    module: str, early: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []
    monkeypatch.setattr(worker, "load_torch", loaded.append)
    for library in ("stable_baselines3", "d3rlpy"):  # as where neither is installed
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError):
        worker.load_trainee(f"trainer_core.runners.{module}.worker", "cuda:0")
    assert loaded == early
