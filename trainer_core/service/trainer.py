"""TrainerService: plans, starts, watches, queues and stops training runs.

asyncio without Qt: the command line and tests run it with plain asyncio, the app through qasync.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import shlex
import signal
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from trainer_core.protocol import commands, records
from trainer_core.protocol.config import RunConfig
from trainer_core.protocol.errors import ConfigError, LabError, ProtocolError
from trainer_core.protocol.paths import CHECKOUT, HomePaths, RunPaths
from trainer_core.protocol.runs import RunRecord, RunState, fold
from trainer_core.registry import RunRegistry, create_time, is_alive
from trainer_core.runners.catalog import NATIVE, Runner
from trainer_core.service.child import ChildProcess, start_child
from trainer_core.service.history import History, read_history
from trainer_core.service.notices import (
    BadLineSeen,
    EventReceived,
    LogLines,
    Notice,
    RunChanged,
)
from trainer_core.service.stream import BadLine


@dataclass(frozen=True, slots=True)
class StopLadder:
    """Seconds that each step of a stop may take before the next, harder one."""

    command_s: float = 10.0
    terminate_s: float = 5.0


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """What would be started, exactly, before anything was."""

    run_id: str
    runner: Runner
    config: RunConfig
    run_dir: Path
    argv: tuple[str, ...]
    cwd: Path
    name: str = ""

    @property
    def command_line(self) -> str:
        return shlex.join(self.argv)

    @property
    def config_json(self) -> str:
        return json.dumps({"run": self.config.to_dict()}, indent=2) + "\n"


@dataclass(slots=True)
class _Live:
    """A run that this service started and that has not ended."""

    child: ChildProcess
    record: RunRecord
    error: str = ""
    stop_reason: str = ""
    stopping: asyncio.Task[None] | None = None
    hurry: asyncio.Event | None = None


class TrainerService:
    """One per home. Listeners are called on the event loop, in the order in which things happen."""

    def __init__(self, home: HomePaths, *, ladder: StopLadder | None = None) -> None:
        self.home = home
        self.registry = RunRegistry(home)
        self.ladder = ladder or StopLadder()
        self.runs: dict[str, RunRecord] = {}
        self._live: dict[str, _Live] = {}
        self._queue: deque[LaunchPlan] = deque()
        self._listeners: list[Callable[[Notice], None]] = []
        self._launching: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self) -> list[RunRecord]:
        """Read the index and record runs whose process is gone as lost. Returns those."""
        before = self.registry.load()
        self.runs = self.registry.reconcile()
        return [
            run
            for run_id, run in self.runs.items()
            if run.state is RunState.LOST and before[run_id].state is not RunState.LOST
        ]

    def subscribe(self, listener: Callable[[Notice], None]) -> Callable[[], None]:
        """Call `listener` with every notice from now on. Returns what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def notices(self, run_id: str) -> AsyncIterator[Notice]:
        """Notices of one run until it has ended."""
        queue: asyncio.Queue[Notice] = asyncio.Queue()
        cancel = self.subscribe(queue.put_nowait)
        try:
            while not self.runs[run_id].state.is_end or not queue.empty():
                notice = await queue.get()
                if _run_id(notice) == run_id:
                    yield notice
        finally:
            cancel()

    # -- starting ---------------------------------------------------------------------------

    def plan(self, config: RunConfig, runner: Runner = NATIVE, name: str = "") -> LaunchPlan:
        """Reserve a run id and say what would be run. Writes nothing."""
        stamp = time.strftime("%Y%m%d-%H%M%S")
        run_id = f"{stamp}-{secrets.token_hex(2)}"
        run_dir = self.home.run(run_id).root
        return LaunchPlan(
            run_id, runner, config, run_dir, tuple(runner.command(run_dir)), CHECKOUT, name
        )

    async def start(self, plan: LaunchPlan) -> RunRecord:
        """Start the plan, or queue it while its device is busy.

        Raises ConfigError when the run directory cannot be written, LabError when the process
        cannot be started; the run is then recorded as failed.
        """
        paths = RunPaths(plan.run_dir)
        try:
            paths.root.mkdir(parents=True)
            paths.config.write_text(plan.config_json, encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"{plan.run_dir}: cannot be written: {error.strerror}") from None
        record = RunRecord(
            run_id=plan.run_id,
            runner=plan.runner.id,
            task=plan.config.task,
            algo=plan.config.algo,
            device=plan.config.device,
            state=RunState.PREFLIGHT,
            created_at=time.time(),
            config_sha256=plan.config.sha256,
            pid=os.getpid(),  # ours until the worker has its own: a queued run is not lost
            pid_create_time=create_time(os.getpid()),
            name=plan.name,
        )
        if self._is_busy(plan.config.device):
            record = msgspec.structs.replace(record, state=RunState.QUEUED)
            self._queue.append(plan)
            self._store(record, f"position {len(self._queue)} in the queue")
            return record
        self._store(record)
        return await self._launch(plan)

    async def resume(self, run_id: str, runner: Runner = NATIVE) -> RunRecord:
        """Start an ended run's process again in its own directory; counters continue.

        Raises ConfigError when the run is still alive or has no checkpoint to go on from.
        """
        record = self._record(run_id)
        if not record.state.is_end:
            raise ConfigError(f"run {run_id} is {record.state}: only an ended run can be resumed")
        paths = self.home.run(run_id)
        if not any(paths.checkpoints.glob("[0-9]*")):
            raise ConfigError(f"run {run_id} has no checkpoint to go on from: start a new run")
        if self._is_busy(record.device):
            raise ConfigError(f"{record.device} is busy with another run: stop that one first")
        try:
            raw = json.loads(paths.config.read_text(encoding="utf-8"))
            config = RunConfig.from_dict(raw["run"])
        except (OSError, ValueError, KeyError) as error:
            raise ConfigError(f"{paths.config}: cannot be read: {error}") from None
        argv = tuple(runner.command(paths.root))
        return await self._launch(
            LaunchPlan(run_id, runner, config, paths.root, argv, CHECKOUT, record.name)
        )

    async def _launch(self, plan: LaunchPlan) -> RunRecord:
        run_id = plan.run_id
        self._launching.add(run_id)
        try:
            child = await start_child(
                plan.argv,
                cwd=plan.cwd,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                log_path=RunPaths(plan.run_dir).worker_log,
                on_event=lambda event: self._on_event(run_id, event),
                on_bad_line=lambda line: self._on_bad_line(run_id, line),
                on_output=lambda lines: self._tell(LogLines(run_id, tuple(lines))),
                on_exit=lambda code: self._on_exit(run_id, code),
            )
        except LabError as error:
            self._store(self._ended(self.runs[run_id], RunState.FAILED, str(error)))
            raise
        finally:
            self._launching.discard(run_id)
        record = msgspec.structs.replace(
            self.runs[run_id],
            state=RunState.STARTING,
            pid=child.pid,
            pid_create_time=create_time(child.pid),
            finished_at=0.0,
            reason="",
        )
        self._live[run_id] = _Live(child, record)
        self._store(record, "starting the worker")
        return record

    def _is_busy(self, device: str) -> bool:
        active = {*self._live, *self._launching}
        return any(self.runs[run_id].device == device for run_id in active) or any(
            plan.config.device == device for plan in self._queue
        )

    def _start_next(self, device: str) -> None:
        for plan in list(self._queue):
            if plan.config.device == device:
                self._queue.remove(plan)
                preflight = msgspec.structs.replace(
                    self.runs[plan.run_id], state=RunState.PREFLIGHT
                )
                self._store(preflight)
                self._background(self._launch_queued(plan))
                return

    async def _launch_queued(self, plan: LaunchPlan) -> None:
        try:
            await self._launch(plan)
        except LabError:  # recorded as failed, with its reason, by _launch
            self._start_next(plan.config.device)

    # -- while it runs ----------------------------------------------------------------------

    def is_live(self, run_id: str) -> bool:
        """Whether this service holds the run's pipes."""
        return run_id in self._live

    async def request(
        self, run_id: str, command_type: type[commands.Command], **fields: Any
    ) -> records.AckEvent:
        """Send a command to a run's worker and wait for its ack. Raises ProtocolError."""
        if run_id not in self._live:
            raise ProtocolError(f"run {run_id} is not running here")
        return await self._live[run_id].child.request(command_type, **fields)

    async def pause(self, run_id: str) -> None:
        self._move(run_id, RunState.PAUSING, "waiting for the update to end")
        await self.request(run_id, commands.Pause)

    async def unpause(self, run_id: str) -> None:
        await self.request(run_id, commands.Resume)

    async def history(self, run_id: str, offset: int = 0) -> History:
        """The run's log from `offset` on, read in a thread."""
        return await asyncio.to_thread(read_history, self.home.run(run_id).train_log, offset)

    def rename(self, run_id: str, name: str) -> None:
        self._store(msgspec.structs.replace(self._record(run_id), name=name))

    # -- ending -----------------------------------------------------------------------------

    async def stop(self, run_id: str, reason: str = "stopped by you") -> None:
        """Climb the ladder: stop command, SIGTERM, SIGKILL of the group. Returns at the end.

        A second call while it climbs takes the next step at once.
        """
        record = self._record(run_id)
        if record.state is RunState.QUEUED:
            self._queue = deque(plan for plan in self._queue if plan.run_id != run_id)
            self._store(self._ended(record, RunState.STOPPED, reason))
            return
        live = self._live.get(run_id)
        if live is None:
            if not record.state.is_end and is_alive(record):
                raise ProtocolError(f"run {run_id} belongs to another process, pid {record.pid}")
            return
        if live.stopping is not None:
            assert live.hurry is not None
            live.hurry.set()
        else:
            live.stop_reason, live.hurry = reason, asyncio.Event()
            live.stopping = asyncio.create_task(self._climb(live))
        await asyncio.shield(live.stopping)

    async def _climb(self, live: _Live) -> None:
        child, run_id, ladder = live.child, live.record.run_id, self.ladder
        hint = f"finishing the update; SIGTERM after {ladder.command_s:g} s"
        self._move(run_id, RunState.STOPPING, hint, ladder.command_s)
        with contextlib.suppress(ProtocolError):  # a closed stdin: it is already on its way out
            child.send(commands.Stop)
        if await self._hurried(live, ladder.command_s):
            live.stop_reason = f"forced: no answer to stop within {ladder.command_s:g} s"
            hint = f"sent SIGTERM; SIGKILL after {ladder.terminate_s:g} s"
            self._move(run_id, RunState.STOPPING, hint, ladder.terminate_s)
            child.signal_group(signal.SIGTERM)
            if await self._hurried(live, ladder.terminate_s):
                live.stop_reason = "forced: killed, it ignored stop and SIGTERM"
                self._move(run_id, RunState.STOPPING, "sent SIGKILL to the whole group")
                child.signal_group(signal.SIGKILL)
                await child.wait()

    async def _hurried(self, live: _Live, timeout_s: float) -> bool:
        """Wait for the exit; True when time ran out or someone asked to hurry."""
        assert live.hurry is not None
        hurry = asyncio.create_task(live.hurry.wait())
        await asyncio.wait(
            [live.child.exited, hurry], timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED
        )
        hurry.cancel()
        live.hurry.clear()
        return not live.child.exited.done()

    async def close(self) -> None:
        """Stop every run that this service started, and forget the queue."""
        for plan in list(self._queue):
            await self.stop(plan.run_id, "the app was closed")
        stops = [self.stop(run_id, "the app was closed") for run_id in list(self._live)]
        await asyncio.gather(*stops)

    # -- what children say ------------------------------------------------------------------

    def _on_event(self, run_id: str, event: records.Event) -> None:
        live = self._live.get(run_id)
        if live is None:
            return
        old = live.record
        try:
            live.record = fold(old, event)
        except ProtocolError as error:
            self._on_bad_line(run_id, BadLine(str(error), ""))
            return
        if live.stopping is not None and not live.record.state.is_end:
            # A pause or running event that was under way does not undo a stop.
            live.record = msgspec.structs.replace(live.record, state=RunState.STOPPING)
        self.runs[run_id] = live.record
        if isinstance(event, records.ErrorRecord):
            live.error = event.message
        worth_keeping = old.state != live.record.state or isinstance(
            event, records.CheckpointRecord | records.EvalRecord
        )
        if live.record.state.is_end:
            # It said so, but ends only when its process does: _on_exit writes the line.
            self.runs[run_id] = live.record = msgspec.structs.replace(live.record, state=old.state)
            live.stop_reason = live.stop_reason or event_detail(event)
        elif worth_keeping:
            self.registry.append(live.record)
        if isinstance(event, records.StateEvent):
            self._tell(RunChanged(live.record, event.detail, event.progress))
        elif worth_keeping:
            self._tell(RunChanged(live.record))
        self._tell(EventReceived(run_id, event))

    def _on_bad_line(self, run_id: str, line: BadLine) -> None:
        self._tell(BadLineSeen(run_id, line))

    def _on_exit(self, run_id: str, code: int) -> None:
        live = self._live.pop(run_id, None)
        if live is None:
            return
        state, reason = _end_of(code, live.stopping is not None, live)
        self._store(self._ended(live.record, state, reason))
        self._start_next(live.record.device)

    # -- records ----------------------------------------------------------------------------

    def _record(self, run_id: str) -> RunRecord:
        try:
            return self.runs[run_id]
        except KeyError:
            raise ConfigError(f"no run {run_id!r} in {self.home.runs_index}") from None

    def _move(self, run_id: str, state: RunState, detail: str, force_in_s: float = 0.0) -> None:
        live = self._live.get(run_id)
        if live is None:
            return
        live.record = msgspec.structs.replace(live.record, state=state)
        force_at = time.monotonic() + force_in_s if force_in_s else 0.0
        self._store(live.record, detail, force_at)

    def _store(self, record: RunRecord, detail: str = "", force_at: float = 0.0) -> None:
        self.runs[record.run_id] = record
        self.registry.append(record)
        self._tell(RunChanged(record, detail, force_at=force_at))

    @staticmethod
    def _ended(record: RunRecord, state: RunState, reason: str) -> RunRecord:
        return msgspec.structs.replace(record, state=state, reason=reason, finished_at=time.time())

    def _tell(self, notice: Notice) -> None:
        for listener in list(self._listeners):
            listener(notice)

    def _background(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def event_detail(event: records.Event) -> str:
    return event.detail if isinstance(event, records.StateEvent) else ""


def _end_of(code: int, asked: bool, live: _Live) -> tuple[RunState, str]:
    """End state and one-line reason of a process that left with `code`."""
    if asked:
        return RunState.STOPPED, live.stop_reason
    if code == 0:
        return RunState.FINISHED, live.stop_reason
    cause = live.child.last_words()
    if live.error:
        return RunState.FAILED, live.error  # it may have ended its own group, by signal
    if code == -signal.SIGKILL:
        return RunState.FAILED, "killed by signal 9, probably out of memory"
    if code < 0:
        return RunState.FAILED, f"ended by {signal.Signals(-code).name}: {cause}".rstrip(": ")
    return RunState.FAILED, cause or f"the worker ended with status {code}"


def _run_id(notice: Notice) -> str:
    return notice.record.run_id if isinstance(notice, RunChanged) else notice.run_id
