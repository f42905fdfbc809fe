"""Search for further start states by random walks from a task's own ones and from states that walks reached.

A policy that learns from few starts is confident and wrong at places that none of its episodes visited. Independent
random presses hardly leave the start, so walks tend to repeat a button, and half of them begin where an earlier one
ended (Ecoffet et al. 2021, doi:10.1038/s41586-020-03157-9). A state is kept if its picture differs from all starts
before. A walk that reaches the goal serves as a demonstration in a task that has none.
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
"""Width of the squares of an observation whose mean shades, rounded to a half, are compared."""


EACH = np.uint64(0x0101010101010101)


def cells_of(pictures: np.ndarray) -> list[bytes]:
    """Return a key of each of `pictures` u8[N, 72, 80], shades 0..3; equal keys count as the same place."""
    count, height, width = pictures.shape
    # Eight pixels a word: a byte sums eight rows, at most 24, and eight such bytes sum to at most 192.
    words = np.ascontiguousarray(pictures).view(np.uint64)
    rows = words.reshape(count, height // CELL, CELL, width // CELL).sum(2, dtype=np.uint64)
    sums = (rows * EACH) >> np.uint64(56)
    return [cell.tobytes() for cell in (sums / (CELL * CELL / 2)).round().astype(np.int8)]


WALKS, WALK_STEPS = 8, 16
"""Number of walks for each own start, and of presses in one walk."""
HOLD_ON = 0.5
"""Probability of repeating the last button."""
FARTHER = 0.5
"""Share of walks that begin where an earlier one ended."""
MOST_KEPT, APART = 3, 5
"""Greatest number of states kept of one walk, and the least presses between two of them."""
LEAST_ROUNDS = 2
"""Least number of rounds, whatever the number of consoles: a later round continues from the results of earlier ones."""
SEARCH_WALKS, WAYS = 48, 2
"""Greatest number of walks for each own start in a search for ways to the goal, and the number of ways wanted."""
MOST_FRAMES = 8_000_000
"""Frames of all walks together, some minutes of a CPU: a task may have 65,536 starts and steps of 600 frames. 80 starts
and steps of 24 take 1,500,000 in a search without success."""
MOST_FOUND = 2_000
"""Greatest number of states kept of all walks: each takes up to 40 KiB."""


class Way(NamedTuple):
    """Sequence of actions from one of the task's own start states, which leads to some state."""

    start: int
    """Index of the own start."""
    actions: tuple[int, ...]


class Explorer:
    """Random walks on the consoles of `emulator`, whose states are overwritten."""

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
        """Prepare the search.

        `press` plays a step of `frames` with actions i64[N] of all consoles; `at_goal` returns bool[N], whether
        pictures u8[N, 72, 80] show the goal, which ends a walk.
        """
        self.emulator, self.press, self.at_goal = emulator, press, at_goal
        self.num_actions = num_actions
        self.found: list[Snapshot] = []
        self.ways: list[Way] = []
        """Action sequences to the goal, in the order in which they were found."""
        self._frames, self._tell = frames, tell or silent()
        self._rng = np.random.default_rng(seed)
        self._cells: set[bytes] = set()
        self._begun: list[int] = []
        """Number of walks that began at each state in `found`."""
        self._led: list[Way] = []
        """Actions that led to each state in `found`."""

    def explore(self, starts: list[Snapshot], *, search: bool = False) -> list[Snapshot]:
        """Return the states at new places that walks from `starts` found, one for each place.

        With `search` further walks follow, up to SEARCH_WALKS for each start, until WAYS to the goal are found.
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
        """Return up to WAYS action sequences to the goal, the shortest that were found."""
        return sorted(self.ways, key=lambda way: len(way.actions))[:WAYS]

    def _farther(self) -> int | None:
        """Return where a next walk begins: the index in `found` of a random one of the states with the fewest walks.

        With probability 1 - FARTHER, and while `found` is empty, it is None: the walk begins at an own start.
        """
        if not self.found or self._rng.random() >= FARTHER:
            return None
        begun = np.array(self._begun)
        place = int(self._rng.choice(np.flatnonzero(begun == begun.min())))
        self._begun[place] += 1
        return place

    def _walk(self, begins: list[Snapshot], led: list[Way]) -> None:
        """Walk once from each of the states `begins`, all side by side; `led` are the actions that led to these
        states."""
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
