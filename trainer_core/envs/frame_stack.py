"""The last K pictures of N machines, without an allocation per step."""

from __future__ import annotations

import torch
from torch import Tensor


class FrameStack:
    """`obs` is what to act on, `final` what the last step reached before any reset.

    Both are u8[N, K, H, W] buffers of their own, so a shift reads one and writes the other.
    """

    def __init__(
        self, num_envs: int, stack_k: int, height: int, width: int, device: torch.device
    ) -> None:
        shape = (num_envs, stack_k, height, width)
        self.obs = torch.zeros(shape, dtype=torch.uint8, device=device)
        self.final = torch.zeros(shape, dtype=torch.uint8, device=device)

    def fill(self, pictures: Tensor) -> Tensor:
        """Begin every machine's history with `pictures` u8[N, H, W]; returns `obs`."""
        self.obs.copy_(pictures[:, None])
        self.final.copy_(self.obs)
        return self.obs

    def push(self, pictures: Tensor, reset_mask: Tensor, start_pictures: Tensor) -> None:
        """Add `pictures` u8[N, H, W]; where `reset_mask` bool[N], begin with the start's."""
        if self.obs.shape[1] > 1:
            self.final[:, :-1].copy_(self.obs[:, 1:])
        self.final[:, -1].copy_(pictures)
        torch.where(
            reset_mask[:, None, None, None], start_pictures[:, None], self.final, out=self.obs
        )
