"""Start and goal of a task as pictures, read from its files."""

from __future__ import annotations

import contextlib
import io
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trainer_core.lab.paths import HomePaths
from trainer_core.lab.task_lists import split_tasks
from trainer_core.lab.tasks import known_task
from trainer_core.wire.decoding import open_zip, parsing
from trainer_core.wire.errors import LabError
from trainer_core.wire.regular_files import read_regular

OBSERVATION = (72, 80)
MAX_SHADE = 3


@dataclass(frozen=True, slots=True)
class TaskPictures:
    start: np.ndarray
    """First start state, u8[72, 80] of shades 0 to 3, as the policy sees it."""
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
        start = read_first_picture(found.starts_path, "pictures")
        template = read_first_picture(found.goal_path, "templates")
        if start.max() <= MAX_SHADE and template.max() <= MAX_SHADE:
            horizon = found.manifest.episode.horizon
            return TaskPictures(start, template, starts.count, starts.heldout, goal.tau, horizon)
    return None


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
