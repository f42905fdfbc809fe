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
"""Positions in the second layer's window."""
MOST_PATCHES = 12
"""Different patches for each picture above which the convolutions themselves are faster."""


class Tiles:
    """Pictures as indices of distinct patches."""

    def __init__(self, pictures: Tensor, size: int) -> None:
        """Find the patches of `pictures` u8[D, K, H, W], each `size` x `size`; remaining pixels at the edges are
        ignored."""
        count, (rows, columns) = len(pictures), grid_of(pictures, size)
        patches = patches_of(pictures, size)
        first, number = distinct_rows(patches)
        self.patches = patches[first].float() * (1 / MAX_SHADE)
        """f32[V, K * size * size]"""
        self.number = number.view(count, rows * columns)
        """i64[D, rows * columns]"""
        under = torch.cat([self.number, torch.full((count, 1), len(first))], 1)
        under = under[:, windows_under(rows, columns).flatten()]
        self.under = under * NINE + torch.arange(NINE).repeat(under.shape[1] // NINE)
        """i64[D, places * 9]: 9 times the patch index in each window, plus its position of the nine."""

    def of(self, pictures: Tensor) -> Batch | None:
        """Return the batch of the pictures `pictures` i64[U]; None if they share too few tiles."""
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
    """Return rows and columns of whole patches of `size` x `size` in pictures [..., H, W]."""
    return pictures.shape[-2] // size, pictures.shape[-1] // size


def patches_of(pictures: Tensor, size: int) -> Tensor:
    """Return [D * rows * columns, K * size * size], the patches of `pictures` [D, K, H, W]."""
    (count, planes), (rows, columns) = pictures.shape[:2], grid_of(pictures, size)
    cut = pictures[:, :, : rows * size, : columns * size]
    windows = cut.reshape(count, planes, rows, size, columns, size)
    return windows.permute(0, 2, 4, 1, 3, 5).reshape(count * rows * columns, -1)


@functools.cache
def windows_under(rows: int, columns: int) -> Tensor:
    """Return i64[places, 9], the patches in each window of 3x3 with stride 2 and padding 1, of rows * columns patches;
    the number rows * columns means outside."""
    padded = torch.full((rows + 2, columns + 2), rows * columns)
    padded[1:-1, 1:-1] = torch.arange(rows * columns).view(rows, columns)
    return padded.unfold(0, 3, 2).unfold(1, 3, 2).reshape(-1, NINE)


@dataclass(frozen=True, slots=True)
class Batch:
    """Pictures of one optimizer step."""

    patches: Tensor
    """f32[V, K * 64], all different."""
    rows: Tensor
    """i64[U * places, 9]: 9 * patch + position in the window; from 9 * V on outside."""
    pictures: int
    """Number U of pictures."""
    back: Tensor
    """i64[...] positions in U * places, grouped by value of `rows`."""
    begins: Tensor
    """i64[9 * V] beginning of each group in `back`."""


class Passed(tuple[Tensor, ...]):
    """Results of `forward` for `backward`: activations, and weights in another order."""


Beside = Callable[[Callable[[], Tensor]], Callable[[], Tensor]]
"""Type of a function that starts work and returns a function that waits for the result."""


def later(work: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """Return `work` itself, to be done when its result is needed."""
    return work


class TileNetwork:
    """Forward and backward pass of `policy`, whose kind is small."""

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
        """Return logits f32[D, A] and values f32[D] of `pictures` u8[D, K, H, W], too few for a search for equal
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
        """Return logits, values, features and hidden activations of f32[pictures * places, width]."""
        features = windows.view(pictures, -1, windows.shape[1]).transpose(1, 2)
        features = features.reshape(pictures, -1)
        hidden = torch.addmm(self.hidden.bias, features, self.hidden.weight.t()).relu_()
        logits = torch.addmm(self.policy.bias, hidden, self.policy.weight.t())
        values = torch.mv(hidden, self.value.weight[0]) + self.value.bias
        return logits, values, features, hidden

    @torch.no_grad()
    def forward(self, batch: Batch) -> tuple[Tensor, Tensor, Passed]:
        """Return logits f32[U, A], values f32[U], and the data for `backward`."""
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
        """Return the gradients of all parameters in the module's order, from those of `forward`'s logits f32[U, A] and
        values f32[U]. `beside` may start some work on another thread."""
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
    """Return `gradient` where `activation` is positive, else 0."""
    return torch.ops.aten.threshold_backward(gradient, activation, 0)


def sorted_back(rows: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the positions in R of each number from 0 to `count` - 1 in `rows` i64[R, 9], and the beginning of each
    group.

    The terms to be summed for each number are then bags, as in `forward`: several times faster than scattered addition,
    and in a fixed order.
    """
    flat = rows.flatten().numpy()
    last = count + NINE
    key = flat.astype(np.uint16) if last <= 1 << 16 else flat  # 16 bits are sorted by counting
    order = np.argsort(key, kind="stable") // NINE
    ends = np.bincount(flat, minlength=last).cumsum()
    begins = np.concatenate([[0], ends[: count - 1]])
    return torch.from_numpy(order[: ends[count - 1]]), torch.from_numpy(begins)
