"""Our batch of consoles as skrl's environment: tensors in and out on one device."""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium
import numpy as np
import torch
from skrl.envs.wrappers.torch import Wrapper  # pyright: ignore
from torch import Tensor

from trainer_core.envs.translation import action_space
from trainer_core.envs.vec_env import StepResult, VecEnv
from trainer_core.wire.shades import MAX_SHADE


class Counts(NamedTuple):
    """Counts of episodes, rewards and steps of all environments since the last reading."""

    ended: float
    """Episodes that ended."""
    paid: float
    """Sum of rewards."""
    own_ended: float
    """Ended episodes that began at the task's own starts, not along a demonstration."""
    own_reached: float
    """Ended episodes that began at the task's own starts and reached the goal."""
    own_steps: float
    """Steps in episodes that began at the task's own starts."""


class DmgLabSkrlEnv(Wrapper):
    """Environment whose observations are flat shades u8[N, K * 72 * 80], as skrl stores them."""

    def __init__(self, env: VecEnv) -> None:
        super().__init__(env)
        self.consoles = env
        self._shades = gymnasium.spaces.Box(0, MAX_SHADE, env.obs_shape, np.uint8)
        self.goes_on = False
        """True when the consoles were restored from a checkpoint; the next `reset` then keeps their state."""
        self._counts = torch.zeros(len(Counts._fields), device=env.device)

    @property
    def observation_space(self) -> gymnasium.spaces.Box:
        return self._shades

    @property
    def action_space(self) -> gymnasium.spaces.Discrete[Any]:
        return action_space(self.consoles)

    def reset(self) -> tuple[Tensor, dict[str, Any]]:
        obs = self.consoles.obs if self.goes_on else self.consoles.reset()
        self.goes_on = False
        return self._flat(obs), {}

    def step(self, actions: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, dict[str, Any]]:
        """Step the consoles; `infos["final_observations"]` is the observation before any reset."""
        result = self.consoles.step(actions.view(-1))
        self._count(result)
        columns = (result.reward, result.done, result.trunc)
        # skrl adds to the rewards in place, and ours is one tensor for all steps.
        reward, done, trunc = (column.unsqueeze(-1).clone() for column in columns)
        final = self._flat(result.final_obs)
        return self._flat(result.obs), reward, done, trunc, {"final_observations": final}

    def take_counts(self) -> Counts:
        """Return the counts since the last call and set them to 0; synchronises with the device."""
        found = Counts(*self._counts.tolist())
        self._counts.zero_()
        return found

    def _count(self, result: StepResult) -> None:
        ended, own = result.info.reset_mask, ~result.info.from_demo
        columns = (ended, result.reward, own & ended, own & result.done, own)
        self._counts += torch.stack([column.sum(dtype=torch.float32) for column in columns])

    def state(self) -> None:
        """Return None: the environment has no state besides its observations."""

    def render(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: the host shows the consoles."""

    def close(self) -> None:
        self.consoles.close()

    def _flat(self, obs: Tensor) -> Tensor:
        # A copy: the consoles overwrite theirs in the next step.
        return obs.reshape(self.num_envs, -1).clone()
