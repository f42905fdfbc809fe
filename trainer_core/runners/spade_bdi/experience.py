"""Bandit learning of an agent's choices: the mean reward ("credit") of each option, by situation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class Experience:
    """Bandit learner with one table per situation: untried options first, then the best, sometimes a random one."""

    def __init__(self, exploration: float, rng: np.random.Generator) -> None:
        self.exploration, self._rng = exploration, rng
        self.table: dict[str, dict[str, list[float]]] = {}
        """Table by situation and option: [times that the option was credited, mean credit]."""

    def choose(self, situation: str, options: Sequence[str], *, greedy: bool) -> str:
        """Return one of `options`; greedy takes the best, the first one among equals."""
        known = self.table.get(situation, {})
        if not greedy:
            untried = [option for option in options if option not in known]
            if untried:
                return untried[0]
            if self._rng.random() < self.exploration:
                return options[int(self._rng.integers(len(options)))]
        return max(options, key=lambda option: known.get(option, [0, 0.0])[1])

    def credit(self, situation: str, option: str, value: float) -> None:
        count, mean = self.table.setdefault(situation, {}).get(option, [0, 0.0])
        self.table[situation][option] = [count + 1, mean + (value - mean) / (count + 1)]

    def state(self) -> dict[str, Any]:
        return {k: {o: list(v) for o, v in options.items()} for k, options in self.table.items()}

    def load_state(self, state: dict[str, Any]) -> None:
        self.table = {k: {o: list(v) for o, v in options.items()} for k, options in state.items()}
