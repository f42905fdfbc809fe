"""Schedule of a run's validations: in a process beside the learner, or between two updates."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, cast

from trainer_core.host.commands_while_validating import Attending
from trainer_core.host.control import Control
from trainer_core.host.evaluate import EvaluationStopped
from trainer_core.host.late_validation import LateValidation
from trainer_core.host.progress import Counters, Rates, RunProgress
from trainer_core.host.ranks import Ranks
from trainer_core.host.trainee import Intervals
from trainer_core.host.validator import Validator
from trainer_core.runs.log_writer import RunWriter
from trainer_core.wire.spec import RunSpec

Order = Callable[[str, str], None]
"""Function `order(action, reason)` by which rank 0, while it validates, has every rank save, hold or wait."""
SETTLE_UPDATES = 4
"""Updates between two validations caused by training success or by an unconfirmed validation."""
LAST_RESULT_S = 60.0
"""Seconds that a run at its limit waits for the validation of its last weights."""


class Validations:
    """Scheduler of one run's validations; all ranks take the same decisions, and only rank 0 validates."""

    def __init__(
        self,
        validator: Validator | None,
        late: LateValidation | None,
        intervals: Intervals,
        counters: Counters,
        writer: RunWriter,
        ranks: Ranks,
        *,
        spec: RunSpec,
        control: Control,
        tell_state: Callable[[str, str, float], None],
        do: Order,
    ) -> None:
        """Set up.

        `validator` is None if the run cannot be validated; `late` is set on rank 0 if a separate process validates.
        `do` carries out an order, such as a save, on one rank between two steps of a validation in this process.
        """
        self.validator, self.late, self.intervals, self.counters = (validator, late, intervals, counters)
        self.ranks, self._control, self._tell_state, self._do = ranks, control, tell_state, do
        self.attending = Attending(
            control,
            save=lambda reason: self.order("save", reason),
            hold=lambda: self.order("hold"),
            wait=lambda: self.order("wait"),
            tell=lambda words, share: tell_state("running", words, share),
        )
        if validator is not None:
            validator.attend = self.attending
        self.owed = False
        """True while a validation is due but has not begun."""
        self._writer, self._spec = writer, spec

    def after_update(self, progress: RunProgress, wall_time_s: float, *, ends: bool) -> bool:
        """Validate after an update if a validation is due; `ends` means that no other update follows.

        Returns True on all ranks when the current weights were validated and are the best so far.
        """
        now = self.counters
        self._take(progress)
        self.owed = self.ranks.agree(self.owed or self._is_due(progress, ends=ends))
        if not self.owed:
            return False
        where = self.ranks.agree(self._where())
        if where == "later":
            return False
        self.owed = False
        if where == "beside":
            progress.validated_update = now.update
            if self.late is not None:
                self.late.begin(progress, wall_time_s)
            return False
        rates = self._validate_here() if self.ranks.is_first else self._follow()
        if rates is None:
            self.owed = True
            return False
        progress.validated_update = now.update
        progress.take(rates, now.env_steps, self._spec.target_success)
        self._tell_unconfirmed(progress)
        folder = self._writer.paths.checkpoint(now.env_steps)
        return self.ranks.agree(progress.is_best(folder.name))

    def _tell_unconfirmed(self, progress: RunProgress) -> None:
        if words := progress.unconfirmed(self._spec.target_success):
            self._say(words)

    def _validate_here(self) -> Rates | None:
        """Validate the current weights on rank 0; return their rates, None if a stop ended the validation."""
        assert self.validator is not None
        if self._control.stop_reason:
            self._tell_ranks("over", None)
            return None
        if not self.validator.leaves_model_alone:
            self.order("save", "periodic")
        self.attending.begin()
        self._writer.check_place()
        now = self.counters
        try:
            found = list(self.validator.validate(now.update, now.env_steps))
        except EvaluationStopped:
            self._say(f"warning: {self.attending.words}: stopped, what was played does not count")
            self._tell_ranks("over", None)
            return None
        for kind, fields in found:
            self._writer.append(kind, **fields)
        self.attending.end()
        self._tell_ranks("over", self.validator.rates)
        return self.validator.rates

    def order(self, what: str, reason: str = "") -> None:
        """Have all ranks, this one included, carry out `what` ("save", "hold" or "wait") while rank 0 validates."""
        self._tell_ranks(what, reason)
        self._do(what, reason)

    def _follow(self) -> Rates | None:
        """Carry out rank 0's orders on another rank until its validation is over; return its result."""
        while True:
            what, told = cast("tuple[str, Any]", self.ranks.agree(("", cast(Any, None))))
            if what == "over":
                return told
            self._do(what, told)

    def _tell_ranks(self, what: str, told: object) -> None:
        self.ranks.agree((what, told))

    def take_saved(self) -> bool:
        """Return whether the separate process's result had a best checkpoint written since the last call.

        That checkpoint lacks the consoles and all later updates; only a new checkpoint has them.
        """
        return self.late is not None and self.late.take_saved()

    def finish(self, progress: RunProgress, wall_time_s: Callable[[], float], stopped: Callable[[], bool]) -> None:
        """Finish pending validations before a run ends, for at most LAST_RESULT_S seconds, unless it was stopped.

        Waits for the result of a validation under way, and begins and awaits one that is due.
        """
        late = self.late
        until = time.monotonic() + LAST_RESULT_S
        while late is not None and time.monotonic() < until and not stopped():
            self._take(progress)
            if self.owed and late.process.is_idle:
                self.owed = False
                late.begin(progress, wall_time_s())
            elif late.process.is_over or not (self.owed or late.is_under_way):
                return
            late.process.wait(0.2)

    def _say(self, words: str) -> None:
        self._tell_state("stopping" if self._control.stop_reason else "running", words, -1.0)

    def close(self) -> None:
        if self.validator is not None:
            self.validator.close()

    def _is_due(self, progress: RunProgress, *, ends: bool) -> bool:
        """Return whether a validation is due.

        One is due after each interval, when training success reaches the target, after an unconfirmed validation, and
        when the run `ends`.
        """
        now, target = self.counters, self._spec.target_success
        if self.validator is None or not self.intervals.validate or not now.env_steps:
            return False
        if ends and self.intervals.at_end and progress.validated_env_steps != now.env_steps:
            return True
        if self.intervals.validation_is_due(now, progress):
            return True
        if now.update - progress.validated_update < SETTLE_UPDATES:
            return False
        return 0 < target <= progress.training_success or bool(progress.unconfirmed(target))

    def _where(self) -> str:
        """Return where the next validation runs: "beside" (the separate process), "here", or "later" (once that is
        free).
        """
        if self.late is None or self.late.process.is_over:
            return "here"
        if self.late.process.is_idle:
            return "beside"
        # While the process loads, validating here is faster than waiting for it.
        return "later" if self.late.is_under_way or self.late.asked else "here"

    def _take(self, progress: RunProgress) -> None:
        """Record the results that the separate process has sent."""
        if self.late is None:
            return
        before = progress.validated_env_steps
        goes_on = self.late.take(progress)
        if progress.validated_env_steps != before:
            self._tell_unconfirmed(progress)
        if not goes_on:
            self.owed = True
            self._say(f"warning: the process that validates has ended; validating on {self._spec.device} from now on")
