"""How a run of the service may end: what counts as a success, full disks, floods, its devices."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import errno
import os
import re
import time
import tracemalloc
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.made_records import update_record
from tests.support.processes import SPEC, group_of, in_service, start, until
from tests.support.scripted_native import scripted_native
from trainer_core.runs import index
from trainer_core.runs.device_lock import same_device
from trainer_core.service import BadLineSeen, EventReceived, Notice, RunChanged
from trainer_core.service.child import BAD_LINES_A_SECOND, CappedLog
from trainer_core.service.event_stream import BadLine, LineParser
from trainer_core.wire import records
from trainer_core.wire.run_record import RunState

ENVELOPE: dict[str, Any] = {"run_id": "RUN", "seq": 0, "time": 1.0}
ERROR = records.encode(records.ErrorRecord(**ENVELOPE, kind="DiskError", message="it broke"))
UPDATE = records.encode(update_record("RUN", 0, 1, 100.0))
FUTURE = UPDATE.replace(b'"v":2', b'"v":99')
FINISHED = records.encode(records.StateEvent(**ENVELOPE, state="finished"))


@pytest.mark.parametrize(
    ("says", "state", "reason"),
    [
        (b"", RunState.FAILED, "without one record"),
        (FUTURE, RunState.FAILED, "without one record.*version 99"),
        (UPDATE, RunState.FAILED, "in the middle"),
        (UPDATE + ERROR, RunState.FAILED, "it broke"),
        (UPDATE + ERROR + FINISHED, RunState.FAILED, "it broke"),
        (UPDATE + FINISHED, RunState.FINISHED, ""),
    ],
)
async def test_status_0_is_a_success_only_of_a_run_that_said_so(
    says: bytes, state: RunState, reason: str, tmp_path: Path
) -> None:
    async with in_service(tmp_path) as service:
        service.runners = (scripted_native(says=says.decode()),)
        plan = service.plan(SPEC)
        text = says.decode().replace('"RUN"', f'"{plan.run_id}"')
        service.runners = (scripted_native(says=text),)
        plan = dataclasses.replace(
            plan, argv=tuple(service.runners[0].command(plan.run_dir)), runner=service.runners[0]
        )
        await service.start(plan)
        await until(lambda: service.runs[plan.run_id].state.is_end)
        ended = service.runs[plan.run_id]
        assert ended.state is state
        assert re.search(reason, ended.reason), ended.reason
        assert service.registry.load()[plan.run_id].state is state


async def test_a_worker_that_forks_and_leaves_is_over_and_so_is_what_it_left(tmp_path: Path) -> None:
    """Its child still holds the pipe: an end of the stream alone would never come."""
    async with in_service(tmp_path) as service:
        run_id = await start(service, says="", child=True)
        pid = service.runs[run_id].pid
        await until(lambda: service.runs[run_id].state.is_end)
        assert service.runs[run_id].state is RunState.FAILED
        await until(lambda: not group_of(pid))


async def test_a_record_of_another_run_changes_nothing(tmp_path: Path) -> None:
    async with in_service(tmp_path) as service:
        seen: list[Notice] = []
        service.subscribe(seen.append)
        run_id = await start(service, says=UPDATE.decode())
        await until(lambda: service.runs[run_id].state.is_end)
        assert service.runs[run_id].env_steps == 0
        (bad,) = [notice for notice in seen if isinstance(notice, BadLineSeen)]
        assert "another run" in bad.line.reason


async def test_what_the_pipe_left_out_is_read_from_the_log_in_order_and_counted(tmp_path: Path) -> None:
    async with in_service(tmp_path) as service:
        seen: list[object] = []
        service.subscribe(
            lambda n: (
                seen.append(n.event.update)
                if isinstance(n, EventReceived) and isinstance(n.event, records.UpdateRecord)
                else None
            )
        )
        run_id = await start(service, updates=9, interval_s=0.01, unsent=[2, 3, 4, 9])
        await until(lambda: service.runs[run_id].state.is_end)
        assert seen == [1, 2, 3, 4, 5, 6, 7, 8, 9]
        assert service.missed[run_id] == 4


async def test_a_full_disk_at_the_end_leaves_neither_a_silent_run_nor_a_stuck_queue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with in_service(tmp_path) as service:
        seen: list[RunState] = []
        service.subscribe(lambda n: seen.append(n.record.state) if isinstance(n, RunChanged) else None)
        first = await start(service, updates=20, interval_s=0.02)
        second = await start(service, updates=1, interval_s=0.01)
        real = index.RunRegistry.append

        def full(self: index.RunRegistry, record: Any) -> None:
            if record.run_id == first:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            real(self, record)

        monkeypatch.setattr(index.RunRegistry, "append", full)
        await until(lambda: service.runs[second].state is RunState.FINISHED)
        assert service.runs[first].state is RunState.FINISHED
        assert RunState.FINISHED in seen


async def test_a_listener_that_fails_does_not_stop_the_queue(tmp_path: Path) -> None:
    async with in_service(tmp_path) as service:
        first = await start(service, updates=2, interval_s=0.01)
        second = await start(service, updates=1, interval_s=0.01)

        def fails(notice: Notice) -> None:
            if isinstance(notice, RunChanged) and notice.record.state.is_end:
                raise ValueError("a view has a bug")

        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        service.subscribe(fails)
        await until(lambda: service.runs[second].state.is_end)
        assert service.runs[first].state is RunState.FINISHED


async def test_a_start_that_is_given_up_leaves_no_process_and_a_run_that_ended(tmp_path: Path) -> None:
    """Ctrl-C while `dmglab train --runner` starts it: the run stood as *preflight* until lost."""
    async with in_service(tmp_path) as service:
        service.runners = (scripted_native(),)
        for _ in range(10):
            plan = service.plan(SPEC)
            starting = asyncio.create_task(service.start(plan, wait=False))
            while not service.keeps(plan.run_id):
                await asyncio.sleep(0)
            starting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await starting
            ended = service.runs[plan.run_id]
            assert (ended.state, ended.reason) == (RunState.STOPPED, "interrupted while it was started")
        await until(lambda: not living_children())


def living_children() -> list[int]:
    """Workers that this process started and that have not ended."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "echo_worker.py" in " ".join(child.cmdline()):
                found.append(child.pid)
    return found


