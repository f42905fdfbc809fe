"""Several services on one home: apps, shells, a detached host; real processes, real ends."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.detached_host import start_detached_host
from tests.support.made_records import run_record
from tests.support.processes import SPEC, group_of, start, until
from tests.support.scripted_native import scripted_native
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.device_lock import DeviceLock
from trainer_core.runs.queue import RunQueue
from trainer_core.service import EventReceived, StopLadder, TrainerService, others
from trainer_core.wire import commands, records
from trainer_core.wire.errors import ConfigError, ProtocolError
from trainer_core.wire.run_record import RunRecord, RunState

SLOW_S = 60.0
"""For what takes milliseconds on an idle computer."""


async def soon(condition: Callable[[], object]) -> None:
    await until(lambda: bool(condition()), SLOW_S)


@contextlib.asynccontextmanager
async def opened(home: HomePaths, *, works_queue: bool = True, **script: object) -> AsyncIterator[TrainerService]:
    """A service as an app has it, whose runs are the echo worker's."""
    script = {"updates": 100_000, "interval_s": 0.01} | script
    service = TrainerService(
        home,
        runners=(scripted_native(**script),),
        ladder=StopLadder(5.0, 0.3),
        works_queue=works_queue,
        start_detached_host=lambda home: start_detached_host(home, **script),
    )
    service.open()
    try:
        yield service
    finally:
        service.ladder = StopLadder(0.1, 0.1)
        await service.close()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[HomePaths]:
    """Afterwards no process of it is left: hosts are ended, which ends their runs."""
    home = HomePaths(tmp_path / "home")
    yield home
    for process in psutil.process_iter(["cmdline"]):
        if str(home.root) in (process.info["cmdline"] or []):
            with contextlib.suppress(psutil.Error):
                process.kill()


async def running(service: TrainerService) -> RunRecord:
    """A run of this service that has made an update."""
    plan = service.plan(SPEC)
    await service.start(plan)
    await soon(lambda: service.runs[plan.run_id].env_steps)
    return service.runs[plan.run_id]


async def test_another_app_sees_a_run_follows_its_records_and_steers_it(home: HomePaths) -> None:
    async with opened(home) as one, opened(home) as two:
        seen: list[records.Event] = []
        two.subscribe(lambda notice: seen.append(notice.event) if isinstance(notice, EventReceived) else None)
        run_id = (await running(one)).run_id
        await soon(lambda: two.takes_commands(run_id) and two.runs[run_id].env_steps)
        assert not two.is_live(run_id)
        await two.pause(run_id)
        await soon(lambda: two.runs[run_id].state is RunState.PAUSED)
        await two.unpause(run_id)
        await soon(lambda: two.runs[run_id].state is RunState.RUNNING)
        assert (await two.request(run_id, commands.Watch, envs=4)).ok
        with pytest.raises(ConfigError, match="kept by another process"):
            two.rename(run_id, "mine")
        await two.stop(run_id)
        assert two.runs[run_id].state is RunState.STOPPED
        assert two.runs[run_id].reason == "stopped by you"
        assert one.runs[run_id] == two.runs[run_id]
        numbers = [event.seq for event in seen]
        assert numbers == list(range(len(numbers)))  # from its first line, none lost or twice
        assert isinstance(seen[-1], records.CheckpointRecord)


async def test_a_run_waits_for_the_other_apps_and_is_taken_up_by_whoever_lives(home: HomePaths) -> None:
    async with opened(home, updates=2) as two:
        async with opened(home) as one:
            first = await running(one)
            second = await start(two, updates=2, interval_s=0.01)
            assert two.runs[second].state is RunState.QUEUED
            third = two.plan(SPEC)
            await one.start(third)
            await soon(lambda: third.run_id in two.runs and second in one.runs)
            two.works_queue = False
            await one.stop(second)
            await soon(lambda: two.runs[second].state is RunState.STOPPED)
            one.works_queue = False
            await one.stop(first.run_id)
        assert two.runs[third.run_id].state is RunState.QUEUED  # its app is gone; it waits
        two.works_queue = True
        await soon(lambda: two.runs[third.run_id].state is RunState.FINISHED)
        assert two.queue.entries() == []


async def test_a_detached_run_is_kept_by_its_host_adopted_and_stopped(home: HomePaths) -> None:
    async with opened(home) as one:
        plan = one.plan(SPEC)
        assert (await one.start(plan, detach=True)).state is RunState.QUEUED
        one.works_queue = False
        await soon(lambda: one.runs[plan.run_id].env_steps)
        pid = one.runs[plan.run_id].pid
        assert not one.is_live(plan.run_id)
    assert group_of(pid)  # the app is gone, the run goes on
    async with opened(home) as two:
        assert two.runs[plan.run_id].state is RunState.RUNNING
        await two.stop(plan.run_id)
        assert two.runs[plan.run_id].state is RunState.STOPPED
        assert not group_of(pid)
        await soon(lambda: not hosts(home))  # nothing is left for it to do


