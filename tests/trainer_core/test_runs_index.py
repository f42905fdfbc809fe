"""runs.jsonl: the last line holds, torn lines spoil nothing, dead processes make lost runs."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.support.made_records import run_record, update_record
from trainer_core.protocol import records
from trainer_core.protocol.paths import HomePaths
from trainer_core.protocol.runs import RunState
from trainer_core.runs.index import RunRegistry, create_time, is_alive


@pytest.fixture
def registry(tmp_path: Path) -> RunRegistry:
    return RunRegistry(HomePaths(tmp_path))


def test_the_last_line_of_a_run_holds(registry: RunRegistry) -> None:
    registry.append(run_record("a"))
    registry.append(run_record("b"))
    registry.append(run_record("a", RunState.FINISHED, env_steps=7))
    found = registry.load()
    assert list(found) == ["a", "b"]
    assert found["a"].state is RunState.FINISHED
    assert found["a"].env_steps == 7


def test_a_torn_last_line_is_skipped_and_the_next_one_is_whole(registry: RunRegistry) -> None:
    registry.append(run_record("a"))
    with registry.path.open("ab") as file:
        file.write(b'{"run_id": "b", "run')
    assert list(registry.load()) == ["a"]
    registry.append(run_record("c"))
    assert list(registry.load()) == ["a", "c"]


def test_a_home_without_an_index_has_no_runs(registry: RunRegistry) -> None:
    assert registry.load() == {}


def test_a_run_whose_process_is_gone_becomes_lost_once(registry: RunRegistry) -> None:
    registry.append(run_record("a", pid=2**22 - 3, pid_create_time=1.0))
    registry.append(run_record("b", RunState.STOPPED))
    assert registry.reconcile()["a"].state is RunState.LOST
    lines = registry.path.read_bytes().count(b"\n")
    registry.reconcile()
    assert registry.path.read_bytes().count(b"\n") == lines
    assert registry.load()["b"].state is RunState.STOPPED


def test_a_run_whose_process_lives_stays_as_it_is(registry: RunRegistry) -> None:
    alive = run_record("a", pid=os.getpid(), pid_create_time=create_time(os.getpid()))
    registry.append(alive)
    assert registry.reconcile()["a"].state is RunState.RUNNING


def test_a_reused_pid_is_not_the_run() -> None:
    other = run_record("a", pid=os.getpid(), pid_create_time=create_time(os.getpid()) - 100)
    assert not is_alive(other)
    assert is_alive(msgspec.structs.replace(other, pid_create_time=create_time(os.getpid())))


def test_ten_thousand_runs_are_listed_from_the_index_alone(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    home.runs.mkdir(parents=True)
    ended = [
        msgspec.json.encode(run_record(f"run-{number:05}", state, env_steps=number, reason="done"))
        for number in range(10_000)
        for state in (RunState.STARTING, RunState.FINISHED)
    ]
    home.runs_index.write_bytes(b"\n".join(ended) + b"\n")
    last = home.run("run-09999").train_log
    last.parent.mkdir()
    os.mkfifo(last)  # whoever reads the log of a run that ended waits for ever
    code = (
        "import resource, sys\n"
        "from trainer_core.cli.main import main\n"
        f"assert main(['runs', '--home', {str(tmp_path)!r}]) == 0\n"
        "assert 'torch' not in sys.modules\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print(used.ru_utime + used.ru_stime, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.count("\n") == 10_001
    assert float(done.stderr) < 1.5  # 0.35 s of CPU on an idle core


def test_a_home_that_may_only_be_read_is_listed(
    tmp_path: Path, registry: RunRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.append(run_record("a", pid=2**22 - 3, pid_create_time=1.0))
    before = registry.path.read_bytes()

    def refused(self: RunRegistry, record: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(self.path))

    monkeypatch.setattr(RunRegistry, "append", refused)
    assert registry.reconcile()["a"].state is RunState.LOST
    assert registry.path.read_bytes() == before


def test_only_the_end_of_a_long_log_is_read(registry: RunRegistry) -> None:
    registry.append(run_record("a", pid=2**22 - 3, pid_create_time=1.0))
    log = registry.home.run("a").train_log
    log.parent.mkdir(parents=True)
    with log.open("wb") as file:
        file.seek(8 << 30)  # sparse: a reader of all of it would not come back
        file.write(b"\n" + records.encode(update_record("a", 1, 7, 1.0)))
    assert registry.reconcile()["a"].env_steps == 7 * 2048


def test_a_run_that_was_resumed_while_somebody_read_the_index_is_not_lost(
    registry: RunRegistry,
) -> None:
    registry.append(run_record("a", pid=2**22 - 3, pid_create_time=1.0))
    read_before = registry.load()
    alive = run_record("a", pid=os.getpid(), pid_create_time=create_time(os.getpid()))
    registry.append(alive)
    assert registry.reconcile(read_before)["a"] == alive
    assert registry.load()["a"] == alive
