"""Run a detached host whose runs are the echo worker's: `detached_host.py HOME SCRIPT`.

SCRIPT is JSON, the options of echo_worker.py.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.scripted_native import scripted_native
from trainer_core.lab.paths import HomePaths
from trainer_core.service.detached import DetachedLock
from trainer_core.service.detached_host import keep


def start_detached_host(home: HomePaths, **script: object) -> subprocess.Popen[bytes]:
    """As start_detached_host does."""
    home.root.mkdir(parents=True, exist_ok=True)
    with (home.root / "keeper.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, __file__, str(home.root), json.dumps(script)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


async def main(home: HomePaths, script: dict[str, object]) -> None:
    lock, stop = DetachedLock(home), asyncio.Event()
    if lock.take():
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        await keep(home, lock, stop, lambda text: print(text, flush=True), (scripted_native(**script),))


if __name__ == "__main__":
    asyncio.run(main(HomePaths(Path(sys.argv[1])), json.loads(sys.argv[2])))
