"""Our networks as matrix products, and a minibatch of them as two captured CUDA graphs; for GPUs.

cuDNN's libraries take three seconds to load, and a minibatch of a small network is hundreds of launches of microseconds
each (docs/notebook/learning.md has both). Same parameters and function as `PixelActorCritic.forward`; skrl is not
imported here.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from trainer_core.learn.policy import PixelActorCritic
from trainer_core.wire.shades import MAX_SHADE

KNOWN = (nn.Conv2d, nn.ReLU, nn.Flatten)
"""Layer types that `heads` supports in a network's trunk."""
WARM_UPS = 3
"""Number of passes before a CUDA graph is captured, in which libraries allocate their workspaces."""


def can_be_products(net: PixelActorCritic) -> bool:
    return all(isinstance(layer, KNOWN) for layer in net.trunk)


def heads(net: PixelActorCritic, pictures: Tensor) -> tuple[Tensor, Tensor]:
    """Return logits f32[B, A] and values f32[B] of shades u8[B, K, H, W], as `net.forward` does."""
    found = pictures.float() * (1 / MAX_SHADE)
    for layer in net.trunk:
        found = _convolved(layer, found) if isinstance(layer, nn.Conv2d) else layer(found)
    features = net.hidden(found)
    return net.policy_head(features), net.value_head(features).squeeze(-1)


def _convolved(layer: nn.Conv2d, found: Tensor) -> Tensor:
    """Convolve f32[B, C, H, W] with `layer` to f32[B, O, H', W'], as a matrix product of windows and weights."""
    size, stride, edge = layer.kernel_size[0], layer.stride[0], layer.padding[0]
    assert isinstance(edge, int)
    if edge:
        found = nn.functional.pad(found, (edge,) * 4)
    windows = found.unfold(2, size, stride).unfold(3, size, stride)
    count, _, rows, columns = windows.shape[:4]
    patches = windows.permute(0, 2, 3, 1, 4, 5).reshape(count * rows * columns, -1)
    assert layer.bias is not None
    product = torch.addmm(layer.bias, patches, layer.weight.flatten(1).t())
    return product.view(count, rows, columns, -1).permute(0, 3, 1, 2)


class Minibatch:
    """Forward and backward pass of the network for PPO minibatches of `size` samples, as two CUDA graphs."""

    def __init__(self, net: PixelActorCritic, size: int, device: torch.device) -> None:
        self._net, self.parameters = net, list(net.parameters())
        self._pictures = torch.zeros(size, *net.obs_shape, dtype=torch.uint8, device=device)
        self._actions = torch.zeros(size, 1, dtype=torch.int64, device=device)
        self._weights = [torch.zeros(size, 1, device=device) for _ in range(3)]
        self._capture()

    def __call__(self, pictures: Tensor, actions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return log probabilities of `actions`, entropies and values, f32[size, 1] each, with gradients.

        The next call overwrites these tensors.
        """
        return _Replay.apply(self, pictures, actions, *self.parameters)

    def forward(self, pictures: Tensor, actions: Tensor) -> tuple[Tensor, ...]:
        self._pictures.copy_(pictures)
        self._actions.copy_(actions)
        self._forth.replay()
        return tuple(found.detach() for found in self._found)

    def backward(self, weights: tuple[Tensor | None, ...]) -> tuple[Tensor, ...]:
        """Return the gradients of the parameters.

        `weights` are the gradients of log probabilities, entropies and values, None for zero.
        """
        for kept, given in zip(self._weights, weights, strict=True):
            kept.zero_() if given is None else kept.copy_(given)
        self._back.replay()
        return tuple(gradient.detach() for gradient in self._gradients)

    def _ask(self) -> tuple[Tensor, ...]:
        logits, values = heads(self._net, self._pictures)
        logs = logits.log_softmax(-1)
        entropies = -(logs.exp() * logs).sum(-1, keepdim=True)
        return logs.gather(1, self._actions), entropies, values.unsqueeze(-1)

    def _differentiate(self, found: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        # A sum: gradients passed to autograd explicitly make it import SymPy, which takes two seconds.
        parts = [(one * weight).sum() for one, weight in zip(found, self._weights, strict=True)]
        return torch.autograd.grad(torch.stack(parts).sum(), self.parameters)

    def _capture(self) -> None:
        aside = torch.cuda.Stream(self._pictures.device)
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside), torch.enable_grad():
            for _ in range(WARM_UPS):
                self._differentiate(self._ask())
        torch.cuda.current_stream().wait_stream(aside)
        self._forth, self._back = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with torch.enable_grad():
            with torch.cuda.graph(self._forth):
                self._found = self._ask()
            with torch.cuda.graph(self._back, pool=self._forth.pool()):
                self._gradients = self._differentiate(self._found)


class _Replay(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, minibatch: Minibatch, pictures: Tensor, actions: Tensor, *parameters: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.minibatch = minibatch
        return minibatch.forward(pictures, actions)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *weights: Tensor | None) -> Any:  # type: ignore[override]
        return (None, None, None, *ctx.minibatch.backward(weights))
