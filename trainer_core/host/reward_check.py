"""Warning about a reward that is positive although no episode reaches the goal, given once per run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PATIENCE = 20
"""Records in a row before the warning; early on most pictures are new."""


class DawdlingWatch:
    """Watcher of update records that detects a positive mean reward without any goal."""

    def __init__(self) -> None:
        self._records = 0
        self._said = False

    def warning(self, scalars: Mapping[str, Any]) -> str:
        """Return a warning for the user once PATIENCE records in a row had this fault, else an empty text."""
        earns = scalars["reward_mean"] > 0 and scalars["done_rate"] == 0
        self._records = self._records + 1 if earns else 0
        if self._records < PATIENCE or self._said:
            return ""
        self._said = True
        return (
            f"warning: a step earns {scalars['reward_mean']:+.4f} on average and no goal was "
            f"reached in {PATIENCE} records: the reward may pay for dawdling; keep novelty_bonus "
            "below step_cost in task.toml (docs/reference/files.md)"
        )
