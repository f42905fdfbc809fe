"""How far a run is beyond its learner's counters: what a resumed run must know again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from trainer_core.wire.errors import CheckpointError
from trainer_core.wire.records import NOT_CONFIRMED

ENOUGH = 256
"""Own-start episodes in one record that say enough without those before them."""
CONFIRMS = 0.8
"""Of the target, that drawn play has to reach for one greedy validation to be believed. Greedy play
with marks may get from every start to the goal by a walk that covers the place (ADR 24)."""
HOLDS = 2
"""Times the steps that play which leaves loops took to get to the target, for which it has to stay
there before it ends a run: until then greedy play has its chance."""
ADDED = {
    "least", "sampled", "leaving", "least_leaving", "best_sampled", "best_leaving", "target",
    "leaving_first", "leaving_since", "recent_won", "recent_ended", "validated_env_steps",
    "least_sampled", "greedy_since", "best_confirmed",
}  # fmt: skip
OF_VALIDATION = (
    "success", "least", "sampled", "leaving", "least_leaving", "best_success", "best_sampled",
    "best_leaving", "best_folder", "target", "leaving_first", "leaving_since",
    "validated_env_steps", "least_sampled", "greedy_since", "best_confirmed",
)  # fmt: skip
"""Of RunProgress: what a validation changes."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Success of one validation, by how it was played; 0 where it was not."""

    greedy: float = 0.0
    least: float = 0.0
    """Of greedy play, on the task where it is least."""
    leaving: float = 0.0
    """Of greedy play that leaves loops (host/loop_leaving.py)."""
    least_leaving: float = 0.0
    sampled: float = 0.0
    least_sampled: float = 0.0
    """Of drawn play, on the task where it is least."""


@dataclass(slots=True)
class Counters:
    """How far a run is, over all its lives."""

    env_steps: int = 0
    update: int = 0