def test_cuda_and_cuda_0_are_one_device() -> None:
    assert same_device("cuda", "cuda:0")
    assert same_device("cpu", "cpu")
    assert not same_device("cuda", "cuda:1")
    assert not same_device("cuda:1", "cuda:10")


def test_a_stream_that_is_never_quite_read_costs_no_memory() -> None:
    parser = LineParser()
    line = b'{"type":"nonsense","text":"%s"}\n' % (b"x" * 1000)
    tracemalloc.start()
    parser.feed(line)
    for _ in range(100):  # 10 MB; one line always waits, as when the budget of a slice ran out
        parser.feed(line * 100)
        for _ in range(100):
            parser.next()
        assert parser.waits
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 << 20


def test_lines_without_meaning_do_not_hold_up_the_loop() -> None:
    parser = LineParser()
    parser.feed(b"\n" * (8 << 20))
    began = time.process_time()
    assert parser.next(time.perf_counter() - 1) is None
    assert time.process_time() - began < 0.05
    assert parser.waits


async def test_a_flood_of_bad_lines_is_told_in_short(tmp_path: Path) -> None:
    async with in_service(tmp_path) as service:
        seen: list[BadLine] = []
        service.subscribe(lambda n: seen.append(n.line) if isinstance(n, BadLineSeen) else None)
        began = time.monotonic()
        run_id = await start(service, says="x\n" * 20_000)
        await until(lambda: service.runs[run_id].state.is_end)
        seconds = int(time.monotonic() - began) + 2
        assert 0 < len(seen) <= (BAD_LINES_A_SECOND + 1) * seconds < 20_000


def test_the_log_of_a_worker_is_capped_and_survives_its_disk(tmp_path: Path) -> None:
    log = CappedLog(tmp_path / "worker.log", cap=1000)
    for number in range(100):
        log.write(b"%049d\n" % number)
    log.close()
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert set(sizes) == {"worker.log", "worker.log.1"} or set(sizes) == {"worker.log.1"}
    assert sum(sizes.values()) <= 2000
    nowhere = CappedLog(tmp_path / "gone" / "worker.log")
    nowhere.write(b"lost\n")
    nowhere.close()
