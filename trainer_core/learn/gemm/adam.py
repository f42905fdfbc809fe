"""Adam on flat vectors: one kernel a step, behind a norm that clips."""

from typing import Any

import torch
import warp as wp
from torch import Tensor

from trainer_core.learn.gemm.adam_kernel import adam
from trainer_core.learn.gemm.network import GemmNetwork

NORM_PARTS = 64
"""A reduction to one number keeps one block busy: this many numbers a part come first."""


class FlatAdam:
    """Moments of a network's flat weights, its count of steps, and the learning rate.

    All of it lies on the device: a captured step reads what it finds there.
    """

    def __init__(self, network: GemmNetwork, *, max_grad_norm: float, eps: float, world: int) -> None:
        """`max_grad_norm` 0 clips nothing; gradients are sums over `world` ranks."""
        device = network.device
        self.network = network
        self.max_grad_norm, self.eps, self.share = max_grad_norm, eps, 1.0 / world
        self.first, self.second = torch.zeros(2, network.size, device=device)
        self.rate = torch.zeros(1, device=device)
        self.steps = torch.zeros(1, device=device)
        """Steps before the epoch that runs."""
        self._parts = torch.zeros(network.size // NORM_PARTS, device=device)
        vectors = (network.weights, self.first, self.second, network.rounded)
        self._vectors = [wp.from_torch(vector) for vector in vectors]
        self._read = [wp.from_torch(vector) for vector in (self.rate, self.steps)]

    def step(self, number: int, norm: Tensor) -> None:
        """The `number`-th step of an epoch, from 0; `norm` f32[1] becomes the summed gradient's."""
        network = self.network
        torch.linalg.vector_norm(network.gradient.view(-1, NORM_PARTS), dim=1, dtype=torch.float32, out=self._parts)
        torch.linalg.vector_norm(self._parts, out=norm[0])
        network.launch(
            adam,
            network.size,
            [
                wp.from_torch(network.gradient),
                wp.from_torch(norm),
                *self._read,
                number + 1,
                self.max_grad_norm,
                self.share,
                self.eps,
                *self._vectors,
            ],
        )

    def state(self) -> dict[int, Any]:
        """What torch.optim.Adam keeps of each parameter, by its number; empty before a step."""
        if not float(self.steps):
            return {}
        moments = zip(self.network.spread(self.first), self.network.spread(self.second), strict=True)
        return {
            number: {
                "step": self.steps[0].clone(),
                "exp_avg": first.clone(memory_format=torch.contiguous_format),
                "exp_avg_sq": second.clone(memory_format=torch.contiguous_format),
            }
            for number, (first, second) in enumerate(moments)
        }

    def load_state(self, state: dict[int, Any]) -> None:
        """The inverse of `state`."""
        for flat, name in ((self.first, "exp_avg"), (self.second, "exp_avg_sq")):
            flat.zero_()
            if state:
                self.network.fill(flat, [state[number][name] for number in sorted(state)])
        self.steps.fill_(float(state[0]["step"]) if state else 0.0)
