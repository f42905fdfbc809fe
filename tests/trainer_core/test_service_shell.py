"""The home from a shell: queue, stop, pause and resume of runs that other processes keep."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.made_homes import make_home
from tests.support.processes import SPEC
from trainer_core.cli.main import main
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.runs import queue_steps
from trainer_core.runs.config_file import write_config
from trainer_core.runs.device_lock import DeviceLock
from trainer_core.runs.index import RunRegistry
from trainer_core.runs.queue import QueueEntry, RunQueue
from trainer_core.runs.run_lock import RunLock, is_locked_here
from trainer_core.service.detached import DetachedLock
from trainer_core.wire.errors import LabError
from trainer_core.wire.run_record import RunState


@pytest.fixture
def home(tmp_path: Path) -> HomePaths:
    return HomePaths(tmp_path / "home")


class Shell:
    """`dmglab ...` in this process, on one home."""

    def __init__(self, home: HomePaths, capsys: pytest.CaptureFixture[str]) -> None:
        self._home, self._capsys = home, capsys

    def text(self, *words: str) -> tuple[int, str]:
        code = main([*words, "--home", str(self._home.root)])
        return code, self._capsys.readouterr().out

    def __call__(self, *words: str) -> dict[str, Any]:
        """Its JSON object."""
        code, out = self.text(*words)
        found = json.loads(out.splitlines()[-1])
        assert found["ok"] == (code == 0)
        return found


@pytest.fixture
def dmglab(home: HomePaths, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(home, capsys)


def test_the_queue_from_a_shell(home: HomePaths, dmglab: Shell) -> None:
    for run_id in ("a", "b"):
        queue_steps.enqueue(home, run_id, SPEC, algo="ppo")
    added = dmglab("queue", "add", "--task", "tiny_goal", "--total-env-steps", "64",
                   "--priority", "3", "--hold", "--devices", "cpu", "--name", "mine")  # fmt: skip
    assert (added["state"], added["position"]) == ("queued", 1)
    run_id = added["run_id"]
    assert RunRegistry(home).load()[run_id].name == "mine"
    assert dmglab("queue", "move", "b", "1")["queue"] == ["b", run_id, "a"]
    assert dmglab("queue", "hold", "b")["queue"] == ["b", run_id, "a"]
    listed = dmglab("queue", "list", "--json")["queue"]
    assert [(row["run_id"], row.get("held", False)) for row in listed] == [("b", True), (run_id, True), ("a", False)]
    dmglab("queue", "release", "mi")
    assert dmglab("queue", "remove", "a")["state"] == "stopped"
    assert dmglab("stop", "b")["state"] == "stopped"
    with RunQueue(home).locked() as entries:  # killed before the index knew of it
        RunQueue(home).write([*entries, QueueEntry(run_id="ghost", devices=("cpu",))])
    assert dmglab("queue", "remove", "ghost")["run_id"] == "ghost"
    _, table = dmglab.text("queue", "list", "--text")
    assert table.splitlines()[1].split() == ["1", "mine", run_id, "tiny_goal", "native", "cpu", "3"]
    assert len(table.splitlines()) == 2


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("queue", "add", "--task", "nowhere"), "no task 'nowhere'"),
        (("queue", "add", "--task", "tiny_goal", "--devices", "tpu"), "cpu or cuda:N"),
        (("queue", "add", "--task", "tiny_goal", "--gpus", "2"), "leave --gpus and --nodes away"),
        (("queue", "move", "a", "0"), "count from 1"),
        (("queue", "remove", "x"), "'x' does not wait"),
        (("queue", "dance"), "unknown verb 'dance'"),
        (("stop", "x"), "no run 'x' below"),
        (("stop",), "name a run: no run is active"),
        (("stop", "run-00000"), "(run-00000) has ended already (finished)"),
        (("stop", "latest"), "(run-00000) has ended already (finished)"),
        (("pause", "run-00000"), "(run-00000) has ended already (finished)"),
        (("train", "--task", "nowhere", "--detach"), "no task 'nowhere'"),
        (("archive",), "name runs"),
        (("archive", "restore", "/nowhere.tar.gz"), "No such file"),
        (("query", "DELETE FROM runs"), "not authorized"),
        (("runs", "--state", "odd"), "no state 'odd'"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_changes_nothing(
    home: HomePaths, dmglab: Shell, words: tuple[str, ...], answer: str
) -> None:
    make_home(home.root, runs=1, log_records=1)
    before = home.runs_index.read_bytes()
    found = dmglab(*words)
    assert not found["ok"]
    assert answer in found["error"]
    assert "\n" not in found["error"]
    assert home.runs_index.read_bytes() == before
    assert not home.queue.exists()


RESUMING = """
import sys, time
from pathlib import Path
from trainer_core.wire import commands
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.wire.run_record import RunState
from trainer_core.runs.life import RunLife
from trainer_core.runs.run_lock import RunLock
from trainer_core.runs.command_files import Mailbox

home = HomePaths(Path(sys.argv[1]))
lock = RunLock.take(home.run("run-00000"))
print("locked", flush=True)
sys.stdin.readline()  # as torch loads
life = RunLife.resume(home, "run-00000", lock)
box = Mailbox(life.paths)
while not (letters := box.take()):
    time.sleep(0.01)
