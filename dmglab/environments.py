"""Tasks as batches of environments: `make`, `make_sb3` and `make_torchrl`."""

from __future__ import annotations

import contextlib
import operator
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from trainer_core.envs.gymnasium_tensors import BatchedEnv
from trainer_core.envs.vec_env import InfoMode
from trainer_core.wire.errors import ConfigError

if TYPE_CHECKING:
    from dmglab.torchrl_env import TorchRLEnv
    from trainer_core.envs.sb3_vec_env import DmgLabSb3VecEnv

__all__ = ["BatchedEnv", "make", "make_sb3", "make_torchrl"]


def make(
    task: str,
    num_envs: int = 64,
    device: str = "cpu",
    *,
    stack_k: int = 1,
    held_out: bool = False,
    info_mode: InfoMode = "full",
    render_mode: str | None = None,
    home: str | os.PathLike[str] | None = None,
) -> BatchedEnv:
    """Open a task as a batch of `num_envs` environments, whose values are torch tensors on `device`.

    `task`: an id of `dmglab.tasks()`, or a task's folder. `stack_k`: pictures in an observation.
    `held_out`: begin in start states that training does not use. `info_mode`: `full` columns of N,
    `stats` five means, `none`. `home`: the data folder; default DMGLAB_HOME. Raises LabError, one
    line, for an unknown task (with the nearest names), a missing device, an impossible number.
    """
    return BatchedEnv(
        task,
        _whole(num_envs),
        device=device,
        stack_k=stack_k,
        held_out=held_out,
        info_mode=info_mode,
        render_mode=render_mode,
        home=Path(home) if home is not None else None,
    )


def make_sb3(
    task: str,
    num_envs: int = 64,
    device: str = "cpu",
    *,
    stack_k: int = 1,
    held_out: bool = False,
    home: str | os.PathLike[str] | None = None,
) -> DmgLabSb3VecEnv:
    """Open a task as Stable-Baselines3's `VecEnv`; arguments as for `make`. Needs `stable-baselines3`."""
    with _named("stable_baselines3", "stable-baselines3"):
        from trainer_core.envs.sb3_vec_env import DmgLabSb3VecEnv

    return DmgLabSb3VecEnv(
        task,
        _whole(num_envs),
        device=device,
        stack_k=stack_k,
        held_out=held_out,
        home=Path(home) if home is not None else None,
    )


def make_torchrl(
    task: str,
    num_envs: int = 64,
    device: str = "cpu",
    *,
    stack_k: int = 1,
    held_out: bool = False,
    home: str | os.PathLike[str] | None = None,
) -> TorchRLEnv:
    """Open a task as TorchRL's `EnvBase` with batch size [num_envs]; arguments as for `make`. Needs `torchrl`."""
    with _named("torchrl", "torchrl"), _named("tensordict", "torchrl"):
        from dmglab.torchrl_env import TorchRLEnv

    return TorchRLEnv(make(task, num_envs, device, stack_k=stack_k, held_out=held_out, info_mode="none", home=home))


def _whole(num_envs: int) -> int:
    try:
        return operator.index(num_envs)
    except TypeError:
        raise ConfigError(f"num_envs={num_envs!r:.60}: give a whole number") from None


@contextlib.contextmanager
def _named(module: str, package: str) -> Iterator[None]:
    """Replace an ImportError of `module` by one line that names `package` to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != module:
            raise
        raise ImportError(f"{module} is not installed: pip install {package}", name=module) from None
