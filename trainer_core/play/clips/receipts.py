"""The receipt of a failed run as a recording that opens at the step where it went wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from emulator.state.npz import ArchiveError, Wanted, read_arrays
from trainer_core.play.clips.writer import ClipWriter
from trainer_core.protocol.buttons import ALL_MASKS
from trainer_core.protocol.errors import LabError
from trainer_core.protocol.recording import RecordedStep
from trainer_core.protocol.regular_files import read_regular

RECEIPT, STEPS = "receipt.json", "last_steps.npz"
FRAMES_PER_STEP, RELEASE_AFTER = 24, 8
MOST = 1 << 26
WANTED = {
    "pictures": Wanted("u", (4,), MOST), "actions": Wanted("i", (2,), MOST),
    **{name: Wanted("f", (2,), MOST) for name in ("rewards", "values", "dist")},
    **{name: Wanted("b", (2,), MOST) for name in ("done", "trunc", "success")},
}  # fmt: skip


def receipt(folder: Path, out: Path) -> tuple[Path, str]:
    """(recording of its consoles side by side, what went wrong). Raises LabError."""
    try:
        told = json.loads(read_regular(folder / RECEIPT))
        kept = read_arrays(folder / STEPS, WANTED)
        wrong, error = told["wrong"], str(told["error"])
        pictures, steps = kept["pictures"], len(kept["pictures"])
        consoles, height, width = pictures.shape[1:]
        shapes = {kept[name].shape for name in WANTED if name != "pictures"}
        at, env = int(wrong["step"]), int(wrong["env"])
        if shapes != {(steps, consoles)} or not 0 <= at < steps:
            raise ValueError("its arrays do not fit together")
    except (OSError, ValueError, KeyError, TypeError, ArchiveError) as problem:
        raise LabError(f"{folder}: no receipt that can be shown: {problem}") from None
    across = next(n for n in range(1, 17) if n * n >= consoles)
    writer = ClipWriter(out, across * width, -(-consoles // across) * height, False)
    for step in range(steps):
        # The picture before a step; the one after it is the last frame of the step before.
        before = 0 if step == 0 else step * FRAMES_PER_STEP - (not kept["done"][step - 1, 0])
        writer.show(_side_by_side(pictures[step], across), before)
    writer.finish(
        steps * FRAMES_PER_STEP, _buttons(kept["actions"][:, 0]), _steps(kept),
        source=f"receipt {folder.name}: {error}", mode="sample",
        task=str(told.get("config", {}).get("task", "")),
        cursor=at * FRAMES_PER_STEP,
    )  # fmt: skip
    where = f"step {at + 1} of the last {steps}, console {env} (first in the picture)"
    return out, f"{error}; {wrong['what']}: {where}"


def _side_by_side(consoles: np.ndarray, across: int) -> np.ndarray:
    """u8[n, H, W] in rows of `across`, the rest of the last one light."""
    count, height, width = consoles.shape
    rows = -(-count // across)
    room = np.zeros((rows * across, height, width), np.uint8)
    room[:count] = consoles
    return room.reshape(rows, across, height, width).swapaxes(1, 2).reshape(rows * height, -1)


def _buttons(actions: np.ndarray) -> bytes:
    """What the first console pressed, frame by frame."""
    held = np.zeros((len(actions), FRAMES_PER_STEP), np.uint8)
    masks = np.array(ALL_MASKS, np.uint8)[np.clip(actions, 0, len(ALL_MASKS) - 1)]
    held[:, :RELEASE_AFTER] = masks[:, None]
    return held.tobytes()


def _steps(kept: dict[str, np.ndarray]) -> list[RecordedStep]:
    """The first console's; a number that is none is left out of it."""
    found, number = [], 0
    for step in range(len(kept["actions"])):
        number += 1
        reward, value, dist = (float(kept[name][step, 0]) for name in ("rewards", "values", "dist"))
        found.append(RecordedStep(
            step=number, first_frame=step * FRAMES_PER_STEP,
            last_frame=(step + 1) * FRAMES_PER_STEP - 1, action=int(kept["actions"][step, 0]),
            reward=reward if np.isfinite(reward) else 0.0, dist=dist if np.isfinite(dist) else 0.0,
            value=value if np.isfinite(value) else None, success=bool(kept["success"][step, 0]),
            done=bool(kept["done"][step, 0]), trunc=bool(kept["trunc"][step, 0]),
        ))  # fmt: skip
        number = 0 if kept["done"][step, 0] or kept["trunc"][step, 0] else number
    return found
