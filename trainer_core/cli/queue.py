"""`dmglab queue VERB`: runs that wait for a device, shared with the app."""

from __future__ import annotations

import asyncio
import dataclasses
import signal
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec
import tyro

from trainer_core.cli import train, train_guest
from trainer_core.cli.options import Home, HomeOptions, home_paths, named, parse
from trainer_core.cli.ordering import put_into_queue, waiting_result
from trainer_core.cli.output import Result, say, table
from trainer_core.lab.paths import HomePaths
from trainer_core.runs import queue_steps
from trainer_core.runs.index import RunRegistry
from trainer_core.runs.names import named as named_runs
from trainer_core.runs.names import the_one
from trainer_core.runs.queue import RunQueue
from trainer_core.service.detached import DetachedLock, start_detached_host
from trainer_core.service.detached_host import keep
from trainer_core.wire.errors import ConfigError, FailureError, shown
from trainer_core.wire.fields import check_device, limits
from trainer_core.wire.run_names import run_name
from trainer_core.wire.run_record import RunRecord
from trainer_core.wire.spec import NATIVE_ID

PRIORITY = limits(-100, 100)
EMPTY = "No waiting runs. `dmglab queue add` adds one."


@dataclass(frozen=True)
class Waiting:
    """Options of the queue; the other options are those of `dmglab train`."""

    priority: int = field(default=0, metadata=PRIORITY)
    """Priority, -100 to 100; runs with a higher one start first."""
    hold: bool = False
    """Do not start before `dmglab queue release`."""
    devices: str = ""
    """Usable devices, such as cuda:0,cuda:1; default --device."""


@dataclass(frozen=True)
class AddOptions(train.Options, Waiting):
    pass


@dataclass(frozen=True)
class RunOptions:
    run: Annotated[str, tyro.conf.Positional]
    """Run name or id, or the beginning of one."""
    home: Home = None


@dataclass(frozen=True)
class MoveOptions:
    run: Annotated[str, tyro.conf.Positional]
    """Run name or id, or the beginning of one."""
    position: Annotated[int, tyro.conf.Positional]
    """New position; 1 starts next."""
    home: Home = None


@dataclass(frozen=True)
class WorkOptions:
    detach: bool = False
    """Start them from a background process that outlives this shell."""
    home: Home = None


def list_waiting(argv: list[str]) -> dict[str, Any]:
    options = parse(HomeOptions, "queue list", argv)
    home = home_paths(options.home)
    entries, runs = RunQueue(home).entries(), RunRegistry(home).load()
    problems = [queue_steps.why_never(home, entry) for entry in entries]
    waiting = [
        msgspec.to_builtins(entry) | {"name": _name(runs, entry.run_id)} | ({"problem": problem} if problem else {})
        for entry, problem in zip(entries, problems, strict=True)
    ]
    head = ("position", "name", "run", "task", "trainer", "devices", "priority", "note")
    rows = []
    for position, (entry, problem) in enumerate(zip(entries, problems, strict=True), 1):
        known = runs.get(entry.run_id)
        task, runner = (known.task, known.runner) if known else ("?", "?")
        note = f"cannot start: {problem}" if problem else "held" * entry.held
        place = (
            shown(_name(runs, entry.run_id)),
            shown(entry.run_id),
            shown(task),
            runner,
            shown(",".join(entry.devices)),
            shown(entry.priority),
        )
        rows.append((position, *place, note))
    return Result({"ok": True, "queue": waiting}, table(head, rows, EMPTY))


def add(argv: list[str]) -> dict[str, Any]:
    """Check the order as the app does and put it into the queue."""
    runner = named(argv, "--runner")
    if runner and runner != NATIVE_ID:
        how, order = train_guest.order(runner, "queue add", argv, Waiting)
    else:
        options = train.options("queue add", argv, AddOptions)
        how, order = options, train.order_of(options)
    devices = tuple(filter(None, (name.strip() for name in how.devices.split(","))))
    for name in devices:
        check_device(name)
    if devices:
        order = dataclasses.replace(order, spec=dataclasses.replace(order.spec, device=devices[0]))
    record = put_into_queue(order, priority=how.priority, held=how.hold, devices=devices)
    return waiting_result(record, order.home)


def move(argv: list[str]) -> dict[str, Any]:
    options = parse(MoveOptions, "queue move", argv)
    home = home_paths(options.home)
    RunQueue(home).move(_waiting(options.run, home), options.position)
    return _order(RunQueue(home))


def hold(argv: list[str]) -> dict[str, Any]:
    options = parse(RunOptions, "queue hold", argv)
    queue = RunQueue(home_paths(options.home))
    queue.hold(_waiting(options.run, queue.home))
    return _order(queue)


def release(argv: list[str]) -> dict[str, Any]:
    options = parse(RunOptions, "queue release", argv)
    queue = RunQueue(home_paths(options.home))
    queue.hold(_waiting(options.run, queue.home), held=False)
    return _order(queue)


def remove(argv: list[str]) -> dict[str, Any]:
    options = parse(RunOptions, "queue remove", argv)
    home = home_paths(options.home)
    run_id, known = _waiting(options.run, home), RunRegistry(home).load()
    stood = any(entry.run_id == run_id for entry in RunQueue(home).entries())
    record = queue_steps.drop(home, run_id, "taken out of the queue")
    if record is not None or (stood and run_id not in known):  # not known: killed while it was queued
        name, state = _name(known, run_id), record.state.value if record else "unknown"
        return Result(
            {"ok": True, "run_id": run_id, "name": name, "state": state},
            f"Took run {name} ({run_id}) out of the queue.",
        )
    raise ConfigError(f"run {options.run!r} does not wait; `dmglab queue list` lists the waiting runs")


def _name(known: dict[str, RunRecord], run_id: str) -> str:
    return known[run_id].name if run_id in known else run_name(run_id)


def _waiting(text: str, home: HomePaths) -> str:
    """Return the id of the waiting run that `text` names; `text` itself for none. Raises LabError for several."""
    ids = [entry.run_id for entry in RunQueue(home).entries()]
    waiting = [run for run_id, run in RunRegistry(home).load().items() if run_id in ids]
    return the_one(text, waiting, home).run_id if text not in ids and named_runs(text, waiting) else text


def work(argv: list[str]) -> dict[str, Any]:
    """Start waiting runs until no run is left that can start; Ctrl-C saves the running ones and leaves the rest."""
    options = parse(WorkOptions, "queue run", argv)
    home = home_paths(options.home)
    if options.detach:
        found = {"ok": True, "pid": start_detached_host(home), "log": str(home.detached_log)}
        return Result(found, f"Process {found['pid']} starts the waiting runs; its log is {found['log']}.")
    lock = DetachedLock(home)
    if not lock.take():
        raise FailureError(f"process {lock.holder()} starts the runs of {home.root} already")
    for entry in RunQueue(home).entries():
        if not entry.held and (problem := queue_steps.why_never(home, entry)):
            say(f"{shown(entry.run_id)} is taken out of the queue: {problem}")
    asyncio.run(_work(lock, home))
    return _order(RunQueue(home))


async def _work(lock: DetachedLock, home: Any) -> None:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await keep(home, lock, stop, say)


def _order(queue: RunQueue) -> Result:
    ids, known = [entry.run_id for entry in queue.entries()], RunRegistry(queue.home).load()
    names = ", ".join(f"{_name(known, run_id)} ({run_id})" for run_id in ids)
    return Result({"ok": True, "queue": ids}, f"Waiting, the next one first: {names}" if ids else EMPTY)
