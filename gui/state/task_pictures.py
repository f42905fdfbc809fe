"""Pictures in the files of tasks and captured goals; start and goal of a task."""

from __future__ import annotations

import contextlib
import io
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PySide6.QtGui import QImage

from trainer_core.lab.paths import HomePaths
from trainer_core.lab.task_lists import split_tasks
from trainer_core.lab.tasks import known_task
from trainer_core.wire.decoding import open_zip, parsing
from trainer_core.wire.errors import LabError
from trainer_core.wire.regular_files import read_regular

OBSERVATION, SCREEN = (72, 80), (144, 160)
SCREENS = ("start.png", "goal.png")
"""Whole screens in four greys at both ends of a demonstration, which the folder of a task may have."""
MAX_SHADE, MOST_PICTURES = 3, 180


@dataclass(frozen=True, slots=True)
class TaskPictures:
    start: np.ndarray
    """A start state, u8[H, W] of shades 0 to 3: the whole screen, or 72x80 as the policy sees the first one."""
    goal: np.ndarray | None
    """A goal picture; None in a score task."""
    starts: int
    held_out: int
    tau: float
    """Distance from the goal at which it counts as reached."""
    horizon: int
    """Most steps of an episode."""


def read_task_pictures(task: str, home: HomePaths) -> TaskPictures | None:
    """Return the pictures of a task, of a list's first task; None for one without such files."""
    with contextlib.suppress(LabError, IndexError):
        found = known_task(split_tasks(task)[0], home)
        if found is None:
            return None
        starts, goal = found.manifest.starts, found.manifest.goal
        if found.manifest.has_goal and (screens := _read_screens(found.folder)) is not None:
            start, template = screens
        else:
            start = read_pictures(found.starts_path, "pictures", 1)[0]
            template = read_pictures(found.goal_path, "templates", 1)[0] if found.manifest.has_goal else None
        if start.max() <= MAX_SHADE and (template is None or template.max() <= MAX_SHADE):
            horizon = found.manifest.episode.horizon
            return TaskPictures(start, template, starts.count, starts.heldout, goal.tau, horizon)
    return None


def _read_screens(folder: Path) -> tuple[np.ndarray, np.ndarray] | None:
    """Return start and goal as u8[144, 160] of shades; None if one of the files is missing or of another size."""
    if not all((folder / name).is_file() for name in SCREENS):
        return None
    found = [QImage.fromData(read_regular(folder / name)) for name in SCREENS]
    if any((image.height(), image.width()) != SCREEN for image in found):
        return None
    greys = [image.convertToFormat(QImage.Format.Format_Grayscale8) for image in found]
    start, goal = (np.array(grey.constBits(), np.uint8).reshape(SCREEN) for grey in greys)
    return (255 - start) // 85, (255 - goal) // 85


def read_pictures(path: Path, name: str, most: int = MOST_PICTURES, *, optional: bool = False) -> np.ndarray:
    """Return the first `most` pictures, u8[K, 72, 80], of the array `name` u8[N, 72, 80] in an .npz file.

    An array that is missing or empty has none if it is `optional`. Raises LabError.
    """
    with parsing(path), io.BytesIO(read_regular(path)) as file, open_zip(file) as archive:
        if optional and f"{name}.npy" not in archive.namelist():
            return np.empty((0, *OBSERVATION), np.uint8)
        with archive.open(f"{name}.npy") as member:
            if np.lib.format.read_magic(member) != (1, 0):
                raise ValueError(f"{name} of another version")
            shape, by_columns, dtype = np.lib.format.read_array_header_1_0(member)
            is_empty = not optional and 0 in shape
            if dtype != np.uint8 or by_columns or len(shape) != 3 or shape[1:] != OBSERVATION or is_empty:
                raise ValueError(f"{name} of {dtype}{list(shape)}")
            count = min(shape[0], most)
            return np.frombuffer(member.read(count * math.prod(OBSERVATION)), np.uint8).reshape(count, *OBSERVATION)
