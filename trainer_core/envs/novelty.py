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
        # 9-bit weights keep every sum below 2^24, exact in float32 on any device, in any order.
        weights = torch.randint(1, 1 << 9, (height * width, 3), generator=rng)
        self._weights = weights.to(device, torch.float32)

    def visit(self, pictures: Tensor) -> Tensor:
        """Count `pictures` u8[N, H, W]; returns 1 / sqrt(count) f32[N], 1 for a new screen."""
        sums = (pictures.flatten(1).float() @ self._weights).to(torch.int64)
        slots = (sums[:, 0] * 2654435761 + sums[:, 1] * 40503 + sums[:, 2]) % (1 << TABLE_BITS)
        ones = torch.ones_like(slots, dtype=torch.float32)
        self.counts.index_add_(0, slots, ones)
        return self.counts[slots].rsqrt()
