"""Stop, pause or continue any run of the data folder, whichever process trains it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any

import tyro

from trainer_core.cli.options import Home, home_paths, parse
from trainer_core.cli.output import Result, say
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.command_files import LOOK_S
from trainer_core.runs.index import RunRegistry
from trainer_core.runs.names import UnknownRunError, named, the_one
from trainer_core.runs.run_lock import is_locked_here
from trainer_core.service import RunChanged, TrainerService
from trainer_core.wire.errors import FailureError, LabError
from trainer_core.wire.run_record import RunRecord, RunState

BEGIN_S = 120.0
"""Seconds for a resumed run to load its library."""


@dataclass(frozen=True)
class Options:
    run: Annotated[str, tyro.conf.Positional] = ""
    """Run name or id, the beginning of one, or `latest`; not needed while exactly one run trains."""
    home: Home = None


def steer(command: str, argv: list[str], act: Callable[[TrainerService, str], Awaitable[None]]) -> dict[str, Any]:
    """Open the data folder, find the run and call `act` with it; return its state."""
    options = parse(Options, command, argv)
    home = home_paths(options.home)
    record = asyncio.run(_steer(home, find_live(options.run, home).run_id, act))
    found = {
        "ok": True,
        "run_id": record.run_id,
        "name": record.name,
        "state": record.state.value,
        "reason": record.reason,
        "env_steps": record.env_steps,
    }
    why = f" ({record.reason})" if record.reason else ""
    return Result(found, f"Run {record.title} is {record.state}{why} after {record.env_steps:,} steps.")


async def _steer(home: HomePaths, run_id: str, act: Callable[[TrainerService, str], Awaitable[None]]) -> RunRecord:
    service = TrainerService(home, works_queue=False)
    service.open()
    service.subscribe(
        lambda notice: (
            say(notice.detail)
            if isinstance(notice, RunChanged) and notice.record.run_id == run_id and notice.detail
            else None
        )
    )
    await _until_it_begins(service, run_id)
    if (now := service.runs[run_id]).state.is_end:
        raise FailureError(f"run {now.title} has ended already ({now.state}): nothing trains it")
    await act(service, run_id)
    return service.runs[run_id]


async def _until_it_begins(service: TrainerService, run_id: str) -> None:
    """Wait until the index shows that a run begins; it is being resumed if it has ended and is locked.

    Raises LabError after BEGIN_S seconds.
    """
    paths, deadline = service.home.run(run_id), time.monotonic() + BEGIN_S
    while service.runs[run_id].state.is_end and is_locked_here(paths):
        if time.monotonic() > deadline:
            raise FailureError(
                f"run {run_id} is being resumed and has not begun after {BEGIN_S:g} s; try again, "
                "or end the process that holds it"
            )
        await asyncio.sleep(LOOK_S / 4)


def find_live(text: str, home: HomePaths) -> RunRecord:
    """Return the run that `text` names. Raises LabError listing the active runs."""
    runs = RunRegistry(home).reconcile()
    going_on = [run for run in runs.values() if not run.state.is_end]
    active = [run for run in going_on if run.state is not RunState.QUEUED]
    names = ", ".join(run.title for run in going_on) or "no run is active"
    if not text:
        if len(active) != 1:
            raise LabError(f"name a run: {names}")
        return active[0]
    if text == "latest" and runs:
        return max(active or runs.values(), key=lambda run: run.created_at)
    if text not in runs and named(text, going_on):
        return the_one(text, going_on, home)
    try:
        return the_one(text, runs.values(), home)
    except UnknownRunError as error:
        raise LabError(f"{error}; active: {names}") from None
