"""Curves: growing columns of numbers, smoothed over the full series, then decimated to pixels."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from trainer_core.wire.metric_names import scalar_row, unmeasured
from trainer_core.wire.records import UpdateRecord

Array = NDArray[np.float64]

DECAYING, RUNNING, GAUSSIAN = "", "running", "gaussian"
KINDS = {DECAYING: "Smoothing: decaying average", RUNNING: "Smoothing: running mean", GAUSSIAN: "Smoothing: Gaussian"}
"""A decaying average looks back only; the others look as far ahead, and follow without delay."""
MOST_SIGMAS = 3
MOST_RADIUS = 400
"""Most points on either side in a Gaussian: those beyond weigh next to nothing."""
CLOCK = "time"
"""Axis of the time of day: each record's seconds since 1970, which never decrease."""
X_AXES = {"env_steps": "steps", "update": "updates", "wall_time_s": "seconds", CLOCK: "clock"}
_BLOCK = 128  # samples smoothed at once: 0.05 ** -128 still fits a float64


def span(weight: float) -> float:
    """Return the mean number of earlier points in a decaying average of this weight."""
    return weight / (1.0 - weight)


def running_mean(values: Array, weight: float) -> Array:
    """Return f64[n]: the mean of each point and of up to `span(weight)` points on either side."""
    radius = round(span(weight))
    if radius < 1 or not len(values):
        return values.copy()
    count, wide = len(values), 2 * radius + 1
    places = np.arange(count)
    known = np.minimum(places + radius + 1, count) - np.maximum(places - radius, 0)
    # Sums from the edges of blocks as long as a window: the difference of two sums of all values would have lost the
    # small ones after a large one.
    blocks = np.zeros((-(-(count + 2 * radius) // wide), wide))
    blocks.ravel()[radius : radius + count] = values
    ahead = np.cumsum(blocks, axis=1).ravel()
    behind = np.cumsum(blocks[:, ::-1], axis=1)[:, ::-1].ravel()
    total = ahead[places + wide - 1]
    total[places % wide > 0] += behind[:count][places % wide > 0]
    return total / known


def gaussian(values: Array, weight: float) -> Array:
    """Return f64[n]: each point's neighbours weighted by a Gaussian of that standard deviation."""
    sigma = span(weight)
    radius = min(MOST_RADIUS, round(MOST_SIGMAS * sigma), max(0, len(values) - 1))
    if radius < 1:
        return values.copy()
    bell = np.exp(-0.5 * np.square(np.arange(-radius, radius + 1) / sigma))
    seen = np.convolve(np.ones(len(values)), bell)[radius:-radius]
    return np.convolve(values, bell)[radius:-radius] / seen


class MetricTable:
    """The update records of one run: a column of f64 for every scalar of any record.

    Trainers measure different things, some of them only now and then: a value missing in a record, or that could not be
    measured, is NaN in its row. `column` leaves NaN out, so a curve has a point for each measurement.
    """

    def __init__(self) -> None:
        self._data = np.full((0, 256), np.nan)
        self._index: dict[str, int] = {}
        self._sparse: set[str] = set()
        self._names: tuple[str, ...] = ()
        self._places = np.empty(0, np.intp)
        self._length = 0
        self._clock = np.zeros(256)
        self.version = 0
        """Number that grows with every change, so that a view knows whether it is stale."""
        self.rewinds = 0
        """Number that grows when points were removed, which invalidates results computed from them."""

    def __len__(self) -> int:
        """Return the number of records."""
        return self._length

    @property
    def names(self) -> tuple[str, ...]:
        """Every measured scalar, in the order of appearance."""
        return tuple(self._index)

    def has(self, name: str) -> bool:
        """Return whether a scalar was measured."""
        return name in self._index

    def is_sparse(self, name: str) -> bool:
        """Return whether some of the records lack it."""
        return name in self._sparse or name not in self._index

    def append(self, record: UpdateRecord) -> None:
        names, values = scalar_row(record)
        if names != self._names:
            self._meet(names)
        if self._length == self._data.shape[1]:
            self._data = np.hstack([self._data, np.full_like(self._data, np.nan)])
        self._data[self._places, self._length] = values
        for name in unmeasured(record):
            if name in self._index:
                self._data[self._index[name], self._length] = np.nan
                self._sparse.add(name)
        self._note_time(record.time)
        self._length += 1
        self.version += 1

    def _note_time(self, time: float) -> None:
        """Add a time; one before the last counts as the last until the clock has caught up."""
        here = self._length
        if here >= len(self._clock):
            self._clock = np.concatenate([self._clock, np.zeros(self._data.shape[1])])
        self._clock[here] = max(time, self._clock[here - 1] if here else 0.0)

    def _meet(self, names: tuple[str, ...]) -> None:
        """Add columns for the names of a record; a column that is new, or that it lacks, gets gaps."""
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
        """Return f64[records], NaN where a record lacks the metric; a view of the table if it has a column."""
        if name == CLOCK:
            return self._clock[: self._length]
        if name not in self._index:
            return np.full(self._length, np.nan)
        return self._data[self._index[name], : self._length]

    def column(self, name: str) -> Array:
        """Return f64[points], the measurements of a metric; empty if it was never measured."""
        if name == CLOCK:
            return self.raw(name)
        if name not in self._index:
            return np.empty(0, np.float64)
        values = self.raw(name)
        return values[~np.isnan(values)] if name in self._sparse else values

    def positions(self, name: str, x_axis: str) -> Array:
        """Return f64[points], the place on `x_axis` of each point of `column`; NaN where unknown."""
        if name not in self._index:
            return np.empty(0, np.float64)
        x = self.raw(x_axis)
        return x[~np.isnan(self.raw(name))] if name in self._sparse else x

    def rewind(self, env_steps: int) -> None:
        """Remove points after `env_steps`, which a resumed run repeats."""
        keep = int(np.searchsorted(self.column("env_steps"), env_steps, side="right"))
        if keep != self._length:
            self._data[:, keep : self._length] = np.nan
            self._length = keep
            self.version += 1
            self.rewinds += 1


def smooth(values: Array, weight: float) -> Array:
    """Return a debiased exponential moving average, f64[n]; `weight` 0 copies, 0.99 is very smooth.

    y[n] = weight * y[n-1] + (1 - weight) * x[n], divided by 1 - weight ** (n + 1) so that a
    constant stays that constant from the first point on.
    """
    if weight <= 0.0:
        return values.copy()
    return _unbias(_average(values, weight, 0.0), weight, 0)


def _average(values: Array, weight: float, carry: float) -> Array:
    """Return the biased average, continued from `carry`, its value before the first of `values`."""
    decay = _decay(weight)
    blocks = np.zeros((-(-len(values) // _BLOCK), _BLOCK))
    blocks.ravel()[: len(values)] = values
    blocks /= decay
    np.cumsum(blocks, axis=1, out=blocks)
    blocks *= 1.0 - weight
    carries = np.empty(len(blocks))
    for number, end in enumerate(blocks[:, -1].tolist()):  # each block continues the one before
        carries[number] = carry
        carry = float(decay[-1]) * (carry + end)
    blocks += carries[:, None]
    blocks *= decay
    return blocks.ravel()[: len(values)]


@functools.lru_cache(maxsize=4)
def _decay(weight: float) -> Array:
    """Return f64[_BLOCK], the weight of a point after 1, 2, ... later ones."""
    return np.power(weight, np.arange(1, _BLOCK + 1), dtype=np.float64)


@functools.lru_cache(maxsize=4)
def _biases(weight: float) -> Array:
    """Return f64[few], the divisors of the average's first points; those after them are 1."""
    few = 1 + int(np.log(1e-17) / np.log(weight))
    found = np.ones(few)
    found -= np.power(weight, np.arange(1, few + 1), dtype=np.float64)
    return found


def _unbias(average: Array, weight: float, first: int) -> Array:
    """Divide the averages of the points from `first` on by their bias, in place."""
    biases = _biases(weight)[first : first + len(average)]
    average[: len(biases)] /= biases
    return average


def decimate(x: Array, y: Array, low: float, high: float, columns: int) -> tuple[Array, Array]:
    """Return the points of a curve to draw between `low` and `high` on `columns` pixels.

    Keeps both extremes of every bucket, in their order, so no spike is lost at any zoom. Buckets start at multiples of
    a power of two: a growing curve does not shimmer. `x` must not decrease.
    """
    first = max(0, int(x.searchsorted(low)) - 1)
    last = min(len(x), int(x.searchsorted(high, side="right")) + 1)
    count = last - first
    if count <= 2 * columns:
        return x[first:last], y[first:last]
    size = 1 << max(1, (count // columns - 1).bit_length())
    start, stop = -(-first // size) * size, last // size * size
    buckets = y[start:stop].reshape(-1, size)
    lowest, highest = buckets.argmin(1), buckets.argmax(1)
    before, after = _ends(y, first, start), _ends(y, stop, last)
    index = np.empty(len(before) + 2 * len(buckets) + len(after), np.intp)
    index[: len(before)], index[len(index) - len(after) :] = before, after
    pairs = index[len(before) : len(index) - len(after)].reshape(-1, 2)
    np.minimum(lowest, highest, out=pairs[:, 0])
    np.maximum(lowest, highest, out=pairs[:, 1])
    pairs += np.arange(start, stop, size)[:, None]
    return x[index], y[index]


def _ends(y: Array, first: int, last: int) -> list[int]:
    """Return the indices of the first, lowest, highest and last point of y[first:last], in order."""
    if first >= last:
        return []
    part = y[first:last]
    return sorted({first, first + int(part.argmin()), first + int(part.argmax()), last - 1})


class SmoothedColumn:
    """Smoothed column that is extended as the table grows: a new point costs one point, not all."""

    def __init__(self, table: MetricTable, name: str) -> None:
        self._table, self._name = table, name
        self._weight, self._rewinds = -1.0, -1
        self._buffer: Array = np.empty(0, np.float64)
        self._length = 0
        self._carry = 0.0
        self._known: tuple[object, Array] | None = None

    def values(self, weight: float, kind: str = DECAYING) -> Array:
        """Return f64[points], equal to `smooth` of the whole column, or to another kind of smoothing."""
        raw = self._table.column(self._name)
        if weight <= 0.0:
            return raw
        if kind != DECAYING:
            return self._other(raw, weight, kind)
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
            self._buffer[self._length : len(raw)] = _unbias(fresh, weight, self._length)
            self._length = len(raw)
        return self._buffer[: self._length]

    def _other(self, raw: Array, weight: float, kind: str) -> Array:
        """Return a smoothing that looks ahead too, computed anew: a new point changes those before it."""
        key = (kind, weight, len(raw), self._table.rewinds)
        if self._known is None or self._known[0] != key:
            self._known = key, (running_mean if kind == RUNNING else gaussian)(raw, weight)
        return self._known[1]


def nearest(x: Array, position: float) -> int:
    """Return the index of the point closest to `position`, -1 when there is none."""
    if len(x) == 0:
        return -1
    right = int(np.clip(np.searchsorted(x, position), 1, max(1, len(x) - 1)))
    right = min(right, len(x) - 1)
    left = max(0, right - 1)
    return left if abs(x[left] - position) <= abs(x[right] - position) else right
