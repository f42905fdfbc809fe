"""runs.jsonl: the last line holds, torn lines spoil nothing, dead processes make lost runs."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.made_records import run_record, update_record
from tests.support.processes import SPEC
from trainer_core.cli.main import main
from trainer_core.lab.paths import HomePaths
from trainer_core.runs import queue_steps
from trainer_core.runs.index import RunRegistry, create_time, is_alive
from trainer_core.runs.life import RunLife
from trainer_core.runs.log_writer import RunWriter
from trainer_core.runs.rebuild_index import FOUND, UNREADABLE
from trainer_core.runs.sql import ask
from trainer_core.wire import records
from trainer_core.wire.regular_files import open_regular, read_lines
from trainer_core.wire.run_record import RunState


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
        f"assert main(['runs', '--text', '--home', {str(tmp_path)!r}]) == 0\n"
        "assert 'torch' not in sys.modules\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print(used.ru_utime + used.ru_stime, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
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


def begin(home: HomePaths, run_id: str, *, reason: str) -> None:
    """A run of our trainer that has come to a checkpoint of that reason."""
    life = RunLife.begin(home, run_id, SPEC, algo="ppo", name=f"named {run_id}")
    with contextlib.closing(RunWriter(life.paths)) as writer:
        writer.append(records.MetaRecord, runner="native", task="tiny_goal", algo="ppo")
        writer.append(
            records.CheckpointRecord,
            env_steps=4096,
            path="checkpoints/000000004096",
            sha256="0" * 64,
            size_bytes=1,
            success_rate=0.75,
            reason=reason,
        )
    life.end(RunState.FINISHED if reason == "final" else RunState.STOPPED, "")


def listed(home: HomePaths, capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    assert main(["runs", "--json", "--home", str(home.root)]) == 0
    return {run["run_id"]: run for run in json.loads(capsys.readouterr().out)["runs"]}


def test_a_lost_index_is_made_again_from_the_folders_of_runs(
    registry: RunRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    home = registry.home
    begin(home, "a", reason="final")
    begin(home, "b", reason="stop")
    begin(home, "c", reason="periodic")
    queue_steps.enqueue(home, "d", SPEC, algo="ppo")
    home.run("no run").root.mkdir()
    bad = home.run("bad").config
    bad.parent.mkdir()
    bad.write_text("{")
    registry.path.unlink()
    found = listed(home, capsys)
    assert {name: run["state"] for name, run in found.items()} == {
        "a": "finished",
        "b": "stopped",
        "c": "lost",
        "d": "queued",
        "bad": "lost",
    }
    assert found["a"]["reason"] == FOUND
    assert found["a"]["best_success_rate"] == 0.75
    assert (found["a"]["algo"], found["a"]["name"]) == ("ppo", "named a")
    assert found["bad"]["reason"].startswith(f"{UNREADABLE}: {bad}: ")
    assert set(registry.load()) == {"a", "b", "c", "d"}, "written down, but for what says nothing"
    lines = registry.path.read_bytes()
    assert listed(home, capsys) == found
    assert registry.path.read_bytes() == lines
    answer = ask(home, "SELECT run_id FROM runs WHERE best_success_rate = 0.75 ORDER BY run_id")
    assert answer.rows == (("a",), ("b",), ("c",))


def test_a_cache_of_a_lost_index_knows_the_folders_too(registry: RunRegistry) -> None:
    begin(registry.home, "a", reason="final")
    ask(registry.home, "SELECT run_id FROM runs")
    registry.path.unlink()
    home = registry.home
    home.runs_cache.unlink()
    assert ask(home, "SELECT run_id, state FROM runs").rows == (("a", "finished"),)


def test_a_run_that_somebody_begins_this_moment_is_not_called_lost(registry: RunRegistry) -> None:
    life = RunLife.begin(registry.home, "a", SPEC, algo="ppo")
    registry.path.unlink()
    assert registry.reconcile() == {}
    life.end(RunState.FINISHED, "all done")
    assert registry.reconcile()["a"].reason == "all done"


@pytest.mark.parametrize(
    "change",
    [
        {"run_id": "../../evil"},
        {"run_id": ""},
        {"run_id": "a\nb"},
        {"run_id": "\x1b[2Jx"},
        {"run_id": "n" * 50_000},
        {"env_steps": 10**400},
        {"env_steps": 2**63},
        {"env_steps": -1},
        {"created_at": 1e300},
        {"finished_at": -5.0},
        {"pid": 10**30},
        {"state": "asleep"},
    ],
)
def test_a_line_that_no_run_of_ours_could_have_written_is_none(
    registry: RunRegistry, change: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    registry.append(run_record("good", RunState.FINISHED))
    line = msgspec.to_builtins(run_record("bad", RunState.FINISHED)) | change
    with registry.path.open("a") as file:
        file.write(json.dumps(line) + "\n")
    assert list(listed(registry.home, capsys)) == ["good"]
    assert ask(registry.home, "SELECT run_id FROM runs").rows == (("good",),)
    assert main(["disk", "--json", "--home", str(registry.home.root)]) == 0


def test_what_a_terminal_would_obey_is_shown_as_letters(
    registry: RunRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    registry.append(run_record("a", RunState.FAILED, reason="\x1b]0;owned\x07\nx" * 999))
    assert main(["runs", "--text", "--home", str(registry.home.root)]) == 0
    out = capsys.readouterr().out
    assert out.count("\n") == 2
    assert out.replace("\n", "").isprintable()
    assert len(out) < 1_000


def test_a_run_that_was_resumed_while_somebody_read_the_index_is_not_lost(registry: RunRegistry) -> None:
    registry.append(run_record("a", pid=2**22 - 3, pid_create_time=1.0))
    read_before = registry.load()
    alive = run_record("a", pid=os.getpid(), pid_create_time=create_time(os.getpid()))
    registry.append(alive)
    assert registry.reconcile(read_before)["a"] == alive
    assert registry.load()["a"] == alive


def test_an_index_that_cannot_be_read_hides_no_run(registry: RunRegistry, capsys: pytest.CaptureFixture[str]) -> None:
    begin(registry.home, "a", reason="final")
    registry.path.unlink()
    registry.path.mkdir()
    assert main(["runs", "--json", "--home", str(registry.home.root)]) == 0
    out, err = capsys.readouterr()
    assert [run["run_id"] for run in json.loads(out)["runs"]] == ["a"]
    assert err == f"{registry.path}: Is a directory: runs are listed from their folders\n"


def test_lines_beyond_a_hole_or_of_any_length_are_read_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    with path.open("wb") as file:
        file.write(b"first\n" + b"x" * (9 << 20) + b"\nsecond\nhalf")
        file.seek(8 << 30)
        file.write(b"\nthird\ntorn")
    with open_regular(path) as raw:
        found = list(read_lines(raw, 0))
        assert [line for line, _ in found] == [b"first", b"second", b"third"]
        assert list(read_lines(raw, found[0][1])) == found[1:]
        last = found[-1][1]
        assert list(read_lines(raw, last)) == []
        assert list(read_lines(raw, last, torn=True)) == [(b"torn", last)]
