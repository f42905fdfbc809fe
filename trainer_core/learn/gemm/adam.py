"""Adam on flat vectors, one kernel a step, after computing the norm for clipping."""

import torch
import warp as wp
from torch import Tensor

from trainer_core.learn.adam import ADAM_EPS, AdamState
from trainer_core.learn.gemm.network import GemmNetwork
from trainer_core.learn.gemm.ppo_kernels import adam

NORM_PARTS = 64
"""Number of values in each partial sum of the norm: a reduction straight to a single number uses one block of a GPU."""


class GemmAdam(AdamState):
    """Adam on the flat weights of a GemmNetwork; all data is on the device, so that a CUDA graph can capture steps."""

    def __init__(self, network: GemmNetwork, rate: float, *, max_grad_norm: float, world: int) -> None:
        """Make the optimizer.

        `max_grad_norm` 0 clips nothing; the gradients that steps get are sums over `world` ranks.
        """
        super().__init__(network.size, rate, network.device)
        self.network = network
        self.max_grad_norm, self.share = max_grad_norm, 1.0 / world
        self._parts = torch.zeros(network.size // NORM_PARTS, device=network.device)
        vectors = (network.weights, self.first, self.second, network.rounded)
        self._vectors = [wp.from_torch(vector) for vector in vectors]
        self._read = [wp.from_torch(number.view(1)) for number in (self.rate_on_device, self.steps)]

    def spread(self, vector: Tensor) -> list[Tensor]:
        return self.network.spread(vector)

    def fill(self, vector: Tensor, tensors: list[Tensor]) -> None:
        self.network.fill(vector, tensors)

    def step(self, number: int, norm: Tensor) -> None:
        """Make one optimizer step, the `number`-th of an epoch, from 0; write the gradient's norm to `norm` f32[1]."""
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
                ADAM_EPS,
                *self._vectors,
            ],
        )
