"""TrainerService on plain asyncio with the echo worker: real processes, real signals."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.support.processes import SPEC, group_of, in_service, start, until, wait_until
from tests.support.scripted_native import ScriptedNative, scripted_native
from trainer_core.lab.paths import HomePaths
from trainer_core.runners.native import NATIVE
from trainer_core.service import BadLineSeen, EventReceived, LogLines, Notice, RunChanged, TrainerService
from trainer_core.wire import commands, records
from trainer_core.wire.errors import ConfigError, LabError, ProtocolError
from trainer_core.wire.run_record import RunState


async def test_a_run_goes_from_preflight_to_finished_and_leaves_its_record(tmp_path: Path) -> None:
    async with in_service(tmp_path) as service:
        states, updates = [], []
        service.subscribe(lambda n: states.append(n.record.state) if isinstance(n, RunChanged) else None)
        run_id = await start(service, updates=5, interval_s=0.01)
        async for notice in service.notices(run_id):
            if isinstance(notice, EventReceived) and isinstance(notice.event, records.UpdateRecord):
                updates.append(notice.event.update)
        assert updates == [1, 2, 3, 4, 5]
        order = list(dict.fromkeys(states))
        assert order == [RunState.PREFLIGHT, RunState.STARTING, RunState.RUNNING, RunState.FINISHED]
        past = await service.history(run_id)
        assert [type(event).__name__ for event in past.events[:2]] == ["MetaRecord", "UpdateRecord"]
        assert service.registry.load()[run_id] == service.runs[run_id]
        assert service.runs[run_id].last_checkpoint.startswith("checkpoints/")


async def test_what_is_started_is_exactly_what_the_plan_said(tmp_path: Path) -> None:
    async with in_service(tmp_path) as service:
        service.runners = (scripted_native(interval_s=1.0),)
        plan = service.plan(SPEC)
        assert not plan.run_dir.exists()
        record = await service.start(plan)
        await until(lambda: psutil.Process(record.pid).cmdline() == list(plan.argv))
        assert json.loads((plan.run_dir / "config.json").read_text())["run"] == SPEC.to_dict()
        assert os.getsid(record.pid) == record.pid


async def test_stop_writes_a_checkpoint_and_ends_as_stopped(tmp_path: Path) -> None:
    async with in_service(tmp_path) as service:
        run_id = await start(service, updates=1000)
        await until(lambda: service.runs[run_id].env_steps > 0)
        await service.stop(run_id)
        ended = service.runs[run_id]
        assert ended.state is RunState.STOPPED
        assert ended.reason == "stopped by you"
        assert (service.home.run(run_id).root / ended.last_checkpoint).is_dir()


async def test_a_worker_that_ignores_stop_and_term_is_killed_step_by_step(tmp_path: Path) -> None:
    async with in_service(tmp_path, command_s=0.2, terminate_s=0.2) as service:
        hints = []
        service.subscribe(lambda n: hints.append(n.detail) if isinstance(n, RunChanged) else None)
        run_id = await start(service, updates=1000, ignore_stop=True, ignore_term=True)
        await until(lambda: service.runs[run_id].state is RunState.RUNNING)
        await service.stop(run_id)
        ended = service.runs[run_id]
        assert ended.state is RunState.STOPPED
        assert "forced" in ended.reason
        text = " ".join(hints)
        assert "finishing the update" in text
        assert text.index("sent SIGTERM") < text.index("sent SIGKILL")


async def test_a_second_stop_takes_the_next_step_at_once(tmp_path: Path) -> None:
    async with in_service(tmp_path, command_s=3600, terminate_s=3600) as service:
        run_id = await start(service, updates=1000, ignore_stop=True)
        await until(lambda: service.runs[run_id].state is RunState.RUNNING)
        first = asyncio.create_task(service.stop(run_id))
        await until(lambda: service.runs[run_id].state is RunState.STOPPING)
        async with asyncio.timeout(60):
            await service.stop(run_id)
            await first
        assert service.runs[run_id].state is RunState.STOPPED


async def test_grandchildren_end_with_their_worker(tmp_path: Path) -> None:
    async with in_service(tmp_path) as service:
        run_id = await start(service, updates=1000, child=True)
        await until(lambda: service.runs[run_id].state is RunState.RUNNING)
        pid = service.runs[run_id].pid
        assert len(group_of(pid)) == 2
        await service.stop(run_id)
        await until(lambda: not group_of(pid))


async def test_a_worker_killed_from_outside_ends_as_failed_with_a_cause(tmp_path: Path) -> None:
    async with in_service(tmp_path) as service:
        run_id = await start(service, updates=1000, crash_at=3, interval_s=0.01)
        await until(lambda: service.runs[run_id].state.is_end)
        assert service.runs[run_id].state is RunState.FAILED
        assert "out of memory" in service.runs[run_id].reason


async def test_a_worker_that_cannot_start_fails_with_its_last_words(tmp_path: Path) -> None:
    async with in_service(tmp_path) as service:

        class Broken(ScriptedNative):
            def command(self, run_dir: Path) -> list[str]:
                return [sys.executable, "-c", "raise SystemExit('no such lamp')"]

        class Absent(ScriptedNative):
            def command(self, run_dir: Path) -> list[str]:
                return ["/no/such/python"]

        fields = {f.name: getattr(NATIVE, f.name) for f in dataclasses.fields(NATIVE)}
        service.runners = (Broken(**fields),)
        plan = service.plan(SPEC)
        await service.start(plan)
        await until(lambda: service.runs[plan.run_id].state.is_end)
        assert service.runs[plan.run_id].state is RunState.FAILED
        assert service.runs[plan.run_id].reason == "no such lamp"

        service.runners = (Absent(**fields),)
        plan = service.plan(SPEC)
        with pytest.raises(LabError, match="/no/such/python"):
            await service.start(plan)
        assert service.runs[plan.run_id].state is RunState.FAILED


async def test_garbage_on_the_pipe_and_stray_prints_do_not_break_the_stream(tmp_path: Path) -> None:
    async with in_service(tmp_path) as service:
        seen: list[Notice] = []
        service.subscribe(seen.append)
        run_id = await start(service, updates=3, interval_s=0.01, garbage=True)
        await until(lambda: service.runs[run_id].state.is_end)
        assert service.runs[run_id].state is RunState.FINISHED
        assert sum(isinstance(notice, BadLineSeen) for notice in seen) == 6
        lines = [line for n in seen if isinstance(n, LogLines) for line in n.lines]
        assert any("stray print" in line for line in lines)
        assert "stray print" in service.home.run(run_id).worker_log.read_text()


async def test_one_run_a_device_the_next_waits_its_turn(tmp_path: Path) -> None:
    async with in_service(tmp_path) as service:
        first = await start(service, updates=1000)
        second = await start(service, updates=2, interval_s=0.01)
        assert service.runs[second].state is RunState.QUEUED
        third = await start(service, updates=2)
        await service.stop(third)
        assert service.runs[third].state is RunState.STOPPED
        await until(lambda: service.runs[first].env_steps > 0)
        await service.stop(first)
        await until(lambda: service.runs[second].state is RunState.FINISHED)


def test_the_same_configuration_twice_makes_two_runs(tmp_path: Path) -> None:
    service = TrainerService(HomePaths(tmp_path))
    assert service.plan(SPEC).run_id != service.plan(SPEC).run_id


async def test_commands_are_acknowledged_and_pause_holds(tmp_path: Path) -> None:
    async with in_service(tmp_path) as service:
        run_id = await start(service, updates=1000, interval_s=0.01)
        await until(lambda: service.runs[run_id].env_steps > 0)
        await service.pause(run_id)
        await until(lambda: service.runs[run_id].state is RunState.PAUSED)
        steps = service.runs[run_id].env_steps
        for _ in range(3):  # all that it says before an answer has been heard by then
            assert (await service.request(run_id, commands.Watch, envs=1)).ok
        assert service.runs[run_id].env_steps == steps
        await service.unpause(run_id)
        await until(lambda: service.runs[run_id].env_steps > steps)
        ack = await service.request(run_id, commands.Watch, envs=4)
        assert ack.ok


async def test_a_run_that_is_over_takes_no_commands(tmp_path: Path) -> None:
    async with in_service(tmp_path) as service:
        run_id = await start(service, updates=1, interval_s=0.01)
        await until(lambda: service.runs[run_id].state.is_end)
        with pytest.raises(ProtocolError, match="not running"):
            await service.request(run_id, commands.Watch, envs=4)
        with pytest.raises(ConfigError, match="no run 'x'"):
            await service.stop("x")


async def test_closing_the_service_stops_every_run(tmp_path: Path) -> None:
    async with in_service(tmp_path) as service:
        run_id = await start(service, updates=1000, child=True)
        await until(lambda: service.runs[run_id].state is RunState.RUNNING)
        pid = service.runs[run_id].pid
        await service.close()
        assert service.runs[run_id].state is RunState.STOPPED
        await until(lambda: not group_of(pid))


async def test_a_run_directory_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    async with in_service(tmp_path) as service:
        plan = service.plan(SPEC)
        service.home.runs.parent.mkdir(parents=True, exist_ok=True)
        service.home.runs.write_text("a file is in the way")
        with pytest.raises(LabError, match="can be written"):
            await service.start(plan)
        assert plan.run_id not in service.runs


async def test_after_a_crash_the_run_is_lost_and_can_be_resumed(tmp_path: Path) -> None:
    async with in_service(tmp_path) as service:
        run_id = await start(service, updates=2, interval_s=0.01)
        await until(lambda: service.runs[run_id].state.is_end)
        crashed = service.runs[run_id]
        service.registry.append(type(crashed)(**{**_fields(crashed), "state": RunState.RUNNING, "finished_at": 0.0}))

    async with in_service(tmp_path) as service:
        (run_id,) = service.runs
        service.runners = (scripted_native(updates=3, interval_s=0.01),)
        assert service.runs[run_id].state is RunState.LOST
        checkpoints = service.home.run(run_id).checkpoints
        checkpoints.rename(checkpoints.with_name("away"))
        with pytest.raises(ConfigError, match="no checkpoint"):
            await service.resume(run_id)
        checkpoints.with_name("away").rename(checkpoints)
        for folder in checkpoints.iterdir():
            folder.rename(folder.with_name("000000000001"))
        await service.resume(run_id)
        await until(lambda: service.runs[run_id].state.is_end)
        assert service.runs[run_id].state is RunState.FINISHED


def _fields(record) -> dict:
    return {name: getattr(record, name) for name in record.__struct_fields__}


def test_killing_the_parent_leaves_no_process(tmp_path: Path) -> None:
    code = f"""
import asyncio, sys
from pathlib import Path
sys.path.insert(0, {str(Path.cwd())!r})
from tests.support.processes import start, until
from trainer_core.lab.paths import HomePaths
from trainer_core.service import TrainerService
async def main():
    service = TrainerService(HomePaths(Path({str(tmp_path)!r}))); service.open()
    run_id = await start(service, updates=1000, child=True)
    await until(lambda: service.runs[run_id].env_steps > 0)
    print(service.runs[run_id].pid, flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert len(group_of(pid)) == 2
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    wait_until(lambda: not group_of(pid))
