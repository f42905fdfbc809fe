"""TrainerService: plans, starts, watches, queues and stops training runs of any runner.

asyncio without Qt: the command line and tests run it with plain asyncio, the app through qasync.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import msgspec

from trainer_core.protocol import commands, records
from trainer_core.protocol.errors import ConfigError, LabError, ProtocolError
from trainer_core.protocol.paths import HomePaths
from trainer_core.protocol.runs import END_STATES, RunRecord, RunState
from trainer_core.protocol.spec import NATIVE_ID, RunSpec
from trainer_core.runners.catalog import AgentRunner, find_runner, registered_runners
from trainer_core.runs.config_file import read_spec
from trainer_core.runs.history import History, read_history
from trainer_core.runs.index import RunRegistry, is_alive
from trainer_core.runs.life import RunLife, new_run_id
from trainer_core.runs.lock import INHERITED, RunLock
from trainer_core.runs.writer import RunWriter
from trainer_core.service.ahead import AheadWorker
from trainer_core.service.child import ChildProcess
from trainer_core.service.notices import (
    BadLineSeen,
    EventReceived,
    LogLines,
    Notice,
    RunChanged,
)
from trainer_core.service.plan import LaunchPlan, StopLadder, plan_run, same_device
from trainer_core.service.scribe import Scribe
from trainer_core.service.stream import BadLine

NEEDED: dict[type[commands.Command], str] = {
    commands.Pause: "pause",
    commands.Unpause: "pause",
    commands.SaveCheckpoint: "checkpoints",
    commands.Watch: "watch",
}
"""The capability without which a runner is not sent that command."""


@dataclass(slots=True)
class _Kept:
    """A run whose life this service keeps: queued, or with a process."""

    plan: LaunchPlan
    life: RunLife
    child: ChildProcess | None = None
    scribe: Scribe | None = None
    said_anything: bool = False
    """A record of the log came, in a version that is understood."""
    said_end: RunState | None = None
    """The last end state that the process announced."""
    error: str = ""
    bad_line: str = ""
    """Why the last line that could not be read could not."""
    stop_reason: str = ""
    stopping: asyncio.Task[None] | None = None
    hurry: asyncio.Event | None = None


class TrainerService:
    """One per home. Listeners are called on the event loop, in the order in which things happen."""

    def __init__(
        self,
        home: HomePaths,
        *,
        runners: tuple[AgentRunner, ...] = registered_runners(),
        ladder: StopLadder | None = None,
    ) -> None:
        self.home, self.runners = home, runners
        self.registry = RunRegistry(home)
        self.ladder = ladder or StopLadder()
        self.ahead = AheadWorker()
        self.runs: dict[str, RunRecord] = {}
        self._live: dict[str, _Kept] = {}
        self._queue: deque[_Kept] = deque()
        self._listeners: list[Callable[[Notice], None]] = []
        self._launching: dict[str, _Kept] = {}
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

    def plan(self, spec: RunSpec, name: str = "", run_id: str = "") -> LaunchPlan:
        """Reserve a run id (or take one that was reserved) and say what would be run.

        Writes nothing. Raises ConfigError when no runner does what `spec` asks for.
        """
        runner = find_runner(spec.runner, self.runners)
        return plan_run(runner, spec, self.home, run_id or new_run_id(), name)

    async def start(self, plan: LaunchPlan) -> RunRecord:
        """Start the plan, or queue it while its device is busy.

        Raises DiskError when the run directory cannot be written, LabError when the process
        cannot be started; the run is then recorded as failed.
        """
        busy = self._is_busy(plan.spec.device)
        life = RunLife.begin(
            self.home, plan.run_id, plan.spec, algo=plan.runner.algorithm(plan.spec),
            name=plan.name, state=RunState.QUEUED if busy else RunState.PREFLIGHT, tags=plan.tags,
        )  # fmt: skip
        kept = _Kept(plan, life)
        if busy:
            self._queue.append(kept)
            self._show(life, f"position {len(self._queue)} in the queue")
            return life.record
        self._show(life)
        return await self._launch(kept)

    async def resume(self, run_id: str) -> RunRecord:
        """Start an ended run's process again in its own directory; counters continue.

        Raises LabError when the run is still alive, is being trained by another process, or has
        no checkpoint to go on from.
        """
        record = self._record(run_id)
        if not record.state.is_end:
            raise ConfigError(f"run {run_id} is {record.state}: only an ended run can be resumed")
        paths = self.home.run(run_id)
        spec = read_spec(paths)
        runner = find_runner(spec.runner, self.runners)
        if not runner.capabilities.exact_resume:
            raise ConfigError(f"{runner.title} cannot resume a run: start a new one")
        if not runner.find_checkpoints(paths.root):
            raise ConfigError(f"run {run_id} has no checkpoint to go on from: start a new run")
        if self._is_busy(spec.device):
            raise ConfigError(f"{spec.device} is busy with another run: stop that one first")
        plan = plan_run(runner, spec, self.home, run_id, record.name)
        lock = RunLock.take(paths)
        life = RunLife.resume(self.home, run_id, lock, algo=runner.algorithm(spec))
        return await self._launch(_Kept(plan, life))

    async def _launch(self, kept: _Kept) -> RunRecord:
        plan, life = kept.plan, kept.life
        run_id, lock = plan.run_id, life.lock.descriptor
        self._launching[run_id] = kept
        try:
            if not plan.runner.writes_log:
                kept.scribe = Scribe(plan, life.record, RunWriter(life.paths))
            kept.child = await self.ahead.start_child(
                plan.argv,
                cwd=plan.cwd,
                env={**os.environ, "PYTHONUNBUFFERED": "1", INHERITED: str(lock)},
                log_path=life.paths.worker_log,
                pass_fds=(lock,),
                decode=plan.runner.parse,
                on_event=lambda event: self._on_event(run_id, event),
                on_bad_line=lambda line: self._on_bad_line(run_id, line),
                on_output=lambda lines: self._tell(LogLines(run_id, tuple(lines))),
                on_exit=lambda code: self._on_exit(run_id, code),
            )
        except LabError as error:
            self._end(kept, RunState.FAILED, str(error))
            raise
        finally:
            del self._launching[run_id]
        life.launched(kept.child.pid)
        self._live[run_id] = kept
        self._show(life, "starting the worker")
        return life.record

    def _is_busy(self, device: str) -> bool:
        kept = [*self._live.values(), *self._launching.values(), *self._queue]
        return any(same_device(run.plan.spec.device, device) for run in kept)

    def _start_next(self, device: str) -> None:
        for kept in list(self._queue):
            if same_device(kept.plan.spec.device, device):
                self._queue.remove(kept)
                kept.life.move(RunState.PREFLIGHT)
                self._show(kept.life)
                self._background(self._launch_queued(kept))
                return

    async def _launch_queued(self, kept: _Kept) -> None:
        try:
            await self._launch(kept)
        except LabError:  # recorded as failed, with its reason, by _launch
            self._start_next(kept.plan.spec.device)

    # -- while it runs ----------------------------------------------------------------------

    def is_live(self, run_id: str) -> bool:
        """Whether this service holds the run's pipes."""
        return run_id in self._live

    async def request(
        self, run_id: str, command_type: type[commands.Command], **fields: Any
    ) -> records.AckEvent:
        """Send a command to a run's worker and wait for its ack.

        Raises ProtocolError, also when its runner takes no such command.
        """
        kept = self._live.get(run_id)
        if kept is None or kept.child is None:
            raise ProtocolError(f"run {run_id} is not running here")
        runner, needed = kept.plan.runner, NEEDED.get(command_type)
        if needed and not getattr(runner.capabilities, needed):
            raise ProtocolError(f"{runner.title} takes no {command_type.__name__}")
        return await kept.child.request(command_type, **fields)

    async def pause(self, run_id: str) -> None:
        live = self._live.get(run_id)
        if live is not None and live.plan.runner.capabilities.pause:
            self._move(live, RunState.PAUSING, "waiting for the update to end")
        await self.request(run_id, commands.Pause)

    async def unpause(self, run_id: str) -> None:
        await self.request(run_id, commands.Unpause)

    async def history(self, run_id: str, offset: int = 0) -> History:
        """The run's log from `offset` on, read in a thread."""
        return await asyncio.to_thread(read_history, self.home.run(run_id).train_log, offset)

    def rename(self, run_id: str, name: str) -> None:
        """Raises OSError when the index cannot be written."""
        for kept in [*self._live.values(), *self._queue]:
            if kept.plan.run_id == run_id:
                kept.life.rename(name)
                self._show(kept.life)
                return
        record = msgspec.structs.replace(self._record(run_id), name=name)
        self.registry.append(record)
        self.runs[run_id] = record
        self._tell(RunChanged(record))

    # -- ending -----------------------------------------------------------------------------

    async def stop(self, run_id: str, reason: str = "stopped by you") -> None:
        """Climb the ladder: stop command, SIGTERM, SIGKILL of the group. Returns at the end.

        A second call while it climbs takes the next step at once.
        """
        record = self._record(run_id)
        for kept in list(self._queue):
            if kept.plan.run_id == run_id:
                self._queue.remove(kept)
                self._end(kept, RunState.STOPPED, reason)
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

    async def _climb(self, live: _Kept) -> None:
        child, ladder = live.child, self.ladder
        assert child is not None
        if live.plan.runner.capabilities.graceful_stop:
            hint = f"finishing the update; SIGTERM after {ladder.command_s:g} s"
            self._move(live, RunState.STOPPING, hint, ladder.command_s)
            with contextlib.suppress(ProtocolError):  # a closed stdin: it is on its way out
                child.send(commands.Stop)
            if not await self._hurried(live, ladder.command_s):
                return
            live.stop_reason = f"forced: no answer to stop within {ladder.command_s:g} s"
        hint = f"sent SIGTERM; SIGKILL after {ladder.terminate_s:g} s"
        self._move(live, RunState.STOPPING, hint, ladder.terminate_s)
        child.signal_group(signal.SIGTERM)
        if await self._hurried(live, ladder.terminate_s):
            live.stop_reason = "forced: killed, it ignored stop and SIGTERM"
            self._move(live, RunState.STOPPING, "sent SIGKILL to the whole group")
            child.signal_group(signal.SIGKILL)
            await child.wait()

    async def _hurried(self, live: _Kept, timeout_s: float) -> bool:
        """Wait for the exit; True when time ran out or someone asked to hurry."""
        assert live.hurry is not None
        assert live.child is not None
        hurry = asyncio.create_task(live.hurry.wait())
        await asyncio.wait(
            [live.child.exited, hurry], timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED
        )
        hurry.cancel()
        live.hurry.clear()
        return not live.child.exited.done()

    async def close(self) -> None:
        """Stop every run that this service started, and forget the queue."""
        await self.ahead.end()
        for kept in list(self._queue):
            await self.stop(kept.plan.run_id, "the app was closed")
        stops = [self.stop(run_id, "the app was closed") for run_id in list(self._live)]
        await asyncio.gather(*stops)

    # -- what children say ------------------------------------------------------------------

    def _on_event(self, run_id: str, event: records.Event) -> None:
        live = self._live.get(run_id)
        if live is None:
            return
        if live.plan.runner.writes_log and event.run_id != run_id:
            self._on_bad_line(run_id, BadLine(f"a record of another run, {event.run_id!r}", ""))
            return
        live.said_anything = live.said_anything or isinstance(event, records.LogRecord)
        try:
            if live.scribe is not None:
                event = live.scribe.keep(event)
            worth_telling = live.life.fold(event)
        except LabError as error:  # a state that cannot follow, a number or disk that does not fit
            self._on_bad_line(run_id, BadLine(str(error), ""))
            return
        self.runs[run_id] = live.life.record
        if isinstance(event, records.ErrorRecord):
            live.error = event.message
        if isinstance(event, records.StateEvent):
            if event.state in END_STATES:
                live.said_end = RunState(event.state)
                live.stop_reason = live.stop_reason or event.detail
            self._tell(RunChanged(live.life.record, event.detail, event.progress))
        elif worth_telling:
            self._tell(RunChanged(live.life.record))
        self._tell(EventReceived(run_id, event))

    def _on_bad_line(self, run_id: str, line: BadLine) -> None:
        if (live := self._live.get(run_id)) is not None:
            live.bad_line = line.reason
        self._tell(BadLineSeen(run_id, line))

    def _on_exit(self, run_id: str, code: int) -> None:
        live = self._live.pop(run_id, None)
        if live is None:
            return
        try:
            self._end(live, *_end_of(code, live))
        finally:  # whatever a listener makes of it, the next run has its turn
            self._start_next(live.plan.spec.device)

    # -- records ----------------------------------------------------------------------------

    def _record(self, run_id: str) -> RunRecord:
        try:
            return self.runs[run_id]
        except KeyError:
            raise ConfigError(f"no run {run_id!r} in {self.home.runs_index}") from None

    def _move(self, live: _Kept, state: RunState, detail: str, force_in_s: float = 0.0) -> None:
        live.life.move(state)
        self._show(live.life, detail, time.monotonic() + force_in_s if force_in_s else 0.0)

    def _end(self, kept: _Kept, state: RunState, reason: str) -> None:
        try:
            kept.life.end(state, reason)
        except LabError as error:  # a full disk: the log still says what happened
            self._tell(LogLines(kept.plan.run_id, (str(error),)))
        if kept.scribe is not None:
            kept.scribe.close()
        self._show(kept.life)

    def _show(self, life: RunLife, detail: str = "", force_at: float = 0.0) -> None:
        self.runs[life.record.run_id] = life.record
        self._tell(RunChanged(life.record, detail, force_at=force_at))

    def _tell(self, notice: Notice) -> None:
        for listener in list(self._listeners):
            listener(notice)

    def _background(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _end_of(code: int, live: _Kept) -> tuple[RunState, str]:
    """End state and one-line reason of a process that left with `code`."""
    if live.error:
        return RunState.FAILED, live.error  # it may have ended its own group, by signal
    if live.stopping is not None:
        return RunState.STOPPED, live.stop_reason
    if code == 0:
        return _good_end_of(live)
    assert live.child is not None
    cause = live.child.last_words()
    if code == -signal.SIGKILL:
        return RunState.FAILED, "killed by signal 9, probably out of memory"
    if code < 0:
        return RunState.FAILED, f"ended by {signal.Signals(-code).name}: {cause}".rstrip(": ")
    return RunState.FAILED, cause or f"the worker ended with status {code}"


def _good_end_of(live: _Kept) -> tuple[RunState, str]:
    """Status 0 is a success only of a process that said what it did.

    Ours says its end too; another runner's process may just leave.
    """
    if live.said_end is not None:
        return live.said_end, live.stop_reason
    if not live.said_anything:
        cause = f": {live.bad_line}" if live.bad_line else ""
        return RunState.FAILED, f"the process ended without one record that can be read{cause}"
    if live.plan.runner.id == NATIVE_ID:
        return RunState.FAILED, "the process left in the middle of the run, with status 0"
    return RunState.FINISHED, live.stop_reason


def _run_id(notice: Notice) -> str:
    return notice.record.run_id if isinstance(notice, RunChanged) else notice.run_id
