"""Keeping runs when nobody's window is open: what the detached keeper does."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from trainer_core.protocol.paths import HomePaths
from trainer_core.runners.catalog import AgentRunner, registered_runners
from trainer_core.runs import waiting
from trainer_core.runs.queue import QueueBusyError, RunQueue
from trainer_core.service.keeper import KeeperLock
from trainer_core.service.notices import RunChanged
from trainer_core.service.trainer import TrainerService


async def keep(
    home: HomePaths,
    lock: KeeperLock,
    stop: asyncio.Event,
    say: Callable[[str], None],
    runners: tuple[AgentRunner, ...] = registered_runners(),
) -> None:
    """Work the queue until it has nothing to start and nothing runs here, or `stop` is set.

    The lock is given up while the queue is held: a run that is put in later finds no keeper, and
    its owner starts the next one.
    """
    known = {runner.id for runner in runners}
    service, ours = TrainerService(home, runners=runners, is_keeper=True), set[str]()

    def tell(notice: object) -> None:
        if not isinstance(notice, RunChanged):
            return
        run = notice.record
        if service.keeps(run.run_id):
            ours.add(run.run_id)
        if run.run_id in ours:
            say(f"{run.run_id} {run.state} {notice.detail or run.reason}".rstrip())

    service.subscribe(tell)
    service.open()
    try:
        while not stop.is_set():
            if not service.is_keeping() and _leave(home, lock, known):
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), 0.5)
    finally:
        await service.close(reason="who worked the queue was stopped")


def _leave(home: HomePaths, lock: KeeperLock, known: set[str]) -> bool:
    """Give up the lock unless something waits that is not held, and that a `known` runner does."""
    try:
        with RunQueue(home).locked(0.0) as entries:
            if any(not e.held and waiting.is_for(home, e, known.__contains__) for e in entries):
                return False
            lock.release()
            return True
    except QueueBusyError:
        return False
