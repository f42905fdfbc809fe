"""A worker that is started before its run is agreed to: it loads, then waits for the order.

It is the very process that the plan shows, started early: same argv, same folder. It writes
nothing and trains nothing until it is given the run's descriptors over a socket; the end of that
socket means that nobody wants it. The other end is `trainer_core.waiting_worker`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from trainer_core.protocol.errors import LabError
from trainer_core.service.child import ChildProcess, start_child
from trainer_core.service.plan import LaunchPlan
from trainer_core.waiting_worker import AHEAD


class AheadWorker:
    """At most one process, for one plan at a time."""

    def __init__(self) -> None:
        self._argv: tuple[str, ...] = ()
        self._run_id = ""
        self._child: ChildProcess | None = None
        self._order: socket.socket | None = None
        self._starting = False

    @property
    def is_waiting(self) -> bool:
        return self._child is not None and not self._child.exited.done()

    def is_for(self, argv: Sequence[str]) -> bool:
        return self.is_waiting and self._argv == tuple(argv)

    @property
    def run_id(self) -> str:
        """The run that it was started for; empty when nothing waits."""
        return self._run_id if self.is_waiting else ""

    def memory_bytes(self) -> int:
        """What the waiting process holds, 0 without one."""
        if not self.is_waiting or self._child is None:
            return 0
        try:
            return psutil.Process(self._child.pid).memory_info().rss
        except psutil.Error:
            return 0

    async def prepare(self, plan: LaunchPlan) -> None:
        """Have a process for this plan load. One that waits for another plan stays.

        Does nothing for a runner whose process cannot wait. Raises LabError.
        """
        if not plan.runner.waits or self.is_waiting or self._starting:
            return
        ours, theirs = socket.socketpair()
        self._starting = True
        try:
            self._child = await start_child(
                plan.argv, cwd=plan.cwd, pass_fds=(theirs.fileno(),),
                env={**os.environ, "PYTHONUNBUFFERED": "1", AHEAD: str(theirs.fileno())},
            )  # fmt: skip
        except LabError:
            ours.close()
            raise
        finally:
            self._starting = False
            theirs.close()
        self._argv, self._run_id, self._order = plan.argv, plan.run_id, ours

    async def start_child(
        self, argv: Sequence[str], *, cwd: Path, env: dict[str, str],
        pass_fds: Sequence[int] = (), **callbacks: Any,
    ) -> ChildProcess:  # fmt: skip
        """`child.start_child`, by the process that waits for exactly this argv if there is one.

        Raises LabError when a new process is needed and cannot be started.
        """
        child, order = self._child, self._order
        if child is None or order is None or not self.is_for(argv):
            return await start_child(argv, cwd=cwd, env=env, pass_fds=pass_fds, **callbacks)
        self._child = self._order = None
        child.listen(**callbacks)
        told = {name: value for name, value in env.items() if os.environ.get(name) != value}
        message = json.dumps({"env": told, "descriptors": list(pass_fds)}).encode()
        with order:
            try:
                socket.send_fds(order, [message], list(pass_fds))
            except OSError:  # it died this moment
                child.listen()
                return await start_child(argv, cwd=cwd, env=env, pass_fds=pass_fds, **callbacks)
        return child

    async def end(self) -> None:
        """Send the waiting process away."""
        child, self._child = self._child, None
        if self._order is not None:
            self._order.close()
            self._order = None
        if child is not None and not child.exited.done():
            child.signal_group(signal.SIGKILL)  # it holds nothing that could be lost
            with contextlib.suppress(asyncio.CancelledError):
                await child.wait(5.0)
