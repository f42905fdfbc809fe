"""Adam over parameters that lie side by side in memory: one call each for the norm, the clipping
and the step, where ten tensors cost ten times the overhead on a CPU."""

from __future__ import annotations

import itertools
from typing import Any

import torch
from torch import Tensor

from trainer_core.learn.adam import ADAM_EPS, BETAS, Adam

ALIGNED = 16
"""Floats between the places at which parameters may begin, a line of a CPU's cache."""


class FlatAdam(Adam):
    """Steps along `gradient`. The parameters become views of one vector and must stay so; all of
    them have made the same number of steps."""

    def __init__(self, parameters: list[torch.nn.Parameter], rate: float) -> None:
        super().__init__(parameters, rate)
        lengths = [-(-parameter.numel() // ALIGNED) * ALIGNED for parameter in parameters]
        self._begins = list(itertools.accumulate(lengths, initial=0))
        self._weights = self._vector()
        for parameter, place in zip(parameters, self._placed(self._weights), strict=True):
            parameter.data = place.copy_(parameter.data)
        self.gradient = self._vector()
        """f32[...] of all parameters; zero between them."""
        self.places = self._placed(self.gradient)
        """The same, each parameter's in its shape."""
        self._flat: list[Tensor] = []
        """Step, first and second moments, of all parameters."""

    def step(self) -> None:
        if not self.moments:
            self.moments = self._zeros()
        step, first, second = self._flat
        step += 1  # the kernel reads the number of its step
        kernels: Any = torch
        kernels._fused_adam_(
            [self._weights], [self.gradient], [first], [second], [], [step],
            lr=self.rate, beta1=BETAS[0], beta2=BETAS[1], weight_decay=0.0, eps=ADAM_EPS,
            amsgrad=False, maximize=False, grad_scale=None, found_inf=None,
        )  # fmt: skip

    def _zeros(self) -> dict[str, list[Tensor]]:
        step, first, second = self._flat = [torch.zeros(()), self._vector(), self._vector()]
        return {
            "step": [step] * len(self.parameters),
            "exp_avg": self._placed(first),
            "exp_avg_sq": self._placed(second),
        }

    def _vector(self) -> Tensor:
        return torch.zeros(self._begins[-1])

    def _placed(self, vector: Tensor) -> list[Tensor]:
        """Views of `vector`, in the parameters' shapes."""
        return [
            vector[begin : begin + parameter.numel()].view(parameter.shape)
            for begin, parameter in zip(self._begins, self.parameters, strict=False)
        ]
