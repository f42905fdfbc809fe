"""`python -m trainer_core.keeper HOME`: keeps runs when nobody's window is open.

Works the home's queue until nothing is left that could be started, then leaves. A home has one at
most. SIGTERM lets it stop what it keeps, after a checkpoint; what waits goes on waiting.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

from trainer_core.protocol.errors import LabError
from trainer_core.protocol.paths import HomePaths
from trainer_core.service.keeper import KeeperLock
from trainer_core.service.keeping import keep


async def work(home: HomePaths) -> None:
    lock, stop = KeeperLock(home), asyncio.Event()
    if not lock.take():
        return  # the one that is there sees what was put into the queue
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    await keep(home, lock, stop, say)


def say(text: str) -> None:
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {os.getpid()} {text}", flush=True)


def main(argv: list[str]) -> int:
    if len(argv) != 1:
        print("usage: python -m trainer_core.keeper HOME", file=sys.stderr)
        return 2
    try:
        asyncio.run(work(HomePaths(Path(argv[0]))))
    except LabError as error:
        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
