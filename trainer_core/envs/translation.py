"""Shared parts of the adapters for other libraries: opening a VecEnv, and converting its values.

Observations are given as u8[K, 72, 80] greys 0, 85, 170, 255, channels first: divided by 255, as image networks do,
they equal the input of DMG Lab's own networks. 0 is the screen's lightest shade.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import Tensor

from trainer_core.envs.build import make_env
from trainer_core.envs.compile_progress import tell_on_stderr
from trainer_core.envs.startable import find_device
from trainer_core.envs.toy import TASK_ID
from trainer_core.envs.vec_env import StepInfo, VecEnv
from trainer_core.lab.paths import HomePaths, default_home
from trainer_core.lab.recording import FRAMES_PER_SECOND
from trainer_core.lab.tasks import Codec
from trainer_core.wire.buttons import ALL_ACTIONS
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import LabError
from trainer_core.wire.shades import GREY_LEVELS, MAX_SHADE

WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
"""Types of tensors that hold actions."""
GREY_STEP = 255 // MAX_SHADE
STEPS_PER_SECOND = FRAMES_PER_SECOND / Codec().frames_per_step
INFO = ("dist", "success", "start_index", "episode_steps")
"""Columns of StepInfo in the `info` of the adapters."""
SCREEN_GREYS = np.array(GREY_LEVELS, np.uint8)
_opened_in = 0
"""Process that last opened an environment: this one, or the one from which it was forked."""


def open_env(
    task: str,
    num_envs: int,
    *,
    device: str = "cpu",
    stack_k: int = 1,
    seed: int = 1,
    held_out: bool = False,
    home: Path | None = None,
    demo_share: float = 0.0,
) -> VecEnv:
    """Return the VecEnv of an adapter.

    `demo_share` is the share of episodes that begin along the task's demonstrations, 0 to 0.9. Raises LabError for an
    unknown task, an invalid number, a missing device, and a GPU in a process that was forked from one with an
    environment.
    """
    _allow_for_fork(device)
    device = str(find_device(device))
    if task != TASK_ID:  # which needs no Warp
        tell_on_stderr()
    config = RunConfig(task=task, num_envs=num_envs, device=device, stack_k=stack_k, seed=seed, num_minibatches=1)
    starts = "heldout" if held_out else "train"
    return make_env(config, HomePaths(home or default_home()), starts=starts, demo_share=demo_share)


def _allow_for_fork(device: str) -> None:
    """Use one torch thread in a forked process, which lacks torch's threads and would wait for them for ever.

    Raises LabError for a GPU, whose context cannot be shared.
    """
    global _opened_in
    here, before = os.getpid(), _opened_in
    if before not in (0, here):
        if device != "cpu":
            raise LabError(
                f"a forked process cannot use {device}: give context='spawn' or 'forkserver' "
                "(AsyncVectorEnv takes it), or use DmgLabVectorEnv, which runs all in one process"
            )
        torch.set_num_threads(1)
    _opened_in = here


def observation_space(env: VecEnv) -> gymnasium.spaces.Box:
    return gymnasium.spaces.Box(0, 255, env.obs_shape, np.uint8)


def action_space(env: VecEnv) -> gymnasium.spaces.Discrete[Any]:
    """Return the action space of `env`; `action_names` names the actions."""
    return gymnasium.spaces.Discrete(env.num_actions)


def action_names(env: VecEnv) -> list[str]:
    """Return the buttons of each action of `env`, like `A` or `A+UP`, in the order of their numbers."""
    return list(ALL_ACTIONS[: env.num_actions])


def begun(env: VecEnv) -> StepInfo:
    """Return a StepInfo for episodes that have just begun in every env."""
    nowhere = torch.zeros(env.num_envs, dtype=torch.bool, device=env.device)
    return StepInfo(env.dist, ~nowhere, nowhere, env.start_index, env.episode_steps, nowhere)


def info_columns(info: StepInfo) -> dict[str, np.ndarray]:
    """Return the columns of the adapters' `info` by name: `dist` f32[N], `success` bool[N], `start_index` i64[N],
    `episode_steps` i32[N], each a copy on the host."""
    return {name: getattr(info, name).cpu().numpy().copy() for name in INFO}


def greys(obs: Tensor) -> np.ndarray:
    """Return shades u8[N, K, 72, 80] of any device as a new array of greys."""
    return (obs * GREY_STEP).cpu().numpy()


def rgb(screen: Tensor) -> np.ndarray:
    """Return shades u8[144, 160] as u8[144, 160, 3]; light shades are light colours."""
    return np.repeat(SCREEN_GREYS[screen.cpu().numpy()][..., None], 3, axis=2)


def as_actions(actions: Any, env: VecEnv) -> Tensor:
    """Return `actions`, a tensor or what NumPy takes for an array, as i64[N] on the environment's device.

    Raises ValueError for anything but one action for each env. The check waits for a GPU.
    """
    given = actions if isinstance(actions, Tensor) else torch.from_numpy(_whole_numbers(actions, env))
    if given.dtype not in WHOLE or given.numel() != env.num_envs:
        raise ValueError(f"actions {_kind(given)}: give {env.num_envs} whole numbers")
    if given.device != env.device and not given.is_cpu:
        raise ValueError(f"actions on {given.device}: this environment is on {env.device}; move them there")
    low, high = torch.stack(torch.aminmax(given)).tolist()
    if low < 0 or high >= env.num_actions:
        raise ValueError(f"action {low if low < 0 else high}: there are 0 to {env.num_actions - 1}")
    return given.reshape(-1).to(env.device, torch.int64)


def _whole_numbers(actions: Any, env: VecEnv) -> np.ndarray:
    """Return `actions` as i64 of any shape. Raises ValueError for others."""
    given = np.asarray(actions)
    if given.dtype.kind not in "iu":
        raise ValueError(f"actions {_kind(given)}: give {env.num_envs} whole numbers")
    return given.astype(np.int64)


def _kind(given: Any) -> str:
    return f"of type {str(given.dtype).removeprefix('torch.')} and shape {tuple(given.shape)}"


def chosen_starts(start: Any, env: VecEnv) -> Tensor:
    """Return `start`, a start state or one per env, as i64[N]. Raises ValueError for unknown ones."""
    known = set(env.start_set.tolist())
    indices = np.broadcast_to(np.asarray(start, np.int64), (env.num_envs,))
    unknown = sorted(set(indices.tolist()) - known)
    if unknown:
        raise ValueError(f"start {unknown[0]}: this environment has {sorted(known)}")
    return torch.from_numpy(indices.copy()).to(env.device)
