"""`dmglab train --runner ID ...` and `dmglab resume` of such a run: train with another library to the end.

The run is a child process of this command, started by the same service as in the app. Ctrl-C stops
it like the app's button; a second Ctrl-C ends it sooner.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trainer_core.cli.options import home_paths, parse
from trainer_core.cli.ordering import Order, put_into_queue, waiting_result
from trainer_core.cli.output import Result, in_words, say, trained_text, training_line
from trainer_core.cli.progress import Limits
from trainer_core.host.worker import LIMITS
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.runners.catalog import AgentRunner, find_runner
from trainer_core.runners.guest.runner import WARM_START
from trainer_core.runs.config_file import read_spec
from trainer_core.service import EventReceived, Notice, RunChanged, TrainerService
from trainer_core.service.detached import start_detached_host
from trainer_core.service.preflight import run_checks
from trainer_core.wire import records
from trainer_core.wire.checks import require
from trainer_core.wire.environment import for_children
from trainer_core.wire.run_names import run_name
from trainer_core.wire.run_record import RunRecord, RunState
from trainer_core.wire.spec import NATIVE_ID, NEUTRAL, RunSpec

PROGRESS_S = 2.0


@dataclasses.dataclass(frozen=True)
class Manner:
    """Options of `dmglab train` beside those of the trainer."""

    detach: bool = False
    """Train in a background process that outlives this shell; it waits while the device is busy."""


def train(runner_id: str, argv: list[str]) -> dict[str, Any]:
    """Train with the library of `runner_id`, or queue the run. Raises LabError when it cannot start."""
    how, asked = order(runner_id, "train", argv, Manner)
    return detach(asked) if how.detach else follow(asked)


def order(runner_id: str, command: str, argv: list[str], manner: type) -> tuple[Any, Order]:
    """Parse `argv`; return the options, including those of `manner`, and the order. Raises LabError."""
    runner = find_runner(runner_id)
    options = parse(_options(runner, manner), f"{command} --runner {runner_id}", argv)
    neutral = {name: getattr(options, name) for name in NEUTRAL if hasattr(options, name)}
    spec = RunSpec.from_dict(runner_id, neutral | dataclasses.asdict(options.run) | absolute_folders(options.run))
    return options, Order(runner, spec, home_paths(options.home), options.name, options.wandb)


def absolute_folders(chosen: Any) -> dict[str, str]:
    """Return the folder options as absolute paths: the trainer's process has another working directory."""
    named = {
        field.name: getattr(chosen, field.name)
        for field in dataclasses.fields(chosen)
        if field.metadata.get("is_folder")
    }
    return {name: str(Path(text).absolute()) for name, text in named.items() if text and Path(text).exists()}


def follow(asked: Order) -> dict[str, Any]:
    """Train in a child process of this command to the end. Raises LabError when it cannot start."""
    return asyncio.run(_follow(asked))


def detach(asked: Order) -> dict[str, Any]:
    """Put the run into the queue, start the background process, return at once. Raises LabError."""
    record = put_into_queue(asked, detached=True)
    start_detached_host(asked.home)
    return waiting_result(record, asked.home)


def _options(runner: AgentRunner, manner: type) -> type:
    """Return the dataclass of one runner's command line: its options, and the common ones that it lacks."""
    own = {field.name for field in dataclasses.fields(runner.config_type)}
    defaults = {field.name: field for field in dataclasses.fields(RunSpec)}
    fields: list[Any] = [
        ("runner", str, runner.id),
        ("run", runner.config_type, dataclasses.field(default_factory=runner.config_type)),
        ("home", Path | None, None),
        ("name", str, ""),
        ("wandb", str, ""),
    ]
    for name in NEUTRAL:
        if name not in own:
            default = "" if name == "task" else defaults[name].default
            fields.append((name, type(default), default))
    return dataclasses.make_dataclass("Options", fields, bases=(manner,), frozen=True)


async def _follow(asked: Order) -> dict[str, Any]:
    runner, home = asked.runner, asked.home
    service = TrainerService(home, runners=(runner,), works_queue=False)
    plan = dataclasses.replace(service.plan(asked.spec, asked.name), wandb=asked.wandb)
    async for check in run_checks(plan.spec, home, runner, asked.wandb):
        require(check)
    service.open()
    limits = Limits(plan.spec.seconds, plan.spec.total_env_steps)
    service.subscribe(Narrator(plan.run_id, limits, is_native=runner.id == NATIVE_ID))
    say(f"run {plan.name or run_name(plan.run_id)} ({plan.run_id}) in {plan.run_dir}")
    return await _to_its_end(service, await service.start(plan, wait=False))


