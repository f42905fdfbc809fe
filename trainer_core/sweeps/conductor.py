"""Conductor of a sweep: starts trials, follows their logs, ends trials by the sweep's rule, stops all on request."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Protocol

from trainer_core.lab.checkpoint_manifest import list_checkpoints
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.index import RunRegistry
from trainer_core.sweeps.following import Following
from trainer_core.sweeps.sweep import Sweep, Trial, add_ended, load_ended
from trainer_core.wire.errors import LabError
from trainer_core.wire.run_record import RunRecord, RunState

POLL_S = 1.0
"""Seconds between two reads of the logs."""
PRUNED = "ended by the sweep: "
"""Beginning of the end reason of a run that the sweep's rule ended."""


class Slots(Protocol):
    """Interface of places for trials: LocalSlots or RaySlots."""

    places: int

    async def run(self, trial: Trial, began: Callable[[str], None]) -> RunRecord: ...
    async def stop(self, trial: Trial, reason: str) -> None: ...
    async def close(self) -> None: ...


class Conductor:
    """Run of one sweep, from now to its end or to `stop`."""

    def __init__(
        self, home: HomePaths, sweep: Sweep, slots: Slots, say: Callable[[str], None], *, poll_s: float = POLL_S
    ) -> None:
        self.home, self.sweep, self.slots, self._say = home, sweep, slots, say
        self._poll_s = poll_s
        self._following = Following(home, sweep)
        self._live: dict[int, Trial] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended = 0
        self.stop_reason = ""
        self.errors: dict[int, str] = {}
        """Reasons why trials could not be started, by number; other errors are in the runs' records."""

    async def run(self) -> None:
        """Run every trial that has not finished, and was not ended by the rule, in an earlier process."""
        known = RunRegistry(self.home).reconcile()
        ended = load_ended(self.home, self.sweep.sweep_id)
        todo = [
            trial
            for trial in self.sweep.trials
            if trial.number not in ended and not is_finished(known.get(trial.run_id))
        ]
        self._ended = len(self.sweep.trials) - len(todo)
        if self._ended:
            self._say(f"{self._ended} of {len(self.sweep.trials)} trials are done already")
        for trial in self.sweep.trials:  # their measurements count in the comparison
            self._following.read(trial)
        places = asyncio.Semaphore(self.slots.places)
        watch = asyncio.create_task(self._watch())
        try:
            await asyncio.gather(*(self._one(trial, places) for trial in todo))
        finally:
            watch.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watch
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self.slots.close()

    def stop(self, reason: str) -> None:
        """Start no further trial and stop the running ones; a second call takes the next, harder step of their stop."""
        self.stop_reason = self.stop_reason or reason
        for trial in list(self._live.values()):
            self._background(trial, reason)

    async def _one(self, trial: Trial, places: asyncio.Semaphore) -> None:
        async with places:
            if self.stop_reason:
                return
            self._live[trial.number] = trial
            try:
                record = await self.slots.run(trial, lambda where: self._began(trial, where))
            except LabError as error:
                self.errors[trial.number] = str(error)
                self._say(f"trial {trial.number} failed: {error}")
                return
            finally:
                del self._live[trial.number]
            self._following.read(trial)  # its measurements count for the others
            self._ended += 1
            self._say(
                f"trial {trial.number} {record.state.value} after {record.env_steps:,} steps: "
                f"{record.reason} ({self._ended} of {len(self.sweep.trials)})"
            )

    def _began(self, trial: Trial, where: str) -> None:
        verb = "goes on" if list_checkpoints(self.home.run(trial.run_id)) else "begins"
        place = f"on {where}" if where else "elsewhere: its node was lost"
        values = " ".join(f"{name}={value}" for name, value in trial.values.items())
        self._say(f"trial {trial.number} {verb} {place}: {values} seed={trial.seed}")

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._poll_s)
            for trial in list(self._live.values()):
                self._following.read(trial)
            for trial in list(self._live.values()):
                if reason := self._following.verdict(trial):
                    self._end(trial, reason)

    def _end(self, trial: Trial, reason: str) -> None:
        """Stop a trial that the rule ends, after recording that; if the disk cannot record it, let it continue."""
        try:
            add_ended(self.home, self.sweep.sweep_id, trial, reason)
        except LabError as error:
            self._say(str(error))
            return
        self._background(trial, PRUNED + reason)

    def _background(self, trial: Trial, reason: str) -> None:
        task = asyncio.create_task(self.slots.stop(trial, reason))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def is_finished(record: RunRecord | None) -> bool:
    """Return whether the trial's run ended by itself, as finished."""
    return record is not None and record.state is RunState.FINISHED
