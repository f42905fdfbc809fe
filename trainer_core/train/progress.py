"""How far a run is beyond its learner's counters: what a resumed run must know again."""

from __future__ import annotations

from typing import Any

import msgspec

from trainer_core.protocol.errors import CheckpointError

ENOUGH = 256
"""Own-start episodes in one record that say enough without those before them."""
ADDED = {
    "least", "sampled", "best_sampled", "recent_won", "recent_ended", "validated_env_steps",
}  # fmt: skip


class RunProgress(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Owned by the training loop; every checkpoint carries it."""

    wall_before: float = 0.0
    """Seconds of training that other processes of this run have spent."""
    success: float = 0.0
    """Of the last greedy validation."""
    least: float = 0.0
    """Of the same, on the task of the run where it is least."""
    sampled: float = 0.0
    """Success of the last sampled validation."""
    best_success: float = -1.0
    best_sampled: float = -1.0
    best_folder: str = ""
    """Name of the checkpoint folder with `best_success`, and the best sampled one among those."""
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

        As good in greedy play with more success of sampled play is better: few starts tie soon.
        """
        if (self.success, self.sampled) <= (self.best_success, self.best_sampled):
            return False
        self.best_success, self.best_sampled = self.success, self.sampled
        self.best_folder = folder
        return True

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
            return msgspec.convert(named, cls)
        except (ValueError, TypeError) as error:  # msgspec's ValidationError is a ValueError
            raise CheckpointError(f"the run's progress cannot be read: {error}") from None
