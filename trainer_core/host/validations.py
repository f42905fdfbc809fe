"""When a run validates, and where: in a process beside the learner, or between two updates."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, cast

from trainer_core.host.commands_while_validating import Attending
from trainer_core.host.evaluate import EvaluationStopped
from trainer_core.host.late_validation import LateValidation
from trainer_core.host.progress import Rates, RunProgress
from trainer_core.host.ranks import Ranks
from trainer_core.host.validator import Validator
from trainer_core.learn.update import ActorLearner
from trainer_core.runs.log_writer import RunWriter
from trainer_core.wire.config import RunConfig

Order = Callable[[str, str], None]
"""Has every rank do something while rank 0 validates: save (the reason), hold, or wait."""
SETTLE_UPDATES = 4
"""Updates between two validations that training success, or one that was not confirmed, and not the
calendar, calls for."""
LAST_RESULT_S = 60.0
"""That a run which reached its limit waits for the validation of its last weights."""


class Validations:
    """Of one run. All ranks go through the same decisions; rank 0 alone validates."""

    def __init__(
        self,
        config: RunConfig,
        trainer: ActorLearner,
        validator: Validator,
        late: LateValidation | None,
        writer: RunWriter,
        ranks: Ranks,
        *,
        say: Callable[[str], None],
        attending: Attending,
        do: Order,
    ) -> None:
        """`late`: where a process beside the learner validates; on rank 0 only. `attending` hears
        of commands between the steps of a validation here and calls `order`; `do` is what a rank
        does then."""
        self.config, self.trainer, self.ranks = config, trainer, ranks
        self.validator, self.late, self.attending, self._do = validator, late, attending, do
        validator.attend = attending
        self.owed = False
        """A validation is due, and was not begun."""
        self._writer, self._say = writer, say

    def after_update(self, progress: RunProgress, wall_time_s: float) -> bool:
        """Do what is to be done after an update. True when the weights of now were played, on rank
        0, and are the best so far."""
        trainer, config = self.trainer, self.config
        self._take(progress)
        self.owed = self.owed or self._is_due(progress)
        if not self.owed:
            return False
        where = self.ranks.agree(self._where())
        if where == "later":
            return False
        self.owed = False
        if where == "beside":
            progress.validated_update = trainer.update
            if self.late is not None:
                self.late.begin(progress, wall_time_s)
            return False
        rates = self._validate_here() if self.ranks.is_first else self._follow()
        if rates is None:
            self.owed = True
            return False
        progress.validated_update = trainer.update
        progress.take(rates, trainer.env_steps, config.target_success)
        self._tell_unconfirmed(progress)
        folder = self._writer.paths.checkpoint(trainer.env_steps)
        return self.ranks.agree(progress.is_best(folder.name))

    def look_again(self, progress: RunProgress) -> None:
        """A validation that was not confirmed calls for another one soon; ranks agree on `owed`."""
        settled = self.trainer.update - progress.validated_update >= SETTLE_UPDATES - 1
        if settled and self.config.eval_every:
            self.owed = self.owed or bool(progress.unconfirmed(self.config.target_success))

    def _tell_unconfirmed(self, progress: RunProgress) -> None:
        if words := progress.unconfirmed(self.config.target_success):
            self._say(words)

    def _validate_here(self) -> Rates | None:
        """Of rank 0: what the weights of now reach; None where a stop came first."""
        self.attending.begin()
        self._writer.check_place()
        try:
            found = list(self.validator.validate(self.trainer.update, self.trainer.env_steps))
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
        """Of rank 0, while it validates: have all ranks, this one too, do that."""
        self._tell_ranks(what, reason)
        self._do(what, reason)

    def _follow(self) -> Rates | None:
        """Of the other ranks: do what the first one orders until its validation is over."""
        while True:
            what, told = cast("tuple[str, Any]", self.ranks.agree(("", cast(Any, None))))
            if what == "over":
                return told
            self._do(what, told)

    def _tell_ranks(self, what: str, told: object) -> None:
        self.ranks.agree((what, told))

    def take_saved(self) -> bool:
        """Whether a best checkpoint came late since this was asked last: it has neither the
        consoles nor what was learned since, the newest has."""
        return self.late is not None and self.late.take_saved()

    def finish(
        self, progress: RunProgress, wall_time_s: Callable[[], float], stopped: Callable[[], bool]
    ) -> None:
        """Before a run ends that was not stopped: what is under way, and what is owed."""
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

    def close(self) -> None:
        self.validator.close()

    def _is_due(self, progress: RunProgress) -> bool:
        """By the calendar, or because the episodes of training reach the target already."""
        config, update = self.config, self.trainer.update
        if not config.eval_every or progress.validated_update == update:
            return False
        if update % config.eval_every == 0:
            return True
        settled = update - progress.validated_update >= SETTLE_UPDATES
        return settled and 0 < config.target_success <= progress.training_success

    def _where(self) -> str:
        """beside, here, or later: once the process is free again."""
        if self.late is None or self.late.process.is_over:
            return "here"
        if self.late.process.is_idle:
            return "beside"
        # While it loads, the learner does better to play than to wait for it.
        asked = self.config.validate_on == "cpu"
        return "later" if self.late.is_under_way or asked else "here"

    def _take(self, progress: RunProgress) -> None:
        """What the process beside the learner has found since."""
        if self.late is None:
            return
        before = progress.validated_env_steps
        goes_on = self.late.take(progress)
        if progress.validated_env_steps != before:
            self._tell_unconfirmed(progress)
        if not goes_on:
            self.owed = True
            self._say("warning: the process that validates has ended; validating "
                       f"on {self.config.device} from now on")  # fmt: skip
