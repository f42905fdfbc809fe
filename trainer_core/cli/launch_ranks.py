"""Several processes, one learner: start them, wait, end them together.

They meet through a file in a private folder: no port is opened for that. What gloo and NCCL open
for their own traffic is bound to the loopback interface, since all ranks run on one computer.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from trainer_core.owned import family, on_stop_signals
from trainer_core.train.ranks import MEETING

PATIENCE_S = 5.0
"""For the others to end once one rank has failed; they wait for it in a collective."""
_INTERFACE = "lo" if sys.platform.startswith("linux") else "lo0"
LOOPBACK = {"GLOO_SOCKET_IFNAME": _INTERFACE, "NCCL_SOCKET_IFNAME": _INTERFACE}


class Rank(Protocol):
    """What is needed of a started process; subprocess.Popen is one."""

    def poll(self) -> int | None: ...
    def send_signal(self, sig: int, /) -> None: ...


def spread(arguments: Sequence[str], count: int) -> dict[str, Any]:
    """`dmglab ARGUMENTS` in `count` processes to their end; the first of them prints the result.

    SIGTERM, SIGHUP and Ctrl-C let all of them finish their update and save.
    """
    command = [sys.executable, "-m", "trainer_core.cli.main", *without_gpus(arguments)]

    def start(environment: dict[str, str]) -> Rank:
        return subprocess.Popen(command, env=environment)

    with tempfile.TemporaryDirectory(prefix="dmglab-ranks-") as folder:
        ranks = start_ranks(start, count, Path(folder) / "meeting")
        signal.signal(signal.SIGINT, lambda *_: None)  # a terminal sends it to the ranks as well
        on_stop_signals(lambda number: tell(ranks, signal.SIGTERM))
        failed = supervise(ranks)
    return {"ok": False, "error": f"one of {count} processes failed, see above"} if failed else {}


def start_ranks(start: Callable[[dict[str, str]], Rank], count: int, meeting: Path) -> list[Rank]:
    """Each with its number, the file where all meet, and this process as its parent."""
    shared = {**LOOPBACK, **os.environ, "WORLD_SIZE": str(count), MEETING: str(meeting)}
    return [
        start({**shared, **family(), "RANK": str(rank), "LOCAL_RANK": str(rank)})
        for rank in range(count)
    ]


def supervise(ranks: list[Rank]) -> int:
    """Wait for all; when one fails the others get SIGTERM, then SIGKILL."""
    failed, deadline = 0, 0.0
    while any(rank.poll() is None for rank in ranks):
        failed = failed or _first_failure(ranks)
        now = time.monotonic()
        if failed and not deadline:
            tell(ranks, signal.SIGTERM)
            deadline = now + PATIENCE_S
        elif deadline and now > deadline:
            tell(ranks, signal.SIGKILL)
        time.sleep(0.05)
    return failed or _first_failure(ranks)


def _first_failure(ranks: list[Rank]) -> int:
    return next((code for rank in ranks if (code := rank.poll())), 0)


def tell(ranks: list[Rank], number: int) -> None:
    """Signal those that still run."""
    for rank in ranks:
        if rank.poll() is None:
            rank.send_signal(number)


def without_gpus(arguments: Sequence[str]) -> list[str]:
    """`arguments` without --gpus and its value."""
    kept, skip = [], False
    for word in arguments:
        if not skip and word != "--gpus" and not word.startswith("--gpus="):
            kept.append(word)
        skip = not skip and word == "--gpus"
    return kept
