"""TrainerService: plans, starts, watches, queues and stops training runs of any runner.

asyncio without Qt: command line and tests run it with plain asyncio, the app through qasync. Several may be open on one
home: each hosts the runs that it started, follows the others' runs, and all of them work one queue (runs.queue).
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine
from subprocess import Popen
from typing import Any

import msgspec

from trainer_core.lab.paths import HomePaths
from trainer_core.runners.catalog import AgentRunner, find_runner, registered_runners
from trainer_core.runs import queue_steps
from trainer_core.runs.command_files import LOOK_S
from trainer_core.runs.config_file import read_spec
from trainer_core.runs.device_lock import DeviceLock
from trainer_core.runs.index import RunRegistry
from trainer_core.runs.life import RunLife, new_run_id
from trainer_core.runs.log_reader import History, read_history
from trainer_core.runs.log_writer import RunWriter
from trainer_core.runs.queue import RunQueue
from trainer_core.runs.run_lock import INHERITED, RunLock
from trainer_core.runs.wandb_run import agree, guest_variables
from trainer_core.service.detached import start_detached_host
from trainer_core.service.events import EventReader
from trainer_core.service.guest_log import GuestLog
from trainer_core.service.hosted_run import HostedRun, end_of
from trainer_core.service.next_run import NextRun
from trainer_core.service.notices import EventReceived, LogLines, Notice, RunChanged
from trainer_core.service.others import Others, ask, obey, require
from trainer_core.service.plan import LaunchPlan, StopLadder, plan_run
from trainer_core.service.preload import AheadWorker
from trainer_core.service.stopping import climb
from trainer_core.service.telemetry import Telemetry
from trainer_core.service.wandb_sender import end_sender, start_sender
from trainer_core.wire import commands, records
from trainer_core.wire.errors import ConfigError, LabError, ProtocolError
from trainer_core.wire.run_record import RunRecord, RunState, fold
from trainer_core.wire.spec import RunSpec

NEEDED: dict[type[commands.Command], str] = {
    commands.Pause: "pause",
    commands.Unpause: "pause",
    commands.SaveCheckpoint: "checkpoints",
    commands.Watch: "watch",
}
"""Capability that a runner needs for each command."""


class TrainerService:
    """Service that plans, starts, queues, follows and stops training runs.

    Listeners are called on the event loop, in the order of events.
    """

    def __init__(
        self,
        home: HomePaths,
        *,
        runners: tuple[AgentRunner, ...] | None = None,
        ladder: StopLadder | None = None,
        works_queue: bool = True,
        is_detached_host: bool = False,
        start_detached_host: Callable[[HomePaths], object] = start_detached_host,
    ) -> None:
        """Set up; no file is read before `open`.

        `runners`: default all registered. `works_queue`: whether it starts waiting runs as devices become free.
        `is_detached_host`: whether it also starts detached runs, which other services leave to the detached host.
        """
        self._start_detached_host = start_detached_host
        self.home, self.works_queue = home, works_queue
        self.runners = registered_runners() if runners is None else runners
        self.registry, self.queue = RunRegistry(home), RunQueue(home)
        self.ladder = ladder or StopLadder()
        self.ahead = AheadWorker()
        self.runs: dict[str, RunRecord] = {}
        self.missed: dict[str, int] = {}
        """Number of records by run that its pipe lost while this process was busy; they were read from the log."""
        self.senders: dict[str, Popen[bytes]] = {}
        """Processes by run that send it to W&B, as the user agreed."""
        self._live: dict[str, HostedRun] = {}
        self._launching: dict[str, HostedRun] = {}
        self._hearing = EventReader(self._live, self._note, self.missed, self._tell)
        self._turns = NextRun(home, is_detached_host)
        self.telemetry = Telemetry(self)
        self._listeners: list[Callable[[Notice], None]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._others = Others(home, self._show, self._on_other_event)
        self._closing = False

    def open(self) -> list[RunRecord]:
        """Read the index of runs; record runs whose process is gone as lost, and return them.

        If the index cannot be read, the registry's `problem` tells why. On a running event loop the service then
        regularly handles other processes' commands, the queue and the runs of others.
        """
        before = self._others.begin()
        self.runs = self.registry.reconcile(before)
        before = self.runs | before
        with contextlib.suppress(RuntimeError):  # without a loop, reading the index is all
            _keep_looking(asyncio.get_running_loop(), weakref.ref(self))
        return [
            run
            for run_id, run in self.runs.items()
            if run.state is RunState.LOST and before[run_id].state is not RunState.LOST
        ]

    def subscribe(self, listener: Callable[[Notice], None]) -> Callable[[], None]:
        """Call `listener` with every notice from now on; return a function that unsubscribes it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def notices(self, run_id: str) -> AsyncIterator[Notice]:
        """Yield notices of one run until it has ended."""
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
        """Return the plan of a run; `run_id` is a reserved id, or "" for a new one.

        Writes nothing. Raises ConfigError when no runner does what `spec` asks for.
        """
        runner = find_runner(spec.runner, self.runners)
        return plan_run(runner, spec, self.home, run_id or new_run_id(self.home), name)

    async def start(self, plan: LaunchPlan, *, wait: bool = True, detach: bool = False) -> RunRecord:
        """Start the plan's run, or queue it while its device is busy or others wait for the device; return its record.

        Without `wait` it trains at once, beside other runs on its device. With `detach` the detached host starts it,
        and continues when this process ends; a run on another host is started so too, unless `wait` is off. Raises
        DiskError when the run directory cannot be written, LabError when the process cannot be started; the run is then
        recorded as failed.
        """
        device, needs_device = None, not plan.spec.is_remote
        agree(self.home.run(plan.run_id), plan.wandb, plan.name)
        detach = detach or (wait and not needs_device)
        if needs_device and not detach and not (wait and self._turns.others_wait(plan.spec.device)):
            device = DeviceLock.take(self.home, plan.spec.device, plan.run_id)
        if device is None and (wait or detach):
            await self.ahead.end()  # its run may have to wait for long
            return self._enqueue(plan, detach=detach)
        try:
            life = RunLife.begin(
                self.home,
                plan.run_id,
                plan.spec,
                algo=plan.runner.algorithm(plan.spec),
                name=plan.name,
                state=RunState.PREFLIGHT,
                tags=plan.tags,
            )
        except LabError:
            if device is not None:
                device.release()
            raise
        self._show(life.record)
        return await self._launch(HostedRun(plan, life, device))

    def _enqueue(self, plan: LaunchPlan, *, detach: bool) -> RunRecord:
        record = queue_steps.enqueue(
            self.home,
            plan.run_id,
            plan.spec,
            algo=plan.runner.algorithm(plan.spec),
            name=plan.name,
            tags=plan.tags,
            detached=detach,
        )
        if detach:
            self._show(record, "handed to the detached host")
            self._start_detached_host(self.home)
        else:
            self._turns.plans[plan.run_id] = plan
            self._show(record, f"position {self.position(plan.run_id)} in the queue")
        return record

    async def resume(self, run_id: str, *, wait: bool = True) -> RunRecord:
        """Start an ended run's process again in its own directory; counters continue.

        It waits in the queue while its device is busy; without `wait` it trains at once, beside other runs. Raises
        LabError when the run is still alive, is being trained by another process, or has no checkpoint.
        """
        record, runner, spec = self.require_resumable(run_id)
        plan = plan_run(runner, spec, self.home, run_id, record.name)
        lock = RunLock.take(self.home.run(run_id))
        device = None
        try:
            if not spec.is_remote and not (wait and self._turns.others_wait(spec.device)):
                device = DeviceLock.take(self.home, spec.device, run_id)
            if device is None and wait:
                lock.release()
                record = queue_steps.enqueue_again(self.home, record, first=spec.is_remote)
                if spec.is_remote:
                    self._start_detached_host(self.home)
                self._turns.plans[run_id] = plan
                self._show(record, f"position {self.position(run_id)} in the queue")
                return record
            life = RunLife.resume(self.home, run_id, lock, algo=runner.algorithm(spec), state=RunState.PREFLIGHT)
        except BaseException:
            lock.release()
            if device is not None:
                device.release()
            raise
        return await self._launch(HostedRun(plan, life, device))

    def require_resumable(self, run_id: str) -> tuple[RunRecord, AgentRunner, RunSpec]:
        """Return record, runner and spec for a resume of an ended run. Raises LabError with the reason why not."""
        record = self._record(run_id)
        if not record.state.is_end:
            raise ConfigError(f"run {record.title} is {record.state}: only an ended run can be resumed")
        paths = self.home.run(run_id)
        spec = read_spec(paths)
        runner = find_runner(spec.runner, self.runners)
        if not runner.capabilities.exact_resume:
            raise ConfigError(f"{runner.title} cannot resume a run: start a new one")
        if not (runner.find_checkpoints(paths.root) or paths.job.exists()):
            raise ConfigError(f"run {record.title} has no checkpoint to go on from: start a new run")
        return record, runner, spec

    def can_go_on(self, run: RunRecord) -> bool:
        """Return whether a run has something to resume: a checkpoint, or a job on another host."""
        return bool(run.last_checkpoint) or self.home.run(run.run_id).job.exists()

    async def _launch(self, kept: HostedRun) -> RunRecord:
        plan, life = kept.plan, kept.life
        run_id, lock = plan.run_id, life.lock.descriptor
        self._launching[run_id] = kept
        try:
            if not plan.runner.writes_log:
                kept.guest_log = GuestLog(plan, life.record, RunWriter(life.paths))
            kept.child = await self.ahead.start_child(
                plan.argv,
                cwd=plan.cwd,
                env={"PYTHONUNBUFFERED": "1", INHERITED: str(lock), **guest_variables(life.paths)},
                log_path=life.paths.worker_log,
                pass_fds=(lock, kept.device.descriptor) if kept.device else (lock,),
                decode=plan.runner.parse,
                on_event=lambda event: self._hearing.on_event(run_id, event),
                on_bad_line=lambda line: self._hearing.on_bad_line(run_id, line),
                on_output=lambda lines: self._tell(LogLines(run_id, tuple(lines))),
                on_exit=lambda code: self._on_exit(run_id, code),
            )
        except LabError as error:
            self._end(kept, RunState.FAILED, str(error))
            raise
        except asyncio.CancelledError:  # the process that was being started has ended
            self._end(kept, RunState.STOPPED, "interrupted while it was started")
            raise
        finally:
            del self._launching[run_id]
            if kept.waited:
                queue_steps.started(self.home, run_id)
        life.launched(kept.child.pid)
        if (sender := start_sender(life.paths)) is not None:
            self.senders[run_id] = sender
        self._live[run_id] = kept
        self._show(life.record, "starting the worker")
        return life.record

    # -- the queue --------------------------------------------------------------------------

    def position(self, run_id: str) -> int:
        """Return a waiting run's place in the queue, from 1; 0 when it does not wait."""
        return self._turns.position(run_id)

    def _work_queue(self) -> None:
        """Start every waiting run whose device is free. Raises LabError."""
        while self.works_queue and not self._closing:
            kept = self._turns.next(self.runners)
            if kept is None:
                return
            self._launching[kept.plan.run_id] = kept
            self._show(kept.life.record)
            self._background(self._launch_queued(kept))

    async def _launch_queued(self, kept: HostedRun) -> None:
        with contextlib.suppress(LabError):  # recorded as failed, with its reason, by _launch
            await self._launch(kept)

    # -- while it runs ----------------------------------------------------------------------

    def is_live(self, run_id: str) -> bool:
        """Return whether this service hosts the run's process now."""
        return run_id in self._live

    def keeps(self, run_id: str) -> bool:
        """Return whether this service writes the run's records: it hosts its process, or is starting it."""
        return run_id in self._live or run_id in self._launching

    def is_keeping(self) -> bool:
        return bool(self._live or self._launching)

    def takes_commands(self, run_id: str) -> bool:
        """Return whether the run takes commands: a process of this service or of another host trains it now."""
        record = self.runs.get(run_id)
        return run_id in self._live or (
            record is not None and not record.state.is_end and record.state not in (RunState.QUEUED, RunState.PREFLIGHT)
        )

    async def request(self, run_id: str, command_type: type[commands.Command], **fields: Any) -> records.AckEvent:
        """Send a command to a run's worker, through its host if that is another process, and wait for the ack.

        Raises ProtocolError, also when the run's runner takes no such command.
        """
        kept = self._live.get(run_id)
        if kept is None or kept.child is None:
            if not self.takes_commands(run_id):
                raise ProtocolError(f"run {run_id} is not running")
            return await ask(self.home, self.runs[run_id], command_type, **fields)
        runner, needed = kept.plan.runner, NEEDED.get(command_type)
        if needed and not getattr(runner.capabilities, needed):
            raise ProtocolError(f"{runner.title} takes no {command_type.__name__}")
        return await kept.child.request(command_type, **fields)

    async def pause(self, run_id: str) -> None:
        """Pause the run; raises ProtocolError when it cannot be paused."""
        live = self._live.get(run_id)
        can_hold = live is not None and live.plan.runner.capabilities.pause
        if live is not None and can_hold and live.life.record.state is RunState.RUNNING:
            self._move(live, RunState.PAUSING, "waiting for the update to end")
        require(await self.request(run_id, commands.Pause))

    async def unpause(self, run_id: str) -> None:
        """Unpause the run; raises ProtocolError."""
        require(await self.request(run_id, commands.Unpause))

    async def history(self, run_id: str, offset: int = 0) -> History:
        """Return the records in the run's log from byte `offset` on; a thread reads them."""
        return await asyncio.to_thread(read_history, self.home.run(run_id).train_log, offset)

    def rename(self, run_id: str, name: str) -> None:
        """Rename the run; raises OSError when the index is not writable, ConfigError while another process hosts it."""
        kept = self._live.get(run_id) or self._launching.get(run_id)
        if kept is not None:
            kept.life.rename(name)
            self._show(kept.life.record)
            return
        if self.takes_commands(run_id):
            raise ConfigError(f"run {run_id} is kept by another process: name it there, or once it has ended")
        record = msgspec.structs.replace(self._record(run_id), name=name)
        self.registry.append(record)
        self._show(record)

    # -- ending -----------------------------------------------------------------------------

    async def stop(self, run_id: str, reason: str = "stopped by you") -> None:
        """Stop a run by the ladder (stop command, SIGTERM, SIGKILL of the group); return once it has ended.

        A waiting run leaves the queue; a run hosted by another process is stopped by that process, or from here if it
        does not answer. A second call takes the ladder's next step at once.
        """
        record = self._record(run_id)
        live = self._live.get(run_id)
        if live is not None:
            await self._stop_live(live, reason)
        elif run_id in self._launching:
            await self._stop_launching(run_id, reason)
        elif record.state is RunState.QUEUED:
            self._turns.plans.pop(run_id, None)
            dropped = queue_steps.drop(self.home, run_id, reason)
            if dropped is not None:
                self._show(dropped)
            else:
                await self._stop_taken_up(run_id, reason)
        elif not record.state.is_end:
            await self._stop_other(record, reason)

    async def _stop_live(self, live: HostedRun, reason: str) -> None:
        if live.stopping is not None:
            assert live.hurry is not None
            live.hurry.set()
        else:
            live.stop_reason, live.hurry = reason, asyncio.Event()
            live.stopping = asyncio.create_task(climb(live, self.ladder, self._move))
        await asyncio.shield(live.stopping)

    async def _stop_launching(self, run_id: str, reason: str) -> None:
        """Stop a run whose process is just being started: wait until it is, then stop it."""
        while run_id in self._launching:
            await asyncio.sleep(LOOK_S / 10)
        if run_id in self._live:
            await self._stop_live(self._live[run_id], reason)

    async def _stop_taken_up(self, run_id: str, reason: str) -> None:
        """Stop a run that has just left the queue: another process took it, or its owner was killed."""
        now = self.registry.settle(self.registry.load().get(run_id, self.runs[run_id]))
        self._show(now)
        if not now.state.is_end and now.state is not RunState.QUEUED:
            await self._stop_other(now, reason)

    async def _stop_other(self, record: RunRecord, reason: str) -> None:
        ended = await self._others.stop(self.runs, record, self.ladder, reason, self._tell)
        if ended is not None:
            self._show(ended)

    async def close(self, *, keep: bool = False, reason: str = "the app was closed") -> None:
        """End the service: stop every run that it started; waiting runs stay in the queue.

        With `keep` the runs continue without it: each saves, and the detached host resumes it, and starts waiting runs.
        Runs that cannot be resumed exactly are stopped.
        """
        self.works_queue = False
        await self.ahead.end()
        while self._launching:
            await asyncio.sleep(LOOK_S / 10)
        live = dict(self._live)
        reason = "handed over to the detached host" if keep else reason
        await asyncio.gather(*(self.stop(run_id, reason) for run_id in live))
        self._closing = True
        if not keep:
            return
        for run_id, kept in live.items():
            self._hand_over(kept.plan.runner, self.runs[run_id])
        if any(not entry.held for entry in self.queue.entries()):
            self._start_detached_host(self.home)

    def _hand_over(self, runner: AgentRunner, record: RunRecord) -> None:
        goes_on = record.state is RunState.STOPPED and runner.capabilities.exact_resume
        if goes_on and runner.find_checkpoints(self.home.run(record.run_id).root):
            self._show(queue_steps.enqueue_again(self.home, record, first=True))

    # -- looking around ---------------------------------------------------------------------

    def look(self) -> bool:
        """Handle other processes' commands, their runs and the queue; return False once the service is closed.

        It is called a few times a second.
        """
        for run_id, kept in list(self._live.items()):
            for letter in kept.mail.take():
                self._background(obey(self, run_id, kept.mail, letter))
        with contextlib.suppress(OSError):
            self._others.look(self.runs, {**self._live, **self._launching})
        with contextlib.suppress(LabError, OSError):  # a full disk may have space again
            self._work_queue()
        return not self._closing

    def _on_other_event(self, run_id: str, event: records.Event) -> None:
        record = self.runs.get(run_id)
        if record is not None:  # the index has its state
            now = fold(record, event)
            self.runs[run_id] = msgspec.structs.replace(now, state=record.state, reason=record.reason)
        self._tell(EventReceived(run_id, event))

    # -- when a child is gone -----------------------------------------------------------------

    def _on_exit(self, run_id: str, code: int) -> None:
        live = self._live.pop(run_id, None)
        if live is None:
            return
        try:
            self._end(live, *end_of(code, live))
        finally:  # even if a listener fails, the next run may start
            with contextlib.suppress(LabError, OSError):
                self._work_queue()

    # -- records ----------------------------------------------------------------------------

    def _record(self, run_id: str) -> RunRecord:
        try:
            return self.runs[run_id]
        except KeyError:
            raise ConfigError(f"no run {run_id!r} in {self.home.runs_index}") from None

    def _move(self, live: HostedRun, state: RunState, detail: str, force_in_s: float = 0.0) -> None:
        live.life.move(state)
        self._show(live.life.record, detail, time.monotonic() + force_in_s if force_in_s else 0.0)

    def _end(self, kept: HostedRun, state: RunState, reason: str) -> None:
        try:
            kept.life.end(state, reason)
        except LabError as error:  # on a full disk the log still has the reason
            self._tell(LogLines(kept.plan.run_id, (str(error),)))
        if kept.guest_log is not None:
            kept.guest_log.close()
        end_sender(self.senders.get(kept.plan.run_id))
        kept.release()
        self._show(kept.life.record)

    def _show(self, record: RunRecord, detail: str = "", force_at: float = 0.0) -> None:
        self._note(record)
        self._tell(RunChanged(record, detail, force_at=force_at))

    def _note(self, record: RunRecord) -> None:
        self.runs[record.run_id] = record

    def _tell(self, notice: Notice) -> None:
        for listener in list(self._listeners):
            listener(notice)

    def _background(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _keep_looking(loop: asyncio.AbstractEventLoop, found: weakref.ref[TrainerService]) -> None:
    """Call `look` regularly, as long as something else refers to the service."""
    service = found()
    if service is not None and service.look():
        loop.call_later(LOOK_S, _keep_looking, loop, found)


def _run_id(notice: Notice) -> str:
    return notice.record.run_id if isinstance(notice, RunChanged) else notice.run_id
