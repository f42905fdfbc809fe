"""Words of a picture: what a cell of the archive is told by, from pixels alone.

- The *layout*, the mean shades of squares of 16x16 screen pixels, is a cell's key: pictures with equal layouts are one
  cell.
- The *tiles*, each square of 8x8 screen pixels, make a vocabulary. A tile that was seldom seen marks a picture as new
  wherever on the screen it is: a new room, a line of text, a thing that the player carries. Things that merely walk
  about repeat tiles.
- The *view* is the nearest of the tile histograms that were far from all before it. A scrolled picture, or one with
  another figure in it, keeps most of its tiles, so a view is a room or a part of a landscape.
"""

from __future__ import annotations

import torch
from torch import Tensor

from trainer_core.envs.novelty import SPREAD, hash_weights

SQUARE = 8
"""Side of a layout's squares in pixels of the observation, each 2x2 of the screen."""
TILE = 4
SHADES = 2
"""Steps to which a shade of a layout is rounded."""
TILE_BITS = 18
TILES = (72 // TILE) * (80 // TILE)
HISTOGRAM_BITS = 9
MOST_VIEWS = 256
ALIKE = 0.6
"""Least Bhattacharyya coefficient of the tile histograms of pictures of one view."""
MIX, MORE = 0x1E3779B97F4A7C15, 0x27D4EB2F165667C5
"""Odd constants of 61 and 62 bits."""


def layouts(pictures: Tensor) -> Tensor:
    """Return the key i64[N] of each of `pictures` u8[N, 72, 80], never 0; equal keys are one cell."""
    count, height, width = pictures.shape
    squares = pictures.reshape(count, height // SQUARE, SQUARE, width // SQUARE, SQUARE)
    sums = squares.sum((2, 4), dtype=torch.int32).flatten(1)
    levels = torch.div(sums * SHADES + SQUARE * SQUARE // 2, SQUARE * SQUARE, rounding_mode="floor").long() + 1
    place = torch.arange(1, levels.shape[1] + 1, device=levels.device) * MORE | 1
    mixed = levels * MIX
    mixed = (mixed ^ mixed >> 29) * place
    return (mixed ^ mixed >> 31 & 0x1FFFFFFFF).sum(1) | 1


def tiles(pictures: Tensor) -> Tensor:
    """Return i64[N, TILES], a hash of TILE_BITS bits of each tile of `pictures` u8[N, 72, 80]."""
    weights = hash_weights(TILE).to(pictures.device)
    words = pictures.reshape(len(pictures), 72, 80).view(torch.int32) * SPREAD  # a word is a row of a tile
    words = words ^ words >> 16 & 0xFFFF
    sums = (words.reshape(-1, 72 // TILE, TILE, 80 // TILE) * weights[:, None]).sum(2, dtype=torch.int32)
    return (sums.flatten(1) >> 32 - TILE_BITS).long() & (1 << TILE_BITS) - 1


class Views:
    """Histograms that stand for the views seen so far, and the nearest of them to a picture."""

    def __init__(self, device: torch.device) -> None:
        self.histograms = torch.zeros(MOST_VIEWS + 1, 1 << HISTOGRAM_BITS, device=device)
        """f32[V + 1, bins] square roots of shares; the last row is for nothing."""
        self.count = torch.zeros((), dtype=torch.int64, device=device)

    def of(self, found: Tensor) -> Tensor:
        """Return i64[N], the view of each picture by its `tiles`, i64[N, TILES].

        The picture that is least like all views becomes one itself, if its likeness is below ALIKE.
        """
        bins = torch.zeros(len(found), self.histograms.shape[1], device=found.device)
        ones = torch.ones(1, device=found.device).expand(found.shape)
        bins.scatter_add_(1, found >> TILE_BITS - HISTOGRAM_BITS, ones)
        bins = bins.div_(TILES).sqrt_()
        likeness, nearest = (bins @ self.histograms[:MOST_VIEWS].T).max(1)
        least, which = likeness.min(0)
        grows = (least < ALIKE) & (self.count < MOST_VIEWS)
        row = self.count.where(grows, MOST_VIEWS)
        self.histograms.index_copy_(0, row[None], bins[which][None])
        nearest = nearest.index_copy(0, which[None], row.where(grows, nearest[which])[None])
        self.count += grows
        return nearest
