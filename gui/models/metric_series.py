"""Curves: growing columns of numbers, smoothing of the full series, then decimation to pixels.

Order matters. Smoothing what was decimated gives another curve at every zoom; drawing 100,000
points costs 100 ms a plot. So: smooth everything once (the filter is causal, old points keep their
values), then keep the minimum and maximum of each pixel column.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trainer_core.protocol.metrics import scalar_row
from trainer_core.protocol.records import UpdateRecord

Array = NDArray[np.float64]

X_AXES = {"env_steps": "steps", "update": "updates", "wall_time_s": "seconds"}
_BLOCK = 128  # samples smoothed at once: 0.05 ** -128 still fits a float64


class MetricTable:
    """The update records of one run: a column of f64 for every scalar that any of them names.

    Trainers measure different things, and some only now and then: what a record lacks is NaN in
    its row. `column` leaves those out, so a curve has a point for each measurement.
    """

    def __init__(self) -> None:
        self._data = np.full((0, 256), np.nan)
        self._index: dict[str, int] = {}
        self._sparse: set[str] = set()
        self._names: tuple[str, ...] = ()
        self._places = np.empty(0, np.intp)
        self._length = 0
        self.version = 0
        """Grows with every change, so that a view knows whether it is stale."""
        self.rewinds = 0
        """Grows when points were taken back, so that what was computed from them is void."""

    def __len__(self) -> int:
        """Number of records."""
        return self._length

    @property
    def names(self) -> tuple[str, ...]:
        """Every scalar that was measured, in the order of appearance."""
        return tuple(self._index)

    def has(self, name: str) -> bool:
        """Whether a scalar was measured."""
        return name in self._index

    def append(self, record: UpdateRecord) -> None:
        names, values = scalar_row(record)
        if names != self._names:
            self._meet(names)
        if self._length == self._data.shape[1]:
            self._data = np.hstack([self._data, np.full_like(self._data, np.nan)])
        self._data[self._places, self._length] = values
        self._length += 1
        self.version += 1

    def _meet(self, names: tuple[str, ...]) -> None:
        """Make room for the names of a record; columns it lacks, or that came late, have gaps."""
        new = [name for name in names if name not in self._index]
        self._sparse |= self._index.keys() - set(names)
        if self._length:
            self._sparse |= set(new)
        for name in new:
            self._index[name] = len(self._index)
        room = np.full((len(new), self._data.shape[1]), np.nan)
        self._data = np.vstack([self._data, room])
        self._names = names
        self._places = np.array([self._index[name] for name in names], np.intp)

    def raw(self, name: str) -> Array:
        """f64[records], NaN where a record lacks the metric; a view where the table has it."""
        if name not in self._index:
            return np.full(self._length, np.nan)
        return self._data[self._index[name], : self._length]

    def column(self, name: str) -> Array:
        """f64[points], the measurements of a metric; empty for one that was never measured."""
        if name not in self._index:
            return np.empty(0, np.float64)
        values = self.raw(name)
        return values[~np.isnan(values)] if name in self._sparse else values

    def positions(self, name: str, x_axis: str) -> Array:
        """f64[points], where on `x_axis` each point of `column` lies; NaN where that is unknown."""
        if name not in self._index:
            return np.empty(0, np.float64)
        x = self.raw(x_axis)
        return x[~np.isnan(self.raw(name))] if name in self._sparse else x

    def rewind(self, env_steps: int) -> None:
        """Forget points after `env_steps`: a resumed run walks that stretch again."""
        keep = int(np.searchsorted(self.column("env_steps"), env_steps, side="right"))
        if keep != self._length:
            self._data[:, keep : self._length] = np.nan
            self._length = keep
            self.version += 1
            self.rewinds += 1


def smooth(values: Array, weight: float) -> Array:
    """Debiased exponential moving average, f64[n]; `weight` 0 copies, 0.99 is very smooth.

    y[n] = weight * y[n-1] + (1 - weight) * x[n], divided by 1 - weight ** (n + 1) so that a
    constant stays that constant from the first point on.
    """
    if weight <= 0.0:
        return values.copy()
    return _average(values, weight, 0.0) / _bias(weight, 0, len(values))


def _average(values: Array, weight: float, carry: float) -> Array:
    """The biased average, going on from `carry`, its value before the first of `values`."""
    decay = weight ** np.arange(1, _BLOCK + 1)
    blocks = np.zeros((-(-len(values) // _BLOCK), _BLOCK))
    blocks.ravel()[: len(values)] = values
    blocks /= decay
    np.cumsum(blocks, axis=1, out=blocks)
    blocks *= 1.0 - weight
    carries = np.empty(len(blocks))
    for number, end in enumerate(blocks[:, -1].tolist()):  # each block goes on from the one before
        carries[number] = carry
        carry = float(decay[-1]) * (carry + end)
    blocks += carries[:, None]
    blocks *= decay
    return blocks.ravel()[: len(values)]


def _bias(weight: float, first: int, last: int) -> Array:
    """What the average is divided by, f64[last - first]: 1 but for the first few points."""
    found = np.ones(last - first)
    few = min(last, 1 + int(np.log(1e-17) / np.log(weight)))
    if first < few:
        found[: few - first] -= np.power(weight, np.arange(first + 1, few + 1), dtype=np.float64)
    return found


def decimate(x: Array, y: Array, low: float, high: float, columns: int) -> tuple[Array, Array]:
    """Points of a curve worth drawing between `low` and `high` on `columns` pixels.

    Keeps both extremes of every bucket, in their order, so no spike is lost at any zoom. Buckets
    start at multiples of a power of two: a growing curve does not shimmer. `x` must not decrease.
    """
    first = max(0, int(np.searchsorted(x, low)) - 1)
    last = min(len(x), int(np.searchsorted(x, high, side="right")) + 1)
    count = last - first
    if count <= 2 * columns:
        return x[first:last], y[first:last]
    size = 1 << max(1, (count // columns - 1).bit_length())
    start, stop = -(-first // size) * size, last // size * size
    buckets = y[start:stop].reshape(-1, size)
    base = np.arange(start, stop, size)
    extremes = np.stack([base + buckets.argmin(1), base + buckets.argmax(1)], 1)
    extremes.sort(axis=1)
    index = np.concatenate([_ends(y, first, start), extremes.ravel(), _ends(y, stop, last)])
    return x[index], y[index]


def _ends(y: Array, first: int, last: int) -> NDArray[np.intp]:
    """Indices of the first, lowest, highest and last point of y[first:last], in order."""
    if first >= last:
        return np.empty(0, np.intp)
    part = y[first:last]
    return first + np.unique(np.array([0, part.argmin(), part.argmax(), len(part) - 1]))


class SmoothedColumn:
    """One smoothed column, extended as the table grows: a new point costs one point, not all."""

    def __init__(self, table: MetricTable, name: str) -> None:
        self._table, self._name = table, name
        self._weight, self._rewinds = -1.0, -1
        self._buffer: Array = np.empty(0, np.float64)
        self._length = 0
        self._carry = 0.0

    def values(self, weight: float) -> Array:
        """f64[points], equal to `smooth` of the whole column."""
        raw = self._table.column(self._name)
        if weight <= 0.0:
            return raw
        if weight != self._weight or self._table.rewinds != self._rewinds:
            self._weight, self._rewinds = weight, self._table.rewinds
            self._length, self._carry = 0, 0.0
        if len(raw) > len(self._buffer):
            grown = np.empty(max(256, 2 * len(raw)), np.float64)
            grown[: self._length] = self._buffer[: self._length]
            self._buffer = grown
        if len(raw) > self._length:
            fresh = _average(raw[self._length :], weight, self._carry)
            self._carry = float(fresh[-1])
            self._buffer[self._length : len(raw)] = fresh / _bias(weight, self._length, len(raw))
            self._length = len(raw)
        return self._buffer[: self._length]


def nearest(x: Array, position: float) -> int:
    """Index of the point closest to `position`, -1 when there is none."""
    if len(x) == 0:
        return -1
    right = int(np.clip(np.searchsorted(x, position), 1, max(1, len(x) - 1)))
    right = min(right, len(x) - 1)
    left = max(0, right - 1)
    return left if abs(x[left] - position) <= abs(x[right] - position) else right
