"""Generalized advantage estimation (Schulman et al. 2016, arXiv:1506.02438)."""

from __future__ import annotations

import torch
from torch import Tensor

from trainer_core.envs.vec_env import check_tensor


def compute_gae(
    rewards: Tensor,
    values: Tensor,
    next_values: Tensor,
    done: Tensor,
    trunc: Tensor,
    *,
    gamma: float,
    gae_lambda: float,
) -> tuple[Tensor, Tensor]:
    """Return the advantages by GAE and the returns (advantages plus values), both f32[T, N].

    `rewards`, `values`, `next_values` are f32[T, N], `done` and `trunc` bool[T, N]. `next_values[t]` is V of the state
    that step t reached, before any reset. Raises FailureError for another type, shape or device.
    """
    shape, device = tuple(rewards.shape), rewards.device
    for name, found in (("rewards", rewards), ("values", values), ("next_values", next_values)):
        check_tensor(name, found, torch.float32, shape, device)
    for name, found in (("done", done), ("trunc", trunc)):
        check_tensor(name, found, torch.bool, shape, device)
    alive = (~done).to(rewards.dtype)  # a time limit still bootstraps
    carry = (~(done | trunc)).to(rewards.dtype)  # no trace crosses a reset
    deltas = rewards + gamma * next_values * alive - values
    advantages = torch.empty_like(rewards)
    advantage = torch.zeros_like(rewards[0])
    for t in range(len(rewards) - 1, -1, -1):
        advantage = deltas[t] + gamma * gae_lambda * carry[t] * advantage
        advantages[t] = advantage
    return advantages, advantages + values


def normalized(advantages: Tensor) -> Tensor:
    """Return `advantages` f32[..., B] with a mean of 0 and a deviation of 1 in each row."""
    deviation, mean = torch.std_mean(advantages, dim=-1, correction=0, keepdim=True)
    return (advantages - mean) / (deviation + 1e-8)
