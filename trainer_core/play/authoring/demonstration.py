"""A way to the goal, kept with the task: demo.npz, playable bit for bit.

demo.npz   the start states of all demonstrations (emulator.state.snapshot_set), `masks` u8[F] the
           joypad mask of each frame, one demonstration after another, `frames` i64[D] their lengths
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from emulator import Cartridge, Emulator, EmulatorError, Snapshot
from emulator.state.npz import ArchiveError, Wanted, read_arrays
from emulator.state.snapshot_set import load_snapshots, save_snapshots
from trainer_core.play.authoring.inputs import MAX_FRAMES, Inputs
from trainer_core.protocol.errors import TaskError
from trainer_core.protocol.tasks import Codec

FILE = "demo.npz"
ARRAYS = {"masks": Wanted("u", (1,), 32 << 20), "frames": Wanted("i", (1,), 8 << 12)}


@dataclass(frozen=True, slots=True)
class Demonstration:
    """From `start`, one joypad mask a frame."""

    start: Snapshot
    masks: np.ndarray
    """u8[F]"""


@dataclass(frozen=True, slots=True)
class Trace:
    """What a demonstration passes at the ends of its steps; entry 0 is its start."""

    pictures: np.ndarray
    """u8[S + 1, 72, 80]"""
    states: list[Snapshot]


def step_screen(cartridge: Cartridge, state: Snapshot) -> np.ndarray:
    """u8[144, 160] what the screen shows in `state`."""
    emulator = Emulator(cartridge, 1, "cpu")
    emulator.restore(state)
    return emulator.screens.numpy()[0]


def play_inputs(cartridge: Cartridge, inputs: Inputs, codec: Codec) -> Trace:
    """Play `inputs`; the states at `inputs.first_step` and after each whole step from there.

    Raises TaskError when they are of another ROM.
    """
    emulator = Emulator(cartridge, 1, "cpu")
    if inputs.start is not None:
        try:
            emulator.restore(inputs.start)
        except EmulatorError as error:
            raise TaskError(f"{inputs.source}: {error}") from None
    held = np.zeros(1, np.uint8)
    for mask in inputs.masks[: inputs.first_step]:
        held[0] = mask
        emulator.run(held, 1)
    pictures, states = [emulator.observations().numpy()[0].copy()], [emulator.snapshot()]
    rest = inputs.masks[inputs.first_step :]
    for step in range(len(rest) // codec.frames_per_step):
        begun = step * codec.frames_per_step
        for mask in rest[begun : begun + codec.frames_per_step]:
            held[0] = mask
            emulator.run(held, 1)
        pictures.append(emulator.observations().numpy()[0].copy())
        states.append(emulator.snapshot())
    return Trace(np.stack(pictures), states)


def play_demonstration(cartridge: Cartridge, demo: Demonstration, codec: Codec) -> Trace:
    return play_inputs(cartridge, Inputs(demo.masks, demo.start, FILE), codec)


def save_demonstrations(path: Path, demos: list[Demonstration]) -> None:
    """Whole or not at all."""
    save_snapshots(
        path,
        [demo.start for demo in demos],
        masks=np.concatenate([demo.masks for demo in demos]),
        frames=np.array([len(demo.masks) for demo in demos]),
    )


def load_demonstrations(path: Path) -> list[Demonstration]:
    """Raises TaskError naming the file and what is wrong with it."""
    try:
        starts = load_snapshots(path)
        data = read_arrays(path, ARRAYS)
    except EmulatorError as error:
        raise TaskError(str(error)) from None
    except (OSError, ArchiveError) as error:
        raise TaskError(f"{path}: holds no demonstrations: {error}") from None
    masks, frames = data["masks"], data["frames"]
    if (
        masks.dtype != np.uint8
        or len(frames) != len(starts)
        or not ((frames > 0) & (frames <= MAX_FRAMES)).all()
    ):
        raise TaskError(f"{path}: demonstrations, lengths and start states do not fit together")
    if frames.sum() != len(masks):
        raise TaskError(
            f"{path}: {len(masks)} frames where its demonstrations have {frames.sum()}: cut short"
        )
    parts = np.split(masks, np.cumsum(frames)[:-1])
    return [Demonstration(start, part) for start, part in zip(starts, parts, strict=True)]
