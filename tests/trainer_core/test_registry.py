"""runs.jsonl: the last line holds, torn lines spoil nothing, dead processes make lost runs."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from trainer_core.protocol.paths import HomePaths
from trainer_core.protocol.runs import RunRecord, RunState
from trainer_core.registry import RunRegistry, create_time, is_alive


def record(run_id: str, state: RunState = RunState.RUNNING, **fields: object) -> RunRecord:
    return RunRecord(
        run_id=run_id, runner="native", task="t", algo="ppo", device="cpu", state=state,
        created_at=1.0, config_sha256="0" * 64, **fields,
    )  # fmt: skip


@pytest.fixture
def registry(tmp_path: Path) -> RunRegistry:
    return RunRegistry(HomePaths(tmp_path))


def test_the_last_line_of_a_run_holds(registry: RunRegistry) -> None:
    registry.append(record("a"))
    registry.append(record("b"))
    registry.append(record("a", RunState.FINISHED, env_steps=7))
    found = registry.load()
    assert list(found) == ["a", "b"]
    assert found["a"].state is RunState.FINISHED
    assert found["a"].env_steps == 7


def test_a_torn_last_line_is_skipped_and_the_next_one_is_whole(registry: RunRegistry) -> None:
    registry.append(record("a"))
    with registry.path.open("ab") as file:
        file.write(b'{"run_id": "b", "run')
    assert list(registry.load()) == ["a"]
    registry.append(record("c"))
    assert list(registry.load()) == ["a", "c"]


def test_a_home_without_an_index_has_no_runs(registry: RunRegistry) -> None:
    assert registry.load() == {}


def test_a_run_whose_process_is_gone_becomes_lost_once(registry: RunRegistry) -> None:
    registry.append(record("a", pid=2**22 - 3, pid_create_time=1.0))
    registry.append(record("b", RunState.STOPPED))
    assert registry.reconcile()["a"].state is RunState.LOST
    lines = registry.path.read_bytes().count(b"\n")
    registry.reconcile()
    assert registry.path.read_bytes().count(b"\n") == lines
    assert registry.load()["b"].state is RunState.STOPPED


def test_a_run_whose_process_lives_stays_as_it_is(registry: RunRegistry) -> None:
    alive = record("a", pid=os.getpid(), pid_create_time=create_time(os.getpid()))
    registry.append(alive)
    assert registry.reconcile()["a"].state is RunState.RUNNING


def test_a_reused_pid_is_not_the_run() -> None:
    other = record("a", pid=os.getpid(), pid_create_time=create_time(os.getpid()) - 100)
    assert not is_alive(other)
    assert is_alive(msgspec.structs.replace(other, pid_create_time=create_time(os.getpid())))
