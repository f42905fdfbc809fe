"""Curves of metrics: growing columns of numbers, smoothed at full length, then reduced to the plot's pixels."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trainer_core.wire.metric_names import scalar_row, unmeasured
from trainer_core.wire.records import UpdateRecord

Array = NDArray[np.float64]

DECAYING, RUNNING, GAUSSIAN = "", "running", "gaussian"
KINDS = {DECAYING: "Smoothing: decaying average", RUNNING: "Smoothing: running mean", GAUSSIAN: "Smoothing: Gaussian"}
"""Text of each kind of smoothing.

A decaying average uses earlier points only; the others use points on both sides and have no delay.
"""
MOST_SIGMAS = 3
MOST_RADIUS = 400
"""Most points on either side that a Gaussian uses; points beyond have almost no weight."""
CLOCK = "time"
"""x axis of the time of day: seconds since 1970 of each record, made non-decreasing."""
X_AXES = {"env_steps": "Steps", "update": "Updates", "wall_time_s": "Seconds", CLOCK: "Clock"}
LARGEST = 1e100
"""Largest value in a curve; sums of larger ones may be no numbers any more, and nobody reads them off a plot."""
_BLOCK = 128  # samples smoothed at once: 0.05 ** -128 still fits a float64


def span(weight: float) -> float:
    """Return the mean age, in points, of the values in a decaying average of this weight."""
    return weight / (1.0 - weight)


def running_mean(values: Array, weight: float) -> Array:
    """Return f64[n], for each point the mean of it and up to `span(weight)` points on either side."""
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
    """Return f64[n], each point averaged with its neighbours by a Gaussian of standard deviation `span(weight)`."""
    sigma = span(weight)
    radius = min(MOST_RADIUS, round(MOST_SIGMAS * sigma), max(0, len(values) - 1))
    if radius < 1:
        return values.copy()
    bell = np.exp(-0.5 * np.square(np.arange(-radius, radius + 1) / sigma))
    seen = np.convolve(np.ones(len(values)), bell)[radius:-radius]
    return np.convolve(values, bell)[radius:-radius] / seen


class MetricTable:
    """Update records of one run as a table: a column of f64 for each metric that any record has.

    A metric that a record lacks, or that could not be measured, is NaN in the record's row. `column` leaves NaN and
    values beyond LARGEST out, so a curve has one point per measurement.
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
        """Number that grows with each change, for finding outdated views."""
        self.rewinds = 0
        """Number that grows when points are removed, which invalidates cached results."""

    def __len__(self) -> int:
        """Return the number of records."""
        return self._length

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all metrics, in the order of their first measurement."""
        return tuple(self._index)

    def has(self, name: str) -> bool:
        """Return whether the metric `name` was measured."""
        return name in self._index

    def is_sparse(self, name: str) -> bool:
        """Return whether some records lack the metric."""
        return name in self._sparse or name not in self._index

    def append(self, record: UpdateRecord) -> None:
        names, values = scalar_row(record)
        if names != self._names:
            self._meet(names)
        if self._length == self._data.shape[1]:
            self._data = np.hstack([self._data, np.full_like(self._data, np.nan)])
        self._data[self._places, self._length] = values
        if not all(-LARGEST <= value <= LARGEST for value in values):
            self._sparse |= {name for name, value in zip(names, values, strict=True) if not _is_drawn(value)}
        for name in unmeasured(record):
            if name in self._index:
                self._data[self._index[name], self._length] = np.nan
                self._sparse.add(name)
        self._note_time(record.time)
        self._length += 1
        self.version += 1

    def _note_time(self, time: float) -> None:
        """Add a record's time; if the clock was set back, the last time is repeated instead."""
        here = self._length
        if here >= len(self._clock):
            self._clock = np.concatenate([self._clock, np.zeros(self._data.shape[1])])
        self._clock[here] = max(time, self._clock[here - 1] if here else 0.0)

    def _meet(self, names: tuple[str, ...]) -> None:
        """Prepare the table for a record with these metric names: add columns for new ones, filled with NaN."""
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
        """Return f64[records] of a metric, NaN where a record lacks it; not a copy of the table."""
        if name == CLOCK:
            return self._clock[: self._length]
        if name not in self._index:
            return np.full(self._length, np.nan)
        return self._data[self._index[name], : self._length]

    def column(self, name: str) -> Array:
        """Return f64[points], all measurements of a metric; empty if there are none."""
        if name == CLOCK:
            return self.raw(name)
        if name not in self._index:
            return np.empty(0, np.float64)
        values = self.raw(name)
        return values[_is_drawn(values)] if name in self._sparse else values

    def positions(self, name: str, x_axis: str) -> Array:
        """Return f64[points], the x value on `x_axis` of each point of `column`; NaN where it is unknown."""
        if name not in self._index:
            return np.empty(0, np.float64)
        x = self.raw(x_axis)
        return x[_is_drawn(self.raw(name))] if name in self._sparse else x

    def rewind(self, env_steps: int) -> None:
        """Remove the records after `env_steps`, because a resumed run goes through these steps again."""
        keep = int(np.searchsorted(self.column("env_steps"), env_steps, side="right"))
        if keep != self._length:
            self._data[:, keep : self._length] = np.nan
            self._length = keep
            self.version += 1
            self.rewinds += 1


