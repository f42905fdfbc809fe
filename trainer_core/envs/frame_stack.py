"""Stack of the last K pictures of N envs, without an allocation per step."""

from __future__ import annotations

import torch
from torch import Tensor

from trainer_core.envs.state_checks import check_like, check_range
from trainer_core.wire.shades import MAX_SHADE


class FrameStack:
    """Stacked pictures: `obs` to act on, `final` as the last step reached them, before any reset.

    Both are u8[N, K, H, W]. With K > 1 they are separate buffers, so that a shift reads one and writes the other. With
    K = 1 there is no shift: `final` is the pictures' own memory.
    """

    def __init__(self, num_envs: int, stack_k: int, height: int, width: int, device: torch.device) -> None:
        shape = (num_envs, stack_k, height, width)
        self.obs = torch.zeros(shape, dtype=torch.uint8, device=device)
        self.final = torch.zeros(shape, dtype=torch.uint8, device=device) if stack_k > 1 else self.obs
        self._begun = torch.zeros(shape[:1] + shape[2:], dtype=torch.uint8, device=device)

    def load(self, obs: Tensor) -> None:
        """Replace the stacked pictures by `obs` u8[N, K, H, W]. Raises CheckpointError if its shape is another."""
        check_like({"obs": obs}, {"obs": self.obs}, "the envs' state")
        check_range(obs, 0, MAX_SHADE, "the envs' obs")
        self.obs.copy_(obs)

    def fill(self, pictures: Tensor) -> Tensor:
        """Begin every env's history with `pictures` u8[N, H, W]; return `obs`."""
        self.obs.copy_(pictures[:, None])
        if self.obs.shape[1] > 1:
            self.final.copy_(self.obs)
        else:
            self.final = self.obs
        return self.obs

    def push(self, pictures: Tensor, reset_mask: Tensor, start_pictures: Tensor, starts: Tensor) -> None:
        """Add the newest `pictures` u8[N, H, W] to the stacks; where `reset_mask` bool[N] is true, begin the stack of
        `obs` again with the start picture of `starts`.

        `start_pictures` u8[S, H, W], `starts` i64[N]. With K = 1 `pictures` must stay unchanged until the next push,
        since `final` is a view of it.
        """
        if self.obs.shape[1] > 1:
            self.final[:, :-1].copy_(self.obs[:, 1:])
            self.final[:, -1].copy_(pictures)
        else:
            self.final = pictures[:, None]
        if self.obs.is_cpu:
            self._put_on_host(reset_mask, start_pictures, starts)
            return
        torch.index_select(start_pictures, 0, starts, out=self._begun)
        torch.where(reset_mask[:, None, None, None], self._begun[:, None], self.final, out=self.obs)

    def _put_on_host(self, reset_mask: Tensor, start_pictures: Tensor, starts: Tensor) -> None:
        """Do the work of `push` on a CPU, which can read the mask without waiting and copies only the few envs to be
        reset."""
        self.obs.copy_(self.final)
        obs, begun, chosen = self.obs.numpy(), start_pictures.numpy(), starts.numpy()
        for env in reset_mask.numpy().nonzero()[0]:
            obs[env] = begun[chosen[env]]
