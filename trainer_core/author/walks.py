"""Start states around a demonstration: random walks that leave it, with distinct pictures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emulator import Cartridge, Emulator, Snapshot
from trainer_core.author.goals import LEAST_DISTANCE, GoalPictures
from trainer_core.envs.preparing import Preparing, silent
from trainer_core.lab.tasks import Codec
from trainer_core.wire.errors import TaskError

BATCH = 32
MAX_ROUNDS = 24
"""Maximum number of batches of walks in the search for starts."""


@dataclass(frozen=True, slots=True)
class Walk:
    """One start state: the demonstration state it was reached from, the actions from there, and its picture."""

    anchor: int
    actions: tuple[int, ...]
    state: Snapshot
    picture: np.ndarray
    """u8[72, 80], the observation of the start state."""


def random_walks(
    cartridge: Cartridge,
    anchors: list[Snapshot],
    goal: GoalPictures,
    tau: float,
    codec: Codec,
    *,
    count: int,
    longest: int,
    least: int,
    seed: int,
    tell: Preparing | None = None,
) -> list[Walk]:
    """Return `count` starts with distinct pictures, each 0 to `longest` random steps from an anchor.

    Walks that meet the goal, or a picture that no tau separates from it, are dropped. The anchors are tried first; the
    result is in random order, so that any split of it is alike. Raises TaskError when fewer than `least` are found.
    """
    rng = np.random.default_rng(seed)
    emulator = Emulator(cartridge, BATCH, "cpu")
    cache = emulator.state_cache(anchors)
    found: dict[bytes, Walk] = {}
    tell = tell or silent()
    for turn in range(MAX_ROUNDS):
        chosen = rng.integers(len(anchors), size=BATCH)
        lengths = rng.integers(longest + 1, size=BATCH)
        if turn == 0:  # every anchor itself, as far as there is room
            chosen = np.arange(BATCH) % len(anchors)
            lengths[: len(anchors)] = 0
        actions = rng.integers(len(codec.masks), size=(longest, BATCH))
        emulator.reset(None, cache, chosen.astype(np.int32))
        alive = np.ones(BATCH, bool)
        for step in range(longest + 1):
            tell("start states", len(found), count)
            pictures = emulator.observations().numpy()
            alive &= goal.distances(pictures) >= max(tau, LEAST_DISTANCE)
            for env in np.flatnonzero(alive & (lengths == step)):
                key = pictures[env].tobytes()
                if key not in found and len(found) < count:
                    walked = tuple(actions[:step, env].tolist())
                    state = emulator.snapshot(int(env))
                    found[key] = Walk(int(chosen[env]), walked, state, pictures[env].copy())
            if step < min(longest, int(lengths.max())):
                masks = np.array(codec.masks, np.uint8)[actions[step]]
                emulator.run(masks, codec.frames_per_step, codec.release_after_frames)
        if len(found) == count:
            break
    if len(found) < least:
        raise TaskError(
            f"{len(found)} different start pictures were found around the demonstration, {least} "
            "are wanted: give longer walks (--walk), a wider --spread, a lower --min-distinct, or "
            "more start states"
        )
    walks = list(found.values())
    return [walks[number] for number in rng.permutation(len(walks))]
