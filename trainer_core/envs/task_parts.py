"""The files of a task, verified and loaded: what every environment of it is assembled from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emulator import Cartridge, Snapshot
from trainer_core.envs.preparing import Preparing
from trainer_core.envs.roms import load_rom
from trainer_core.envs.start_states import load_starts
from trainer_core.envs.task_files import load_goal
from trainer_core.protocol.errors import TaskError
from trainer_core.protocol.paths import HomePaths
from trainer_core.protocol.tasks import Task, verify_file


class TaskParts(NamedTuple):
    cartridge: Cartridge
    starts: list[Snapshot]
    """As many as the manifest says, in its order."""
    templates: np.ndarray
    """u8[G, 72, 80] pictures that mean success."""
    mask: np.ndarray
    """bool[G, 72, 80] pixels of them that count."""


def load_task_parts(task: Task, home: HomePaths, tell: Preparing | None = None) -> TaskParts:
    """Raises TaskError when ROM, starts or goal are missing or not the manifest's."""
    manifest = task.manifest
    verify_file(task.starts_path, manifest.starts.sha256, "file of start states")
    verify_file(task.goal_path, manifest.goal.sha256, "goal template")
    cartridge = load_rom(task, home)
    starts = load_starts(task, cartridge, tell)
    if len(starts) != manifest.starts.count:
        raise TaskError(
            f"{task.starts_path}: {len(starts)} start states, "
            f"the manifest says {manifest.starts.count}"
        )
    return TaskParts(cartridge, starts, *load_goal(task.goal_path))
