"""Data of a plot's curves, marks and names; where ticks stand, and numbers as short texts."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QColor

from gui.kit.words import number

Array = NDArray[np.float64]
_CLOCK_STEPS = (
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
    86400, 172800, 604800, 1209600, 2592000,
)  # fmt: skip
"""Possible distances in seconds between two ticks of a time-of-day axis."""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Polyline in data coordinates; a later curve with the same key is the same line with more points."""

    key: tuple[str, ...]
    x: Array
    y: Array
    color: QColor
    owner: str = ""
    """Id of the run that the pointer finds at this curve; empty for a curve that it passes over."""
    width: float = 1.5
    is_live: bool = False
    """True for a curve that is expected to grow, which is kept out of the picture of the others."""


@dataclass(frozen=True, slots=True, eq=False)
class Dots:
    """Points that are painted as discs, for single results of the run `owner`."""

    x: Array
    y: Array
    color: QColor
    owner: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """Area between two curves over the same x values, painted below all curves."""

    x: Array
    low: Array
    high: Array
    color: QColor


@dataclass(frozen=True, slots=True, eq=False)
class Marks:
    """Events on the x axis, painted as short ticks on the base line."""

    x: Array
    color: QColor


@dataclass(frozen=True, slots=True)
class Name:
    """Text beside the right end of the line of `owner`, whose last point has the value y."""

    owner: str
    text: str
    color: QColor
    y: float


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """Everything shown in a plot, the ranges of the axes in data units, and whether an axis is logarithmic."""

    curves: tuple[Curve, ...]
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    dots: tuple[Dots, ...] = ()
    marks: tuple[Marks, ...] = ()
    names: tuple[Name, ...] = ()
    log_x: bool = False
    log_y: bool = False
    theme: str = "dark"
    """Name of the theme that the colours belong to."""
    bands: tuple[Band, ...] = ()
    by_clock: bool = False
    """True if x is a time of day, in seconds since 1970."""
    is_percent: bool = False
    """True if y is a share, written in percent."""
    target: float = 0.0
    """Value of y at which the run in focus ends, drawn as a dotted line; 0 for none."""
    turns: tuple[Marks, ...] = ()
    """Places where runs turned from their dataset to the environment, drawn as dashed lines over the whole height."""
    turn_words: str = ""
    """Text beside the first of `turns`."""


CROWD = 40
"""Most curves of a plot that are painted one after the other, in full detail."""
MOST_ROWS, ROW = 4, 34
"""Most steps between ticks of a y axis, and least pixels of one."""
EMPTY = Scene((), (0.0, 1.0), (0.0, 1.0))


def to_axis(values: Array, *, log: bool) -> Array:
    """Return values as places on an axis: their decimal logarithm (NaN for those that have none) if it is `log`."""
    return np.log10(values, out=np.full(len(values), np.nan), where=values > 0) if log else values


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return places near the ascending `wanted`, at least `gap` apart and, if all fit, between `low` and `high`."""
    places: list[float] = []
    for place in wanted:
        places.append(max(place, places[-1] + gap if places else low))
    for index in reversed(range(len(places))):
        places[index] = min(places[index], high - gap * (len(places) - 1 - index))
    return places


def _exact(value: float) -> float:
    """Return a round number without the last bits that a multiplication leaves: a tick must not lie below its axis."""
    return float(f"{value:.12g}")


def ticks(low: float, high: float, most: int, *, log: bool = False) -> list[float]:
    """Return about `most` round numbers from `low` to `high`, at least two; powers of ten if `log`."""
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        return []
    if log:
        first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
        if last - first >= 1:
            step = max(1, -(-(last - first + 1) // most))
            return [10.0**power for power in range(first, last + 1, step)]
    raw = (high - low) / max(1, most)
    size = 10.0 ** math.floor(math.log10(raw))
    nice = [size * factor for factor in (10, 5, 2.5, 2, 1, 0.5, 0.2)]
    widest = next(place for place in (4, 3, 2, 1, 0) if nice[place] >= raw * 0.999)
    found: list[float] = []
    for step in nice[widest:]:
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        found = [_exact(number * step) for number in range(first, last + 1)]
        if len(found) >= 2:  # a single number shows no scale
            break
    return found


def tick_rows(height: float) -> int:
    """Return how many steps between ticks a y axis of this many pixels has."""
    return min(MOST_ROWS, max(2, int(height // ROW)))


def rounded(low: float, high: float, most: int) -> tuple[float, float]:
    """Return the range widened to round ticks, of which there are at most about `most`, at both ends.

    An end whose next tick is far off gets a little room instead.
    """
    places = ticks(low, high, most)
    if len(places) < 2:
        return low, high
    step, room = places[1] - places[0], 0.04 * (high - low)
    floor, top = _exact(math.floor(low / step + 1e-9) * step), _exact(math.ceil(high / step - 1e-9) * step)
    return (floor if low - floor <= 0.6 * step else low - room), (top if top - high <= 0.6 * step else high + room)


def place_text(x: float, *, by_clock: bool) -> str:
    """Return a place on an x axis as text: a count, or seconds since 1970 as date and time."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(x)) if by_clock else number(x, ",.0f")


def value_text(value: float, *, is_percent: bool) -> str:
    """Return a value as text of about five characters; a share in percent."""
    if not is_percent or not math.isfinite(value):
        return short_number(value)
    share = 100 * value
    return number(share, ".0f" if share >= 9.95 or abs(share) < 0.005 else ".2g") + " %"


def short_number(value: float) -> str:
    """Return a number as text of about five characters: 1.25M, 0.034, 3e-07."""
    size = abs(value)
    if size >= 1e9 or not math.isfinite(value):  # of a diverged run, or no number at all
        return number(value, ".2e")
    if size >= 1e6:
        return number(value / 1e6, ".2f") + "M"
    if size >= 1e4:
        return number(value / 1e3, ".1f") + "k"
    if size >= 100 or value == int(value):
        return number(value, ".0f")
    return number(value, ".3g" if size < 1e-3 else ".3f")


def tick_text(value: float, *, is_percent: bool = False) -> str:
    """Return the label of a tick without trailing zeros: 0.4, 5k, 1.2M, 25 %."""
    if is_percent:
        return number(100 * value, ".4g") + " %"
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return number(value / size, ".4g") + unit
    return number(value, ".4g")


def x_ticks(low: float, high: float, most: int, *, by_clock: bool, log: bool = False) -> list[tuple[float, str]]:
    """Return (place, label) of the ticks of an x axis; with `by_clock` times of day, or dates at midnight."""
    if not by_clock:
        return [(value, tick_text(value)) for value in ticks(low, high, most, log=log)]
    raw = (high - low) / max(1, most)
    step = next((step for step in _CLOCK_STEPS if step >= raw), _CLOCK_STEPS[-1])
    offset = time.localtime(low).tm_gmtoff
    first, last = math.ceil((low + offset) / step), math.floor((high + offset) / step)
    return [(at := float(number * step - offset), _clock_text(at, step)) for number in range(first, last + 1)][
        : 4 * most
    ]


def _clock_text(at: float, step: int) -> str:
    day = time.localtime(at)
    if step >= 86400 or (day.tm_hour, day.tm_min, day.tm_sec) == (0, 0, 0):
        return time.strftime("%m-%d", day)
    return time.strftime("%H:%M:%S" if step < 60 else "%H:%M", day)
