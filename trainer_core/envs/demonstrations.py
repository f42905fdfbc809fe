"""Demonstrations stored with a task, and the states that they pass: demo.npz.

demo.npz   the start states of all demonstrations (emulator.state.snapshot), `masks` u8[F] the
           joypad mask of each frame, one demonstration after another, `frames` i64[D] their lengths

Training begins a share of its episodes at states along them (Salimans and Chen 2018, arXiv:1812.03381): those near the
goal are learned first, then earlier ones. Policy and reward use no other data than before; validation and tests begin
at the task's own starts only.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from emulator import Cartridge, Emulator, EmulatorError, Snapshot
from emulator.state.npz import ArchiveError, Wanted, read_arrays
from emulator.state.snapshot import load_snapshots
from trainer_core.envs.preparing import Preparing, silent
from trainer_core.lab.tasks import Codec, Task, verify_file
from trainer_core.wire.errors import TaskError

MAX_DEMO_FRAMES = 216_000
"""Frames of one demonstration: an hour of play."""
MOST_FRAMES = 4 * MAX_DEMO_FRAMES
"""Frames of all demonstrations of a task together: they are played when a run begins."""
MOST_STATES = 10_000
"""States along them: one a step, each of up to 40 KiB. An hour of play has 9,000 steps of 24 frames."""
ARRAYS = {"masks": Wanted("u", (1,), 32 << 20), "frames": Wanted("i", (1,), 8 << 12)}


@dataclass(frozen=True, slots=True)
class Demonstration:
    """Demonstration of a task: a start state, and the joypad mask of each frame after it."""

    start: Snapshot
    masks: np.ndarray
    """u8[F] joypad mask of each frame."""


def play_actions(actions: np.ndarray, codec: Codec) -> np.ndarray:
    """Return u8[F], the joypad mask of each frame when an agent chooses `actions` i64[S], one a step."""
    frames = np.zeros((len(actions), codec.frames_per_step), np.uint8)
    frames[:, : codec.release_after_frames] = np.array(codec.masks, np.uint8)[actions][:, None]
    return frames.reshape(-1)


def load_demonstrations(path: Path) -> list[Demonstration]:
    """Return the demonstrations in a file. Raises TaskError naming the file and the fault."""
    try:
        starts = load_snapshots(path)
        data = read_arrays(path, ARRAYS)
    except EmulatorError as error:
        raise TaskError(str(error)) from None
    except (OSError, ArchiveError) as error:
        raise TaskError(f"{path}: holds no demonstrations: {error}") from None
    masks, frames = data["masks"], data["frames"]
    whole = masks.dtype == np.uint8 and len(frames) == len(starts)
    if not whole or not ((frames > 0) & (frames <= MAX_DEMO_FRAMES)).all():
        raise TaskError(f"{path}: demonstrations, lengths and start states do not fit together")
    if frames.sum() > MOST_FRAMES:
        raise TaskError(
            f"{path}: {frames.sum():,} frames of demonstrations, {MOST_FRAMES:,} at most: make it "
            "anew of fewer (`dmglab task demo`)"
        )
    if frames.sum() != len(masks):
        raise TaskError(f"{path}: {len(masks)} frames where its demonstrations have {frames.sum()}: cut short")
    parts = np.split(masks, np.cumsum(frames)[:-1])
    return [Demonstration(start, part) for start, part in zip(starts, parts, strict=True)]


def task_demonstrations(task: Task) -> list[Demonstration]:
    """Return the task's demonstrations, if any. Raises TaskError if the file's hash does not match."""
    demo = task.manifest.demo
    if demo is None or task.demo_path is None:
        return []
    verify_file(task.demo_path, demo.sha256, "file of demonstrations")
    return load_demonstrations(task.demo_path)


def states_along(
    cartridge: Cartridge, demos: list[Demonstration], codec: Codec, device: str, tell: Preparing | None = None
) -> list[Snapshot]:
    """Play `demos`; return the states at the beginning of each of their complete steps, and at their ends.

    Raises TaskError for a demonstration of another ROM, and for more steps than fit into memory.
    """
    if not demos:
        return []
    frames = codec.frames_per_step
    steps = [len(demo.masks) // frames for demo in demos]
    count, tell = sum(steps) + len(steps), tell or silent()
    if count > MOST_STATES:
        raise TaskError(
            f"the task's demonstrations pass {count:,} states, one each {frames} frames; "
            f"{MOST_STATES:,} at most: make them anew and shorter (`dmglab task demo`), or train "
            "with --demo-starts 0"
        )
    emulator = Emulator(cartridge, len(demos), device)
    for env, demo in enumerate(demos):  # in one batch: a GPU takes as long for one as for all
        try:
            emulator.restore(demo.start, env)
        except EmulatorError as error:
            raise TaskError(f"a demonstration cannot be played: {error}") from None
    masks = np.zeros((max(steps, default=0) * frames, len(demos)), np.uint8)
    for env, demo in enumerate(demos):
        masks[: steps[env] * frames, env] = demo.masks[: steps[env] * frames]
    found = [[demo.start] for demo in demos]
    for step in range(max(steps, default=0)):
        held = masks[step * frames : (step + 1) * frames]
        changes = np.flatnonzero((held[1:] != held[:-1]).any(1)) + 1
        for some in np.split(held, changes):
            emulator.run(some[0], len(some))
        playing = [env for env in range(len(demos)) if step < steps[env]]
        for env, state in zip(playing, emulator.snapshots(playing), strict=True):
            found[env].append(state)
        tell("states along the demonstrations", sum(map(len, found)), count)
    return list(itertools.chain.from_iterable(found))
