"""Place where one trial at a time runs: on this computer, or as a Ray actor on another one.

Both use this class, so a trial's process, its records and its stop ladder are those of any run (trainer_core/service/).
"""

from __future__ import annotations

import asyncio
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from trainer_core.lab.paths import HomePaths
from trainer_core.runners.base import AgentRunner
from trainer_core.runners.catalog import registered_runners
from trainer_core.runs.run_lock import is_locked
from trainer_core.service import StopLadder, TrainerService
from trainer_core.service.plan import plan_run
from trainer_core.sweeps.sweep import Sweep, Trial, load_sweep
from trainer_core.wire.errors import FailureError
from trainer_core.wire.run_record import RunRecord, RunState

RELEASE_S = 30.0
"""Seconds for an earlier process of the trial to save and end."""


class TrialSlot:
    """Place for one trial at a time: `run` runs it to its end; `stop` is called from another task."""

    def __init__(
        self, home: str, sweep_id: str, runners: tuple[AgentRunner, ...] | None = None, ladder: StopLadder | None = None
    ) -> None:
        self.home, self.sweep_id = HomePaths(Path(home)), sweep_id
        self._runners, self._ladder = runners or registered_runners(), ladder
        self._service: TrainerService | None = None
        self._run_id = ""
        self._stopped = ""

    async def run(self, number: int, device: str = "") -> bytes:
        """Run trial `number`, from its beginning or its newest checkpoint, to its end.

        Returns its RunRecord as JSON. Raises LabError when it cannot start.
        """
        self._stopped, self._run_id = "", ""
        sweep = load_sweep(self.home, self.sweep_id)
        trial = sweep.trials[number]
        self._service = TrainerService(self.home, runners=self._runners, ladder=self._ladder, works_queue=False)
        await self._wait_for_lock(trial)
        if not self._stopped:
            await self._start(self._service, sweep, trial, device)
        record = self._service.runs.get(trial.run_id)
        if record is None:  # stopped before it began
            record = unborn(sweep, trial, self._stopped)
        elif not record.state.is_end:
            async for _ in self._service.notices(trial.run_id):
                pass
            record = self._service.runs[trial.run_id]
        return msgspec.json.encode(record)

    async def node(self) -> str:
        """Return the name of this place's computer."""
        return platform.node()

    async def stop(self, reason: str) -> None:
        """Stop the trial's run by the service's stop ladder; a second call takes its next step at once."""
        self._stopped = reason
        if self._service is not None and self._run_id:
            await self._service.stop(self._run_id, reason)

    async def _start(self, service: TrainerService, sweep: Sweep, trial: Trial, device: str) -> None:
        runner = self._runners[0]
        spec = sweep.spec(trial, device)
        plan = plan_run(runner, spec, self.home, trial.run_id, sweep.title(trial), sweep.tags(trial))
        service.open()
        record = service.runs.get(trial.run_id)
        if record is not None and runner.find_checkpoints(plan.run_dir):
            await service.resume(trial.run_id, wait=False)
        else:
            await service.start(plan, wait=False)
        self._run_id = trial.run_id
        if self._stopped:  # a stop came while it was started
            await service.stop(trial.run_id, self._stopped)

    async def _wait_for_lock(self, trial: Trial) -> None:
        """Wait until no earlier process trains the run: after its driver or node died it may still be saving."""
        paths = self.home.run(trial.run_id)
        deadline = time.monotonic() + RELEASE_S
        while is_locked(paths) and not self._stopped:
            if time.monotonic() > deadline:
                raise FailureError(
                    f"trial {trial.number}, run {trial.run_id}, is being trained by another "
                    "process: stop that sweep first"
                )
            await asyncio.sleep(0.1)


def unborn(sweep: Sweep, trial: Trial, reason: str) -> RunRecord:
    """Return the record of a trial that was stopped before it began."""
    return RunRecord(
        run_id=trial.run_id,
        runner="native",
        task=str(sweep.base["task"]),
        algo=str(sweep.base["algo"]),
        device=str(sweep.base["device"]),
        state=RunState.IDLE,
        created_at=sweep.created_at,
        config_sha256="",
        reason=reason,
        tags=sweep.tags(trial),
    )


class LocalSlots:
    """Local places: `jobs` trials at a time on each of `devices`."""

    def __init__(self, devices: Sequence[str], jobs: int, make: Callable[[], TrialSlot]) -> None:
        self.places = len(devices) * jobs
        self._free = [(device, make()) for _ in range(jobs) for device in reversed(devices)]
        self._busy: dict[int, TrialSlot] = {}

    async def run(self, trial: Trial, began: Callable[[str], None]) -> RunRecord:
        """Run the trial to its end, in a free place; return its record. Raises LabError when it cannot start."""
        device, slot = self._free.pop()
        self._busy[trial.number] = slot
        began(device)
        try:
            return msgspec.json.decode(await slot.run(trial.number, device), type=RunRecord)
        finally:
            del self._busy[trial.number]
            self._free.append((device, slot))

    async def stop(self, trial: Trial, reason: str) -> None:
        """Stop the trial by the stop ladder; do nothing for a trial that is not running."""
        if slot := self._busy.get(trial.number):
            await slot.stop(reason)

    async def close(self) -> None:
        """Do nothing: no resource stays open between trials."""
        await asyncio.sleep(0)