def _is_drawn(values: Any) -> Any:
    """Return which numbers belong to a curve: neither NaN nor beyond LARGEST."""
    return np.abs(values) <= LARGEST


def smooth(values: Array, weight: float) -> Array:
    """Return the debiased exponential moving average f64[n]; `weight` 0 copies, 0.99 is very smooth.

    y[n] = weight * y[n-1] + (1 - weight) * x[n], divided by 1 - weight ** (n + 1), so that a constant stays that
    constant from the first point on.
    """
    if weight <= 0.0:
        return values.copy()
    return _unbias(_average(values, weight, 0.0), weight, 0)


def _average(values: Array, weight: float, carry: float) -> Array:
    """Return the moving average without the bias correction; `carry` is the average before the first of `values`."""
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
    """Return f64[_BLOCK], the factors weight ** 1, weight ** 2, ... by which a point's share decays."""
    return np.power(weight, np.arange(1, _BLOCK + 1), dtype=np.float64)


@functools.lru_cache(maxsize=4)
def _biases(weight: float) -> Array:
    """Return the divisors for the bias correction of the first points, f64[few]; later ones would be 1."""
    few = 1 + int(np.log(1e-17) / np.log(weight))
    found = np.ones(few)
    found -= np.power(weight, np.arange(1, few + 1), dtype=np.float64)
    return found


def _unbias(average: Array, weight: float, first: int) -> Array:
    """Apply the bias correction to averages in place, the first of which has index `first` in the column."""
    biases = _biases(weight)[first : first + len(average)]
    average[: len(biases)] /= biases
    return average


def decimate(x: Array, y: Array, low: float, high: float, columns: int) -> tuple[Array, Array]:
    """Return the points of a curve to draw between `low` and `high` on `columns` pixels.

    `x` must be non-decreasing. The x range is divided into buckets, of which the least and the greatest point are kept
    in order, so that no spike is lost. Buckets begin at multiples of a power of two, so that a growing curve does not
    flicker.
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


def decimate_band(
    x: Array, low: Array, high: Array, first: float, last: float, columns: int
) -> tuple[Array, Array, Array]:
    """Return the places, lower and upper edges of a band between `first` and `last`, at most two for each column."""
    begin = max(0, int(x.searchsorted(first)) - 1)
    end = min(len(x), int(x.searchsorted(last, side="right")) + 1)
    x, low, high = x[begin:end], low[begin:end], high[begin:end]
    if len(x) <= 2 * columns:
        return x, low, high
    starts = np.arange(0, len(x), -(-len(x) // (2 * columns)))
    return x[starts], np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)


def _ends(y: Array, first: int, last: int) -> list[int]:
    """Return the ascending indices of the first, lowest, highest and last point of y[first:last]."""
    if first >= last:
        return []
    part = y[first:last]
    return sorted({first, first + int(part.argmin()), first + int(part.argmax()), last - 1})


class SmoothedColumn:
    """Cached smoothing of a metric's column; new points are appended without computing the old ones again."""

    def __init__(self, table: MetricTable, name: str) -> None:
        self._table, self._name = table, name
        self._weight, self._rewinds = -1.0, -1
        self._buffer: Array = np.empty(0, np.float64)
        self._length = 0
        self._carry = 0.0
        self._known: tuple[object, Array] | None = None

    def values(self, weight: float, kind: str = DECAYING) -> Array:
        """Return f64[points], the smoothed column; `kind` is a key of KINDS, `weight` 0 means no smoothing."""
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
        """Return a two-sided smoothing of `raw`, cached; a new point changes earlier ones, so all are computed."""
        key = (kind, weight, len(raw), self._table.rewinds)
        if self._known is None or self._known[0] != key:
            self._known = key, (running_mean if kind == RUNNING else gaussian)(raw, weight)
        return self._known[1]


def nearest(x: Array, position: float) -> int:
    """Return the index of the element of `x` closest to `position`, -1 for an empty array."""
    if len(x) == 0:
        return -1
    right = int(np.clip(np.searchsorted(x, position), 1, max(1, len(x) - 1)))
    right = min(right, len(x) - 1)
    left = max(0, right - 1)
    return left if abs(x[left] - position) <= abs(x[right] - position) else right
