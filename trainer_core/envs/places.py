"""Pictures told apart coarsely: where in a game they are, not which frame of an animation."""

from __future__ import annotations

import numpy as np

CELL = 8
"""Width of the squares of an observation whose mean shades, to the half, are compared."""


EACH = np.uint64(0x0101010101010101)


def cells_of(pictures: np.ndarray) -> list[bytes]:
    """What makes each of `pictures` u8[N, 72, 80], shades 0..3, another place: equal bytes are the
    same."""
    count, height, width = pictures.shape
    # Eight pixels a word: eight rows add up to at most 24 a byte, and eight such bytes to 192.
    words = np.ascontiguousarray(pictures).view(np.uint64)
    rows = words.reshape(count, height // CELL, CELL, width // CELL).sum(2, dtype=np.uint64)
    sums = (rows * EACH) >> np.uint64(56)
    return [cell.tobytes() for cell in (sums / (CELL * CELL / 2)).round().astype(np.int8)]
