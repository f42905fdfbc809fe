"""The processes of `tests.proofs.kill_service`: apps, a shell, a detached host, forked from one."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import psutil

from tests.proofs.hallway import HALLWAY, fill_disk_on_request
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.command_files import Mailbox
from trainer_core.runs.device_lock import DeviceLock
from trainer_core.service import EventReceived, Notice, RunChanged, StopLadder, TrainerService
from trainer_core.service.detached import DetachedLock
from trainer_core.service.detached_host import keep
from trainer_core.wire import commands, records
from trainer_core.wire.errors import LabError
from trainer_core.wire.spec import RunSpec

RUNS, UPDATES = 3, 40
LADDER = StopLadder(2.0, 1.0)
SPEC = RunSpec(runner="hallway", task="tiny_goal", options={"updates": UPDATES})
PATIENCE_S = 60.0


class Cast:
    """Who is on stage in one home; looked after by the process that ends them."""

    def __init__(self, home: HomePaths) -> None:
        self.home = home
        self.pids: dict[str, int] = {}
        self.blocker: DeviceLock | None = None

    def start(self, name: str, role: Callable[..., Awaitable[None]], **how: Any) -> None:
        self.pids[name] = pid = os.fork()
        if pid:
            return
        code = 1
        try:
            os.setsid()
            fill_disk_on_request()
            said = os.open(self.home.root / "said.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(said, 1)
            os.dup2(said, 2)
            if self.blocker is not None:
                self.blocker.release()
            asyncio.run(role(self.home, **how))  # type: ignore[arg-type]
            code = 0
        except BaseException as error:
            sys.excepthook(type(error), error, error.__traceback__)
        finally:
            os._exit(code)

    def until(self, condition: Callable[[], object], patience_s: float) -> bool:
        """Wait; meanwhile start the hosts that are called and collect who has ended."""
        deadline = time.monotonic() + patience_s
        while not condition():
            if time.monotonic() > deadline:
                return False
            if (self.home.root / "call").exists():
                (self.home.root / "call").unlink()
                self.start("keeper", keeper)
            self._reap()
            time.sleep(0.005)
        return True

    def must(self, condition: Callable[[], object], what: str) -> None:
        """Raises LabError when it does not come to that."""
        if not self.until(condition, PATIENCE_S):
            said = (self.home.root / "said.txt").read_text()[-400:]
            raise LabError(f"it never came to this: {what}; {said}")

    def announced(self) -> list[str]:
        """Runs that were said to be started or waiting, in that order."""
        try:
            return (self.home.root / "announced.txt").read_text().split()
        except OSError:
            return []

    def told(self, run_id: str) -> list[int]:
        """Records of it that somebody was told, by their number."""
        with contextlib.suppress(OSError):
            lines = (self.home.root / "told.txt").read_text().splitlines()
            return [int(line.split()[1]) for line in lines if line.startswith(f"{run_id} ")]
        return []

    def said_state(self, run_id: str, detail: str) -> bool:
        """Whether somebody was told that the run prepares itself, in these words."""
        with contextlib.suppress(OSError):
            return f"{run_id} {detail}" in (self.home.root / "states.txt").read_text()
        return False

    def order_stop(self, run_id: str, by: str) -> None:
        if by:
            (self.home.root / "stop").write_text(run_id)
        else:
            Mailbox(self.home.run(run_id)).post(commands.Stop)

    def end_all(self, patience_s: float) -> list[str]:
        """End everybody; command lines of what is there `patience_s` later."""
        for pid in self.pids.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self.until(lambda: not self._left(), patience_s):
            return []
        left = self._left()
        names = [f"{process.pid} {' '.join(process.cmdline()[-2:])}" for process in left]
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.kill()
        self.until(lambda: not self._left(), PATIENCE_S)
        return names

    def _left(self) -> list[psutil.Process]:
        self._reap()
        found = psutil.Process().children(recursive=True)
        return [one for one in found if one.is_running() and one.status() != "zombie"]

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


# -- roles -----------------------------------------------------------------------------------


def _opened(home: HomePaths, **how: Any) -> TrainerService:
    """A service that notes every record it was told, and ends as an app does on SIGTERM."""
    service = TrainerService(
        home, runners=(HALLWAY,), ladder=LADDER, start_detached_host=lambda home: (home.root / "call").touch(), **how
    )
    states = os.open(home.root / "states.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    told = os.open(home.root / "told.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def note(notice: Notice, write: Callable[[int, bytes], int] = os.write) -> None:
        if isinstance(notice, EventReceived) and isinstance(notice.event, records.LogRecord):
            write(told, f"{notice.run_id} {notice.event.seq}\n".encode())
        elif isinstance(notice, RunChanged) and notice.detail:
            write(states, f"{notice.record.run_id} {notice.detail}\n".encode())

    service.subscribe(note)
    service.open()
    return service


async def _stay(service: TrainerService) -> None:
    """Until SIGTERM; then as an app closes."""
    end = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end.set)
    stop = service.home.root / "stop"
    while not end.is_set():
        if not service.works_queue and stop.exists():
            run_id = stop.read_text()
            stop.unlink()
            await service.stop(run_id)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(end.wait(), 0.05)
    await service.close()


def _announce(home: HomePaths, run_id: str) -> None:
    with (home.root / "announced.txt").open("a") as file:
        file.write(f"{run_id}\n")


async def app(home: HomePaths, orders: int = RUNS, detach: bool = False) -> None:
    """Starts a run, lets others wait behind it, and stays."""
    service = _opened(home)
    for _ in range(orders):
        plan = service.plan(SPEC)
        await service.start(plan, detach=detach)
        _announce(home, plan.run_id)
    await _stay(service)


async def follower(home: HomePaths) -> None:
    await _stay(_opened(home, works_queue=False))


async def shell(home: HomePaths) -> None:
    """`dmglab train --runner ...`: its own run, to its end."""
    service = _opened(home, works_queue=False)
    plan = service.plan(SPEC)
    await service.start(plan, wait=False)
    _announce(home, plan.run_id)
    end = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end.set)
    while not service.runs[plan.run_id].state.is_end and not end.is_set():
        await asyncio.sleep(0.02)
    await service.close()


async def keeper(home: HomePaths) -> None:
    lock, stop = DetachedLock(home), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    if lock.take():
        await keep(home, lock, stop, lambda text: print(json.dumps(text), flush=True), (HALLWAY,))
