"""A process that is started before anybody asks for it: it loads, then waits for the order.

A worker is started while its run is not agreed to yet, a player while a checkpoint is selected. It
is the very process that would be started then: same argv, same folder. It writes nothing and does
nothing until it is given its descriptors over a socket; the end of that socket means that nobody
wants it. The other end is `trainer_core.host.wait_for_order`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from trainer_core.host.wait_for_order import AHEAD
from trainer_core.service.child import ChildProcess, start_child
from trainer_core.service.plan import LaunchPlan
from trainer_core.wire import records
from trainer_core.wire.environment import differs
from trainer_core.wire.errors import LabError


class AheadProcess:
    """At most one process, for one argv at a time."""

    def __init__(self) -> None:
        self._argv: tuple[str, ...] = ()
        self._child: ChildProcess | None = None
        self._order: socket.socket | None = None
        self._starting = False
        self._ends = 0
        """How often it was sent away: also one that is being started just then goes."""
        self._said: records.StateEvent | None = None

    @property
    def compiling(self) -> records.StateEvent | None:
        """What the waiting process said last, if it compiles kernels now."""
        told = self._said if self.is_waiting else None
        return told if told is not None and told.detail.startswith(records.COMPILING) else None

    def _hear(self, event: records.Event) -> None:
        if isinstance(event, records.StateEvent):
            self._said = event

    @property
    def is_waiting(self) -> bool:
        return self._child is not None and not self._child.exited.done()

    def is_for(self, argv: Sequence[str]) -> bool:
        return self.is_waiting and self._argv == tuple(argv)

    def memory_bytes(self) -> int:
        """What the waiting process holds, 0 without one."""
        if not self.is_waiting or self._child is None:
            return 0
        try:
            return psutil.Process(self._child.pid).memory_info().rss
        except psutil.Error:
            return 0

    async def load(self, argv: Sequence[str], cwd: Path, **env: str) -> bool:
        """Have a process with this argv load. Whether it does: one that waits already stays.

        `env` are further variables of its environment. Raises LabError.
        """
        if self.is_waiting or self._starting:
            return False
        ours, theirs = socket.socketpair()
        self._starting, self._said, ends = True, None, self._ends
        try:
            child = await start_child(
                argv,
                cwd=cwd,
                pass_fds=(theirs.fileno(),),
                on_event=self._hear,
                env={"PYTHONUNBUFFERED": "1", AHEAD: str(theirs.fileno()), **env},
            )
        except LabError:
            ours.close()
            raise
        finally:
            self._starting = False
            theirs.close()
        if ends != self._ends:
            ours.close()
            await _send_away(child)
            return False
        self._argv, self._child, self._order = tuple(argv), child, ours
        return True

    async def start_child(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], pass_fds: Sequence[int] = (), **callbacks: Any
    ) -> ChildProcess:
        """`child.start_child`, by the process that waits for exactly this argv if there is one.

        Raises LabError when a new process is needed and cannot be started.
        """
        child, order = self._child, self._order
        if child is None or order is None or not self.is_for(argv):
            return await start_child(argv, cwd=cwd, env=env, pass_fds=pass_fds, **callbacks)
        compiling = self.compiling
        self._child = self._order = None
        child.listen(**callbacks)
        told = {name: value for name, value in env.items() if differs(name, value)}
        message = json.dumps({"env": told, "descriptors": list(pass_fds)}).encode()
        with order:
            try:
                socket.send_fds(order, [message], list(pass_fds))
            except OSError:  # it died this moment
                child.listen()
                return await start_child(argv, cwd=cwd, env=env, pass_fds=pass_fds, **callbacks)
        if compiling is not None and "on_event" in callbacks:  # once the caller has the child
            asyncio.get_running_loop().call_soon(callbacks["on_event"], compiling)
        return child

    async def end(self) -> None:
        """Send the waiting process away, and one that is on its way."""
        self._ends += 1
        child, self._child = self._child, None
        if self._order is not None:
            self._order.close()
            self._order = None
        if child is not None and not child.exited.done():
            await _send_away(child)


async def _send_away(child: ChildProcess) -> None:
    child.signal_group(signal.SIGKILL)  # it holds nothing that could be lost
    with contextlib.suppress(asyncio.CancelledError):
        await child.wait(5.0)


class AheadWorker(AheadProcess):
    """The worker of one plan."""

    def __init__(self) -> None:
        super().__init__()
        self._run_id = self._runner = ""

    @property
    def run_id(self) -> str:
        """The run that it was started for; empty when nothing waits."""
        return self._run_id if self.is_waiting else ""

    async def prepare(self, plan: LaunchPlan) -> None:
        """Have a process for this plan load. One that waits for another plan of its runner stays.

        Does nothing for a runner whose process cannot wait, or is not installed. Raises LabError.
        """
        if self.is_waiting and self._runner != plan.runner.id:
            await self.end()
        can_wait = plan.runner.waits and Path(plan.argv[0]).exists()
        if can_wait and await self.load(plan.argv, plan.cwd):
            self._run_id, self._runner = plan.run_id, plan.runner.id
