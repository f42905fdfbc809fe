"""A task's demonstrations played again and judged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emulator import Cartridge
from trainer_core.envs.demonstrations import Demonstration, task_demonstrations
from trainer_core.envs.scoring import task_rules
from trainer_core.envs.task_parts import TaskParts
from trainer_core.play.authoring.demonstration import play_demonstration
from trainer_core.play.authoring.inputs import steps_of
from trainer_core.play.judge import Judge
from trainer_core.protocol.tasks import Task


@dataclass(frozen=True, slots=True)
class Replay:
    """One demonstration under a task's rules."""

    pictures: np.ndarray
    """u8[S + 1, 72, 80]"""
    actions: np.ndarray
    """i64[S] what was pressed in each step, -1 nothing."""
    done: int | None
    """Step in which the goal is reached, from 1; None where it is not."""


def replay_demonstrations(task: Task, parts: TaskParts) -> list[Replay]:
    return [_replay(task, parts.cartridge, parts, demo) for demo in task_demonstrations(task)]


def _replay(task: Task, cartridge: Cartridge, parts: TaskParts, demo: Demonstration) -> Replay:
    pictures = play_demonstration(cartridge, demo, task.manifest.codec).pictures
    done = done_step(task, pictures, parts.templates, parts.mask)
    return Replay(pictures, steps_of(demo.masks, task.manifest.codec), done)


def done_step(
    task: Task, pictures: np.ndarray, templates: np.ndarray, mask: np.ndarray
) -> int | None:
    """The step, from 1, in which `done` fires along `pictures` u8[S + 1, 72, 80]; None if never.

    The horizon does not matter here.
    """
    rules = task_rules(task.manifest)._replace(horizon=len(pictures) + 1)
    judge = Judge(templates, mask, task.manifest.goal.distance, rules)
    judge.begin(pictures[0])
    for step, picture in enumerate(pictures[1:], 1):
        if judge.judge(picture)[1]:
            return step
    return None
