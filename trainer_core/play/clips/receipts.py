"""Conversion of a run's failure receipt to a recording that opens at the faulty step."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta

from emulator.state.npz import Wanted, read_arrays
from trainer_core.lab.recording import MAX_FRAMES, RecordedStep
from trainer_core.play.clips.writer import ClipWriter
from trainer_core.wire.buttons import ALL_MASKS
from trainer_core.wire.decoding import parsing, read_loose_json

RECEIPT, STEPS = "receipt.json", "last_steps.npz"
FRAMES_PER_STEP, RELEASE_AFTER = 24, 8
MOST_CONSOLES = 256
MOST_PICTURES, MOST_NUMBERS = 1 << 26, 1 << 20
"""Maximum bytes of one array; ours have 3 MB and 4 KB."""
WANTED = {
    "pictures": Wanted("u", (4,), MOST_PICTURES),
    "actions": Wanted("i", (2,), MOST_NUMBERS),
    **{name: Wanted("f", (2,), MOST_NUMBERS) for name in ("rewards", "values", "dist")},
    **{name: Wanted("b", (2,), MOST_NUMBERS) for name in ("done", "trunc", "success")},
}
Index = Annotated[int, Meta(ge=0, lt=MAX_FRAMES)]


class _Wrong(msgspec.Struct):
    step: Index
    env: Annotated[int, Meta(ge=0, lt=1 << 24)]
    what: str


class _Config(msgspec.Struct):
    task: str = ""


class Receipt(msgspec.Struct):
    """Parts of receipt.json that are read; host.receipts writes more."""

    error: str
    wrong: _Wrong
    config: _Config = msgspec.field(default_factory=_Config)


def receipt(folder: Path, out: Path) -> tuple[Path, str]:
    """Return (recording of its consoles side by side, description of the fault). Raises LabError."""
    told, kept = read_receipt(folder)
    wrong, error = told.wrong, told.error
    pictures, steps = kept["pictures"], len(kept["pictures"])
    consoles, height, width = pictures.shape[1:]
    across = next(n for n in range(1, 17) if n * n >= consoles)
    writer = ClipWriter(out, across * width, -(-consoles // across) * height, False)
    for step in range(steps):
        # The picture before a step; the one after it is the last frame of the step before.
        before = 0 if step == 0 else step * FRAMES_PER_STEP - (not kept["done"][step - 1, 0])
        writer.show(_side_by_side(pictures[step], across), before)
    writer.finish(
        steps * FRAMES_PER_STEP,
        _buttons(kept["actions"][:, 0]),
        _steps(kept),
        source=f"receipt {folder.name}: {error}",
        mode="sample",
        task=told.config.task,
        cursor=wrong.step * FRAMES_PER_STEP,
    )
    where = f"step {wrong.step + 1} of the last {steps}, console {wrong.env} (first in the picture)"
    return out, f"{error}; {wrong.what}: {where}"


def read_receipt(folder: Path) -> tuple[Receipt, dict[str, np.ndarray]]:
    """Return a receipt's contents and its arrays [steps, consoles]. Raises LabError."""
    with parsing(f"{folder}: no receipt that can be shown"):
        told = read_loose_json(folder / RECEIPT, Receipt)
        kept = read_arrays(folder / STEPS, WANTED)
        steps, consoles = kept["pictures"].shape[:2]
        shapes = {kept[name].shape for name in WANTED if name != "pictures"}
        if shapes != {(steps, consoles)} or told.wrong.step >= steps:
            raise ValueError("its arrays do not fit together")
        if consoles > MOST_CONSOLES or steps * FRAMES_PER_STEP > MAX_FRAMES:
            raise ValueError(f"{steps} steps of {consoles} consoles are too many to be shown")
        if kept["pictures"].dtype.itemsize != 1 or kept["pictures"].max() > 3:
            raise ValueError("its pictures have more than four shades")
    return told, kept


def _side_by_side(consoles: np.ndarray, across: int) -> np.ndarray:
    """Return pictures u8[n, H, W] arranged in rows of `across` in one picture, missing places light."""
    count, height, width = consoles.shape
    rows = -(-count // across)
    room = np.zeros((rows * across, height, width), np.uint8)
    room[:count] = consoles
    return room.reshape(rows, across, height, width).swapaxes(1, 2).reshape(rows * height, -1)


def _buttons(actions: np.ndarray) -> bytes:
    """Return the first console's joypad masks, frame by frame."""
    held = np.zeros((len(actions), FRAMES_PER_STEP), np.uint8)
    masks = np.array(ALL_MASKS, np.uint8)[np.clip(actions, 0, len(ALL_MASKS) - 1)]
    held[:, :RELEASE_AFTER] = masks[:, None]
    return held.tobytes()


def _steps(kept: dict[str, np.ndarray]) -> list[RecordedStep]:
    """Return the first console's steps, without non-finite numbers."""
    found, number = [], 0
    for step in range(len(kept["actions"])):
        number += 1
        reward, value, dist = (float(kept[name][step, 0]) for name in ("rewards", "values", "dist"))
        found.append(
            RecordedStep(
                step=number,
                first_frame=step * FRAMES_PER_STEP,
                last_frame=(step + 1) * FRAMES_PER_STEP - 1,
                action=int(kept["actions"][step, 0]),
                reward=reward if np.isfinite(reward) else 0.0,
                dist=dist if np.isfinite(dist) else 0.0,
                value=value if np.isfinite(value) else None,
                success=bool(kept["success"][step, 0]),
                done=bool(kept["done"][step, 0]),
                trunc=bool(kept["trunc"][step, 0]),
            )
        )
        number = 0 if kept["done"][step, 0] or kept["trunc"][step, 0] else number
    return found
