"""Start several processes (ranks) that train one policy, wait for them, end them together.

On one computer the ranks meet through a file in a private folder, without a port, and gloo and NCCL
bind their ports to the loopback interface. On several computers (`--nodes`) they meet at the port of
`--rendezvous`, and their traffic takes the network interface that leads there.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import psutil

from trainer_core.cli.progress import end_progress
from trainer_core.wire.addresses import is_host, shown_address
from trainer_core.wire.environment import MEETING, child_environment
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.fields import check_fields, limits
from trainer_core.wire.process_guard import family, on_stop_signals

MEETINGS = "dmglab-ranks-"
"""Prefix of the folders in which ranks meet; the launcher's process number follows."""
MEETING_KEPT_S = 3600.0
PATIENCE_S = 5.0
"""Seconds for the other ranks to end after one has failed, while they wait for it in a collective."""
_INTERFACE = "lo" if sys.platform.startswith("linux") else "lo0"
LOOPBACK = {"GLOO_SOCKET_IFNAME": _INTERFACE, "NCCL_SOCKET_IFNAME": _INTERFACE}


class Rank(Protocol):
    """A started process, such as subprocess.Popen."""

    def poll(self) -> int | None: ...
    def send_signal(self, sig: int, /) -> None: ...


@dataclass(frozen=True)
class Nodes:
    """Number of computers that train one policy, number of this one, and their meeting point."""

    nodes: int = field(default=1, metadata=limits(1, 1024))
    """Number of computers that train one policy; the same command is started on each, with its own --node-rank."""
    node_rank: int = field(default=0, metadata=limits(0, 1023))
    """Number of this computer, from 0; computer 0 writes the log and the checkpoints."""
    rendezvous: str = ""
    """HOST:PORT of node 0: a free port that all other nodes can reach."""

    def check(self) -> None:
        """Check that the three fields fit together. Raises ConfigError."""
        check_fields(self)
        if self.nodes == 1 and (self.node_rank or self.rendezvous):
            raise ConfigError("--node-rank and --rendezvous belong to --nodes N of two or more")
        if self.nodes == 1:
            return
        if self.node_rank >= self.nodes:
            raise ConfigError(f"--node-rank counts from 0 to {self.nodes - 1}, got {self.node_rank}")
        host, _, port = self.rendezvous.rpartition(":")
        if not is_host(host) or not port.isdigit() or not 0 < int(port) < 1 << 16:
            raise ConfigError(f"--nodes wants --rendezvous HOST:PORT of node 0, got {shown_address(self.rendezvous)}")


ONE_NODE = Nodes()


def spread(arguments: Sequence[str], count: int, nodes: Nodes = ONE_NODE) -> dict[str, Any]:
    """Run `dmglab ARGUMENTS` in `count` local processes to their end; rank 0 prints the result.

    After SIGTERM, SIGHUP or Ctrl-C all ranks finish their update and save.
    """
    command = [sys.executable, "-m", "trainer_core.cli.main", *arguments]

    def start(environment: dict[str, str]) -> Rank:
        return subprocess.Popen(command, env=environment)

    remove_left_meetings()
    end_progress()  # the ranks write to the same terminal
    with tempfile.TemporaryDirectory(prefix=f"{MEETINGS}{os.getpid()}-") as folder:
        ranks = start_ranks(start, count, Path(folder) / "meeting", nodes)
        signal.signal(signal.SIGINT, lambda *_: None)  # a terminal sends it to the ranks as well
        told: list[int] = []

        def stop(number: int) -> None:
            told.append(number)
            tell(ranks, signal.SIGTERM)

        on_stop_signals(stop)
        failed = supervise(ranks)
    if not failed:
        return {}
    if told and failed == -signal.SIGTERM:
        return {"ok": False, "error": "terminated before there was anything to save"}
    return {"ok": False, "error": f"one of {count} processes failed, see above"}


def remove_left_meetings() -> None:
    """Remove the meeting folders of killed launchers that are older than MEETING_KEPT_S."""
    for folder in Path(tempfile.gettempdir()).glob(f"{MEETINGS}*"):
        launcher = folder.name.removeprefix(MEETINGS).partition("-")[0]
        with contextlib.suppress(OSError):  # another user's, or removed by another launcher
            is_old = folder.stat().st_mtime < time.time() - MEETING_KEPT_S
            if is_old and not (launcher.isdigit() and psutil.pid_exists(int(launcher))):
                shutil.rmtree(folder)


def start_ranks(
    start: Callable[[dict[str, str]], Rank], count: int, meeting: Path, nodes: Nodes = ONE_NODE
) -> list[Rank]:
    """Start each rank with its number, the meeting place and this process as its parent."""
    shared = {**LOOPBACK, **child_environment(), MEETING: str(meeting)}
    if nodes.nodes > 1:
        interface = interface_towards(nodes.rendezvous.rpartition(":")[0].strip("[]"))
        chosen = dict.fromkeys(LOOPBACK, interface) if interface else {}
        shared = {**chosen, **child_environment(), MEETING: f"tcp://{nodes.rendezvous}"}
    shared["WORLD_SIZE"] = str(count * nodes.nodes)
    first = count * nodes.node_rank
    return [start({**shared, **family(), "RANK": str(first + rank), "LOCAL_RANK": str(rank)}) for rank in range(count)]


def interface_towards(host: str) -> str:
    """Return the network interface that leads to `host`, "" if it is unknown.

    By default gloo and NCCL resolve the name of this computer, which often gives 127.0.1.1.
    """
    try:
        family = socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM)[0][0]
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((host, 9))  # sends nothing
            own = probe.getsockname()[0]
    except OSError:
        return ""
    if own.startswith("127.") or own == "::1":
        return _INTERFACE
    for name, addresses in psutil.net_if_addrs().items():
        if any(address.address.split("%")[0] == own for address in addresses):
            return name
    return ""


def supervise(ranks: list[Rank]) -> int:
    """Wait for all ranks; return the exit status. When one fails the others get SIGTERM, then SIGKILL."""
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
    """Send the signal `number` to the ranks that still run."""
    for rank in ranks:
        if rank.poll() is None:
            rank.send_signal(number)
