"""Exploration bonus from pictures alone, by the number of times a picture was seen in this run.

Count-based exploration with hashed states (Tang et al. 2017, arXiv:1611.04717). The counts are part of the
environment's state: a resumed run continues with them.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

TABLE_BITS = 18
SPREAD = -1640531535
"""0x9E3779B1 as a signed word: 2^32 over the golden ratio (Knuth, volume 3, section 6.4)."""
_HASH_SEED = 0x5EED


def hash_weights(words: int) -> Tensor:
    """Return i32[words], the constant odd weights of `hash_pictures`, one for each word of four pixels."""
    rng = torch.Generator().manual_seed(_HASH_SEED)
    drawn = torch.randint(-(1 << 31), 1 << 31, (words,), generator=rng)
    return (drawn | 1).to(torch.int32)


def hash_pictures(pictures: Tensor, weights: Tensor) -> Tensor:
    """Return i64[N], a 32-bit hash of each of `pictures` u8[N, H, W].

    It is the sum of the picture's words of four pixels, each with its bits mixed and multiplied by its weight.

    Integers modulo 2^32 give the same on every device and in every order of summation.
    """
    if pictures.is_cpu:
        return torch.from_numpy(_hash_on_host(pictures.numpy(), weights.numpy()))
    words = pictures.flatten(1).view(torch.int32) * SPREAD
    words ^= (words >> 16) & 0xFFFF  # without this the last pixel of a word changes few bits
    return (words * weights).sum(1) & 0xFFFFFFFF


def _hash_on_host(pictures: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return `hash_pictures`, i64[N], computed by NumPy, which takes a quarter of torch's time on a CPU."""
    words = np.ascontiguousarray(pictures).reshape(len(pictures), 4 * len(weights)).view(np.uint32)
    mixed = words * np.uint32(SPREAD & 0xFFFFFFFF)
    mixed ^= mixed >> np.uint32(16)
    mixed *= weights.view(np.uint32)
    return mixed.sum(1, dtype=np.uint32).astype(np.int64)


class ScreenCounts:
    """Number of times that each picture, known by its hash, was seen by any env of a batch."""

    def __init__(self, device: torch.device) -> None:
        self.counts = torch.zeros(1 << TABLE_BITS, device=device)

    def visit(self, hashes: Tensor) -> Tensor:
        """Count pictures by their `hashes` i64[N]; return 1 / sqrt(count) f32[N], 1 for a new one."""
        slots = hashes >> (32 - TABLE_BITS)  # the upper bits of the sum are the well mixed ones
        self.counts.index_add_(0, slots, torch.ones_like(slots, dtype=torch.float32))
        return self.counts[slots].rsqrt()
