"""Progress of a run beyond its learner's counters, which a resume restores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from trainer_core.wire.errors import CheckpointError
from trainer_core.wire.records import NOT_CONFIRMED

ENOUGH = 256
"""Number of episodes in one record, begun at the task's own starts, from which earlier records no longer count."""
CONFIRMS = 0.8
"""Share of the target that sampled play must reach to confirm a single greedy validation. Greedy play with marks may
reach the goal from every start by a walk that covers the whole place (ADR 24)."""
HOLDS = 2
"""Play that leaves loops ends a run after holding the target for this many times the steps it took to reach it; until
then greedy play may still reach it."""
ADDED = {
    "least", "sampled", "leaving", "least_leaving", "best_sampled", "best_leaving", "target",
    "leaving_first", "leaving_since", "recent_won", "recent_ended", "validated_env_steps",
    "least_sampled", "greedy_since", "best_confirmed", "episodes",
}  # fmt: skip
OF_VALIDATION = (
    "success", "least", "sampled", "leaving", "least_leaving", "best_success", "best_sampled",
    "best_leaving", "best_folder", "target", "leaving_first", "leaving_since",
    "validated_env_steps", "least_sampled", "greedy_since", "best_confirmed",
)  # fmt: skip
"""Fields of RunProgress that a validation changes."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Success rates of one validation for greedy, sampled and loop-leaving play; 0 for a mode that was not played."""

    greedy: float = 0.0
    least: float = 0.0
    """Lowest greedy success among the tasks."""
    leaving: float = 0.0
    """Success of greedy play that leaves loops (host/loop_leaving.py)."""
    least_leaving: float = 0.0
    sampled: float = 0.0
    least_sampled: float = 0.0
    """Lowest success of sampled play among the tasks."""


@dataclass(slots=True)
class Counters:
    """Counters of a run over all its resumes."""

    env_steps: int = 0
    update: int = 0


class RunProgress(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Progress of a run; owned by the training loop and saved in every checkpoint."""

    wall_before: float = 0.0
    """Seconds of training in earlier processes of this run."""
    success: float = 0.0
    """Success of greedy play in the last validation."""
    least: float = 0.0
    """Lowest greedy success among the tasks, in the last validation."""
    leaving: float = 0.0
    """Success of loop-leaving play in the last validation."""
    least_leaving: float = 0.0
    sampled: float = 0.0
    """Success of sampled play in the last validation."""
    least_sampled: float = 0.0
    best_confirmed: bool = False
    """True when the best checkpoint's greedy success was confirmed by a second validation or by sampled play."""
    best_success: float = -1.0
    best_leaving: float = -1.0
    best_sampled: float = -1.0
    best_folder: str = ""
    """Checkpoint folder with `best_success`; ties go to the best at leaving loops, then the best sampled."""
    target: float = 0.0
    """Target success rate to which the next three fields refer."""
    greedy_since: int = -1
    """Env steps at the first of the latest consecutive validations with greedy play at the target; -1 if the last was
    below."""
    leaving_first: int = -1
    """Env steps at the first validation with play that leaves loops at the target."""
    leaving_since: int = -1
    """Env steps at the first of the latest consecutive validations with play that leaves loops at the target; -1 if the
    last was below."""
    training_success: float = 0.0
    """Success rate of recent training episodes that began at the task's own starts; 0 while too few have ended."""
    recent_won: float = 0.0
    recent_ended: float = 0.0
    """Weighted number of recent ended episodes: the older their record, the lower the weight."""
    episodes: int = 0
    """Training episodes that have ended, as far as update records tell."""
    validated_update: int = 0
    """Update whose weights the last validation played."""
    validated_env_steps: int = -1
    """Environment steps at which the weights of the last validation were taken; -1 before the first."""

    def is_best(self, folder: str) -> bool:
        """Return whether the last validation is the best so far and, if so, note it with checkpoint `folder`.

        A confirmed validation at the target beats any other. Ties in greedy success are broken by leaving loops, then
        by sampled play: with few starts ties come soon.
        """
        now = (self._is_confirmed(self.target), self.success, self.leaving, self.sampled)
        best = (self.best_confirmed, self.best_success, self.best_leaving, self.best_sampled)
        if now <= best:
            return False
        self.best_confirmed, self.best_success, self.best_leaving, self.best_sampled = now
        self.best_folder = folder
        return True

    def take(self, found: Rates, env_steps: int, target: float) -> None:
        """Store the rates of a validation of the weights at `env_steps`.

        `target` is the success rate on every task that ends the run, 0 for none.
        """
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
        """Return the mode of play that reached the target, "greedy" or "leave_loops", or "" if none did.

        Greedy play must be confirmed; loop-leaving play must hold the target for a while (HOLDS).
        """
        if not target:
            return ""
        if self._is_confirmed(target):
            return "greedy"
        if target != self.target or self.leaving_since < 0:
            return ""
        held = self.validated_env_steps - self.leaving_since
        return "leave_loops" if held >= HOLDS * self.leaving_first else ""

    def _is_confirmed(self, target: float) -> bool:
        """Return whether greedy play is at the target and confirmed.

        It is confirmed by two validations in a row, or by sampled play at CONFIRMS times the target.
        """
        if not 0 < target <= self.least:
            return False
        again = target == self.target and 0 <= self.greedy_since < self.validated_env_steps
        return again or self.least_sampled >= CONFIRMS * target

    def unconfirmed(self, target: float) -> str:
        """Return a message if the last validation's greedy play reached the target but was not confirmed, else an
        empty text.
        """
        if not 0 < target <= self.least or self.reached(target):
            return ""
        return f"greedy {self.success:.2f}, sampled {self.sampled:.2f}: {NOT_CONFIRMED}"

    def reason(self, target: float) -> str:
        """Return the reason to end the run if the target is reached, else "" (empty)."""
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
        """Return the best checkpoint's success in greedy and loop-leaving play as text; empty without a checkpoint."""
        if not self.best_folder:
            return ""
        return f"best greedy {self.best_success:.3f}, leaving loops {self.best_leaving:.3f}"

    def fold_episodes(self, success_rate: float, episodes: float, decay: float) -> float:
        """Update the success rate of recent training episodes with one record's; return it.

        Earlier episodes get the weight `decay`, lower the more `episodes` the record has. Episodes from equal starts
        end together at the horizon, so a record with few episodes says little.
        """
        decay *= max(0.0, 1 - episodes / ENOUGH)
        self.recent_won = self.recent_won * decay + success_rate * episodes
        self.recent_ended = self.recent_ended * decay + episodes
        return self.recent_won / self.recent_ended if self.recent_ended else 0.0

    def state_dict(self, wall_time_s: float) -> dict[str, Any]:
        """Return the progress as a dict for a checkpoint; `wall_time_s` is the training time up to now."""
        return msgspec.to_builtins(self) | {"wall_before": wall_time_s}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> RunProgress:
        """Return the progress in a dict of `state_dict`. Raises CheckpointError for anything else.

        Reads checkpoints from before November 2026 too, which have names with an underscore and lack the fields in
        ADDED.
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
