"""Several pictures of one size as one: how many side by side, and where each lies."""

from __future__ import annotations

import math

import numpy as np

GAP = 2
"""Pixels between two pictures."""
NEARLY = 0.9
"""Share of the largest scale that is given up for a wall without holes."""


def best_columns(count: int, size: tuple[int, int], room: tuple[int, int]) -> int:
    """Columns that show `count` tiles of (height, width) largest in `room` (width, height).

    Of those that are nearly as good the one with the fewest places left over.
    """

    def scale(columns: int) -> float:
        rows = math.ceil(count / columns)
        return min(room[0] / (columns * (size[1] + GAP)), room[1] / (rows * (size[0] + GAP)))

    largest = max(map(scale, range(1, count + 1)))
    good = [columns for columns in range(1, count + 1) if scale(columns) >= NEARLY * largest]
    return min(good, key=lambda columns: (-count % columns, -scale(columns)))


def tile(pictures: np.ndarray, columns: int) -> np.ndarray:
    """u8[N, H, W] (or [N, H, W, 3]) to one atlas with dark gaps; missing tiles are dark."""
    count, height, width = pictures.shape[:3]
    rows = math.ceil(count / columns)
    step_y, step_x = height + GAP, width + GAP
    size = (rows * step_y - GAP, columns * step_x - GAP, *pictures.shape[3:])
    atlas = np.full(size, 3 if pictures.ndim == 3 else 32, np.uint8)
    for index, picture in enumerate(pictures):
        x, y = place_of(index, columns, (height, width))
        atlas[y : y + height, x : x + width] = picture
    return atlas


def tile_at(x: int, y: int, columns: int, size: tuple[int, int]) -> int:
    """Index of the picture of (height, width) that the atlas shows at pixel `x`, `y`."""
    return y // (size[0] + GAP) * columns + x // (size[1] + GAP)


def place_of(index: int, columns: int, size: tuple[int, int]) -> tuple[int, int]:
    """(x, y) of the upper left pixel of picture `index` in the atlas."""
    return index % columns * (size[1] + GAP), index // columns * (size[0] + GAP)
