"""Ways to smooth a curve, all of them over its full series."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DECAYING, RUNNING, GAUSSIAN = "", "running", "gaussian"
KINDS = {DECAYING: "Smoothing: decaying average", RUNNING: "Smoothing: running mean", GAUSSIAN: "Smoothing: Gaussian"}
"""A decaying average looks back only; the others look as far ahead, and follow without delay."""
MOST_SIGMAS = 3
MOST_RADIUS = 400
"""Points on either side that a Gaussian looks at: those beyond weigh next to nothing."""


def span(weight: float) -> float:
    """Points that a decaying average of this weight looks back on, on average."""
    return weight / (1.0 - weight)


def running_mean(values: Array, weight: float) -> Array:
    """f64[n]: the mean of each point and of `span(weight)` points on either side that are there."""
    radius = round(span(weight))
    if radius < 1 or not len(values):
        return values.copy()
    count, wide = len(values), 2 * radius + 1
    places = np.arange(count)
    known = np.minimum(places + radius + 1, count) - np.maximum(places - radius, 0)
    # Sums from the edges of blocks as long as a window: the difference of two sums of all values
    # would have lost the small ones after a large one.
    blocks = np.zeros((-(-(count + 2 * radius) // wide), wide))
    blocks.ravel()[radius : radius + count] = values
    ahead = np.cumsum(blocks, axis=1).ravel()
    behind = np.cumsum(blocks[:, ::-1], axis=1)[:, ::-1].ravel()
    total = ahead[places + wide - 1]
    total[places % wide > 0] += behind[:count][places % wide > 0]
    return total / known


def gaussian(values: Array, weight: float) -> Array:
    """f64[n]: each point's surroundings weighed by a bell of that standard deviation."""
    sigma = span(weight)
    radius = min(MOST_RADIUS, round(MOST_SIGMAS * sigma), max(0, len(values) - 1))
    if radius < 1:
        return values.copy()
    bell = np.exp(-0.5 * np.square(np.arange(-radius, radius + 1) / sigma))
    seen = np.convolve(np.ones(len(values)), bell)[radius:-radius]
    return np.convolve(values, bell)[radius:-radius] / seen
