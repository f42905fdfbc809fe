"""One life of a run, whoever keeps it: lock, index lines, resume, a kill in between."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.sockets import listening
from tests.trainer_core.building import tiny_config
from trainer_core.cli import resume, runs, train
from trainer_core.cli.local_run import Narrator
from trainer_core.host.control import Control
from trainer_core.host.worker import obey
from trainer_core.lab.guest_environment import RunnerEnvironment
from trainer_core.lab.paths import CHECKOUT, HomePaths
from trainer_core.runs.index import RunRegistry
from trainer_core.runs.life import RunLife
from trainer_core.runs.log_writer import RunWriter
from trainer_core.runs.run_lock import INHERITED, RunLock
from trainer_core.wire import commands, records
from trainer_core.wire.errors import LabError
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import RunSpec

SPEC = RunSpec.of(tiny_config())
CHECKPOINT = {"path": "checkpoints/000000000128", "sha256": "0" * 64, "size_bytes": 1, "reason": "best"}


def begin(home: HomePaths, name: str = "") -> RunLife:
    return RunLife.begin(home, "run", SPEC, algo="ppo", name=name)


def event(kind: type[records.Record], **fields: Any) -> records.Record:
    return kind(run_id="run", seq=0, time=1.0, **fields)


def train_words(home: Path, *more: object) -> list[str]:
    words = ["--task", "tiny_goal", "--num-envs", 16, "--num-steps", 8, "--num-minibatches", 2,
             "--threads", 1, "--home", home, *more]  # fmt: skip
    return list(map(str, words))


def test_a_resumed_run_keeps_what_it_was(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    life = begin(home, "mine")
    life.fold(event(records.CheckpointRecord, env_steps=128, success_rate=0.75, **CHECKPOINT))
    life.end(RunState.STOPPED, "enough")
    first = RunRegistry(home).load()["run"]
    again = RunLife.resume(home, "run", RunLock.take(home.run("run")))
    kept = ("name", "created_at", "best_success_rate", "last_checkpoint", "env_steps", "algo")
    for name in kept:
        assert getattr(again.record, name) == getattr(first, name), name
    assert (first.name, first.best_success_rate, first.env_steps) == ("mine", 0.75, 128)
    assert (again.record.state, again.record.reason) == (RunState.STARTING, "")
    again.end(RunState.FINISHED, "")


def test_a_run_that_the_index_forgot_is_taken_from_its_files(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    life = begin(home, "mine")
    writer = RunWriter(life.paths)
    writer.append(records.CheckpointRecord, env_steps=128, success_rate=0.5, **CHECKPOINT)
    writer.close()
    life.end(RunState.STOPPED, "")
    home.runs_index.unlink()
    found = RunLife.resume(home, "run", RunLock.take(life.paths), algo="ppo").record
    assert (found.name, found.env_steps, found.best_success_rate) == ("mine", 128, 0.5)
    assert found.last_checkpoint == CHECKPOINT["path"]


def test_the_best_success_of_a_run_is_not_its_last(tmp_path: Path) -> None:
    life = begin(HomePaths(tmp_path))
    rates = [("greedy", 0.25), ("greedy", 0.75), ("leave_loops", 1.0), ("greedy", 0.5)]
    for mode, success in rates:
        life.fold(
            event(
                records.EvalRecord,
                env_steps=1,
                task="t",
                mode=mode,
                episodes=8,
                distinct_starts=8,
                success_rate=success,
                pass_at_1=success,
                pass_at_n=success,
                n=1,
                median_steps_to_goal=1.0,
                mean_return=0.0,
                wall_time_s=1.0,
            )
        )
    assert (life.record.best_success_rate, life.record.best_leaving_rate) == (0.75, 1.0)
    life.end(RunState.STOPPED, "")


def test_what_a_run_says_of_its_end_waits_for_its_process(tmp_path: Path) -> None:
    life = begin(HomePaths(tmp_path))
    life.fold(event(records.StateEvent, state="starting", detail="loading the library"))
    assert life.record.reason == "loading the library"
    life.fold(event(records.StateEvent, state="running"))
    assert life.record.reason == "", "it has loaded it"
    life.fold(event(records.StateEvent, state="finished", detail="time limit"))
    assert (life.record.state, life.record.reason) == (RunState.RUNNING, "time limit")
    life.move(RunState.STOPPING)
    assert not life.fold(event(records.StateEvent, state="paused"))
    assert life.record.state is RunState.STOPPING
    life.end(RunState.STOPPED, "by you")


@pytest.mark.usefixtures("warm")
def test_one_trainer_a_run_directory(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    life = begin(home)
    before = {path.name: path.read_bytes() for path in life.paths.root.iterdir()}
    index = home.runs_index.read_bytes()
    with pytest.raises(LabError, match=f"run run is being trained by process {os.getpid()}"):
        resume.run(["run", "--home", str(tmp_path)])
    worker = subprocess.run(
        [sys.executable, "-m", "trainer_core.worker", str(life.paths.root)],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert worker.returncode == 1
    assert worker.stderr.count("\n") == 1
    assert "is being trained" in worker.stderr
    assert {path.name: path.read_bytes() for path in life.paths.root.iterdir()} == before
    assert home.runs_index.read_bytes() == index
    life.end(RunState.STOPPED, "")
    RunLock.take(life.paths).release()


def test_a_child_holds_the_lock_for_its_own_life(tmp_path: Path) -> None:
    life = begin(HomePaths(tmp_path))
    number = life.lock.descriptor
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"],
        stdin=subprocess.PIPE,
        pass_fds=(number,),
        env={**os.environ, INHERITED: str(number)},
    )
    life.launched(child.pid)
    life.end(RunState.LOST, "the app is gone")
    with pytest.raises(LabError, match=f"process {child.pid}"):
        RunLock.take(life.paths)
    assert child.stdin is not None
    child.stdin.close()
    child.wait()
    RunLock.take(life.paths).release()


@pytest.mark.usefixtures("warm")
def test_a_killed_run_of_the_command_line_shows_how_far_it_came(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "a home with ümlauts"
    words = train_words(root, "--seconds", 300, "--eval-every", 0, "--checkpoint-every", 0)
    child = subprocess.Popen(
        [sys.executable, "-m", "trainer_core.cli.main", "train", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    home = HomePaths(root)
    deadline = time.monotonic() + 60
    while not (shown := runs.run(["--home", str(root)])["runs"]) or (shown[0]["env_steps"] == 0):
        assert time.monotonic() < deadline, shown
        time.sleep(0.2)
    assert shown[0]["state"] == "starting" or shown[0]["state"] == "running"
    child.send_signal(signal.SIGKILL)
    child.wait()
    (found,) = runs.run(["--home", str(root)])["runs"]
    log = home.run(found["run_id"]).train_log.read_bytes()
    last = json.loads(log[: log.rfind(b"\n")].splitlines()[-1])
    assert (found["state"], found["env_steps"]) == ("lost", last["env_steps"])
    again = resume.run(["latest", "--home", str(root), "--total-env-steps", "256"])
    (after,) = runs.run(["--home", str(root)])["runs"]
    assert again["run_id"] == after["run_id"]
    assert (after["state"], after["env_steps"]) == ("finished", 256)
    assert after["created_at"] == found["created_at"]


@pytest.mark.parametrize("cause", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_home_without_locks_is_one_clear_line_and_nothing_is_begun(
    cause: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a network file system without a lock daemon answers."""

    def without(descriptor: int, operation: int) -> None:
        raise OSError(cause, os.strerror(cause))

    monkeypatch.setattr(fcntl, "flock", without)
    with pytest.raises(LabError, match=r"(No locks|not supported).*--home\)$"):
        train.run(train_words(tmp_path, "--total-env-steps", 128))
    assert runs.run(["--home", str(tmp_path)])["runs"] == []
    place = RunnerEnvironment("sb3", (), HomePaths(tmp_path))
    with pytest.raises(LabError, match=r"envs/sb3: .*--home$"):
        place.install(lambda share, words: None)


