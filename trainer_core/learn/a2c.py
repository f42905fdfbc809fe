"""Streaming advantage actor-critic (Mnih et al. 2016, arXiv:1602.01783, synchronous form).

Every rollout is used once: it passes through the network in at most `num_minibatches` slices of time whose gradients
add up to one optimizer step, so that activations need memory for one slice only. A slice is weighted by its samples:
the last one may be smaller.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from trainer_core.learn.gae import normalized
from trainer_core.learn.learner import Learner, LossSums
from trainer_core.learn.registry import Implementation
from trainer_core.learn.rollout import RolloutBuffer
from trainer_core.wire.config import RunConfig


class A2CLosses(NamedTuple):
    """Losses of one slice of a rollout, f32[] each, named as in the records."""

    policy_loss: Tensor
    value_loss: Tensor
    entropy_loss: Tensor


def a2c_losses(logits: Tensor, new_values: Tensor, actions: Tensor, advantages: Tensor, returns: Tensor) -> A2CLosses:
    """Return the losses of B samples: `logits` f32[B, A], `actions` i64[B], everything else f32[B]."""
    log_probs = torch.log_softmax(logits, dim=-1)
    logprobs = log_probs.gather(-1, actions[:, None]).squeeze(-1)
    entropy_loss = (log_probs.exp() * log_probs).sum(-1).mean()
    policy_loss = -(advantages * logprobs).mean()
    value_loss = 0.5 * (new_values - returns).square().mean()
    return A2CLosses(policy_loss, value_loss, entropy_loss)


def a2c_update(
    learner: Learner, rollout: RolloutBuffer, config: RunConfig, rng: torch.Generator, sums: LossSums
) -> None:
    """Make one optimizer step over the whole rollout, and add its losses to `sums`. `rng` is not used: nothing is
    shuffled."""
    actions, returns = rollout.actions.flatten(), rollout.returns.flatten()
    advantages = rollout.advantages.flatten()
    if config.normalize_advantage:
        advantages = normalized(advantages)
    everything = torch.arange(config.batch_size, device=rollout.device)
    scalars = torch.zeros_like(sums.sums)
    for index in everything.split(config.minibatch_size):
        slices = config.batch_size / len(index)  # number of slices of this size in the rollout
        logits, new_values = learner.forward(rollout.observations(index))
        losses = a2c_losses(logits, new_values, actions[index], advantages[index], returns[index])
        total = losses.policy_loss + learner.ent_coef * losses.entropy_loss + config.vf_coef * losses.value_loss
        (total / slices).backward()
        scalars[:-1] += torch.stack(losses).detach() / slices
    scalars[-1] = learner.step()
    sums.add(scalars)


A2C = Implementation(update=a2c_update, losses=A2CLosses)
