"""Storage of a rollout, T steps of N environments, preallocated on the device.

Time limits need V of the picture before the reset. An episode cannot end by its horizon more often than every `horizon`
steps, so a few slots per environment hold those pictures: no second copy of the rollout, no count read from the device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from trainer_core.learn.gae import compute_gae
from trainer_core.wire.config import RunConfig

if TYPE_CHECKING:
    from trainer_core.envs.vec_env import StepResult

Forward = Callable[[Tensor], tuple[Tensor, Tensor]]
"""Type of a function from obs u8[B, K, H, W] to logits f32[B, A] and values f32[B]."""


class RolloutBuffer:
    """Storage of one rollout. Fields are [T, N]; `obs` is u8[T, N, K, H, W]."""

    def __init__(
        self, num_steps: int, num_envs: int, obs_shape: tuple[int, int, int], horizon: int, device: torch.device
    ) -> None:
        self.num_steps, self.num_envs, self.device = num_steps, num_envs, device
        shape = (num_steps, num_envs)

        def field(dtype: torch.dtype) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        self.obs = torch.zeros((*shape, *obs_shape), dtype=torch.uint8, device=device)
        self.actions = field(torch.int64)
        self.logprobs, self.values, self.rewards = (field(torch.float32) for _ in range(3))
        self.entropies, self.dist = field(torch.float32), field(torch.float32)
        self.done, self.trunc, self.success = (field(torch.bool) for _ in range(3))
        self.reset_mask, self.from_demo = field(torch.bool), field(torch.bool)
        self.advantages, self.returns = field(torch.float32), field(torch.float32)
        self.slots = (num_steps - 1) // horizon + 1
        self._final_obs = torch.zeros((self.slots, num_envs, *obs_shape), dtype=torch.uint8, device=device)
        self._slot = field(torch.int64)
        self._used = torch.zeros(num_envs, dtype=torch.int64, device=device)

    def begin(self) -> None:
        """Discard the previous rollout; its memory is used again."""
        self._used.zero_()

    def add_decision(
        self, t: int, obs: Tensor, actions: Tensor, logprobs: Tensor, values: Tensor, entropies: Tensor
    ) -> None:
        """Store the observations of step t, the chosen actions, and the policy's outputs for them."""
        self.obs[t].copy_(obs)
        self.actions[t].copy_(actions)
        self.logprobs[t].copy_(logprobs)
        self.values[t].copy_(values)
        self.entropies[t].copy_(entropies)

    def add_outcome(self, t: int, result: StepResult) -> None:
        """Store rewards, ends of episodes and other results of step t."""
        self.rewards[t].copy_(result.reward)
        self.done[t].copy_(result.done)
        self.trunc[t].copy_(result.trunc)
        self.dist[t].copy_(result.info.dist)
        self.success[t].copy_(result.info.success)
        self.reset_mask[t].copy_(result.info.reset_mask)
        self.from_demo[t].copy_(result.info.from_demo)
        self._slot[t].copy_(self._used)
        if self.device.type == "cpu":
            self._keep_on_host(result)
        else:
            for slot, pictures in enumerate(self._final_obs):
                mask = result.trunc & (self._used == slot)
                torch.where(mask[:, None, None, None], result.final_obs, pictures, out=pictures)
        self._used += result.trunc

    def _keep_on_host(self, result: StepResult) -> None:
        """Store the last observations of episodes that a time limit ended in this step; for a CPU, where masks are
        cheap to read."""
        if bool(result.trunc.any()):
            cut = (result.trunc & (self._used < self.slots)).nonzero().squeeze(1)
            self._final_obs[self._used[cut], cut] = result.final_obs[cut]

    def final_observations(self) -> Tensor:
        """Return u8[slots * N, K, H, W]: the observations at time limits before the reset; unused slots have arbitrary
        data."""
        return self._final_obs.flatten(0, 1)

    def end(self, forward: Forward, obs: Tensor, config: RunConfig) -> None:
        """Complete the rollout: compute the values after the last step and at time limits, then advantages and
        returns."""
        _, last_values = forward(obs)
        final_values = forward(self.final_observations())[1]
        self.finish(last_values, final_values, gamma=config.gamma, gae_lambda=config.gae_lambda)

    def finish(self, last_values: Tensor, final_values: Tensor, *, gamma: float, gae_lambda: float) -> None:
        """Compute advantages and returns.

        `last_values` f32[N] is V of the observation after the last step, `final_values` f32[slots * N] is V of
        `final_observations`.
        """
        next_values = torch.cat([self.values[1:], last_values[None]])
        slot_values = final_values.view(self.slots, self.num_envs)
        at_limit = slot_values.gather(0, self._slot.clamp(max=self.slots - 1))
        next_values = torch.where(self.trunc, at_limit, next_values)
        advantages, returns = compute_gae(
            self.rewards, self.values, next_values, self.done, self.trunc, gamma=gamma, gae_lambda=gae_lambda
        )
        self.advantages.copy_(advantages)  # in place: captured optimizer steps read these addresses
        self.returns.copy_(returns)

    def observations(self, index: Tensor) -> Tensor:
        """Return the observations u8[B, K, H, W] at the flat positions `index` i64[B], where step t of env n is t * N +
        n."""
        return self.obs.flatten(0, 1).index_select(0, index)