def resume(runner: AgentRunner, paths: RunPaths, home: HomePaths, limits: dict[str, Any]) -> dict[str, Any]:
    """Continue an ended run of another library to its end; `limits` replace its own this time.

    Raises LabError.
    """
    RunSpec.from_dict(runner.id, read_spec(paths).to_dict() | limits).configure(runner.config_type)  # their ranges
    with for_children(**{LIMITS: json.dumps(limits)}):
        return asyncio.run(_go_on(runner, paths, home))


async def _go_on(runner: AgentRunner, paths: RunPaths, home: HomePaths) -> dict[str, Any]:
    service = TrainerService(home, runners=(runner,), works_queue=False)
    service.open()
    service.require_resumable(paths.run_id)
    async for check in run_checks(read_spec(paths), home, runner):
        if check.name != WARM_START:  # a warm start belongs to the first start only
            require(check)
    service.subscribe(Narrator(paths.run_id, is_native=runner.id == NATIVE_ID))
    say(f"run {service.runs[paths.run_id].title} in {paths.root}")
    return await _to_its_end(service, await service.resume(paths.run_id, wait=False))


async def _to_its_end(service: TrainerService, record: RunRecord) -> dict[str, Any]:
    with _stopping(service, record.run_id):
        async for _ in service.notices(record.run_id):
            pass
    record = service.runs[record.run_id]
    if sender := service.senders.get(record.run_id):
        await asyncio.to_thread(sender.wait)
    if record.state in (RunState.FAILED, RunState.LOST):
        return {"ok": False, "error": record.reason, **_result(record, service.home)}
    found = {"ok": True, **_result(record, service.home)}
    return Result(found, trained_text(found))


@contextlib.contextmanager
def _stopping(service: TrainerService, run_id: str) -> Iterator[None]:
    """Stop the run on SIGINT and SIGTERM; a second signal makes the service end it sooner."""
    loop = asyncio.get_running_loop()
    tasks: set[asyncio.Task[None]] = set()

    def stop(reason: str) -> None:
        say("stopping: the run is saved first; Ctrl-C again ends it sooner")
        tasks.add(loop.create_task(service.stop(run_id, reason)))

    for number, reason in ((signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")):
        loop.add_signal_handler(number, stop, reason)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def _result(record: RunRecord, home: HomePaths) -> dict[str, Any]:
    paths = home.run(record.run_id)
    return {
        "run_id": record.run_id,
        "name": record.name,
        "run_dir": str(paths.root),
        "state": record.state.value,
        "reason": record.reason,
        "env_steps": record.env_steps,
        "best_success": max(record.best_success_rate, 0.0),
        "best_leaving_success": record.best_leaving_rate,
        "checkpoint": str(paths.root / record.last_checkpoint) if record.last_checkpoint else "",
        "log": str(paths.train_log),
    }


class Narrator:
    """Listener that reports the progress of one run on standard error, in the metric names of its library.

    The service sends notices of every run in the data folder. The library's own output is in the run's
    worker.log: CleanRL prints a line an episode.
    """

    def __init__(self, run_id: str, limits: Limits | None = None, *, is_native: bool = False) -> None:
        self._run_id, self._next, self._limits = run_id, 0.0, limits or Limits()
        self._is_native = is_native

    def __call__(self, notice: Notice) -> None:
        run_id = notice.record.run_id if isinstance(notice, RunChanged) else notice.run_id
        if run_id != self._run_id:
            return
        match notice:
            case EventReceived(event=records.UpdateRecord() as event):
                if time.monotonic() >= self._next:
                    self._next = time.monotonic() + PROGRESS_S
                    self._limits.tell(event.env_steps)
                    if self._is_native:
                        return say(training_line(event))
                    values = "  ".join(f"{k} {v:.4g}" for k, v in list(event.metrics.items())[:5])
                    say(f"{event.env_steps:>12,} steps  {event.sps:>8,.0f}/s  {values}")
            case EventReceived(event=event) if words := in_words(event):
                say(words)
            case RunChanged(detail=detail) if detail:
                say(detail)
