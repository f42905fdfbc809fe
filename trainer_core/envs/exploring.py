"""More start states than a task has: walks from its own, and on from where earlier walks came to.

A policy that learns from few starts is sure of itself and wrong where none of its episodes ever
was: behind a house, in a room that no way leads through. Random presses hardly leave the spot, so
walks hold on to a button, half of them begin where an earlier one ended up (Ecoffet et al. 2021,
doi:10.1038/s41586-020-03157-9), and what is kept shows something that no start before it showed.
A walk that comes to the goal is a way there: what a task lacks whose person showed none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from trainer_core.envs.preparing import Preparing, silent

if TYPE_CHECKING:
    from emulator import Snapshot
    from trainer_core.envs.sharded_emulator import ShardedEmulator


CELL = 8
"""Width of the squares of an observation whose mean shades, to the half, are compared."""


EACH = np.uint64(0x0101010101010101)


def cells_of(pictures: np.ndarray) -> list[bytes]:
    """What makes each of `pictures` u8[N, 72, 80], shades 0..3, another place: equal bytes are the
    same."""
    count, height, width = pictures.shape
    # Eight pixels a word: eight rows add up to at most 24 a byte, and eight such bytes to 192.
    words = np.ascontiguousarray(pictures).view(np.uint64)
    rows = words.reshape(count, height // CELL, CELL, width // CELL).sum(2, dtype=np.uint64)
    sums = (rows * EACH) >> np.uint64(56)
    return [cell.tobytes() for cell in (sums / (CELL * CELL / 2)).round().astype(np.int8)]


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
SEARCH_WALKS, WAYS = 48, 2
"""Walks for each own start at most where a way to the goal is looked for, and how many are."""
MOST_FRAMES = 8_000_000
"""Of all walks together, some minutes of a CPU: a task may have 65,536 starts and steps of 600
frames. 80 starts and steps of 24 take 1,500,000 where a way is looked for to the end."""
MOST_FOUND = 2_000
"""States kept of all walks: each takes up to 40 KiB."""


class Way(NamedTuple):
    """What was pressed from one of the own starts."""

    start: int
    """Which of them."""
    actions: tuple[int, ...]


class Explorer:
    """Walks on the consoles of `emulator`; what they showed before is lost."""

    def __init__(
        self,
        emulator: ShardedEmulator,
        press: Callable[[np.ndarray], None],
        at_goal: Callable[[torch.Tensor], torch.Tensor],
        num_actions: int,
        seed: int,
        *,
        frames: int = 24,
        tell: Preparing | None = None,
    ) -> None:
        """`press` plays a step of `frames` with actions i64[N] of all consoles; `at_goal` tells
        which of pictures u8[N, 72, 80] are the goal, bool[N]: a walk that meets it is over."""
        self.emulator, self.press, self.at_goal = emulator, press, at_goal
        self.num_actions = num_actions
        self.found: list[Snapshot] = []
        self.ways: list[Way] = []
        """To the goal, in the order in which they were found."""
        self._frames, self._tell = frames, tell or silent()
        self._rng = np.random.default_rng(seed)
        self._cells: set[bytes] = set()
        self._begun: list[int] = []
        """Walks that began at each of `found`."""
        self._led: list[Way] = []
        """How each of `found` was come to."""

    def explore(self, starts: list[Snapshot], *, search: bool = False) -> list[Snapshot]:
        """States, one for each place that walks from `starts` were the first to show.

        `search`: walk on, up to SEARCH_WALKS for each start, until WAYS to the goal are found.
        """
        walks = WALKS * len(starts)
        at_once = min(len(self.emulator.buttons), -(-walks // LEAST_ROUNDS))
        most = SEARCH_WALKS * len(starts) if search else walks
        most = min(most, max(1, MOST_FRAMES // (WALK_STEPS * self._frames)))
        for first in range(0, most, at_once):
            if first >= walks and len(self.ways) >= WAYS:
                break
            self._tell("walks from the starts", first, most)
            own = [n % len(starts) for n in range(first, min(first + at_once, most))]
            farther = [self._farther() for _ in own]
            self._walk(
                [starts[n] if f is None else self.found[f] for n, f in zip(own, farther, strict=True)],
                [Way(n, ()) if f is None else self._led[f] for n, f in zip(own, farther, strict=True)],
            )
        return self.found

    def shortest_ways(self) -> list[Way]:
        """The WAYS shortest of those found."""
        return sorted(self.ways, key=lambda way: len(way.actions))[:WAYS]

    def _farther(self) -> int | None:
        """A place that was found, one of those that the fewest walks began at; or None."""
        if not self.found or self._rng.random() >= FARTHER:
            return None
        begun = np.array(self._begun)
        place = int(self._rng.choice(np.flatnonzero(begun == begun.min())))
        self._begun[place] += 1
        return place

    def _walk(self, begins: list[Snapshot], led: list[Way]) -> None:
        """One walk from each of `begins`, which ways `led` to, side by side."""
        rng, consoles = self._rng, len(self.emulator.buttons)
        played = np.zeros((WALK_STEPS, len(begins)), int)
        arrived = np.zeros(len(begins), bool)

        def way(walk: int, step: int) -> Way:
            pressed = (*led[walk].actions, *played[: step + 1, walk].tolist())
            return Way(led[walk].start, pressed)

        self.emulator.set_starts(begins)
        self.emulator.put_at(torch.arange(len(begins), device=self.emulator.buttons.device))
        pressed = rng.integers(self.num_actions, size=consoles)
        kept = np.zeros(len(begins), int)
        last = np.full(len(begins), -APART)
        for step in range(WALK_STEPS):
            another = rng.integers(self.num_actions, size=consoles)
            pressed = np.where(rng.random(consoles) < HOLD_ON, pressed, another)
            self.press(pressed)
            played[step] = pressed[: len(begins)]
            pictures = self.emulator.observe()[: len(begins)]
            at_goal = self.at_goal(pictures).cpu().numpy()
            self.ways += [way(walk, step) for walk in np.flatnonzero(at_goal & ~arrived).tolist()]
            arrived |= at_goal
            kept[at_goal] = MOST_KEPT
            new: list[int] = []
            for walk, cell in enumerate(cells_of(pictures.cpu().numpy())):
                room = len(self.found) + len(new) < MOST_FOUND
                free = room and kept[walk] < MOST_KEPT and step - last[walk] >= APART
                if free and cell not in self._cells:
                    self._cells.add(cell)
                    new.append(walk)
            kept[new] += 1
            last[new] = step
            self.found += self.emulator.snapshots(np.array(new, int)) if new else []
            self._begun += [0] * len(new)
            self._led += [way(walk, step) for walk in new]
