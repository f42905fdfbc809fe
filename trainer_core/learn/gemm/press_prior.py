"""Warp kernel for the change of the logits by the press marks in pictures (envs/press_marks.py).

It computes `PixelActorCritic.prior` of pictures[index] without copying the pictures.
"""

import warp as wp

from emulator.kernels.intrinsics import Q, ld32
from trainer_core.envs.press_marks import MOST, ROWS, WIDTH
from trainer_core.wire.shades import MAX_SHADE

wp.set_module_options({"enable_backward": False})

assert WIDTH == 8, "a line of a mark is two words"
LINE, LINES_A_PRESS = wp.constant(WIDTH), wp.constant(ROWS)
LINES = wp.constant(ROWS * MOST)
"""Height of a mark in lines of pixels."""
EVEN = wp.constant(wp.uint32(MAX_SHADE * 0x01000100))
ODD = wp.constant(wp.uint32(MAX_SHADE * 0x00010001))
"""Four pixels of the checkerboard's even and odd lines."""


@wp.kernel
def press_prior(
    pictures: Q,
    index: wp.array(dtype=wp.int64),
    planes: wp.int32,
    height: wp.int32,
    width: wp.int32,
    off: wp.array(dtype=wp.float32),
    prior: wp.array2d(dtype=wp.float32),
):
    """Set `prior` f32[B, A] to -off[p] for the number p of presses that an action's mark shows; thread (sample,
    action).

    `off` f32[presses + 1]; `pictures` u8[S, planes, height, width], of which the last plane has marks; `index` i64[B].
    """
    b, action = wp.tid()
    in_a_row = width // LINE
    band = action // in_a_row
    picture = index[b] * wp.int64(planes) + wp.int64(planes - 1)
    row = picture * wp.int64(height) + wp.int64(height - LINES * (band + 1))
    left = (action - band * in_a_row) * LINE
    at = pictures + Q(row) * Q(width) + Q(left)
    lines = wp.int32(0)
    for line in range(LINES):
        want = wp.where(line % 2 == 0, EVEN, ODD)
        source = at + Q(line * width)
        if ld32(source) == want and ld32(source + Q(4)) == want:
            lines += 1
    prior[b, action] = -off[lines // LINES_A_PRESS]
