"""Start and goal of a task as pictures, read from its files."""

from __future__ import annotations

import contextlib
import io
import zipfile
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
MAX_SHADE = 3


@dataclass(frozen=True, slots=True)
class TaskPictures:
    start: np.ndarray
    """A start state, u8[H, W] of shades 0 to 3: the whole screen, or 72x80 as the policy sees the first one."""
    goal: np.ndarray
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
        if (screens := _read_screens(found.folder)) is not None:
            start, template = screens
        else:
            start = read_first_picture(found.starts_path, "pictures")
            template = read_first_picture(found.goal_path, "templates")
        if start.max() <= MAX_SHADE and template.max() <= MAX_SHADE:
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


def read_first_picture(path: Path, name: str) -> np.ndarray:
    """Return the first picture, u8[72, 80], of the array `name` u8[N, 72, 80] in an .npz file. Raises LabError."""
    with parsing(path), io.BytesIO(read_regular(path)) as file, open_zip(file) as archive:
        return _first(archive, name)


def _first(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    with archive.open(f"{name}.npy") as member:
        if np.lib.format.read_magic(member) != (1, 0):
            raise ValueError(f"{name} of another version")
        shape, by_columns, dtype = np.lib.format.read_array_header_1_0(member)
        if dtype != np.uint8 or by_columns or len(shape) != 3 or shape[1:] != OBSERVATION or not shape[0]:
            raise ValueError(f"{name} of {dtype}{list(shape)}")
        size = OBSERVATION[0] * OBSERVATION[1]
        return np.frombuffer(member.read(size), np.uint8).reshape(OBSERVATION)