class RunProgress(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Owned by the training loop; every checkpoint carries it."""

    wall_before: float = 0.0
    """Seconds of training that other processes of this run have spent."""
    success: float = 0.0
    """Of the last greedy validation."""
    least: float = 0.0
    """Of the same, on the task of the run where it is least."""
    leaving: float = 0.0
    """Of play that leaves loops, in the same validation."""
    least_leaving: float = 0.0
    sampled: float = 0.0
    """Of drawn play, in the same validation."""
    least_sampled: float = 0.0
    best_confirmed: bool = False
    """Whether what the best checkpoint reached in greedy play was confirmed."""
    best_success: float = -1.0
    best_leaving: float = -1.0
    best_sampled: float = -1.0
    best_folder: str = ""
    """Name of the checkpoint folder with `best_success`, among those the one that leaves loops
    best, among those the best sampled one."""
    target: float = 0.0
    """Success that the next three are about."""
    greedy_since: int = -1
    """Env steps at the first of the validations up to the last one in which greedy play reached it;
    -1 where the last one fell short."""
    leaving_first: int = -1
    """Env steps at the first validation in which play that leaves loops reached it."""
    leaving_since: int = -1
    """The same of the first of those since when it has at every validation; -1 where the last one
    fell short."""
    training_success: float = 0.0
    """Of the last horizon's episodes from the task's own starts, 0 while too few of them end to
    mean anything."""
    recent_won: float = 0.0
    recent_ended: float = 0.0
    """Episodes, those of each record counting less the older it is."""
    validated_update: int = 0
    """Whose weights were copied for the last validation."""
    validated_env_steps: int = -1
    """Of the weights that the rates above are of."""

    def is_best(self, folder: str) -> bool:
        """Whether the last validation is the best so far, which a checkpoint in `folder` keeps.

        One that reached the target and was confirmed is better than any other. As good in greedy
        play and better at leaving loops is better, then with more success of sampled play: few
        starts tie soon.
        """
        now = (self._is_confirmed(self.target), self.success, self.leaving, self.sampled)
        best = (self.best_confirmed, self.best_success, self.best_leaving, self.best_sampled)
        if now <= best:
            return False
        self.best_confirmed, self.best_success, self.best_leaving, self.best_sampled = now
        self.best_folder = folder
        return True

    def take(self, found: Rates, env_steps: int, target: float) -> None:
        """Fold in what a validation of the weights at `env_steps` found; `target` is the success
        on every task that ends the run, 0 for none."""
        self.success, self.least = found.greedy, found.least
        self.leaving, self.least_leaving = found.leaving, found.least_leaving
        self.sampled, self.least_sampled = found.sampled, found.least_sampled
        self.validated_env_steps = env_steps
        if target != self.target:  # a resumed run may have another
            self.target, self.leaving_first, self.leaving_since = target, -1, -1
            self.greedy_since = -1
        if not 0 < target <= found.least:
            self.greedy_since = -1
        elif self.greedy_since < 0:
            self.greedy_since = env_steps
        if not 0 < target <= found.least_leaving:
            self.leaving_since = -1
            return
        if self.leaving_first < 0:
            self.leaving_first = env_steps
        if self.leaving_since < 0:
            self.leaving_since = env_steps

    def reached(self, target: float) -> str:
        """ "greedy" or "leave_loops", by which play the target is reached, or ""."""
        if not target:
            return ""
        if self._is_confirmed(target):
            return "greedy"
        if target != self.target or self.leaving_since < 0:
            return ""
        held = self.validated_env_steps - self.leaving_since
        return "leave_loops" if held >= HOLDS * self.leaving_first else ""

    def _is_confirmed(self, target: float) -> bool:
        """Whether greedy play reached the target twice running, or drawn play nearly as well."""
        if not 0 < target <= self.least:
            return False
        again = target == self.target and 0 <= self.greedy_since < self.validated_env_steps
        return again or self.least_sampled >= CONFIRMS * target

    def unconfirmed(self, target: float) -> str:
        """What is to be said of a last validation in which greedy play alone reached the target,
        and that does not end the run; "" after any other."""
        if not 0 < target <= self.least or self.reached(target):
            return ""
        return f"greedy {self.success:.2f}, sampled {self.sampled:.2f}: {NOT_CONFIRMED}"

    def reason(self, target: float) -> str:
        """Why a run of that target ends now, in words, or ""."""
        match self.reached(target):
            case "greedy":
                return (
                    f"validation reached {self.success:.3f} in greedy play, {self.leaving:.3f} "
                    f"leaving loops, {self.sampled:.3f} sampled"
                )
            case "leave_loops":
                return (
                    f"validation has been at {self.leaving:.3f} leaving loops since "
                    f"{self.leaving_since:,} steps; best greedy {self.best_success:.3f}"
                )
        return ""

    def standing(self) -> str:
        """The best checkpoint's success in both ways of play, in words; "" before one is."""
        if not self.best_folder:
            return ""
        return f"best greedy {self.best_success:.3f}, leaving loops {self.best_leaving:.3f}"

    def fold_episodes(self, success_rate: float, episodes: float, decay: float) -> float:
        """Share of recent episodes that succeeded; what was counted before weighs `decay`.

        Episodes of equal starts end by the horizon all at once, so one record of few tells little;
        the more a record holds itself, the less what came before it counts.
        """
        decay *= max(0.0, 1 - episodes / ENOUGH)
        self.recent_won = self.recent_won * decay + success_rate * episodes
        self.recent_ended = self.recent_ended * decay + episodes
        return self.recent_won / self.recent_ended if self.recent_ended else 0.0

    def state_dict(self, wall_time_s: float) -> dict[str, Any]:
        """What a process that goes on at `wall_time_s` needs."""
        return msgspec.to_builtins(self) | {"wall_before": wall_time_s}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> RunProgress:
        """Raises CheckpointError for what is no `state_dict`.

        Until November 2026 the names had an underscore before them, and those in ADDED were not
        there; such checkpoints are read.
        """
        try:
            named = {name.removeprefix("_"): state[name] for name in state}
            missing = set(cls.__struct_fields__) - set(named) - ADDED
            if missing:
                raise ValueError(f"{', '.join(sorted(missing))} missing")
            named.setdefault("least", named["success"])
            named.setdefault("least_sampled", named.get("sampled", 0.0))
            return msgspec.convert(named, cls)
        except (ValueError, TypeError) as error:  # msgspec's ValidationError is a ValueError
            raise CheckpointError(f"the run's progress cannot be read: {error}") from None