async def test_an_app_that_closes_can_leave_its_run_to_a_detached_host(home: HomePaths) -> None:
    async with opened(home) as one:
        run = await running(one)
        waits = one.plan(SPEC)
        await one.start(waits)
        await one.close(keep=True)
        saved = one.runs[run.run_id]
        assert saved.state is RunState.QUEUED
        assert saved.last_checkpoint
    async with opened(home, works_queue=False) as two:
        await soon(lambda: two.runs[run.run_id].state is RunState.RUNNING)
        assert two.runs[run.run_id].pid != run.pid
        assert two.runs[waits.run_id].state is RunState.QUEUED  # one run a device
        await two.stop(run.run_id)
        await soon(lambda: two.runs[waits.run_id].state is RunState.RUNNING)
        await two.stop(waits.run_id)


async def test_a_killed_host_leaves_no_process_and_what_waits_waits(home: HomePaths) -> None:
    async with opened(home) as one:
        one.works_queue = False
        plans = [one.plan(SPEC) for _ in range(3)]
        for plan in plans:
            await one.start(plan, detach=True)
        first = plans[0].run_id
        await soon(lambda: one.runs[first].env_steps)
        (host,) = await the_detached_host(home)
        pid = one.runs[first].pid
        host.kill()
        await soon(lambda: not group_of(pid))
        await soon(lambda: one.runs[first].state is RunState.LOST)
        assert [entry.run_id for entry in one.queue.entries()] == [p.run_id for p in plans[1:]]
        for plan in plans[1:]:
            await one.stop(plan.run_id)
            assert one.runs[plan.run_id].state is RunState.STOPPED


async def test_a_run_whose_host_does_not_answer_is_ended_from_outside(
    home: HomePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trainer_core.service.others.KEEPER_S", 0.5)
    async with opened(home) as one:
        one.works_queue = False
        plan = one.plan(SPEC)
        await one.start(plan, detach=True)
        await soon(lambda: one.runs[plan.run_id].env_steps)
        (host,) = await the_detached_host(home)
        host.suspend()
        pid = one.runs[plan.run_id].pid
        await one.stop(plan.run_id)
        assert not group_of(pid)
        assert one.runs[plan.run_id].state is RunState.STOPPED
        assert "did not answer" in one.runs[plan.run_id].reason


async def test_a_run_that_nobody_trains_takes_no_commands(home: HomePaths) -> None:
    async with opened(home, works_queue=False) as one:
        busy = DeviceLock.take(home, "cpu", "elsewhere")
        plan = one.plan(SPEC)
        await one.start(plan)
        assert busy is not None
        busy.release()
        with pytest.raises(ProtocolError, match="is not running"):
            await one.request(plan.run_id, commands.Pause)


async def test_a_second_host_leaves_at_once(home: HomePaths) -> None:
    async with opened(home) as one:
        one.works_queue = False
        plan = one.plan(SPEC)
        await one.start(plan, detach=True)
        await soon(lambda: one.runs[plan.run_id].env_steps)
        second = start_detached_host(home)
        assert await asyncio.to_thread(second.wait, SLOW_S) == 0
        (host,) = await the_detached_host(home)
        host.send_signal(signal.SIGTERM)
        await soon(lambda: one.runs[plan.run_id].state is RunState.STOPPED)
        assert one.runs[plan.run_id].last_checkpoint


async def test_runs_that_cannot_wait_train_beside_another(home: HomePaths) -> None:
    async with opened(home) as one:
        await running(one)
        plan = one.plan(SPEC)
        record = await one.start(plan, wait=False)
        assert record.state is RunState.STARTING
        assert RunQueue(home).entries() == []


async def the_detached_host(home: HomePaths) -> list[psutil.Process]:
    """Once those that came too late have left."""
    await soon(lambda: len(hosts(home)) == 1)
    return hosts(home)


def hosts(home: HomePaths) -> list[psutil.Process]:
    """Of this home; one that has ended and was not waited for is none."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            line = process.cmdline()
            named = len(line) > 2 and line[1].endswith("detached_host.py") and line[2] == str(home.root)
            if named and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def test_the_ladder_for_a_run_of_another_process_says_when_it_takes_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(others, "KEEPER_S", 0.05)
    shown: list[tuple[str, float]] = []
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as process:
        born = psutil.Process(process.pid).create_time()
        record = run_record("r", pid=process.pid, pid_create_time=born)
        HomePaths(tmp_path).run("r").root.mkdir(parents=True)
        why = asyncio.run(
            others.stop_other(
                HomePaths(tmp_path),
                record,
                StopLadder(0.05, 5.0),
                lambda: False,
                lambda detail, in_s: shown.append((detail, in_s)),
                asyncio.Event(),
            )
        )
        assert process.wait(10) == -signal.SIGTERM
    assert why == "forced: who kept it did not answer"
    assert [in_s for _, in_s in shown] == [0.05, 5.0], "as for a run of its own"
    assert shown[1][0].endswith(f"sent SIGTERM to process {process.pid}")
