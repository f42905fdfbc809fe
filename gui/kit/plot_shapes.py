"""Data of a plot's curves and marks, and texts of the numbers at its axes."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor

Array = NDArray[np.float64]
_CLOCK_STEPS = (
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
    86400, 172800, 604800, 1209600, 2592000,
)  # fmt: skip
"""Possible distances in seconds between two ticks of a time-of-day axis."""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Polyline in data coordinates.

    A later curve with the same key and kind has the same points, and may have more at the end.
    """

    key: object
    kind: object
    x: Array
    y: Array
    color: QColor
    dash: Qt.PenStyle = Qt.PenStyle.SolidLine


@dataclass(frozen=True, slots=True, eq=False)
class Dots:
    """Points that are painted as discs, for single results."""

    x: Array
    y: Array
    color: QColor


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """Area between two curves over the same x values, painted below all curves."""

    x: Array
    low: Array
    high: Array
    color: QColor


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """Vertical lines that mark events."""

    x: Array
    color: QColor
    dash: Qt.PenStyle


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """Everything shown in a plot, and the ranges of the axes; `log_y` makes the y axis logarithmic."""

    curves: tuple[Curve, ...]
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    dots: tuple[Dots, ...] = ()
    rules: tuple[Rules, ...] = ()
    log_y: bool = False
    theme: str = ""
    """Name of the theme that the colours belong to."""
    bands: tuple[Band, ...] = ()
    by_clock: bool = False
    """True if x is a time of day, in seconds since 1970."""


EMPTY = Scene((), (0.0, 1.0), (0.0, 1.0))


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
    nice = [size * factor for factor in (10, 5, 2, 1, 0.5, 0.2)]
    widest = next(place for place in (3, 2, 1, 0) if nice[place] >= raw * 0.999)
    found: list[float] = []
    for step in nice[widest:]:
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        found = [number * step for number in range(first, last + 1)]
        if len(found) >= 2:  # a single number shows no scale
            break
    return found


def short_number(value: float) -> str:
    """Return a number as text of about five characters: 1.25M, 0.034, 3e-07."""
    size = abs(value)
    if size >= 1e9 or not math.isfinite(value):  # of a diverged run, or no number at all
        return f"{value:.2e}"
    if size >= 1e6:
        return f"{value / 1e6:.2f}M"
    if size >= 1e4:
        return f"{value / 1e3:.1f}k"
    if size >= 100 or value == int(value):
        return f"{value:.0f}"
    return f"{value:.3g}" if size < 1e-3 else f"{value:.3f}"


def tick_text(value: float) -> str:
    """Return the label of a tick without trailing zeros: 0.4, 60k, 1.2M."""
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= 10 * size or (unit == "M" and abs(value) >= size):
            return f"{value / size:.4g}{unit}"
    return f"{value:.4g}"


def x_ticks(low: float, high: float, most: int, *, by_clock: bool) -> list[tuple[float, str]]:
    """Return (place, label) of the ticks of an x axis; with `by_clock` times of day, or dates at midnight."""
    if not by_clock:
        return [(value, tick_text(value)) for value in ticks(low, high, most)]
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
