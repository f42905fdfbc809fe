"""Process started ahead of its order: it loads modules, then waits for the order to work.

A worker starts while its run is not confirmed yet, a player while a checkpoint is selected. It is the same process that
would be started then: same argv, same folder. It writes nothing and does nothing until it receives its descriptors over
a socket; when that socket closes it ends. The other end is `trainer_core.host.wait_for_order`.
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
    """Holder of at most one process that was started ahead and waits."""

    def __init__(self) -> None:
        self._argv: tuple[str, ...] = ()
        self._child: ChildProcess | None = None
        self._order: socket.socket | None = None
        self._starting = False
        self._ends = 0
        """Number of `end` calls so far: `load` ends the process it starts if the number changed meanwhile."""
        self._said: records.StateEvent | None = None

    @property
    def compiling(self) -> records.StateEvent | None:
        """Last state message of the waiting process if it is compiling kernels now, else None."""
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
        """Return the bytes of memory that the waiting process uses, 0 without one."""
        if not self.is_waiting or self._child is None:
            return 0
        try:
            return psutil.Process(self._child.pid).memory_info().rss
        except psutil.Error:
            return 0

    async def load(self, argv: Sequence[str], cwd: Path, **env: str) -> bool:
        """Start a process with this argv ahead of its order; return whether one was started.

        None is started while another one waits or is starting. `env` has further environment variables. Raises
        LabError.
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
        """Order the waiting process to work if it has exactly this argv, else start a new one; return it.

        The arguments are those of `child.start_child`. Raises LabError when a new process is needed and cannot be
        started.
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
            except OSError:  # it ended just now
                child.listen()
                return await start_child(argv, cwd=cwd, env=env, pass_fds=pass_fds, **callbacks)
        if compiling is not None and "on_event" in callbacks:  # after the caller has stored the child
            asyncio.get_running_loop().call_soon(callbacks["on_event"], compiling)
        return child

    async def end(self) -> None:
        """End the waiting process, and one that is being started."""
        self._ends += 1
        child, self._child = self._child, None
        if self._order is not None:
            self._order.close()
            self._order = None
        if child is not None and not child.exited.done():
            await _send_away(child)


async def _send_away(child: ChildProcess) -> None:
    child.signal_group(signal.SIGKILL)  # it holds no data that could be lost
    with contextlib.suppress(asyncio.CancelledError):
        await child.wait(5.0)


class AheadWorker(AheadProcess):
    """Worker process started ahead for one run's plan."""

    def __init__(self) -> None:
        super().__init__()
        self._run_id = self._runner = ""

    @property
    def run_id(self) -> str:
        """Id of the run for which the waiting worker was started; "" when none waits."""
        return self._run_id if self.is_waiting else ""

    async def prepare(self, plan: LaunchPlan) -> None:
        """Start a worker ahead for this plan; one that waits for another plan of the same runner stays.

        Does nothing for a runner whose process cannot wait, or is not installed. Raises LabError.
        """
        if self.is_waiting and self._runner != plan.runner.id:
            await self.end()
        can_wait = plan.runner.waits and Path(plan.argv[0]).exists()
        if can_wait and await self.load(plan.argv, plan.cwd):
            self._run_id, self._runner = plan.run_id, plan.runner.id
