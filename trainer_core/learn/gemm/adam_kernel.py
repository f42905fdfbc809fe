"""One step of Adam on a flat vector, clipped: a Warp kernel."""

import warp as wp

wp.set_module_options({"enable_backward": False})


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
    """One thread: one weight's step of Adam (Kingma & Ba 2015, betas 0.9 and 0.999), clipped.

    `share` of the summed gradients is one rank's mean; `norm` [1] is the norm of the summed ones.
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
