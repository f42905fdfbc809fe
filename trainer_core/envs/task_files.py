"""Goal templates and other parts of a task folder; `emulator.state.snapshot` reads the start states.

goal.npz   templates u8[G, 72, 80], and optionally mask, bool or u8 0 and 1: pixels that count,
           [72, 80] for all templates or [G, 72, 80] with one for each; a captured goal also has
           later u8[K, 72, 80], the pictures seen after it while nothing was pressed
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from emulator import Cartridge, EmulatorError, Snapshot
from emulator.rom.regular_file import reason, replacing
from emulator.state.npz import ArchiveError, Wanted, read_arrays
from trainer_core.envs.preparing import Preparing
from trainer_core.envs.start_states import load_starts
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.roms import REGISTER, rom_path
from trainer_core.lab.tasks import Task, verify_file, verify_goal
from trainer_core.wire.errors import TaskError
from trainer_core.wire.shades import MAX_SHADE

SHAPE = (72, 80)
NO_TEMPLATES = np.full((1, *SHAPE), MAX_SHADE, np.uint8), np.ones((1, *SHAPE), bool)
"""Templates and mask of a score task: a dark picture, of which no distance is below its tau of 0."""
MAX_GOAL_BYTES = 8 << 20
"""Greatest size of a goal file; some 1,400 templates fit, a goal has a few."""
ARRAYS = {
    "templates": Wanted("buif", (0, 1, 2, 3, 4), MAX_GOAL_BYTES),
    "mask": Wanted("buif", (0, 1, 2, 3, 4), MAX_GOAL_BYTES, optional=True),
}
"""Arrays of more kinds and dimensions than are accepted, so that the error names what was found."""


def save_goal(
    path: Path, templates: np.ndarray, mask: np.ndarray | None = None, later: np.ndarray | None = None
) -> None:
    """Write goal templates u8[G, 72, 80] atomically; without `mask` all pixels count.

    Raises OSError.
    """
    given = {"templates": templates, "mask": mask, "later": later}
    arrays = {name: array for name, array in given.items() if array is not None}
    with replacing(path) as file:
        np.savez_compressed(file, **arrays)


def load_goal(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return (templates u8[G, 72, 80], mask bool[G, 72, 80]); a single mask in the file applies to all.

    Raises TaskError naming the file.
    """
    try:
        data = read_arrays(path, ARRAYS)
    except OSError as error:
        raise TaskError(f"{path}: cannot be read ({reason(error)})") from None
    except ArchiveError as error:
        raise TaskError(f"{path}: holds no goal templates ({error}); capture the goal anew") from None
    templates = data["templates"]
    mask = data.get("mask", np.ones(templates.shape, dtype=bool))
    if templates.ndim != 3 or templates.shape[1:] != SHAPE or not len(templates):
        raise TaskError(f"{path}: templates of shape {templates.shape}, expected (G, 72, 80)")
    if templates.dtype != np.uint8 or templates.max() > MAX_SHADE:
        raise TaskError(f"{path}: templates must be uint8 shades 0 to {MAX_SHADE}")
    if mask.shape not in (SHAPE, templates.shape):
        raise TaskError(f"{path}: a mask of shape {mask.shape}, expected (72, 80) or {templates.shape}")
    if mask.dtype not in (np.bool_, np.uint8):
        raise TaskError(f"{path}: the mask must be bool or uint8, not {mask.dtype}")
    if mask.max() > 1:
        raise TaskError(f"{path}: the mask must hold 0 and 1, not {mask.max()}")
    mask = np.broadcast_to(mask.astype(bool), templates.shape)
    if not mask.any(axis=(1, 2)).all():
        raise TaskError(f"{path}: a mask keeps no pixel")
    return templates, mask


def load_rom(task: Task, home: HomePaths) -> Cartridge:
    """Return the cartridge of a task. Raises TaskError when it is missing or another ROM."""
    wanted = task.manifest.rom.sha256
    path = rom_path(task, home)
    way_out = "" if task.rom_path else f"; register your copy anew with `{REGISTER}`"
    try:
        cartridge = Cartridge.from_file(path)
    except EmulatorError as error:
        raise TaskError(f"task {task.id}: {error}{way_out}") from None
    if cartridge.sha256 != wanted:
        raise TaskError(
            f"{path}: SHA-256 {cartridge.sha256[:12]}..., task {task.id} was made for {wanted[:12]}...{way_out}"
        )
    return cartridge


class TaskParts(NamedTuple):
    cartridge: Cartridge
    starts: list[Snapshot]
    """Start states, as many as in the manifest, in its order."""
    templates: np.ndarray
    """u8[G, 72, 80] goal pictures."""
    mask: np.ndarray
    """bool[G, 72, 80] pixels of them that count."""


def load_task_parts(task: Task, home: HomePaths, tell: Preparing | None = None) -> TaskParts:
    """Load a task's files. Raises TaskError when ROM, starts or goal are missing or differ from the manifest."""
    manifest = task.manifest
    verify_file(task.starts_path, manifest.starts.sha256, "file of start states")
    verify_goal(task)
    cartridge = load_rom(task, home)
    starts = load_starts(task, cartridge, tell)
    if len(starts) != manifest.starts.count:
        raise TaskError(f"{task.starts_path}: {len(starts)} start states, the manifest says {manifest.starts.count}")
    return TaskParts(cartridge, starts, *(load_goal(task.goal_path) if manifest.has_goal else NO_TEMPLATES))
