"""Start states from which the game is lost already: whatever is pressed ends in one picture.

A walk may end under a falling rock, a tick before the game is over. Such a start teaches nothing
and, held out, fails every validation. A start is cleared as soon as one of several plays, which
follow the demonstration as far as pictures are alike and press at random now and then, meets the
goal. It is called lost only if none does and all end in the same places: a console that no longer
listens. A game that starts anew at a button is not lost, nor is a place that we merely cannot
leave.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emulator import Cartridge, Emulator, Snapshot
from trainer_core.author.goals import GoalPictures
from trainer_core.envs.exploring import cells_of
from trainer_core.envs.preparing import Preparing, silent
from trainer_core.lab.tasks import Codec

BATCH = 32
AT_RANDOM = (0.0, 0.5, 0.2, 1.0, 0.3, 0.7)
"""Share of random presses in each of the tries; the first two tell most starts from a lost one."""
STEPS_LEAST, STEPS_MOST = 32, 96
"""Of a try; between them twice the demonstration, for after a slip the way is longer."""
SAME_ENDS = 1
"""Places that the tries from a lost start end in."""


@dataclass(frozen=True, slots=True)
class Way:
    """Demonstrations, step by step."""

    pictures: np.ndarray
    """u8[K, 72, 80] what was seen."""
    actions: np.ndarray
    """i64[K] what was pressed there; -1 where an agent has no such button."""

    def nearest(self, pictures: np.ndarray) -> np.ndarray:
        """i64[N] what was pressed where it looked most like `pictures` u8[N, 72, 80]."""
        seen = self.pictures.reshape(len(self.pictures), -1).astype(np.float32)
        now = pictures.reshape(len(pictures), -1).astype(np.float32)
        # |a - b|^2 without a's own square, which is the same for every row
        apart = (seen**2).sum(1) - 2 * now @ seen.T
        return self.actions[apart.argmin(1)]


def find_lost(
    cartridge: Cartridge,
    states: list[Snapshot],
    way: Way,
    goal: GoalPictures,
    tau: float,
    codec: Codec,
    *,
    seed: int,
    tell: Preparing | None = None,
) -> np.ndarray:
    """bool[S] which of `states` are lost. Without a way none is: nothing shows what could be."""
    lost = np.zeros(len(states), bool)
    if not len(way.actions):
        return lost
    rng = np.random.default_rng(seed)
    emulator = Emulator(cartridge, BATCH, "cpu")
    ends: list[set[bytes]] = [set() for _ in states]
    left = np.arange(len(states))
    for at_random in AT_RANDOM:
        still = []
        for first in range(0, len(left), BATCH):
            (tell or silent())("plays from starts that may be lost", first, len(left))
            some = left[first : first + BATCH]
            begun = [states[index] for index in some]
            met, cells = _play(emulator, begun, way, goal, tau, codec, at_random, rng)
            for index, reached, cell in zip(some.tolist(), met, cells, strict=True):
                ends[index].add(cell)
                # a start whose tries end in different places listens: no need to look further
                if not reached and len(ends[index]) <= SAME_ENDS:
                    still.append(index)
        left = np.array(still, int)
        if not len(left):
            break
    lost[left] = True
    return lost


def _play(
    emulator: Emulator,
    begun: list[Snapshot],
    way: Way,
    goal: GoalPictures,
    tau: float,
    codec: Codec,
    at_random: float,
    rng: np.random.Generator,
) -> tuple[np.ndarray, list[bytes]]:
    """One try from each of `begun`: which met the goal, bool[S], and the places they end in."""
    count = len(begun)
    index = np.arange(BATCH, dtype=np.int32) % count
    emulator.reset(None, emulator.state_cache(begun), index)
    met = np.zeros(count, bool)
    masks = np.array(codec.masks, np.uint8)
    pictures = emulator.observations().numpy()
    for _ in range(min(STEPS_MOST, max(STEPS_LEAST, 2 * len(way.actions)))):
        asked, drawn = way.nearest(pictures), rng.integers(len(masks), size=BATCH)
        anything = (rng.random(BATCH) < at_random) | (asked < 0)
        pressed = masks[np.where(anything, drawn, asked)]
        emulator.run(pressed, codec.frames_per_step, codec.release_after_frames)
        pictures = emulator.observations().numpy()
        met |= goal.distances(pictures[:count]) < tau
        if met.all():
            break
    return met, cells_of(pictures[:count])
