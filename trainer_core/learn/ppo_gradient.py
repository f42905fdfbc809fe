"""What `ppo.ppo_losses` says of a minibatch on a CPU, with its gradient by hand: thirty small
operations where autograd takes two hundred, which was a third of an optimizer step.
"""

from __future__ import annotations

import torch
from torch import Tensor


def ppo_gradient(
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
) -> tuple[Tensor, Tensor]:
    """Of B samples, as `ppo_losses` takes them, advantages normalized already.

    Returns f32[B, 6], each sample's part in the means that PPOLosses tells after `total`, and
    f32[B, A + 1], the derivatives of B times `total` by the logits and, behind them, the value.
    """
    log_probs = torch.log_softmax(logits, dim=-1)
    probs, chosen = log_probs.exp(), actions[:, None]
    minus_entropy = (probs * log_probs).sum(-1, keepdim=True)
    log_ratio = log_probs.gather(-1, chosen).squeeze(-1) - old_logprobs
    ratio = log_ratio.exp()
    unclipped = ratio * -advantages
    clipped = ratio.clamp(1 - clip_range, 1 + clip_range) * -advantages
    # Where the clipped one is larger the ratio has left its range, and nothing pulls it.
    ahead = (unclipped * (unclipped >= clipped))[:, None]

    behind, error = torch.zeros_like(ratio), new_values - returns
    squared, pulled = error.square(), error
    if clip_range_vf > 0:
        change = new_values - old_values
        kept = change.clamp(-clip_range_vf, clip_range_vf)
        kept_squared = (old_values + kept - returns).square()
        outside = change.abs() > clip_range_vf
        # Inside both are one but for rounding, and both pull.
        pulled = error * ~(outside & (squared < kept_squared))
        squared, behind = torch.maximum(squared, kept_squared), outside.float()

    gradient = logits.new_empty(len(logits), logits.shape[1] + 1)
    by_logits = gradient[:, :-1]
    torch.mul(probs, (log_probs - minus_entropy) * ent_coef - ahead, out=by_logits)
    by_logits.scatter_add_(1, chosen, ahead)
    torch.mul(pulled, vf_coef, out=gradient[:, -1])
    apart = ratio - 1
    parts = (
        torch.maximum(unclipped, clipped),
        0.5 * squared,
        minus_entropy.squeeze(-1),
        apart - log_ratio,
        (apart.abs() > clip_range).float(),
        behind,
    )
    return torch.stack(parts, 1), gradient
