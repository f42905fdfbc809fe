"""Proximal policy optimization (Schulman et al. 2017, arXiv:1707.06347) on one rollout.

The order of operations is CleanRL's ppo_atari.py; value clipping as in Huang et al. 2022, "The 37
implementation details of PPO", details 5-11.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from trainer_core.learn.gemm import learner as gemm
from trainer_core.learn.learner import Learner, LossSums, scalars_of
from trainer_core.learn.parts import PartsLearner, learning_parts
from trainer_core.learn.policy import PixelActorCritic
from trainer_core.learn.registry import Implementation
from trainer_core.learn.rollout import RolloutBuffer
from trainer_core.wire.config import RunConfig


class PPOLosses(NamedTuple):
    """Scalars of one minibatch, f32[], named as in the records; `total` is differentiated."""

    total: Tensor
    policy_loss: Tensor
    value_loss: Tensor
    entropy_loss: Tensor
    """Negative mean entropy, so that it falls as the policy spreads."""
    approx_kl: Tensor
    clipfrac: Tensor
    vf_clipfrac: Tensor


def ppo_losses(
    logits: Tensor,
    new_values: Tensor,
    actions: Tensor,
    old_logprobs: Tensor,
    old_values: Tensor,
    advantages: Tensor,
    returns: Tensor,
    *,
    clip_range: float,
    clip_range_vf: float,
    ent_coef: float | Tensor,
    vf_coef: float,
    normalize_advantage: bool,
) -> PPOLosses:
    """Losses of B samples: `logits` f32[B, A], `actions` i64[B], everything else f32[B].

    `ent_coef` is a number or f32[]."""
    log_probs = torch.log_softmax(logits, dim=-1)
    new_logprobs = log_probs.gather(-1, actions[:, None]).squeeze(-1)
    entropy = -(log_probs.exp() * log_probs).sum(-1)
    if normalize_advantage:
        advantages = (advantages - advantages.mean()) / (advantages.std(correction=0) + 1e-8)

    log_ratio = new_logprobs - old_logprobs
    ratio = log_ratio.exp()
    unclipped = -advantages * ratio
    clipped = -advantages * ratio.clamp(1 - clip_range, 1 + clip_range)
    policy_loss = torch.maximum(unclipped, clipped).mean()

    squared = (new_values - returns).square()
    vf_clipfrac = torch.zeros_like(policy_loss)
    if clip_range_vf > 0:
        change = new_values - old_values
        clipped_values = old_values + change.clamp(-clip_range_vf, clip_range_vf)
        squared = torch.maximum(squared, (clipped_values - returns).square())
        vf_clipfrac = (change.detach().abs() > clip_range_vf).float().mean()
    value_loss = 0.5 * squared.mean()
    entropy_loss = -entropy.mean()

    with torch.no_grad():
        # Schulman's low-variance estimator, http://joschu.net/blog/kl-approx.html
        approx_kl = (ratio - 1 - log_ratio).mean()
        clipfrac = ((ratio - 1).abs() > clip_range).float().mean()
    total = policy_loss + ent_coef * entropy_loss + vf_coef * value_loss
    return PPOLosses(total, policy_loss, value_loss, entropy_loss, approx_kl, clipfrac, vf_clipfrac)


def ppo_update(
    learner: Learner, rollout: RolloutBuffer, config: RunConfig, rng: torch.Generator, sums: LossSums
) -> None:
    """Epochs of shuffled minibatches over one rollout.

    With `target_kl` the epochs stop early, which reads one number per epoch from the device.
    """
    old_logprobs, old_values = rollout.logprobs.flatten(), rollout.values.flatten()
    actions = rollout.actions.flatten()
    advantages, returns = rollout.advantages.flatten(), rollout.returns.flatten()

    def work(index: Tensor) -> Tensor:
        """One optimizer step on the samples `index`; f32[len(sums.names)]."""
        logits, new_values = learner.forward(rollout.observations(index))
        losses = ppo_losses(
            logits,
            new_values,
            actions[index],
            old_logprobs[index],
            old_values[index],
            advantages[index],
            returns[index],
            clip_range=config.clip_range,
            clip_range_vf=config.clip_range_vf,
            ent_coef=learner.ent_coef,
            vf_coef=config.vf_coef,
            normalize_advantage=config.normalize_advantage,
        )
        losses.total.backward()
        grad_norm = learner.step()
        return scalars_of(losses, grad_norm)

    epoch = learner.epoch(rollout)
    scalars = torch.zeros_like(sums.sums)
    for _ in range(config.update_epochs):
        order = torch.randperm(config.batch_size, generator=rng, device=rollout.device)
        if epoch is not None:
            found = epoch.run(order)
            sums.add_all(found)
            scalars = found[-1]
        else:
            for index in order.split(config.minibatch_size):
                scalars = learner.graph.run(work, index) if learner.graph else work(index)
                sums.add(scalars)
        approx_kl = scalars[sums.names.index("approx_kl")]  # of the last minibatch
        if config.target_kl > 0 and learner.agree_mean(approx_kl) > config.target_kl:
            break


def ppo_learner(policy: PixelActorCritic, config: RunConfig, device: torch.device) -> Learner:
    """By matrix products where the GPU and the network allow it, on a CPU from different pictures
    only, else by autograd."""
    if device.type == "cuda":
        if gemm.can_learn_by_products(policy, config, device):
            return gemm.GemmLearner(policy, config, device)
    elif device.type == "cpu":
        return PartsLearner(policy, config, device, learning_parts(config))
    return Learner(policy, config, device)


PPO = Implementation(update=ppo_update, losses=PPOLosses, learner=ppo_learner)
