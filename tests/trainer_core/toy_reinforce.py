"""An algorithm as docs/reference/extending.md walks through it: REINFORCE, with a storage of its own.

Williams 1992, doi:10.1007/BF00992696: no critic, no bootstrapping, one step per rollout. The row
that names it is in test_extending.py.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from trainer_core.envs.vec_env import StepResult
from trainer_core.learn.learner import Learner, LossSums
from trainer_core.learn.registry import Implementation
from trainer_core.learn.rollout import Forward
from trainer_core.wire.config import RunConfig


class RewardsToGo:
    """T steps of N environments; fields are [T, N]. It keeps no values: nothing here uses them."""

    def __init__(
        self, num_steps: int, num_envs: int, obs_shape: tuple[int, int, int], horizon: int, device: torch.device
    ) -> None:
        self.num_steps = num_steps
        shape = (num_steps, num_envs)
        self.obs = torch.zeros((*shape, *obs_shape), dtype=torch.uint8, device=device)
        self.actions = torch.zeros(shape, dtype=torch.int64, device=device)
        self.rewards, self.entropies, self.dist, self.returns = torch.zeros((4, *shape)).to(device)
        self.done, self.trunc, self.success, self.reset_mask, self.from_demo = torch.zeros(
            (5, *shape), dtype=torch.bool, device=device
        )

    def begin(self) -> None:
        """Every field is written anew."""

    def add_decision(
        self, t: int, obs: Tensor, actions: Tensor, logprobs: Tensor, values: Tensor, entropies: Tensor
    ) -> None:
        self.obs[t], self.actions[t], self.entropies[t] = obs, actions, entropies

    def add_outcome(self, t: int, result: StepResult) -> None:
        self.rewards[t], self.dist[t] = result.reward, result.info.dist
        self.done[t], self.trunc[t] = result.done, result.trunc
        self.success[t], self.reset_mask[t] = result.info.success, result.info.reset_mask
        self.from_demo[t] = result.info.from_demo

    def end(self, forward: Forward, obs: Tensor, config: RunConfig) -> None:
        """Discounted rewards until the episode's or the rollout's end."""
        to_go = torch.zeros_like(self.rewards[0])
        for t in reversed(range(self.num_steps)):
            to_go = self.rewards[t] + config.gamma * to_go * ~self.reset_mask[t]
            self.returns[t] = to_go


class ReinforceLosses(NamedTuple):
    """`policy_loss` is a curve that others have too, `baseline` one of its own."""

    policy_loss: Tensor
    baseline: Tensor


def reinforce_update(
    learner: Learner, storage: RewardsToGo, config: RunConfig, rng: torch.Generator, sums: LossSums
) -> None:
    """One step that makes actions with more than the mean reward to go likelier."""
    logits, _ = learner.forward(storage.obs.flatten(0, 1))
    log_probs = torch.log_softmax(logits, dim=-1)
    chosen = log_probs.gather(-1, storage.actions.flatten()[:, None]).squeeze(-1)
    returns = storage.returns.flatten()
    baseline = returns.mean()
    advantages = (returns - baseline) / (returns.std(correction=0) + 1e-8)
    loss = -(advantages * chosen).mean()
    loss.backward()
    sums.add(torch.stack([*ReinforceLosses(loss.detach(), baseline), learner.step()]))


REINFORCE = Implementation(update=reinforce_update, losses=ReinforceLosses, storage=RewardsToGo, heads=("policy",))
