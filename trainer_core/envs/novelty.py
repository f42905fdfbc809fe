"""An exploration bonus from pictures alone: how often was this screen seen in this run?

Count-based exploration with hashed states (Tang et al. 2017, arXiv:1611.04717). The counts are part
of the environment's state: a resumed run goes on from them.
"""

from __future__ import annotations

import torch
from torch import Tensor

TABLE_BITS = 18
_HASH_SEED = 0x5EED


class ScreenCounts:
    """Counts of hashed pictures, shared by all machines of one environment."""

    def __init__(self, height: int, width: int, device: torch.device) -> None:
        self.counts = torch.zeros(1 << TABLE_BITS, device=device)
        rng = torch.Generator().manual_seed(_HASH_SEED)
        # Two 12-bit weights a pixel keep every sum below 2^53, exact in float64 on any device.
        weights = torch.randint(1, 1 << 12, (height * width, 2), generator=rng)
        self._weights = weights.to(device, torch.float64)

    def visit(self, pictures: Tensor) -> Tensor:
        """Count `pictures` u8[N, H, W]; returns 1 / sqrt(count) f32[N], 1 for a new screen."""
        sums = pictures.flatten(1).to(torch.float64) @ self._weights
        mixed = sums.to(torch.int64)
        slots = (mixed[:, 0] * 2654435761 + mixed[:, 1] * 40503) % (1 << TABLE_BITS)
        ones = torch.ones_like(slots, dtype=torch.float32)
        self.counts.index_add_(0, slots, ones)
        return self.counts[slots].rsqrt()
