"""Network `small` on pictures of few different tiles, with its gradient, on a CPU.

A Game Boy draws with tiles of 8x8 pixels, and the network's first layer reads patches of 8x8: of the 11,520 patches in
a minibatch of `leave_bedroom` 150 differ, of `nectar_run` 900. So the first layer is a product of the different patches
with the weights, and so is the second, once for each of the nine positions of a patch in its window; for each picture
it only remains to add nine rows. The same function of the same parameters as `policy.PixelActorCritic`, with sums in
another order (docs/notebook/learning.md, notebook 12).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag, pad

from trainer_core.learn.distinct import distinct_rows
from trainer_core.learn.policy import PatchConv2d, PixelActorCritic
from trainer_core.wire.shades import MAX_SHADE

NINE = 9
"""Number of positions of a patch in the second layer's 3x3 window."""
MOST_PATCHES = 12
"""Number of distinct patches per picture above which ordinary convolutions are faster."""


class Tiles:
    """Pictures of a rollout as indices into their V distinct patches."""

    def __init__(self, pictures: Tensor, size: int) -> None:
        """Find the patches of `pictures` u8[D, K, H, W], each `size` x `size`; remaining pixels at the edges are
        ignored."""
        count, (rows, columns) = len(pictures), grid_of(pictures, size)
        patches = patches_of(pictures, size)
        first, number = distinct_rows(patches)
        self.patches = patches[first].float() * (1 / MAX_SHADE)
        """f32[V, K * size * size] distinct patches, shades from 0 to 1."""
        self.number = number.view(count, rows * columns)
        """i64[D, rows * columns] index of each picture's patches in `patches`."""
        under = torch.cat([self.number, torch.full((count, 1), len(first))], 1)
        under = under[:, windows_under(rows, columns).flatten()]
        self.under = under * NINE + torch.arange(NINE).repeat(under.shape[1] // NINE)
        """i64[D, places * 9] for each window of the second layer and each of its nine positions: 9 * patch index +
        position."""

    def of(self, pictures: Tensor) -> Batch | None:
        """Return the Batch of the pictures with the numbers `pictures` i64[U]; None if they have too many distinct
        patches."""
        seen = torch.zeros(len(self.patches) + 1, dtype=torch.int64)
        seen[self.number[pictures].flatten()] = 1
        used = seen.nonzero().squeeze(1)
        if len(used) > MOST_PATCHES * len(pictures):
            return None
        number = seen.cumsum(0) - 1
        number[-1] = len(used)
        rows = (number[:, None] * NINE + torch.arange(NINE)).flatten()
        rows = rows[self.under[pictures]].view(-1, NINE)
        return Batch(self.patches[used], rows, len(pictures), *sorted_back(rows, len(used) * NINE))


def grid_of(pictures: Tensor, size: int) -> tuple[int, int]:
    """Return the number of rows and of columns of whole patches of `size` x `size` pixels in pictures [..., H, W]."""
    return pictures.shape[-2] // size, pictures.shape[-1] // size


def patches_of(pictures: Tensor, size: int) -> Tensor:
    """Return [D * rows * columns, K * size * size], the patches of `pictures` [D, K, H, W]."""
    (count, planes), (rows, columns) = pictures.shape[:2], grid_of(pictures, size)
    cut = pictures[:, :, : rows * size, : columns * size]
    windows = cut.reshape(count, planes, rows, size, columns, size)
    return windows.permute(0, 2, 4, 1, 3, 5).reshape(count * rows * columns, -1)


@functools.cache
def windows_under(rows: int, columns: int) -> Tensor:
    """Return i64[places, 9], the numbers of the patches in each window of the second layer: 3x3, stride 2, padding 1.

    Patches are numbered row by row; the number rows * columns means outside of the picture.
    """
    padded = torch.full((rows + 2, columns + 2), rows * columns)
    padded[1:-1, 1:-1] = torch.arange(rows * columns).view(rows, columns)
    return padded.unfold(0, 3, 2).unfold(1, 3, 2).reshape(-1, NINE)


@dataclass(frozen=True, slots=True)
class Batch:
    """Pictures of one optimizer step, U of them with V distinct patches, in the form that TileNetwork reads."""

    patches: Tensor
    """f32[V, K * 64] distinct patches."""
    rows: Tensor
    """i64[U * places, 9] for each window: 9 * patch + position in the window; 9 * V or more outside of the picture."""
    pictures: int
    """Number U of pictures."""
    back: Tensor
    """i64[...] numbers of the windows (0 to U * places - 1), grouped by the value in `rows`; see `sorted_back`."""
    begins: Tensor
    """i64[9 * V] beginning of each group in `back`."""


class Passed(tuple[Tensor, ...]):
    """Intermediate results of `forward` that `backward` needs: activations, and the second layer's weights
    reordered."""


Beside = Callable[[Callable[[], Tensor]], Callable[[], Tensor]]
"""Type of a function that starts work and returns a function that waits for the result."""


def later(work: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """Return `work` itself: without another thread it runs when its result is asked for."""
    return work


class TileNetwork:
    """Forward and backward pass of a PixelActorCritic of the kind small, on batches of distinct patches."""

    def __init__(self, policy: PixelActorCritic) -> None:
        first, _, second, _, _ = policy.trunk
        hidden = policy.hidden[0]
        assert isinstance(first, PatchConv2d)
        assert isinstance(second, nn.Conv2d)
        assert isinstance(hidden, nn.Linear)
        self.first, self.second, self.hidden = first, second, hidden
        assert first.bias is not None
        assert second.bias is not None
        self.first_bias, self.second_bias = first.bias, second.bias
        self.policy, self.value = policy.policy_head, policy.value_head

    @torch.no_grad()
    def act(self, pictures: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits f32[D, A] and values f32[D] of `pictures` u8[D, K, H, W], without searching for equal
        patches."""
        first, second = self.first, self.second
        size, width = first.kernel_size[0], second.out_channels
        shown = patches_of(pictures, size).float().mul_(1 / MAX_SHADE)
        tiles = torch.addmm(self.first_bias, shown, first.weight.flatten(1).t()).relu_()
        tiles = pad(tiles.view(len(pictures), -1, first.out_channels), (0, 0, 0, 1))
        under = windows_under(*grid_of(pictures, size)).flatten()
        columns = tiles.index_select(1, under).view(-1, NINE * first.out_channels)
        weight = second.weight.permute(2, 3, 1, 0).reshape(-1, width)
        windows = torch.addmm(self.second_bias, columns, weight).relu_()
        logits, values, *_ = self._heads(windows, len(pictures))
        return logits, values

    def _heads(self, windows: Tensor, pictures: int) -> tuple[Tensor, ...]:
        """Return logits, values, features and hidden activations, given `windows`, the second layer's output.

        `windows` is f32[pictures * places, width].
        """
        features = windows.view(pictures, -1, windows.shape[1]).transpose(1, 2)
        features = features.reshape(pictures, -1)
        hidden = torch.addmm(self.hidden.bias, features, self.hidden.weight.t()).relu_()
        logits = torch.addmm(self.policy.bias, hidden, self.policy.weight.t())
        values = torch.mv(hidden, self.value.weight[0]) + self.value.bias
        return logits, values, features, hidden

    @torch.no_grad()
    def forward(self, batch: Batch) -> tuple[Tensor, Tensor, Passed]:
        """Return logits f32[U, A] and values f32[U] of the batch's pictures, and intermediate results for
        `backward`."""
        first, second = self.first, self.second
        tiles = torch.addmm(self.first_bias, batch.patches, first.weight.flatten(1).t()).relu_()
        weight = second.weight.permute(1, 2, 3, 0).reshape(second.in_channels, -1)
        width, count = second.out_channels, len(tiles) * NINE
        table = torch.empty(count + NINE, width)
        torch.mm(tiles, weight, out=table[:count].view(len(tiles), -1))
        table[count:] = 0
        windows = embedding_bag(batch.rows, table, mode="sum").add_(self.second_bias).relu_()
        logits, values, features, hidden = self._heads(windows, batch.pictures)
        return logits, values, Passed((tiles, weight, windows, features, hidden))

    @torch.no_grad()
    def backward(
        self, batch: Batch, passed: Passed, logits: Tensor, values: Tensor, beside: Beside = later
    ) -> tuple[Tensor, ...]:
        """Return the gradients of all parameters, in the module's order.

        `logits` f32[U, A] and `values` f32[U] are the gradients of the outputs of `forward`, `passed` its third result.
        `beside` may compute a part on another thread.
        """
        tiles, weight, windows, features, hidden = passed
        ahead = torch.mm(logits, self.policy.weight).addr_(values, self.value.weight[0])
        ahead = behind_relu(ahead, hidden)
        heads = (torch.mm(logits.t(), hidden), logits.sum(0), torch.mv(hidden.t(), values)[None], values.sum()[None])
        full = beside(lambda: torch.mm(ahead.t(), features))  # a fifth of a step
        width = windows.shape[1]
        back = torch.mm(ahead, self.hidden.weight).view(batch.pictures, width, -1)
        back = behind_relu(back.transpose(1, 2).reshape(-1, width), windows)
        table = embedding_bag(batch.back, back, batch.begins, mode="sum").view(len(tiles), -1)
        second = torch.mm(tiles.t(), table).view(-1, 3, 3, width).permute(3, 0, 1, 2)
        patches = behind_relu(torch.mm(table, weight.t()), tiles)
        first = torch.mm(patches.t(), batch.patches).view_as(self.first.weight)
        return (first, patches.sum(0), second, back.sum(0), full(), ahead.sum(0), *heads)


def behind_relu(gradient: Tensor, activation: Tensor) -> Tensor:
    """Return ReLU's gradient: `gradient` where `activation` is positive, else 0."""
    return torch.ops.aten.threshold_backward(gradient, activation, 0)


def sorted_back(rows: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return for each number from 0 to `count` - 1 the rows of `rows` i64[R, 9] that contain it.

    The first result has these row numbers, one group after another, the second, i64[count], the beginning of each
    group.

    With them torch's embedding_bag sums the terms of each number, several times faster than scattered addition, and in
    a fixed order.
    """
    flat = rows.flatten().numpy()
    last = count + NINE
    key = flat.astype(np.uint16) if last <= 1 << 16 else flat  # 16 bits are sorted by counting
    order = np.argsort(key, kind="stable") // NINE
    ends = np.bincount(flat, minlength=last).cumsum()
    begins = np.concatenate([[0], ends[: count - 1]])
    return torch.from_numpy(order[: ends[count - 1]]), torch.from_numpy(begins)
