"""Selection of the next run from the home's queue, for one service."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from trainer_core.lab.paths import HomePaths
from trainer_core.runners.base import AgentRunner
from trainer_core.runners.catalog import find_runner
from trainer_core.runs import queue_steps
from trainer_core.runs.device_lock import same_device
from trainer_core.runs.queue import RunQueue
from trainer_core.service.hosted_run import HostedRun
from trainer_core.service.plan import LaunchPlan, plan_run
from trainer_core.wire.errors import LabError


class NextRun:
    def __init__(self, home: HomePaths, is_detached_host: bool) -> None:
        self._home, self._queue, self._is_detached_host = home, RunQueue(home), is_detached_host
        self.plans: dict[str, LaunchPlan] = {}
        """Launch plans of the waiting runs that this service put into the queue."""

    def position(self, run_id: str) -> int:
        """Return the run's place from 1; 0 when it does not wait."""
        ids = [entry.run_id for entry in self._queue.entries()]
        return ids.index(run_id) + 1 if run_id in ids else 0

    def others_wait(self, device: str) -> bool:
        """Return whether a run in the queue wants `device`; a new run may not overtake it."""
        return any(
            not entry.held and any(same_device(device, wanted) for wanted in entry.wanted)
            for entry in self._queue.entries()
        )

    def next(self, runners: Sequence[AgentRunner]) -> HostedRun | None:
        """Take the run that may start now from the queue and return it, or None.

        A run that its runner refuses ends as failed, and the next one follows at the next call. Raises LabError.
        """
        known = {runner.id for runner in runners}
        claim = queue_steps.claim(self._home, known.__contains__, is_detached_host=self._is_detached_host)
        if claim is None:
            return None
        try:
            plan = self._plan(claim, runners)
        except LabError as error:  # an order of another version of its runner, for example
            queue_steps.give_up(self._home, claim, str(error))
            return None
        return HostedRun(plan, claim.life, claim.device, waited=True)

    def _plan(self, claim: queue_steps.Claim, runners: Sequence[AgentRunner]) -> LaunchPlan:
        run_id, name = claim.life.record.run_id, claim.life.record.name
        plan = self.plans.pop(run_id, None)
        if plan is not None:
            return dataclasses.replace(plan, spec=claim.spec)
        runner = find_runner(claim.spec.runner, runners)
        return plan_run(runner, claim.spec, self._home, run_id, name)
