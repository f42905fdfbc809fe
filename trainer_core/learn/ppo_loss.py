"""PPO's loss of each sample with its gradient (Schulman et al. 2017, arXiv:1707.06347).

The order of operations is CleanRL's ppo_atari.py; value clipping as in Huang et al. 2022, "The 37 implementation
details of PPO", details 5-11. The gradient is derived by hand: thirty small operations where autograd takes two
hundred. The losses are differentiable, so tests compare it with autograd's. `gemm/ppo_kernels.py` implements both as a
kernel for GPUs.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from trainer_core.learn.gae import normalized
from trainer_core.learn.rollout import RolloutBuffer
from trainer_core.wire.config import RunConfig


class Samples(NamedTuple):
    """Data of B samples of a rollout: `actions` i64[B], everything else f32[B]."""

    actions: Tensor
    logprobs: Tensor
    values: Tensor
    advantages: Tensor
    returns: Tensor

    @classmethod
    def of(cls, rollout: RolloutBuffer) -> Samples:
        """Return all samples of `rollout`, as views of its memory."""
        return cls(*(getattr(rollout, name).flatten() for name in cls._fields))

    def at(self, chosen: Tensor) -> Samples:
        """Return the samples that `chosen` selects, a tensor of indices or a bool mask."""
        return Samples(*(field[chosen] for field in self))

    def minibatch(self, index: Tensor, config: RunConfig) -> Samples:
        """Return the samples at `index` i64[B], their advantages normalized if `config` says so."""
        found = self.at(index)
        return found._replace(advantages=normalized(found.advantages)) if config.normalize_advantage else found


class PPOLosses(NamedTuple):
    """Recorded scalars of each sample, f32[B], or of a minibatch, f32[]."""

    policy_loss: Tensor
    value_loss: Tensor
    entropy_loss: Tensor
    """Negative entropy, so that it decreases as the policy becomes more uniform."""
    approx_kl: Tensor
    """Schulman's low-variance estimator, http://joschu.net/blog/kl-approx.html"""
    clipfrac: Tensor
    vf_clipfrac: Tensor


def ppo_loss(
    logits: Tensor, new_values: Tensor, samples: Samples, config: RunConfig, ent_coef: float | Tensor
) -> tuple[Tensor, Tensor]:
    """Return the losses of B samples and the gradient of their sum.

    `logits` f32[B, A] and `new_values` f32[B] are the network's outputs for `samples`; `ent_coef` is a number or f32[].
    Returns f32[B, 6], the fields of PPOLosses, and f32[B, A + 1], the derivatives of policy_loss + ent_coef *
    entropy_loss + vf_coef * value_loss by logits and, last, value.
    """
    log_probs = torch.log_softmax(logits, dim=-1)
    probs, chosen = log_probs.exp(), samples.actions[:, None]
    minus_entropy = (probs * log_probs).sum(-1, keepdim=True)
    log_ratio = log_probs.gather(-1, chosen).squeeze(-1) - samples.logprobs
    ratio, costs = log_ratio.exp(), -samples.advantages
    unclipped = ratio * costs
    clipped = ratio.clamp(1 - config.clip_range, 1 + config.clip_range) * costs

    behind, error = torch.zeros_like(ratio), new_values - samples.returns
    squared, pulled = error.square(), error
    if config.clip_range_vf > 0:
        change = new_values - samples.values
        kept = change.clamp(-config.clip_range_vf, config.clip_range_vf)
        kept_squared = (samples.values + kept - samples.returns).square()
        outside = change.abs() > config.clip_range_vf
        # Inside the range both are equal but for rounding, and the gradient is that of either.
        pulled = error * ~(outside & (squared < kept_squared))
        squared, behind = torch.maximum(squared, kept_squared), outside.float()

    with torch.no_grad():
        # Where the clipped term is larger the ratio is outside its range and has no gradient.
        ahead = (unclipped * (unclipped >= clipped))[:, None]
        gradient = logits.new_empty(len(logits), logits.shape[1] + 1)
        by_logits = gradient[:, :-1]
        torch.mul(probs, (log_probs - minus_entropy) * ent_coef - ahead, out=by_logits)
        by_logits.scatter_add_(1, chosen, ahead)
        torch.mul(pulled, config.vf_coef, out=gradient[:, -1])
    apart = ratio - 1
    losses = PPOLosses(
        policy_loss=torch.maximum(unclipped, clipped),
        value_loss=0.5 * squared,
        entropy_loss=minus_entropy.squeeze(-1),
        approx_kl=apart - log_ratio,
        clipfrac=(apart.abs() > config.clip_range).float(),
        vf_clipfrac=behind,
    )
    return torch.stack(losses, 1), gradient
