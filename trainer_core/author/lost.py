"""Start states from which the goal can no longer be reached: any input ends in the same picture.

A random walk may end under a falling rock, a tick before the game is over. Such a start teaches nothing and, held out,
fails every validation. It is found by several tries from each start, which press the button of the most similar picture
of the demonstration, or sometimes a random one. A start is fine as soon as one try reaches the goal. It is lost if no
try does and all end in the same picture: the console no longer reacts. A game that restarts at a button is not lost,
nor is a place that the tries merely fail to leave.
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
"""Probability of a random button in each try; the first two tries separate most starts from lost ones."""
STEPS_LEAST, STEPS_MOST = 32, 96
"""Shortest and longest try in steps; between these, twice the demonstration's length."""
SAME_ENDS = 1
"""Maximum number of different end pictures of the tries from a lost start."""


@dataclass(frozen=True, slots=True)
class Way:
    """Observations and actions of demonstrations that reach the goal, for imitation by similarity."""

    pictures: np.ndarray
    """u8[K, 72, 80], the observations."""
    actions: np.ndarray
    """i64[K], the action at each observation; -1 for buttons that the codec does not have."""

    def nearest(self, pictures: np.ndarray) -> np.ndarray:
        """Return i64[N], the actions at the observations most like `pictures` u8[N, 72, 80]."""
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
    """Return bool[S], true for each of `states` from which the game is lost; all false without a demonstration."""
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
                # A start whose tries end in different places is not lost: stop looking.
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
    """Play one try from each state in `begun`, with random actions at the rate `at_random`.

    Returns (bool[S], true where the goal was reached; the coarse last picture of each try, see `cells_of`).
    """
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
