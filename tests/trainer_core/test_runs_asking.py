"""`dmglab query`: tables that follow index and logs, and no way to change anything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.made_homes import make_home
from tests.support.made_records import run_record, update_record
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.index import RunRegistry
from trainer_core.runs.log_writer import RunWriter
from trainer_core.runs.sql import Table, ask
from trainer_core.wire import records
from trainer_core.wire.errors import LabError
from trainer_core.wire.run_record import RunState


@pytest.fixture
def home(tmp_path: Path) -> HomePaths:
    """Three runs that ended, each with a log of four records."""
    return make_home(tmp_path / "home", runs=3, log_records=4)


def rows(home: HomePaths, question: str) -> list[tuple[object, ...]]:
    return list(ask(home, question).rows)


def test_runs_are_what_the_index_says_now(home: HomePaths) -> None:
    assert rows(home, "SELECT run_id, state FROM runs ORDER BY 1") == [
        (f"run-0000{number}", "finished") for number in range(3)
    ]
    registry = RunRegistry(home)
    registry.append(run_record("run-00001", RunState.FAILED, reason="fell over"))
    registry.append(run_record("new", RunState.RUNNING, pid=2**22 - 3, pid_create_time=1.0))
    assert rows(home, "SELECT run_id, reason FROM runs WHERE state = 'failed'") == [("run-00001", "fell over")]
    assert rows(home, "SELECT state FROM runs WHERE run_id = 'new'") == [("lost",)]


def test_records_follow_the_logs_line_by_line(home: HomePaths) -> None:
    count = "SELECT count(*), max(env_steps) FROM updates WHERE run_id = 'new'"
    RunRegistry(home).append(run_record("new", RunState.FINISHED))
    log = home.run("new").train_log
    log.parent.mkdir()
    log.write_bytes(records.encode(update_record("new", 0, 1, 1.0)) + b'{"type": "upd')
    assert rows(home, count) == [(1, 2048)]
    with log.open("ab") as file:
        file.write(b"garbage\n\xff\xfe\n" + records.encode(update_record("new", 1, 2, 1.0)))
    assert rows(home, count) == [(2, 4096)]
    log.unlink()
    log.write_bytes(records.encode(update_record("new", 0, 9, 1.0)))
    assert rows(home, count) == [(1, 9 * 2048)]


def test_every_number_of_an_update_is_a_scalar_its_own_names_too(home: HomePaths) -> None:
    RunRegistry(home).append(run_record("guest", RunState.FINISHED))
    writer = RunWriter(home.run("guest"))
    writer.append(records.UpdateRecord, env_steps=64, wall_time_s=1.0, sps=64.0, metrics={"losses/td": 0.5})
    writer.close()
    question = "SELECT name, value FROM scalars WHERE run_id = 'guest' AND env_steps = 64"
    assert set(rows(home, question)) == {("wall_time_s", 1.0), ("sps", 64.0), ("losses/td", 0.5)}


def test_the_logs_are_read_only_for_questions_about_them(home: HomePaths) -> None:
    log = home.run("run-00000").train_log
    log.unlink()
    os.mkfifo(log)  # whoever opens it waits for ever
    assert rows(home, "SELECT count(*) FROM runs") == [(3,)]


@pytest.mark.parametrize(
    "question",
    [
        "DELETE FROM runs",
        "UPDATE runs SET name = 'x'",
        "DROP TABLE runs",
        "PRAGMA user_version",
        "INSERT INTO runs (run_id) VALUES ('x')",
        "ATTACH 'elsewhere.db' AS other",
        "VACUUM",
        "CREATE TABLE mine (a)",
        "SELECT 1; SELECT 2",
        "BEGIN",
        "",
        "gibberish",
        "SELECT load_extension('x')",
        "SELECT * FROM nowhere",
        "SELECT 'half",
        "WITH a AS (SELECT 1) DELETE FROM runs",
        "SELECT \0",
        "EXPLAIN SELECT 1",
        "SELECT '\udcff'",
    ],
)
def test_whatever_is_no_question_is_refused_in_one_line_and_changes_nothing(home: HomePaths, question: str) -> None:
    before = rows(home, "SELECT * FROM runs")
    index = home.runs_index.read_bytes()
    with pytest.raises(LabError) as caught:
        ask(home, question)
    assert "\n" not in str(caught.value)
    assert rows(home, "SELECT * FROM runs") == before
    assert home.runs_index.read_bytes() == index
    assert not list(home.root.rglob("elsewhere.db"))


def test_an_endless_question_ends(home: HomePaths) -> None:
    endless = "WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a) SELECT max(n) FROM a"
    with pytest.raises(LabError, match="no answer within"):
        ask(home, endless, seconds=0.05)


def test_more_rows_than_wanted_are_cut_and_said_so(home: HomePaths) -> None:
    assert ask(home, "SELECT 1 FROM runs", limit=2) == Table(("1",), ((1,), (1,)), True)
    assert not ask(home, "SELECT 1 FROM runs", limit=3).cut


@pytest.mark.parametrize("rubbish", [b"", b"not a database" * 100, b"SQLite format 3\0" + b"x" * 99])
def test_a_cache_that_is_gone_or_damaged_is_made_again(home: HomePaths, rubbish: bytes) -> None:
    assert rows(home, "SELECT count(*) FROM updates") == [(12,)]
    for part in home.runs_cache.parent.glob("runs.sqlite*"):
        part.unlink()
    home.runs_cache.write_bytes(rubbish)
    assert rows(home, "SELECT count(*) FROM updates") == [(12,)]


def test_a_home_that_may_only_be_read_is_asked_in_memory(home: HomePaths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HomePaths, "runs_cache", Path("/proc/no/such/folder/runs.sqlite"))
    assert rows(home, "SELECT count(*) FROM updates") == [(12,)]


def test_two_may_ask_at_once(home: HomePaths) -> None:
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from trainer_core.lab.paths import HomePaths\n"
        "from trainer_core.runs.sql import ask\n"
        "print(ask(HomePaths(Path(sys.argv[1])), 'SELECT count(*) FROM updates').rows)\n"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", code, str(home.root)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert [process.communicate()[0] for process in both] == ["((12,),)\n"] * 2
