"""Ranges of one plot: what wheel, drags, buttons and keys ask for, in the model that all plots share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent

from gui.features.curves.scene import PlotLines
from gui.kit.plot_shapes import Scene
from gui.state.metric_series import CLOCK
from gui.state.telemetry import Range, TelemetryModel

if TYPE_CHECKING:
    from gui.kit.plot_canvas import PlotCanvas

SCARCE = 1e-9
"""Least length of an axis, as a share of its larger end."""
PAN, ZOOM = 0.1, 1.25
"""Share of an axis that an arrow key moves it by; factor of the keys + and -."""
ZOOM_KEYS = {Qt.Key.Key_Plus: 1 / ZOOM, Qt.Key.Key_Equal: 1 / ZOOM, Qt.Key.Key_Minus: ZOOM}
WAYS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Down: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_Up: 1}
LETTERS = (Qt.Key.Key_Home, Qt.Key.Key_F, Qt.Key.Key_A, Qt.Key.Key_L, Qt.Key.Key_Return, Qt.Key.Key_Enter)
SHIFT = Qt.KeyboardModifier.ShiftModifier


def is_taken(event: QKeyEvent) -> bool:
    """Return whether a plot takes this key, before a command of the window with the same one."""
    key = Qt.Key(event.key())
    return key in WAYS or key in ZOOM_KEYS or (key in LETTERS and not event.modifiers() & ~SHIFT)


class CardMoves:
    """Moves of the axes of the plot of `metric`; an axis is 0 for x, which all plots share, and 1 for y."""

    def __init__(self, model: TelemetryModel, metric: str) -> None:
        self._model, self._metric = model, metric

    def ask(self, shown: Scene, x: Range | None, y: Range | None) -> None:
        """Show these ranges, in axis units, in place of those of a scene; None keeps one."""
        model = self._model
        x_range = model.x_range if x is None else _data(x, log=shown.log_x)
        if x is not None and x_range and x_range[0] < 0 and model.x_axis != CLOCK:
            x_range = (0.0, x_range[1] - x_range[0])  # counted from zero
        y_ranges = model.y_ranges if y is None else {**model.y_ranges, self._metric: _data(y, log=shown.log_y)}
        if all(map(_is_long, filter(None, (x_range, y_ranges.get(self._metric))))):
            model.move(x_range, y_ranges)

    def follow(self, canvas: PlotCanvas) -> None:
        """Show the chosen ranges at once by stretching what is painted, until the plot is drawn anew."""
        shown, x, y = canvas.shown, self._model.x_range, self._model.y_ranges.get(self._metric)
        canvas.set_ranges(
            None if x is None else _places(x, log=shown.log_x),
            None if y is None or (y[0] <= 0 and shown.log_y) else _places(y, log=shown.log_y),
        )

    def fit(self) -> None:
        """Let the x axis of all plots and the y axis of this one follow the data again."""
        self._model.move(None, {name: kept for name, kept in self._model.y_ranges.items() if name != self._metric})

    def _toggle_auto(self, axis: int, shown: Scene) -> None:
        """Let an axis follow the data, or keep its present range if it does."""
        model = self._model
        if axis == 0:
            model.set_x_range(shown.x_range if model.x_range is None else None)
        else:
            model.set_y_range(self._metric, None if self._metric in model.y_ranges else shown.y_range)

    def press(self, event: QKeyEvent, canvas: PlotCanvas, lines: PlotLines) -> bool:
        """Move an axis, the crosshair or the highlight by a key; return False for a key without a meaning here."""
        key, held, view = Qt.Key(event.key()), event.modifiers(), canvas.view
        axis = 1 if key in (Qt.Key.Key_Up, Qt.Key.Key_Down) else 0
        is_shift, is_ctrl = bool(held & SHIFT), bool(held & Qt.KeyboardModifier.ControlModifier)
        if way := WAYS.get(key, 0):
            if axis == 1 and is_ctrl:
                view.ask_zoom(1, ZOOM**-way)
            elif axis == 1 and not is_shift:
                self._step_run(way, canvas.shown)
            elif is_ctrl:
                self._step_crosshair(way, lines)
            else:
                view.ask_move(axis, PAN * way)
        elif key in ZOOM_KEYS:
            view.ask_zoom(0, ZOOM_KEYS[key])
        elif key == Qt.Key.Key_Home:
            self.fit()
        elif key == Qt.Key.Key_A:
            self._toggle_auto(0 if is_shift else 1, canvas.shown)
        else:
            return False
        return True

    def _step_run(self, way: int, shown: Scene) -> None:
        """Highlight the run whose line ends above (`way` 1) or below the one highlighted."""
        owners = [name.owner for name in sorted(shown.names, key=lambda name: name.y)]
        if owners:
            now = self._model.highlight
            place = owners.index(now) + way if now in owners else 0 if way > 0 else -1
            self._model.set_highlight(owners[place % len(owners)])

    def _step_crosshair(self, way: int, lines: PlotLines) -> None:
        """Move the crosshair to the next (`way` 1) or previous record of the first run."""
        places = lines.runs[0].table.column(self._model.x_axis) if lines.runs else np.empty(0)
        if len(places):
            now = self._model.crosshair
            index = len(places) - 1 if now is None else int(places.searchsorted(now)) + way
            self._model.set_crosshair(float(places[min(max(index, 0), len(places) - 1)]), lines.pointed())


def _data(ends: Range, *, log: bool) -> Range:
    """Return a range in axis units in data units."""
    return (10.0 ** max(ends[0], -300.0), 10.0 ** min(ends[1], 300.0)) if log else ends


def _places(ends: Range, *, log: bool) -> Range:
    """Return a range in data units in axis units."""
    return (math.log10(max(ends[0], 1e-300)), math.log10(max(ends[1], 1e-300))) if log else ends


def _is_long(ends: Range) -> bool:
    """Return whether a range has a length that an axis can show."""
    low, high = ends
    return math.isfinite(high - low) and high - low > SCARCE * max(abs(low), abs(high), 1e-290)
