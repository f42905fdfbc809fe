"""More start states than a task has: walks from its own, and on from where earlier walks came to.

A policy that learns from few starts is sure of itself and wrong where none of its episodes ever
was: behind a house, in a room that no way leads through. Random presses hardly leave the spot, so
walks hold on to a button, half of them begin where an earlier one ended up (Ecoffet et al. 2021,
doi:10.1038/s41586-020-03157-9), and what is kept shows something that no start before it showed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch

from trainer_core.envs.places import cells_of

if TYPE_CHECKING:
    from emulator import Snapshot
    from trainer_core.envs.game_env import ShardedEmulator

WALKS, WALK_STEPS = 8, 16
"""Walks for each own start, and the presses of one."""
HOLD_ON = 0.5
"""Chance of the same button once more."""
FARTHER = 0.5
"""Share of walks that begin where an earlier one came to."""
MOST_KEPT, APART = 3, 5
"""States kept of one walk, and the least presses between two of them."""
LEAST_ROUNDS = 2
"""However many consoles there are: a later round goes on from what an earlier one found."""


class Explorer:
    """Walks on the consoles of `emulator`; what they showed before is lost."""

    def __init__(
        self, emulator: ShardedEmulator, press: Callable[[np.ndarray], None],
        at_goal: Callable[[torch.Tensor], torch.Tensor], num_actions: int, seed: int,
    ) -> None:  # fmt: skip
        """`press` plays a step with actions i64[N] of all consoles; `at_goal` tells which of
        pictures u8[N, 72, 80] are the goal, bool[N]: a walk that meets it is over."""
        self.emulator, self.press, self.at_goal = emulator, press, at_goal
        self.num_actions = num_actions
        self.found: list[Snapshot] = []
        self._rng = np.random.default_rng(seed)
        self._cells: set[bytes] = set()
        self._begun: list[int] = []
        """Walks that began at each of `found`."""

    def explore(self, starts: list[Snapshot]) -> list[Snapshot]:
        """States, one for each place that walks from `starts` were the first to show."""
        walks = WALKS * len(starts)
        at_once = min(len(self.emulator.buttons), -(-walks // LEAST_ROUNDS))
        for first in range(0, walks, at_once):
            own = [starts[n % len(starts)] for n in range(first, min(first + at_once, walks))]
            self._walk([self._farther() or state for state in own])
        return self.found

    def _farther(self) -> Snapshot | None:
        """A place that was found, one of those that the fewest walks began at; or None."""
        if not self.found or self._rng.random() >= FARTHER:
            return None
        begun = np.array(self._begun)
        place = int(self._rng.choice(np.flatnonzero(begun == begun.min())))
        self._begun[place] += 1
        return self.found[place]

    def _walk(self, begins: list[Snapshot]) -> None:
        """One walk from each of `begins`, side by side."""
        rng, consoles = self._rng, len(self.emulator.buttons)
        self.emulator.set_starts(begins)
        self.emulator.put_at(torch.arange(len(begins), device=self.emulator.buttons.device))
        pressed = rng.integers(self.num_actions, size=consoles)
        kept = np.zeros(len(begins), int)
        last = np.full(len(begins), -APART)
        for step in range(WALK_STEPS):
            another = rng.integers(self.num_actions, size=consoles)
            pressed = np.where(rng.random(consoles) < HOLD_ON, pressed, another)
            self.press(pressed)
            pictures = self.emulator.observe()[: len(begins)]
            kept[self.at_goal(pictures).cpu().numpy()] = MOST_KEPT
            new = []
            for walk, cell in enumerate(cells_of(pictures.cpu().numpy())):
                free = kept[walk] < MOST_KEPT and step - last[walk] >= APART
                if free and cell not in self._cells:
                    self._cells.add(cell)
                    new.append(walk)
            kept[new] += 1
            last[new] = step
            self.found += self.emulator.snapshots(np.array(new, int)) if new else []
            self._begun += [0] * len(new)
