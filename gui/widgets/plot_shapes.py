"""What a plot is painted of, in data coordinates."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor

from gui.models.metric_series import Array


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A polyline in data coordinates.

    Of two with the same key and kind the later one has more points at its end, and is otherwise
    the same.
    """

    key: object
    kind: object
    x: Array
    y: Array
    color: QColor
    dash: Qt.PenStyle = Qt.PenStyle.SolidLine


@dataclass(frozen=True, slots=True, eq=False)
class Dots:
    """Single results, painted as discs."""

    x: Array
    y: Array
    color: QColor


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """An area between two lines over the same places, painted under all curves."""

    x: Array
    low: Array
    high: Array
    color: QColor


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """Vertical lines where something happened."""

    x: Array
    color: QColor
    dash: Qt.PenStyle


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """What is on show and in which ranges; `log_y` makes the y axis logarithmic."""

    curves: tuple[Curve, ...]
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    dots: tuple[Dots, ...] = ()
    rules: tuple[Rules, ...] = ()
    log_y: bool = False
    theme: str = ""
    """Name of the theme that the colours are of."""
    bands: tuple[Band, ...] = ()
    by_clock: bool = False
    """x is a time of day."""


EMPTY = Scene((), (0.0, 1.0), (0.0, 1.0))
