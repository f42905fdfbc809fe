"""Warp kernels of an optimizer step after the heads: PPO's loss with its gradient, and Adam."""

import warp as wp

wp.set_module_options({"enable_backward": False})

SCALARS = 6
"""Columns of `scalars`, the fields of PPOLosses."""


@wp.struct
class Clipping:
    """PPO's clip ranges and loss coefficients for the kernel; `clip_range_vf` 0 means no clipping of values."""

    clip_range: wp.float32
    clip_range_vf: wp.float32
    vf_coef: wp.float32


@wp.func
def logit(
    heads: wp.array2d(dtype=wp.bfloat16), prior: wp.array2d(dtype=wp.float32), sample: wp.int32, action: wp.int32
) -> wp.float32:
    """Return the logit of an action in a sample: the network's output plus the prior of press marks."""
    return wp.float32(heads[sample, action]) + prior[sample, action]


@wp.kernel
def ppo_gradient(
    heads: wp.array2d(dtype=wp.bfloat16),
    prior: wp.array2d(dtype=wp.float32),
    actions: wp.array(dtype=wp.int64),
    samples: wp.array2d(dtype=wp.float32),
    num_actions: wp.int32,
    c: Clipping,
    ent_coef: wp.array(dtype=wp.float32),
    scale: wp.float32,
    gradient: wp.array2d(dtype=wp.bfloat16),
    scalars: wp.array2d(dtype=wp.float32),
):
    """Compute one sample's PPO loss and its gradient with respect to logits and value; one sample per thread.

    As in learn/ppo_loss.py.

    `heads` [B, A + 1 and padding] logits, then the value; `prior` [B, A] is added to the logits; `samples` [4, B] old
    log-probability, old value, advantage, return; `ent_coef` [1]; `scale` 1 / B; `scalars` [B, 6] policy loss, value
    loss, negative entropy, approximate KL, clipped ratios, clipped values.
    """
    b = wp.tid()
    top = logit(heads, prior, b, 0)
    for k in range(1, num_actions):
        top = wp.max(top, logit(heads, prior, b, k))
    total = wp.float32(0.0)
    for k in range(num_actions):
        total += wp.exp(logit(heads, prior, b, k) - top)
    log_total = top + wp.log(total)
    action = wp.int32(actions[b])
    negative_entropy = wp.float32(0.0)
    for k in range(num_actions):
        log_p = logit(heads, prior, b, k) - log_total
        negative_entropy += wp.exp(log_p) * log_p
    value = wp.float32(heads[b, num_actions])
    log_ratio = logit(heads, prior, b, action) - log_total - samples[0, b]
    ratio = wp.exp(log_ratio)
    advantage = samples[2, b]
    unclipped = -advantage * ratio
    clipped = -advantage * wp.clamp(ratio, 1.0 - c.clip_range, 1.0 + c.clip_range)
    # Where both are equal torch.maximum splits the gradient into two equal halves, with the same sum.
    by_log_ratio = wp.where(unclipped >= clipped, unclipped, wp.float32(0.0))

    error = value - samples[3, b]
    squared = error * error
    by_value = error
    clipped_values = wp.float32(0.0)
    if c.clip_range_vf > 0.0:
        change = value - samples[1, b]
        held = wp.clamp(change, -c.clip_range_vf, c.clip_range_vf)
        far = samples[1, b] + held - samples[3, b]
        if wp.abs(change) > c.clip_range_vf:
            clipped_values = wp.float32(1.0)
            if far * far > squared:
                by_value = wp.float32(0.0)
        squared = wp.max(squared, far * far)

    for k in range(num_actions):
        log_p = logit(heads, prior, b, k) - log_total
        p = wp.exp(log_p)
        chosen = wp.where(k == action, wp.float32(1.0), wp.float32(0.0))
        slope = by_log_ratio * (chosen - p) + ent_coef[0] * p * (log_p - negative_entropy)
        gradient[b, k] = wp.bfloat16(scale * slope)
    gradient[b, num_actions] = wp.bfloat16(scale * c.vf_coef * by_value)
    scalars[b, 0] = wp.max(unclipped, clipped)
    scalars[b, 1] = 0.5 * squared
    scalars[b, 2] = negative_entropy
    scalars[b, 3] = ratio - 1.0 - log_ratio
    scalars[b, 4] = wp.where(wp.abs(ratio - 1.0) > c.clip_range, wp.float32(1.0), wp.float32(0.0))
    scalars[b, 5] = clipped_values


@wp.kernel
def adam(
    gradient: wp.array(dtype=wp.bfloat16),
    norm: wp.array(dtype=wp.float32),
    rate: wp.array(dtype=wp.float32),
    steps_before: wp.array(dtype=wp.float32),
    step: wp.int32,
    max_norm: wp.float32,
    share: wp.float32,
    eps: wp.float32,
    weights: wp.array(dtype=wp.float32),
    first: wp.array(dtype=wp.float32),
    second: wp.array(dtype=wp.float32),
    rounded: wp.array(dtype=wp.bfloat16),
):
    """Update one weight by Adam (Kingma & Ba 2015, betas 0.9 and 0.999) with a clipped gradient; one weight per thread.

    `share` times the summed gradients is one rank's mean; `norm` [1] is the norm of the sum.
    """
    i = wp.tid()
    count = steps_before[0] + wp.float32(step)
    g = wp.float32(gradient[i]) * share
    if max_norm > 0.0:
        g = g * wp.min(1.0, max_norm / (norm[0] * share + 1.0e-6))
    m = first[i] + (g - first[i]) * 0.1
    v = second[i] * 0.999 + 0.001 * g * g
    correction = wp.sqrt(1.0 - wp.pow(0.999, count))
    w = weights[i] - rate[0] / (1.0 - wp.pow(0.9, count)) * m / (wp.sqrt(v) / correction + eps)
    first[i] = m
    second[i] = v
    weights[i] = w
    rounded[i] = wp.bfloat16(w)