box.answer(letters[0], True)
life.end(RunState.STOPPED, type(letters[0].command).__name__)
"""


@pytest.mark.parametrize("verb", ["stop", "pause"])
def test_a_run_that_is_being_resumed_is_reached(
    home: HomePaths, dmglab: Shell, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It said ok with the end of the life before, and the run trained on."""
    make_home(home.root, runs=1, log_records=1)
    with subprocess.Popen(
        [sys.executable, "-c", RESUMING, str(home.root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as resuming:
        assert resuming.stdin is not None
        assert resuming.stdout is not None
        assert resuming.stdout.readline() == "locked\n"
        loaded = resuming.stdin

        def look(paths: RunPaths) -> bool:
            """Let the run begin once the command has seen that it is locked and has not begun."""
            if not loaded.closed:
                loaded.close()
            return is_locked_here(paths)

        monkeypatch.setattr("trainer_core.cli.steering.is_locked_here", look)
        try:
            found = dmglab(verb, "run-00000")
        finally:
            resuming.kill()  # it waits for the command as long as none comes
    if verb == "stop":
        assert (found["state"], found["reason"]) == ("stopped", "Stop")
    else:
        assert found["error"] == "run n (run-00000) has ended: stopped"
        assert RunRegistry(home).load()["run-00000"].reason == "Pause"


def test_a_run_is_locked_before_torch_is_loaded_for_it(
    home: HomePaths, dmglab: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_home(home.root, runs=1, log_records=1)
    paths = home.run("run-00000")
    write_config(paths, SPEC)

    def load() -> None:
        assert is_locked_here(paths)
        raise LabError("loaded")

    monkeypatch.setattr("trainer_core.cli.resume.load_torch", load)
    assert dmglab("resume", "run-00000")["error"] == "loaded"
    RunLock.take(paths).release()


def test_a_stop_reaches_a_run_that_is_taken_from_the_queue_this_moment(
    home: HomePaths, dmglab: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`drop` finds that it waits no more; the stop had then done nothing, and said ok."""
    queue_steps.enqueue(home, "a", SPEC, algo="ppo")
    taken: list[queue_steps.Claim] = []

    def drop(*_: object) -> None:
        found = queue_steps.claim(home, lambda runner: True)
        assert found is not None
        taken.append(found)
        assert usual(home, "a", "too late") is None
        assert [entry.run_id for entry in RunQueue(home).entries()] == ["a"]
        assert RunRegistry(home).load()["a"].state is RunState.PREFLIGHT

    usual = queue_steps.drop
    monkeypatch.setattr(queue_steps, "drop", drop)
    monkeypatch.setattr("trainer_core.service.others.KEEPER_S", 0.1)
    found = dmglab("stop", "a")
    assert (found["ok"], found["state"]) == (True, "stopped")
    assert len(taken) == 1
    taken[0].life.lock.release()
    assert taken[0].device is not None
    taken[0].device.release()


def test_a_second_worker_of_the_queue_is_told_who_the_first_is(
    home: HomePaths, dmglab: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trainer_core.service.detached.PATIENCE_S", 0.0)
    lock = DetachedLock(home)
    assert lock.take()
    assert "starts the runs" in dmglab("queue", "run")["error"]
    lock.release()
    assert dmglab("queue", "run")["queue"] == []


def test_ctrl_c_while_a_command_is_loaded_is_one_line(dmglab: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("trainer_core.cli.main.importlib.import_module", interrupted)
    assert dmglab("record")["error"] == "interrupted"


def test_runs_are_filtered_and_their_disk_use_told(home: HomePaths, dmglab: Shell) -> None:
    make_home(home.root, runs=12, log_records=1)
    found = dmglab("runs", "--filter", "FINISHED run-0001", "--json")["runs"]
    assert [run["run_id"] for run in found] == ["run-00010", "run-00011"]
    assert len(dmglab("runs", "--limit", "5", "--json")["runs"]) == 5
    found = dmglab("disk", "--json")
    assert len(found["runs"]) == 12
    assert found["bytes"] == sum(row["logs"] for row in found["runs"]) > 0


@pytest.mark.usefixtures("warm")
def test_a_training_of_a_shell_is_paused_resumed_and_stopped_from_another(home: HomePaths, dmglab: Shell) -> None:
    shell = subprocess.Popen(
        [sys.executable, "-m", "trainer_core.cli.main", "train", "--task", "tiny_goal",
         "--num-envs", "4", "--num-steps", "8", "--num-minibatches", "2", "--eval-every", "0",
         "--seconds", "600", "--home", str(home.root), "--name", "mine"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        until(lambda: _only(home).env_steps > 0)
        assert DeviceLock.take(home, "cpu", "next") is None  # nothing of the queue starts beside it
        assert dmglab("pause", "mine")["state"] == "paused"
        assert dmglab("resume", "mine")["state"] == "running"
        assert dmglab("stop")["state"] == "stopped"
        out, _ = shell.communicate(timeout=120)
    finally:
        shell.kill()
        shell.wait()
    assert json.loads(out)["reason"] == "stopped by command"
    assert _only(home).last_checkpoint
    assert DeviceLock.take(home, "cpu", "next") is not None


def _only(home: HomePaths) -> Any:
    runs = RunRegistry(home).reconcile()
    assert RunState.LOST not in {run.state for run in runs.values()}
    return next(iter(runs.values()), None) or type("NoRun", (), {"env_steps": 0})


def until(condition: Any, timeout_s: float = 120.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "the condition never held"
        time.sleep(0.05)
