"""Our batch of consoles as skrl's environment: tensors in, tensors out, on one device."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import torch
from skrl.envs.wrappers.torch import Wrapper  # pyright: ignore
from torch import Tensor

from trainer_core.envs.vec_env import VecEnv
from trainer_core.faces.translation import action_space
from trainer_core.protocol.shades import MAX_SHADE


class DmgLabSkrlEnv(Wrapper):
    """Observations are shades, u8[N, K * 72 * 80]: skrl keeps them flat."""

    def __init__(self, env: VecEnv) -> None:
        super().__init__(env)
        self.consoles = env
        self._shades = gymnasium.spaces.Box(0, MAX_SHADE, env.obs_shape, np.uint8)
        self.goes_on = False
        """The consoles stand where a run is resumed: the next `reset` leaves them there."""
        self.finished, self.reached, self.paid = (
            torch.zeros((), device=env.device) for _ in range(3)
        )
        """Since `take_counts`: episodes ended, goals reached, reward; counted on the device."""

    @property
    def observation_space(self) -> gymnasium.spaces.Box:
        return self._shades

    @property
    def action_space(self) -> gymnasium.spaces.Discrete[Any]:
        return action_space()

    def reset(self) -> tuple[Tensor, dict[str, Any]]:
        obs = self.consoles.obs if self.goes_on else self.consoles.reset()
        self.goes_on = False
        return self._flat(obs), {}

    def step(self, actions: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, dict[str, Any]]:
        """`infos["final_observations"]` is what the step reached, before any reset."""
        result = self.consoles.step(actions.view(-1))
        self.finished += result.info.reset_mask.sum()
        self.reached += result.done.sum()
        self.paid += result.reward.sum()
        columns = (result.reward, result.done, result.trunc)
        # skrl adds to the rewards in place, and ours is one tensor for all steps.
        reward, done, trunc = (column.unsqueeze(-1).clone() for column in columns)
        final = self._flat(result.final_obs)
        return self._flat(result.obs), reward, done, trunc, {"final_observations": final}

    def take_counts(self) -> tuple[float, float, float]:
        """(episodes ended, goals reached, sum of rewards) since the last call; synchronises."""
        counts = torch.stack([self.finished, self.reached, self.paid])
        found = tuple(counts.tolist())
        for count in (self.finished, self.reached, self.paid):
            count.zero_()
        return found  # type: ignore[return-value]

    def state(self) -> None:
        """There is no state besides the pictures."""

    def render(self, *args: Any, **kwargs: Any) -> None:
        """The run shows the consoles to whoever asks."""

    def close(self) -> None:
        self.consoles.close()

    def _flat(self, obs: Tensor) -> Tensor:
        # A copy: the consoles overwrite theirs in the next step.
        return obs.reshape(self.num_envs, -1).clone()