def test_a_run_that_is_refused_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="gone"):
        train.run(train_words(tmp_path, "--warm-start", tmp_path / "gone", "--seconds", 1))
    assert not HomePaths(tmp_path).root.joinpath("training").exists()


def test_a_closed_terminal_saves_and_a_closed_reader_does_not_matter(tmp_path: Path) -> None:
    words = train_words(tmp_path, "--seconds", 300, "--eval-every", 0, "--checkpoint-every", 0)
    child = subprocess.Popen(
        [sys.executable, "-m", "trainer_core.cli.main", "train", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Tests that run under nohup would hand on that it is ignored, which a training respects.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    assert child.stderr is not None
    assert child.stdout is not None
    assert child.stderr.readline().startswith("run ")
    child.stderr.close()  # what is told from now on breaks the pipe
    logs = HomePaths(tmp_path).runs
    deadline = time.monotonic() + 60
    while not any(b'"update"' in log.read_bytes() for log in logs.glob("*/train_log.jsonl")):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert listening([child.pid]) == []
    child.send_signal(signal.SIGHUP)
    result = json.loads(child.stdout.read())
    assert child.wait() == 0
    assert (result["state"], result["reason"]) == ("stopped", "terminated")
    assert Path(result["checkpoint"]).is_dir()


@pytest.mark.usefixtures("warm")
@pytest.mark.parametrize("k", [4, 60])
def test_a_full_disk_is_one_clear_line(k: int, tmp_path: Path) -> None:
    words = train_words(tmp_path, "--total-env-steps", 4096, "--eval-every", 0)
    done = subprocess.run(
        [sys.executable, "-m", "tests.proofs.faults", f"write:{k}:ENOSPC", "trainer_core.cli.main",
         "train", *words, "--checkpoint-every", "4"],
        capture_output=True, text=True, check=False, cwd=CHECKOUT,
    )  # fmt: skip
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if "No space left" in line]
    assert line.startswith("dmglab train: /")
    assert line.endswith("free some space and resume the run")
    assert "Traceback" not in done.stderr
    (found,) = RunRegistry(HomePaths(tmp_path)).reconcile().values()
    assert found.state.is_end
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_number_that_is_no_lock_is_not_believed(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    life = begin(home)
    for leftover in ("2", "999", "lamp", ""):
        with pytest.raises(LabError, match="is being trained"):
            RunLock.take_or_inherit(life.paths, leftover)
    assert RunLock.take_or_inherit(life.paths, str(life.lock.descriptor)).descriptor >= 0


def test_a_pause_that_is_taken_back_within_an_update_leaves_the_run_running(tmp_path: Path) -> None:
    home, control = HomePaths(tmp_path), Control()
    life = RunLife.begin(home, "r", SPEC, algo="ppo")
    with contextlib.closing(RunWriter(life.paths, Narrator(life))) as writer:
        assert obey(commands.Pause(id=1), control, writer) == ""
        assert life.record.state is RunState.STARTING, "no update is there to finish"
        assert control.paused
        control.pause(False)
        control.begin()
        writer.tell(records.StateEvent, state="running")
        obey(commands.Pause(id=2), control, writer)
        assert life.record.state is RunState.PAUSING
        obey(commands.Unpause(id=3), control, writer)
        assert life.record.state is RunState.RUNNING
        writer.tell(records.StateEvent, state="queued")  # from nowhere: the run goes on
    life.end(RunState.STOPPED, "")
