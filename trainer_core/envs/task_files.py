"""The goal templates of a task folder; start states are `emulator.state.snapshot`'s files.

goal.npz   templates u8[G, 72, 80], and optionally mask, bool or u8 0 and 1: pixels that count,
           [72, 80] for all templates or [G, 72, 80] with one for each; a captured one has later
           u8[K, 72, 80] too, what was seen after it while nothing was pressed
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from emulator.rom.regular_file import reason, replacing
from emulator.state.npz import ArchiveError, Wanted, read_arrays
from trainer_core.protocol.errors import TaskError
from trainer_core.protocol.shades import MAX_SHADE

SHAPE = (72, 80)
MAX_GOAL_BYTES = 8 << 20
"""A goal is a few templates; some 1,400 would fit."""
ARRAYS = {
    "templates": Wanted("buif", (0, 1, 2, 3, 4), MAX_GOAL_BYTES),
    "mask": Wanted("buif", (0, 1, 2, 3, 4), MAX_GOAL_BYTES, optional=True),
}
"""Of more kinds and dimensions than are taken, so that the error says what was found."""


def save_goal(
    path: Path,
    templates: np.ndarray,
    mask: np.ndarray | None = None,
    later: np.ndarray | None = None,
) -> None:
    """Write goal templates u8[G, 72, 80], whole or not at all; without `mask` all pixels count.

    Raises OSError.
    """
    given = {"templates": templates, "mask": mask, "later": later}
    arrays = {name: array for name, array in given.items() if array is not None}
    with replacing(path) as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


def load_goal(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """(templates u8[G, 72, 80], mask bool[G, 72, 80]); one mask of the file serves all templates.

    Raises TaskError naming the file.
    """
    try:
        data = read_arrays(path, ARRAYS)
    except OSError as error:
        raise TaskError(f"{path}: cannot be read ({reason(error)})") from None
    except ArchiveError as error:
        raise TaskError(
            f"{path}: holds no goal templates ({error}); capture the goal anew"
        ) from None
    templates = data["templates"]
    mask = data.get("mask", np.ones(templates.shape, dtype=bool))
    if templates.ndim != 3 or templates.shape[1:] != SHAPE or not len(templates):
        raise TaskError(f"{path}: templates of shape {templates.shape}, expected (G, 72, 80)")
    if templates.dtype != np.uint8 or templates.max() > MAX_SHADE:
        raise TaskError(f"{path}: templates must be uint8 shades 0 to {MAX_SHADE}")
    if mask.shape not in (SHAPE, templates.shape):
        raise TaskError(
            f"{path}: a mask of shape {mask.shape}, expected (72, 80) or {templates.shape}"
        )
    if mask.dtype not in (np.bool_, np.uint8):
        raise TaskError(f"{path}: the mask must be bool or uint8, not {mask.dtype}")
    if mask.max() > 1:
        raise TaskError(f"{path}: the mask must hold 0 and 1, not {mask.max()}")
    mask = np.broadcast_to(mask.astype(bool), templates.shape)
    if not mask.any(axis=(1, 2)).all():
        raise TaskError(f"{path}: a mask keeps no pixel")
    return templates, mask
