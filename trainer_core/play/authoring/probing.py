"""`dmglab task probe`: would a captured goal fire by itself, and below which distance should it?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from emulator import Emulator, EmulatorError, Snapshot
from trainer_core.play.authoring.goals import LEAST_DISTANCE, GoalPictures, gather_goal, suggest_tau
from trainer_core.play.authoring.rom_choice import choose_rom
from trainer_core.protocol.errors import TaskError
from trainer_core.protocol.paths import HomePaths
from trainer_core.protocol.recording import FRAMES_PER_SECOND
from trainer_core.protocol.tasks import Codec, find_task


def probe_goal(
    rom: str,
    base: str,
    starts: tuple[Path, ...],
    goal: Path,
    home: HomePaths,
    *,
    tau: float,
    seconds: float,
    consoles: int,
    seed: int,
    on_progress: Callable[[float], None] = lambda share: None,
) -> dict[str, Any]:
    """Play `consoles` at random from `starts` for `seconds` of game each; distances to the goal.

    `false_positive_rate` is the share of consoles that came below tau at the end of any step.
    Raises LabError, also when a start looks like the goal.
    """
    if not starts:
        raise TaskError("give at least one start state (--start)")
    _, cartridge = choose_rom(rom, base, home)
    codec = find_task(base, home).manifest.codec if base else Codec()
    pictures = gather_goal([], (goal,), None, "l1")
    emulator = Emulator(cartridge, consoles, "cpu")
    try:
        cache = emulator.state_cache([Snapshot.load(path) for path in starts])
        emulator.reset(None, cache, (np.arange(consoles) % len(starts)).astype(np.int32))
    except EmulatorError as error:
        raise TaskError(str(error)) from None
    at_start = pictures.distances(emulator.observations().numpy()[: len(starts)])
    steps = max(1, round(seconds * FRAMES_PER_SECOND / codec.frames_per_step))
    apart = _random_play(emulator, pictures, codec, steps, seed, on_progress)
    # Consoles that came to the goal itself say nothing about how near other pictures are.
    others = apart[apart >= LEAST_DISTANCE]
    suggested, why = suggest_tau(np.concatenate([at_start, others]))
    chosen = tau or suggested
    met = (apart < chosen).any(axis=0)
    return {
        "suggested_tau": suggested, "why": why, "tau": chosen,
        "false_positive_rate": float(met.mean()), "consoles": consoles,
        "seconds": round(steps * codec.frames_per_step / FRAMES_PER_SECOND, 1),
        "nearest": round(float(apart.min()), 5),
        "nearest_start": round(float(at_start.min()), 5),
        "median": round(float(np.median(apart)), 5),
    }  # fmt: skip


def _random_play(
    emulator: Emulator,
    goal: GoalPictures,
    codec: Codec,
    steps: int,
    seed: int,
    on_progress: Callable[[float], None],
) -> np.ndarray:
    """f32[steps, N]: the distance of every console after each of its random steps."""
    rng = np.random.default_rng(seed)
    masks = np.array(codec.masks, np.uint8)
    apart = np.empty((steps, emulator.num_envs), np.float32)
    for step in range(steps):
        if step % 8 == 0:
            on_progress(step / steps)
        actions = rng.integers(len(masks), size=emulator.num_envs)
        emulator.run(masks[actions], codec.frames_per_step, codec.release_after_frames)
        apart[step] = goal.distances(emulator.observations().numpy())
    return apart
