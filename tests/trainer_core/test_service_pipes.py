"""Pipes of a child: as older Pythons make them, and of one that ends before it is known."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import start, until
from trainer_core.lab.paths import HomePaths
from trainer_core.service import TrainerService
from trainer_core.wire.run_record import RunState


async def test_a_run_is_followed_where_a_pipe_cannot_say_whether_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python 3.11.2, Debian 12's, leaves `is_reading` of a pipe to the abstract base."""
    pipe = pytest.importorskip("asyncio.unix_events")._UnixReadPipeTransport
    monkeypatch.setattr(pipe, "is_reading", asyncio.ReadTransport.is_reading)
    monkeypatch.setattr(pipe, "_add_reader", lambda self, fd, call: self._loop._add_reader(fd, call), raising=False)
    wrong: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: wrong.append(context))
    service = TrainerService(HomePaths(tmp_path))
    service.open()
    run_id = await start(service, updates=5, interval_s=0.01)
    await until(lambda: service.runs[run_id].state.is_end)
    assert service.runs[run_id].state is RunState.FINISHED
    await service.close()
    assert not wrong


async def test_a_run_that_ends_before_its_starter_goes_on_is_told_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy computer a short run was over while its start was still awaited: what it had said
    was lost, and sometimes its end as well, so that it ran for ever."""
    loop = asyncio.get_running_loop()
    usual = loop.subprocess_exec

    async def late(*args: Any, **options: Any) -> Any:
        transport, child = await usual(*args, **options)
        while transport.get_returncode() is None:
            await asyncio.sleep(0.01)
        pipes = list(filter(None, map(transport.get_pipe_transport, range(3))))
        while not all(pipe.is_closing() for pipe in pipes):
            await asyncio.sleep(0.01)
        return transport, child

    monkeypatch.setattr(loop, "subprocess_exec", late)
    service = TrainerService(HomePaths(tmp_path))
    service.open()
    run_id = await start(service, updates=3, interval_s=0.0)
    await until(lambda: service.runs[run_id].state.is_end)
    run = service.runs[run_id]
    assert (run.state, run.env_steps) == (RunState.FINISHED, 3 * 2048), run.reason
    await service.close()
