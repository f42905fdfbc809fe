"""Replay of demonstrations on the console, and their saving; envs/demonstrations.py reads the file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from emulator import Cartridge, Emulator, EmulatorError, Snapshot
from emulator.state.snapshot import save_snapshots
from trainer_core.author.inputs import Inputs, steps_of
from trainer_core.envs.demonstrations import Demonstration, task_demonstrations
from trainer_core.envs.judge import Judge
from trainer_core.envs.preparing import Preparing, silent
from trainer_core.envs.scoring import task_rules
from trainer_core.envs.task_files import TaskParts
from trainer_core.lab.tasks import Codec, Task
from trainer_core.wire.errors import TaskError

FILE = "demo.npz"


@dataclass(frozen=True, slots=True)
class Trace:
    """Pictures and states at the ends of a demonstration's steps; entry 0 is its start."""

    pictures: np.ndarray
    """u8[S + 1, 72, 80]"""
    states: list[Snapshot]


def step_screen(cartridge: Cartridge, state: Snapshot) -> np.ndarray:
    """Restore `state` on a console and return its screen, shades u8[144, 160]."""
    emulator = Emulator(cartridge, 1, "cpu")
    emulator.restore(state)
    return emulator.screens.numpy()[0]


def play_inputs(cartridge: Cartridge, inputs: Inputs, codec: Codec, tell: Preparing | None = None) -> Trace:
    """Play `inputs` on a new console; return the states at `inputs.first_step` and after each whole step from there.

    Raises TaskError when the inputs belong to another ROM.
    """
    emulator = Emulator(cartridge, 1, "cpu")
    if inputs.start is not None:
        try:
            emulator.restore(inputs.start)
        except EmulatorError as error:
            raise TaskError(f"{inputs.source}: {error}") from None
    held = np.zeros(1, np.uint8)
    tell, frames = tell or silent(), len(inputs.masks)
    for frame, mask in enumerate(inputs.masks[: inputs.first_step]):
        held[0] = mask
        emulator.run(held, 1)
        tell(f"the frames of {Path(inputs.source).name}", frame, frames)
    pictures, states = [emulator.observations().numpy()[0].copy()], [emulator.snapshot()]
    rest = inputs.masks[inputs.first_step :]
    for step in range(len(rest) // codec.frames_per_step):
        begun = step * codec.frames_per_step
        tell(f"the frames of {Path(inputs.source).name}", inputs.first_step + begun, frames)
        for mask in rest[begun : begun + codec.frames_per_step]:
            held[0] = mask
            emulator.run(held, 1)
        pictures.append(emulator.observations().numpy()[0].copy())
        states.append(emulator.snapshot())
    return Trace(np.stack(pictures), states)


def play_demonstration(cartridge: Cartridge, demo: Demonstration, codec: Codec, tell: Preparing | None = None) -> Trace:
    """Play a demonstration's buttons on a new console; return pictures and states after each step. Raises LabError."""
    return play_inputs(cartridge, Inputs(demo.masks, demo.start, FILE), codec, tell)


def save_demonstrations(path: Path, demos: list[Demonstration]) -> None:
    """Save demonstrations atomically."""
    save_snapshots(
        path,
        [demo.start for demo in demos],
        masks=np.concatenate([demo.masks for demo in demos]),
        frames=np.array([len(demo.masks) for demo in demos]),
    )


@dataclass(frozen=True, slots=True)
class Replay:
    """One demonstration, replayed and judged by a task's rules."""

    pictures: np.ndarray
    """u8[S + 1, 72, 80]"""
    actions: np.ndarray
    """i64[S], the action of each step, -1 for none."""
    done: int | None
    """Step in which the goal is reached, from 1; None if it is not."""


def replay_demonstrations(task: Task, parts: TaskParts, tell: Preparing | None = None) -> list[Replay]:
    """Play and judge each demonstration of a task. Raises LabError."""
    demos = task_demonstrations(task)
    return [_replay(task, parts.cartridge, parts, demo, tell) for demo in demos]


def _replay(task: Task, cartridge: Cartridge, parts: TaskParts, demo: Demonstration, tell: Preparing | None) -> Replay:
    pictures = play_demonstration(cartridge, demo, task.manifest.codec, tell).pictures
    done = done_step(task, pictures, parts.templates, parts.mask)
    return Replay(pictures, steps_of(demo.masks, task.manifest.codec), done)


def done_step(task: Task, pictures: np.ndarray, templates: np.ndarray, mask: np.ndarray) -> int | None:
    """Return the number, from 1, of the step whose picture reaches the goal; None if none does.

    `pictures` is u8[S + 1, 72, 80], the first before any step. Ignores the horizon.
    """
    rules = task_rules(task.manifest)._replace(horizon=len(pictures) + 1)
    judge = Judge(templates, mask, task.manifest.goal.distance, rules)
    judge.begin(pictures[0])
    for step, picture in enumerate(pictures[1:], 1):
        if judge.judge(picture)[1]:
            return step
    return None
