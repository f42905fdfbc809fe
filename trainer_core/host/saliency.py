"""Saliency of a policy: how its logits change when a part of the picture is covered.

Perturbation saliency after Greydanus et al. 2018, arXiv:1711.00138, equation 2: half the squared distance of the logits
with and without the perturbation. They blur a part; here it is covered with the picture's commonest shade, which four
shades can show exactly.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from trainer_core.envs.task_files import SHAPE

PATCH = 8
"""Width and height of a covered patch, in pixels of the 80x72 observation."""


def covered(stack: np.ndarray) -> tuple[np.ndarray, int, int]:
    """Return copies of `stack` u8[K, H, W], each with another patch covered in every plane.

    Returns (u8[P, K, H, W], rows, columns), P = rows * columns, row by row. Patches at the right and lower edge may be
    smaller; rows below a Game Boy's picture, which show memory, stay.
    """
    height, width = min(stack.shape[1], SHAPE[0]), stack.shape[2]
    rows, columns = -(-height // PATCH), -(-width // PATCH)
    shade = np.bincount(stack.ravel()).argmax()
    copies = np.repeat(stack[None], rows * columns, axis=0)
    for index, copy in enumerate(copies):
        y, x = index // columns * PATCH, index % columns * PATCH
        copy[:, y : y + PATCH, x : x + PATCH] = shade
    return copies, rows, columns


@torch.no_grad()
def saliency(policy: nn.Module, stack: np.ndarray) -> np.ndarray:
    """Return f32[rows, columns] >= 0 from one forward pass of `policy` over `stack` and its covered copies.

    The logits' mean is subtracted, since no probability depends on it.
    """
    copies, rows, columns = covered(stack)
    device = next(policy.parameters()).device
    logits: Tensor = policy(torch.from_numpy(np.concatenate((stack[None], copies))).to(device))[0]
    logits = logits.float() - logits.float().mean(-1, keepdim=True)
    moved = (logits[1:] - logits[:1]).square().sum(-1) / 2
    return moved.reshape(rows, columns).cpu().numpy()
