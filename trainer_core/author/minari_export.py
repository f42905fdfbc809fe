"""Export of demonstrations as a Minari dataset, if minari is installed."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from emulator import Cartridge
from trainer_core.author.demonstration import play_demonstration
from trainer_core.author.inputs import follows_codec, steps_of
from trainer_core.envs.demonstrations import Demonstration
from trainer_core.envs.judge import Judge
from trainer_core.envs.scoring import task_rules
from trainer_core.envs.task_files import SHAPE, load_goal
from trainer_core.lab.tasks import Task
from trainer_core.wire.errors import ConfigError, TaskError
from trainer_core.wire.shades import MAX_SHADE


def load_minari() -> tuple[Any, Any, Any]:
    """Return minari, its data_collector and gymnasium.spaces. Raises ConfigError if one is missing."""
    try:
        names = ("minari", "minari.data_collector", "gymnasium.spaces")
        minari, collector, spaces = map(importlib.import_module, names)
    except ImportError as error:
        raise ConfigError(f"a Minari dataset needs the package {error.name}: pip install 'minari[all]'") from None
    return minari, collector, spaces


def export_minari(dataset_id: str, task: Task, cartridge: Cartridge, demos: list[Demonstration]) -> dict[str, Any]:
    """Create the dataset `dataset_id`: one episode per demonstration, scored by the task's rules.

    Raises ConfigError without minari, TaskError for demonstrations that no agent could press.
    """
    _, collector, _ = load_minari()
    codec = task.manifest.codec
    fitting = [demo for demo in demos if follows_codec(demo.masks, codec)]
    if not fitting:
        raise TaskError(
            f"no demonstration of {task.id} follows {codec.id} step by step (one button held "
            f"{codec.release_after_frames} of {codec.frames_per_step} frames): nothing to export"
        )
    buffers = []
    for number, demo in enumerate(fitting):
        pictures = play_demonstration(cartridge, demo, codec).pictures
        rewards, done = score_pictures(task, pictures)
        actions = steps_of(demo.masks, codec)
        buffers.append(episode_buffer(collector, number, pictures, actions, rewards, done))
    return write_dataset(dataset_id, task, buffers)


def episode_buffer(
    collector: Any, number: int, pictures: np.ndarray, actions: np.ndarray, rewards: list[float], done: list[bool]
) -> Any:
    """Return one episode of a Minari dataset.

    `pictures` is u8[S + 1, 72, 80]; actions, rewards and `done` have length S.
    """
    return collector.EpisodeBuffer(
        id=number,
        observations=pictures,
        actions=actions,
        rewards=rewards,
        terminations=done,
        truncations=[False] * (len(done) - 1) + [not done[-1]],
        infos={},
    )


def write_dataset(dataset_id: str, task: Task, buffers: list[Any]) -> dict[str, Any]:
    """Create the dataset `dataset_id` of episodes of `task`. Raises ConfigError."""
    minari, _, spaces = load_minari()
    codec = task.manifest.codec
    try:
        minari.create_dataset_from_buffers(
            dataset_id,
            buffer=buffers,
            observation_space=spaces.Box(0, MAX_SHADE, SHAPE, np.uint8),
            action_space=spaces.Discrete(len(codec.actions)),
            algorithm_name="demonstration",
            description=f"{task.manifest.title} ({task.id}), codec {codec.id}",
        )
    except (ValueError, OSError) as error:
        raise ConfigError(f"minari {dataset_id!r}: {str(error).splitlines()[0]}") from None
    steps = sum(len(buffer.rewards) for buffer in buffers)
    return {"dataset": dataset_id, "episodes": len(buffers), "steps": steps}


def score_pictures(task: Task, pictures: np.ndarray) -> tuple[list[float], list[bool]]:
    """Return reward and done of every step along `pictures` u8[S + 1, 72, 80]."""
    rules = task_rules(task.manifest)._replace(horizon=len(pictures) + 1)
    templates, mask = load_goal(task.goal_path)
    judge = Judge(templates, mask, task.manifest.goal.distance, rules)
    judge.begin(pictures[0])
    scores = [judge.judge(picture) for picture in pictures[1:]]
    return [score[0] for score in scores], [score[1] for score in scores]
