"""Detached host, `python -m trainer_core.service.detached_host HOME`: runs training while no window is open.

It starts the runs in the home's queue until none is left that it could start, then ends. SIGTERM stops its runs, after
a checkpoint; waiting runs stay in the queue.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from trainer_core.lab.paths import HomePaths
from trainer_core.runners.catalog import AgentRunner, registered_runners
from trainer_core.runs import queue_steps
from trainer_core.runs.queue import QueueBusyError, RunQueue
from trainer_core.service.detached import DetachedLock
from trainer_core.service.notices import RunChanged
from trainer_core.service.trainer import TrainerService
from trainer_core.wire.errors import LabError


async def keep(
    home: HomePaths,
    lock: DetachedLock,
    stop: asyncio.Event,
    say: Callable[[str], None],
    runners: tuple[AgentRunner, ...] | None = None,
) -> None:
    """Run the queue's training until nothing can be started and nothing runs here, or until `stop` is set.

    The lock is released while the queue is locked: whoever adds a run later finds no detached host and starts one.
    """
    runners = registered_runners() if runners is None else runners
    known = {runner.id for runner in runners}
    service, ours = TrainerService(home, runners=runners, is_detached_host=True), set[str]()

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


def _leave(home: HomePaths, lock: DetachedLock, known: set[str]) -> bool:
    """Release the lock unless a run waits that one of the `known` runners can train; return whether it was released.

    Held entries of the queue do not count.
    """
    try:
        with RunQueue(home).locked(0.0) as entries:
            if any(not e.held and queue_steps.is_for(home, e, known.__contains__) for e in entries):
                return False
            lock.release()
            return True
    except QueueBusyError:
        return False


async def work(home: HomePaths) -> None:
    lock, stop = DetachedLock(home), asyncio.Event()
    if not lock.take():
        return  # the running one sees what was added to the queue
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    await keep(home, lock, stop, say)


def say(text: str) -> None:
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {os.getpid()} {text}", flush=True)


def main(argv: list[str]) -> int:
    if len(argv) != 1:
        print("usage: python -m trainer_core.service.detached_host HOME", file=sys.stderr)
        return 2
    try:
        asyncio.run(work(HomePaths(Path(argv[0]))))
    except LabError as error:
        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
