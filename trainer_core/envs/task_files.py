"""The goal templates of a task folder; start states are `emulator.state.snapshot_set`'s files.

goal.npz   templates u8[G, 72, 80], and optionally mask, bool or u8 0 and 1: pixels that count,
           [72, 80] for all templates or [G, 72, 80] with one for each
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np

from trainer_core.protocol.errors import TaskError
from trainer_core.protocol.shades import MAX_SHADE

SHAPE = (72, 80)
MAX_GOAL_BYTES = 8 << 20
"""A goal file is a few templates; a larger one would be read whole before its shape is known."""


def save_goal(path: Path, templates: np.ndarray, mask: np.ndarray | None = None) -> None:
    """Write goal templates u8[G, 72, 80], whole or not at all; without `mask` all pixels count."""
    partial = path.with_name(path.name + ".tmp")
    arrays = {"templates": templates} if mask is None else {"templates": templates, "mask": mask}
    with partial.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    partial.replace(path)


def load_goal(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """(templates u8[G, 72, 80], mask bool[G, 72, 80]); one mask of the file serves all templates.

    Raises TaskError naming the file.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > MAX_GOAL_BYTES:
                raise TaskError(f"{path}: larger than {MAX_GOAL_BYTES >> 20} MiB: no goal file")
        with np.load(path, allow_pickle=False) as data:
            templates = data["templates"]
            mask = data["mask"] if "mask" in data else np.ones(templates.shape, dtype=bool)
    except OSError as error:
        raise TaskError(f"{path}: {error.strerror or error}") from None
    except (ValueError, KeyError, zipfile.BadZipFile, EOFError, AttributeError, MemoryError,
            NotImplementedError, RuntimeError, struct.error, zlib.error) as error:  # fmt: skip
        reason = "no .npz file" if "pickled" in str(error) else str(error).splitlines()[0]
        raise TaskError(f"{path}: holds no goal templates: {reason}") from None
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
