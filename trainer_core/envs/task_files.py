"""The goal templates of a task folder; start states are `emulator.snapshot_set`'s files.

goal.npz   templates u8[G, 72, 80], and optionally mask bool[G, 72, 80]: pixels that count
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from trainer_core.protocol.errors import TaskError

SHAPE = (72, 80)


def save_goal(path: Path, templates: np.ndarray, mask: np.ndarray | None = None) -> None:
    """Write goal templates u8[G, 72, 80], whole or not at all; without `mask` all pixels count."""
    partial = path.with_name(path.name + ".tmp")
    arrays = {"templates": templates} if mask is None else {"templates": templates, "mask": mask}
    with partial.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    partial.replace(path)


def load_goal(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """(templates u8[G, 72, 80], mask bool[G, 72, 80]). Raises TaskError naming the file."""
    try:
        with np.load(path, allow_pickle=False) as data:
            templates = data["templates"]
            mask = data["mask"] if "mask" in data else np.ones(templates.shape, dtype=bool)
    except OSError as error:
        raise TaskError(f"{path}: {error.strerror or error}") from None
    except (ValueError, KeyError, zipfile.BadZipFile, EOFError) as error:
        raise TaskError(f"{path}: holds no goal templates: {error}") from None
    if templates.ndim != 3 or templates.shape[1:] != SHAPE or mask.shape != templates.shape:
        raise TaskError(f"{path}: templates of shape {templates.shape}, expected (G, 72, 80)")
    if templates.dtype != np.uint8 or templates.max() > 3:
        raise TaskError(f"{path}: templates must be uint8 shades 0 to 3")
    if not mask.any(axis=(1, 2)).all():
        raise TaskError(f"{path}: a mask keeps no pixel")
    return templates, mask.astype(bool)
