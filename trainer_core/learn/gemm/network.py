"""PixelActorCritic as a chain of matrix products over preallocated memory, in bf16.

Each layer is columns(input) @ weights: `rectified_columns` writes the windows of a convolution side by side (a full
connection is one window as large as its input) and applies the ReLU on the way, a column of ones multiplies the bias.
The result is a few large products and few copies, all at fixed addresses, so that an epoch of optimizer steps is one
CUDA graph.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import torch
import warp as wp
from torch import Tensor, nn

from emulator.launch.warp_start import start_warp
from trainer_core.learn.gemm.columns import LANES, PAD, Window, gradient_of_columns, picture_columns, rectified_columns
from trainer_core.learn.gemm.press_prior import press_prior
from trainer_core.learn.policy import PixelActorCritic


@dataclass(frozen=True, slots=True)
class Layer:
    """One matrix product of the network: the position of its weights in the flat vector, and its window."""

    window: Window
    outputs: int
    """Number of columns of the weights; those of the heads are padded to a multiple of 8."""
    offset: int
    modules: tuple[nn.Conv2d | nn.Linear, ...]

    @property
    def rows(self) -> int:
        return self.window.inputs + PAD

    @property
    def size(self) -> int:
        return self.rows * self.outputs


def can_be_products(policy: PixelActorCritic) -> bool:
    """Return whether this network consists of convolutions and full connections with ReLUs between them."""
    return policy.kind in ("small", "nature") and policy.obs_shape[2] % LANES == 0


def layers_of(policy: PixelActorCritic) -> list[Layer]:
    """Return the matrix products that make up `policy`, in order from the pictures to the heads."""
    planes, height, width = policy.obs_shape
    layers: list[Layer] = []
    offset = 0
    channels = planes

    def add(module: Any, size: tuple[int, int], stride: int, pad: int, outputs: int, *more: Any) -> None:
        nonlocal offset, height, width, channels
        window = Window(height, width, channels, *size, stride, pad)
        padded = -(-outputs // 8) * 8
        layers.append(Layer(window, padded, offset, (module, *more)))
        offset += layers[-1].size
        height, width, channels = window.out_height, window.out_width, outputs

    for module in policy.trunk:
        if isinstance(module, nn.Conv2d):
            assert module.kernel_size[0] == module.kernel_size[1]
            pad = int(module.padding[0])
            size = module.kernel_size[0]
            add(module, (size, size), module.stride[0], pad, module.out_channels)
    hidden = policy.hidden[0]
    assert isinstance(hidden, nn.Linear)
    # One window: a stride past its end tells the kernels that each pixel belongs to one window.
    add(hidden, (height, width), max(height, width), 0, hidden.out_features)
    add(policy.policy_head, (1, 1), 1, 0, policy.num_actions + 1, policy.value_head)
    return layers


def to_matrix(layer: Layer, parameters: list[Tensor]) -> Tensor:
    """Return the matrix f32[rows, outputs] of a layer, made of its modules' parameters (weight, bias, weight, bias,
    ...)."""
    window = layer.window
    matrix = torch.zeros(layer.rows, layer.outputs, device=parameters[0].device)
    column = 0
    for weight, bias in zip(parameters[::2], parameters[1::2], strict=True):
        taps = weight.detach().view(len(weight), window.channels, window.kernel_height, window.kernel_width)
        order = (1, 2, 3, 0) if layer.offset == 0 else (2, 3, 1, 0)
        block = taps.permute(order).reshape(layer.window.inputs, len(weight))
        matrix[: layer.window.inputs, column : column + len(weight)] = block
        matrix[layer.window.inputs, column : column + len(weight)] = bias.detach()
        column += len(weight)
    return matrix


def from_matrix(layer: Layer, matrix: Tensor, like: list[Tensor]) -> list[Tensor]:
    """Return the modules' parameters in the layer's `matrix`, in the shapes of `like`: the inverse of `to_matrix`."""
    window = layer.window
    found: list[Tensor] = []
    column = 0
    for weight, bias in zip(like[::2], like[1::2], strict=True):
        block = matrix[: layer.window.inputs, column : column + len(weight)]
        if layer.offset == 0:
            taps = block.view(window.channels, window.kernel_height, window.kernel_width, -1)
            taps = taps.permute(3, 0, 1, 2)
        else:
            taps = block.reshape(window.kernel_height, window.kernel_width, window.channels, -1)
            taps = taps.permute(3, 2, 0, 1)
        found += [taps.reshape(weight.shape), matrix[layer.window.inputs, column : column + len(bias)]]
        column += len(weight)
    return found


class Buffers:
    """Memory for the passes of a batch of pictures: columns, activations before the ReLU, and their gradients.

    No data is kept between passes: `first` returns a smaller batch on the same memory.
    """

    def __init__(self, layers: list[Layer], size: int, device: torch.device) -> None:
        """Allocate memory for at most `size` pictures, without gradients."""

        def bf16(rows: int, columns: int) -> Tensor:
            return torch.empty(rows, columns, dtype=torch.bfloat16, device=device)

        self.size = size
        self.columns = [bf16(size * layer.window.windows, layer.rows) for layer in layers]
        self.values = [bf16(size * layer.window.windows, layer.outputs) for layer in layers]
        self.column_gradients: list[Tensor] = []
        """Gradients of the columns of each layer but the first; they share memory, as each is used before the next is
        made."""
        self.gradients: list[Tensor] = []
        """Gradients of `values`."""

    def first(self, size: int) -> Buffers:
        """Return buffers for `size` pictures in the same memory, without gradients."""
        part = copy.copy(self)
        part.size = size
        part.columns = [tensor[: len(tensor) // self.size * size] for tensor in self.columns]
        part.values = [tensor[: len(tensor) // self.size * size] for tensor in self.values]
        part.column_gradients, part.gradients = [], []
        return part

    def add_gradients(self) -> None:
        """Allocate the memory for the gradients that a backward pass computes."""
        wide = max(tensor.numel() for tensor in self.columns[1:])
        shared = self.columns[0].new_zeros(wide)
        self.column_gradients = [shared[: tensor.numel()].view(tensor.shape) for tensor in self.columns[1:]]
        self.gradients = [torch.zeros_like(tensor) for tensor in self.values]


class GemmNetwork:
    """Network with its weights in two flat vectors, f32 and bf16, which can be copied from and to the torch module."""

    def __init__(self, policy: PixelActorCritic, device: torch.device) -> None:
        self.policy, self.device = policy, device
        self.layers = layers_of(policy)
        last = self.layers[-1]
        self.size = last.offset + last.size
        self.weights = torch.zeros(self.size, device=device)
        self.rounded = torch.zeros(self.size, dtype=torch.bfloat16, device=device)
        self.gradient = torch.zeros(self.size, dtype=torch.bfloat16, device=device)
        self._matrices = [self.part(self.rounded, layer) for layer in self.layers]
        self._gradients = [self.part(self.gradient, layer) for layer in self.layers]
        start_warp()
        name = "cpu" if device.type == "cpu" else f"cuda:{device.index or 0}"
        self._wp_device = wp.get_device(name)
        self._streams: dict[int, Any] = {}
        self.load()

    def part(self, flat: Tensor, layer: Layer) -> Tensor:
        """Return the part of the vector `flat` that belongs to a layer, as a view [rows, outputs]."""
        return flat[layer.offset : layer.offset + layer.size].view(layer.rows, layer.outputs)

    def load(self) -> None:
        """Copy the weights from the torch module."""
        self.fill(self.weights, [parameter.detach() for parameter in self.policy.parameters()])
        self.rounded.copy_(self.weights)

    def store(self) -> None:
        """Copy the weights to the torch module."""
        parameters = list(self.policy.parameters())
        with torch.no_grad():
            for parameter, tensor in zip(parameters, self.spread(self.weights), strict=True):
                parameter.copy_(tensor)

    def fill(self, flat: Tensor, tensors: list[Tensor]) -> None:
        """Copy `tensors`, in the order and shapes of the module's parameters, into the vector `flat`."""
        for layer, mine in self._shares(tensors):
            self.part(flat, layer).copy_(to_matrix(layer, mine))

    def spread(self, flat: Tensor) -> list[Tensor]:
        """Return the content of the vector `flat` in the order and shapes of the module's parameters: the inverse of
        `fill`."""
        like: list[Tensor] = list(self.policy.parameters())
        return [
            tensor for layer, mine in self._shares(like) for tensor in from_matrix(layer, self.part(flat, layer), mine)
        ]

    def _shares(self, tensors: list[Tensor]) -> list[tuple[Layer, list[Tensor]]]:
        shares, at = [], 0
        for layer in self.layers:
            count = 2 * len(layer.modules)
            shares.append((layer, tensors[at : at + count]))
            at += count
        assert at == len(tensors)
        return shares

    # -- the passes -------------------------------------------------------------------------

    def forward(self, pictures: Tensor, index: Tensor, buffers: Buffers) -> Tensor:
        """Return bf16[B, A + 1 and padding]: logits, then the value, of pictures[index].

        `pictures` u8[S, K, H, W] and `index` i64[B], both contiguous.
        """
        for number, layer in enumerate(self.layers):
            columns, window = buffers.columns[number], layer.window
            if number == 0:
                kernel, sources = picture_columns(window), [pictures, index]
            else:
                kernel, sources = rectified_columns(window), [buffers.values[number - 1]]
            threads = buffers.size * window.windows * window.words
            self.launch(kernel, threads, addresses(*sources, columns))
            torch.mm(columns, self._matrices[number], out=buffers.values[number])
        return buffers.values[-1]

    def prior(self, pictures: Tensor, index: Tensor, prior: Tensor) -> None:
        """Fill `prior` f32[B, A] with the change of the logits by press marks in pictures[index]
        (`PixelActorCritic.prior`). All tensors are contiguous."""
        read = (pictures.data_ptr(), wp.from_torch(index), *pictures.shape[1:])
        off = wp.from_torch(self.policy.off_for_presses)
        inputs: list[Any] = [*read, off, wp.from_torch(prior)]
        self.launch(press_prior, tuple(prior.shape), inputs)

    def backward(self, buffers: Buffers) -> None:
        """Compute the gradient of the weights into `self.gradient` from `buffers.gradients[-1]`, that of `forward`'s
        result."""
        for number in reversed(range(len(self.layers))):
            outer = buffers.gradients[number]
            torch.mm(buffers.columns[number].t(), outer, out=self._gradients[number])
            if number == 0:
                return
            inner = buffers.column_gradients[number - 1]
            torch.mm(outer, self._matrices[number].t(), out=inner)
            values, gradient = buffers.values[number - 1], buffers.gradients[number - 1]
            kernel = gradient_of_columns(self.layers[number].window)
            self.launch(kernel, gradient.numel() // LANES, addresses(inner, values, gradient))

    def launch(self, kernel: Any, threads: int | tuple[int, ...], inputs: list[Any]) -> None:
        """Launch a Warp kernel with `inputs` on torch's current stream."""
        wp.launch(kernel, threads, inputs, device=self._wp_device, stream=self._stream())

    def _stream(self) -> Any:
        """Return torch's current stream as Warp's, None on a CPU."""
        if self.device.type != "cuda":
            return None
        stream = torch.cuda.current_stream(self.device)
        if stream.cuda_stream not in self._streams:
            self._streams[stream.cuda_stream] = wp.stream_from_torch(stream)
        return self._streams[stream.cuda_stream]


def addresses(*tensors: Tensor) -> list[int]:
    """Return the addresses of tensors as arguments for the kernels in columns.py, which know the shapes as
    constants."""
    return [tensor.data_ptr() for tensor in tensors]
