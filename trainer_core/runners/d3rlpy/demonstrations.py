"""Training data of d3rlpy: recorded play as episodes, and as a Minari dataset.

Recordings hold buttons. Pictures are made by playing the buttons again, and judged by the task's own rules.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from emulator import Cartridge
from trainer_core.author.demonstration import play_inputs
from trainer_core.author.inputs import Inputs, read_inputs, steps_of
from trainer_core.author.minari_export import episode_buffer, load_minari, score_pictures, write_dataset
from trainer_core.envs.demonstrations import load_demonstrations
from trainer_core.envs.task_files import SHAPE, load_rom
from trainer_core.lab.checkpoint_manifest import file_sha256
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.recording import list_recordings
from trainer_core.lab.tasks import Task, find_task
from trainer_core.runners.d3rlpy.runner import HDF5, describe_data
from trainer_core.wire.buttons import ACTIONS
from trainer_core.wire.environment import tell_libraries
from trainer_core.wire.errors import ConfigError, LabError
from trainer_core.wire.shades import MAX_SHADE

DATASET = "dmglab/demonstrations-v0"


@dataclass(frozen=True, slots=True)
class Episode:
    """Recorded play from a start to the goal, or to the end of the recording."""

    pictures: np.ndarray
    """u8[S + 1, 72, 80] shades"""
    actions: np.ndarray
    """i64[S]"""
    rewards: np.ndarray
    """f32[S]"""
    success: bool


def make_dataset(
    data: str, task_id: str, home: HomePaths, folder: Path, *, limit: int, sha256: str
) -> tuple[Path, str]:
    """Return the folder of the Minari dataset to train on, and its SHA-256.

    `data` is a dataset, or recordings or a demo.npz whose first `limit` (0 = all) are written as a dataset below
    `folder`. Raises LabError naming the unusable part.
    """
    if (folder / DATASET / HDF5).is_file():  # written by an earlier process of this run
        source = folder / DATASET
    else:
        describe_data(data)
        source = Path(data).expanduser()
    if not (source / HDF5).is_file():
        task = find_task(task_id, home)
        episodes = _recorded_episodes(source, task, load_rom(task, home))
        source = write_minari([e for e in episodes if e.success][: limit or None], task, folder)
    found = file_sha256(source / HDF5)
    if sha256 and found != sha256:
        raise ConfigError(
            f"{source / HDF5}: SHA-256 is {found[:12]}..., {sha256[:12]}... was asked for: take "
            "the dataset that was meant, or leave data_sha256 empty"
        )
    return source, found


def write_minari(episodes: list[Episode], task: Task, folder: Path) -> Path:
    """Write a dataset below the new folder `folder` atomically; return the dataset's folder.

    Raises ConfigError when there is no episode.
    """
    if not episodes:
        raise ConfigError(f"no demonstration reaches the goal of {task.id}: nothing to learn from")
    _, collector, _ = load_minari()
    buffers = [
        episode_buffer(
            collector,
            number,
            episode.pictures,
            episode.actions,
            episode.rewards.tolist(),
            [False] * (len(episode.actions) - 1) + [episode.success],
        )
        for number, episode in enumerate(episodes)
    ]
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    tell_libraries(MINARI_DATASETS_PATH=str(partial))
    write_dataset(DATASET, task, buffers)
    partial.rename(folder)
    return folder / DATASET


def read_minari(folder: Path, limit: int = 0) -> list[Episode]:
    """Return the episodes of a Minari dataset. Raises ConfigError naming what does not fit a task."""
    minari, _, _ = load_minari()
    try:
        stored = list(minari.MinariDataset(folder / HDF5.parent).iterate_episodes())
    except Exception as error:  # h5py, json and minari each raise their own, depending on the damage
        told = " ".join(str(error).split())[:200]
        raise ConfigError(f"{folder}: no Minari dataset that can be read: {told}") from None
    if not stored:
        raise ConfigError(f"{folder}: holds no episode")
    return [_checked(folder, row) for row in stored[: limit or None]]


def _checked(folder: Path, row: Any) -> Episode:
    pictures, actions = np.asarray(row.observations), np.asarray(row.actions)
    where = f"{folder}, episode {row.id}"
    if pictures.dtype != np.uint8 or pictures.shape[1:] != SHAPE or pictures.max() > MAX_SHADE:
        raise ConfigError(
            f"{where}: pictures {pictures.dtype}{list(pictures.shape)}; a dataset of ours has "
            f"shades 0 to {MAX_SHADE}, u8[S + 1, {SHAPE[0]}, {SHAPE[1]}]"
        )
    fits = actions.ndim == 1 and actions.dtype.kind in "iu" and len(pictures) == len(actions) + 1
    if not fits or not ((actions >= 0) & (actions < len(ACTIONS))).all():
        raise ConfigError(
            f"{where}: actions {actions.dtype}{list(actions.shape)}; one of 0 to "
            f"{len(ACTIONS) - 1} belongs to each step"
        )
    rewards = np.asarray(row.rewards, np.float32)
    return Episode(pictures, actions.astype(np.int64), rewards, bool(row.terminations[-1]))


def _recorded_episodes(source: Path, task: Task, cartridge: Cartridge) -> Iterator[Episode]:
    """Play each recording below a folder, or each demonstration of a file, again; yield the episodes."""
    codec = task.manifest.codec
    for inputs in _inputs(source, codec):
        trace = play_inputs(cartridge, inputs, codec)
        actions = steps_of(inputs.masks[inputs.first_step :], codec)
        if len(actions):
            yield _cut(task, trace.pictures, actions)


def _inputs(source: Path, codec: Any) -> Iterator[Inputs]:
    if source.is_file():
        for demo in load_demonstrations(source):
            yield Inputs(demo.masks, demo.start, str(source))
        return
    for folder in sorted(list_recordings(source)):
        yield from read_inputs(folder, codec)


def _cut(task: Task, pictures: np.ndarray, actions: np.ndarray) -> Episode:
    """Return the episode up to the goal, without the steps in which a person pressed nothing.

    No action expresses such a step; its reward is added to the step before it.
    """
    rewards, done = score_pictures(task, pictures)
    length = done.index(True) + 1 if any(done) else len(done)
    pressed = np.flatnonzero(actions[:length] >= 0)
    if not len(pressed):
        raise LabError(f"a recording of {task.id} holds no step with a button pressed")
    paid = np.add.reduceat(np.asarray(rewards[:length], np.float32), pressed)
    kept = np.append(pressed, length)
    return Episode(pictures[kept], actions[pressed], paid.astype(np.float32), any(done))
