"""Layout, place, view and scene of a picture: descriptions of it from pixels alone.

- The *layout*, the mean shades of squares of 16x16 screen pixels, is a cell's key: pictures with equal layouts are one
  cell.
- The *place* is a layout of twelve parts of the screen, in which a walking figure hardly shows.
- The *view* is the nearest of some histograms of small patterns that were far from all before. A scrolled picture,
  or one with another figure in it, keeps most of its patterns.
- A *scene* is a set of views between which pictures change little by little: a room, or a landscape that scrolls.
"""

from __future__ import annotations

import torch
from torch import Tensor

SQUARE, PART = (8, 8), (24, 20)
"""Height and width of the parts of a layout and of a place in pixels of the observation, each 2x2 of the screen."""
SHADES = 2
"""Steps to which a shade is rounded."""
CORNERS, STRIDE = ((0, 0), (0, 1), (1, 0), (3, 3)), 3
"""Pixels whose shades together make a pattern, (down, right), and the distance of the patterns that are counted: all
positions of 8x8 tiles occur alike, so that scrolling changes little."""
BINS = 1 << 2 * len(CORNERS)
MOST_VIEWS = 62
"""Most views, as many as a word has bits; what is like none of them later counts as the nearest."""
ALIKE, SMOOTH = 0.8, 0.9
"""Least Bhattacharyya coefficient of the histograms of pictures of one view, and of two pictures in succession
that are of one scene."""
LINKS, LINKED = 8, 0.03
"""Least number of times, and least share of the changes from the less frequent of two views, that a picture of one
changed little by little into one of the other, to make one scene of both. Fades and doors make few such changes."""
MIX, MORE = 0x1E3779B97F4A7C15, 0x27D4EB2F165667C5
"""Odd constants of 61 and 62 bits."""


def layouts(pictures: Tensor, part: tuple[int, int] = SQUARE) -> Tensor:
    """Return i64[N], never 0, a hash of the mean shades of the parts of each of `pictures` u8[N, 72, 80]."""
    (high, wide), (count, height, width) = part, pictures.shape
    sums = pictures.reshape(count, height // high, high, width // wide, wide).sum((2, 4), dtype=torch.int32).flatten(1)
    levels = torch.div(sums * SHADES + high * wide // 2, high * wide, rounding_mode="floor").long() + 1
    place = torch.arange(1, levels.shape[1] + 1, device=levels.device) * MORE | 1
    mixed = levels * MIX
    mixed = (mixed ^ mixed >> 29) * place
    return (mixed ^ mixed >> 31 & 0x1FFFFFFFF).sum(1) | 1


def histograms(pictures: Tensor) -> Tensor:
    """Return f32[N, BINS], the square roots of the shares of small patterns in `pictures` u8[N, 72, 80]."""
    far = max(map(max, CORNERS))
    codes = torch.zeros((), dtype=torch.uint8, device=pictures.device)
    for bit, (down, right) in enumerate(CORNERS):
        codes = codes | pictures[:, down : 72 - far + down : STRIDE, right : 80 - far + right : STRIDE] << 2 * bit
    codes = codes.flatten(1).long()
    counts = torch.zeros(len(pictures), BINS, device=pictures.device)
    counts.scatter_add_(1, codes, torch.ones(1, device=pictures.device).expand(codes.shape))
    return counts.div_(codes.shape[1]).sqrt_()


class Views:
    """Views seen so far, and the scenes that they belong to."""

    def __init__(self, device: torch.device) -> None:
        self.histograms = torch.zeros(MOST_VIEWS + 1, BINS, device=device)
        """f32[V + 1, bins], one row for each view; the last row is for nothing."""
        self.count = torch.zeros((), dtype=torch.int64, device=device)
        self.links = torch.zeros(MOST_VIEWS, MOST_VIEWS, dtype=torch.int64, device=device)
        """i64[V, V], how often a picture of one view changed little by little into one of another."""
        self.scene = torch.arange(MOST_VIEWS, device=device)
        """i64[V], the scene of each view: the first of its views."""

    def of(self, bins: Tensor) -> Tensor:
        """Return i64[N], the view of each picture by its histogram f32[N, bins].

        The picture that is least like all views becomes one itself, if its likeness is below ALIKE.
        """
        likeness, nearest = (bins @ self.histograms[:MOST_VIEWS].T).max(1)
        least, which = likeness.min(0)
        grows = (least < ALIKE) & (self.count < MOST_VIEWS)
        row = self.count.where(grows, MOST_VIEWS)
        self.histograms.index_copy_(0, row[None], bins[which][None])
        nearest = nearest.index_copy(0, which[None], row.where(grows, nearest[which])[None])
        self.count += grows
        return nearest

    def link(self, before: Tensor, after: Tensor, likeness: Tensor) -> None:
        """Note that pictures of the views `before` i64[N] were followed by ones of `after`, with f32[N] likeness."""
        pairs = before * MOST_VIEWS + after
        self.links.view(-1).index_add_(0, pairs, (likeness >= SMOOTH).long())

    def find_scenes(self) -> None:
        """Find the scenes anew: views that are linked, also by others between them. Waits for the device."""
        both, stays = self.links + self.links.T, self.links.sum(1)
        linked = (both >= LINKS) & (both > LINKED * torch.minimum(stays[:, None], stays))
        scene = list(range(MOST_VIEWS))
        for one, other in linked.nonzero().tolist():
            new, old = sorted((scene[one], scene[other]))
            scene = [new if label == old else label for label in scene]
        self.scene.copy_(torch.tensor(scene))

    def scenes_of(self, been: Tensor) -> Tensor:
        """Return i64[C], bits of the scenes of the views whose bits `been` i64[C] has."""
        found = torch.zeros_like(been)
        scene = self.scene.tolist()
        for label in set(scene):
            bits = sum(1 << view for view, its in enumerate(scene) if its == label)
            found |= ((been & bits) != 0).long() << label
        return found
