"""Comparison of runs: differing settings, results, and a parallel coordinates plot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import (
    QAbstractItemView,
    QSizePolicy,
    QTableWidget,
    QTableWidgetItem,
    QTabWidget,
    QToolTip,
    QWidget,
)

from gui.kit import theme
from gui.kit.boxes import vbox
from gui.kit.dialogs import Sheet
from gui.kit.labels import button, label
from gui.kit.painting import guarded
from gui.kit.style_sheet import ROW
from gui.kit.tables import Head
from gui.kit.words import number, tr
from gui.state.run_words import without_middle

LOG_FROM = 50.0
"""Ratio of an axis' greatest to its least positive value from which it is logarithmic."""
SUCCESS = "success"
LEFT, TOP, RIGHT, BOTTOM = 56, 44, 56, 18
LEAST_RUNS = 5
"""Least number of runs from which the weight of a setting is told."""
NEAR = 8.0
"""Distance in pixels from a line within which the pointer selects it."""
LEAST_COLUMN, WIDEST_COLUMN, HEAD_LETTERS = 84, 168, 20
"""Least and most pixels of a run's column, and most characters of its title."""


class Comparison(Sheet):
    def __init__(
        self,
        parent: QWidget,
        runs: list[str],
        rows: list[tuple[str, list[str]]],
        outcomes: list[tuple[str, list[str]]],
        parallel: tuple[list[str], list[Axis]],
    ) -> None:
        """Build the dialog; `rows` (settings) and `outcomes` (results) are (field, value for each of `runs`).

        `parallel` has the names and the axes of all runs on show, which may be more than the tables have columns for.
        """
        super().__init__(parent, "comparison", tr("Compare configurations"))
        column = vbox(self, margins=(16, 16, 16, 16), spacing=12)
        same = tr("{count} runs have the same settings.", count=len(runs))
        told = tr("{count2} runs differ in {count} settings.", count=len(rows), count2=len(runs)) if rows else same
        column.addWidget(label(told, "muted"))
        self.table = _side_by_side(tr("Settings that differ"), runs, rows)
        self.outcomes = _side_by_side(tr("Outcome"), runs, outcomes)
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setAccessibleName(tr("View of the comparison"))
        if rows:
            self.tabs.addTab(self.table, tr("Settings"))
        self.tabs.addTab(self.outcomes, tr("Outcome"))
        if rows:
            self.tabs.addTab(ParallelView(*parallel), tr("Parallel"))
        column.addWidget(self.tabs, 1)
        column.addWidget(button(tr("Close"), clicked=self.accept), 0, Qt.AlignmentFlag.AlignRight)
        self.resize(min(900, 300 + 110 * len(runs)), min(560, 200 + ROW * max(5, len(rows))))


def _side_by_side(words: str, runs: list[str], rows: list[tuple[str, list[str]]]) -> QTableWidget:
    """Return a table with one column per run and one row per field; its top left heading is `words`."""
    table = QTableWidget(len(rows), len(runs))
    table.setAccessibleName(words)
    table.setCornerButtonEnabled(False)
    table.setVerticalHeaderLabels([name for name, _ in rows])
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setTabKeyNavigation(False)
    table.setHorizontalHeader(Head(table))
    table.horizontalHeader().setStretchLastSection(True)
    table.verticalHeader().setDefaultSectionSize(ROW)
    table.setAlternatingRowColors(True)
    for row, (_, values) in enumerate(rows):
        for place, value in enumerate(values):
            item = QTableWidgetItem(value)
            item.setToolTip(value)
            table.setItem(row, place, item)
    for place, name in enumerate(runs):
        head = QTableWidgetItem(without_middle(name, HEAD_LETTERS))
        head.setToolTip(name)
        table.setHorizontalHeaderItem(place, head)
    table.resizeColumnsToContents()
    for place in range(len(runs)):
        table.setColumnWidth(place, min(max(table.columnWidth(place), LEAST_COLUMN), WIDEST_COLUMN))
    return table


class ParallelView(QWidget):
    def __init__(self, names: list[str], axes: list[Axis]) -> None:
        """Build the plot of the runs `names`; each axis has their places in that order, and the last is success.

        The setting that success depends on most comes to stand beside it.
        """
        super().__init__()
        self.names, rates = names, axes[-1].places
        self.weights = {axis.name: weight_of(axis, rates) for axis in axes[:-1]}
        weighed = sorted(axes[:-1], key=lambda axis: abs(self.weights[axis.name] or 0.0))
        self.axes = [*weighed, axes[-1]]
        self.hovered = -1
        """Index of the run whose line is under the pointer, -1 for none."""
        self.setObjectName("parallelView")
        self.setAccessibleName(tr("{count} runs with {value} varied settings", count=len(names), value=len(axes) - 1))
        self.setToolTip(
            tr(
                "Below a setting: its rank correlation with success, -1 to 1; for words the share of success's ranks "
                "that they explain, 0 to 1"
            )
        )
        self.setMouseTracking(True)
        self.setMinimumSize(320, 200)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def lines(self) -> list[QPolygonF]:
        """Return one polyline per run in widget coordinates, without the axes for which the run has no value."""
        return [
            QPolygonF(
                [
                    QPointF(self._across(number), self._down(place))
                    for number, axis in enumerate(self.axes)
                    if (place := axis.places[run]) is not None
                ]
            )
            for run in range(len(self.names))
        ]

    def _across(self, number: int) -> float:
        room = self.width() - LEFT - RIGHT
        return LEFT + room * number / max(1, len(self.axes) - 1)

    def _down(self, place: float) -> float:
        return TOP + (self.height() - TOP - BOTTOM) * (1.0 - place)

    # -- painting ---------------------------------------------------------------------------

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme.current()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            lines, success = self.lines(), self.axes[-1].places
            order = sorted(range(len(lines)), key=lambda run: (run == self.hovered, success[run] or 0))
            for run in order:
                color = QColor(colors.accent if success[run] else colors.muted)
                color.setAlphaF(0.2 + 0.8 * (success[run] or 0.0))
                if run == self.hovered:
                    color = QColor(colors.text)
                painter.setPen(QPen(color, 2.0 if run == self.hovered else 1.2))
                painter.drawPolyline(lines[run])
            for place, axis in enumerate(self.axes):
                self._paint_axis(painter, colors, self._across(place), axis)
            if any(weight is not None for weight in self.weights.values()):
                room = QRectF(self.width() - 208, 20, 200, 18)
                painter.drawText(room, Qt.AlignmentFlag.AlignRight, tr("rank correlation"))

    def _paint_axis(self, painter: QPainter, colors: theme.Colors, x: float, axis: Axis) -> None:
        painter.setPen(QPen(QColor(colors.border), 1))
        painter.drawLine(QPointF(x, self._down(1.0)), QPointF(x, self._down(0.0)))
        painter.setFont(theme.small_font())
        painter.setPen(QColor(colors.text))
        room = (self.width() - LEFT - RIGHT) / max(1, len(self.axes) - 1)
        words = painter.fontMetrics().elidedText(axis.name, Qt.TextElideMode.ElideMiddle, int(min(room, 160)))
        painter.drawText(QRectF(x - 80, 4, 160, 18), Qt.AlignmentFlag.AlignCenter, words)
        painter.setPen(QColor(colors.muted))
        if (weight := self.weights.get(axis.name)) is not None:
            told = number(weight, "+.2f" if axis.is_number else ".2f")
            painter.drawText(QRectF(x - 80, 20, 160, 18), Qt.AlignmentFlag.AlignCenter, told)
        for place, text in axis.ticks:
            short = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, 70)
            box = QRectF(x + 4, self._down(place) - 8, 72, 16)
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, short)

    # -- the mouse --------------------------------------------------------------------------

    def run_at(self, point: QPointF) -> int:
        """Return the index of the run whose line is nearest to the point, -1 if none is within NEAR pixels."""
        best, nearest = -1, NEAR
        for run, line in enumerate(self.lines()):
            for place in range(line.size() - 1):
                first, last = line.at(place), line.at(place + 1)
                if first.x() <= point.x() <= last.x() and last.x() > first.x():
                    share = (point.x() - first.x()) / (last.x() - first.x())
                    gap = abs(first.y() + share * (last.y() - first.y()) - point.y())
                    if gap < nearest:
                        best, nearest = run, gap
        return best

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        run = self.run_at(event.position())
        if run != self.hovered:
            self.hovered = run
            self.update()
            words = ""
            if run >= 0:
                words = tr(
                    "{value}: {value2:.0%} success", value=self.names[run], value2=self.axes[-1].places[run] or 0.0
                )
            QToolTip.showText(event.globalPosition().toPoint(), words, self)


@dataclass(frozen=True, slots=True)
class Axis:
    """Axis of a parallel coordinates plot: `places` has each run's value from 0 (bottom) to 1 (top), or None."""

    name: str
    places: tuple[float | None, ...]
    ticks: tuple[tuple[float, str], ...]
    """(place, text): each value if there are few, else the ends."""
    is_number: bool = True


def axis_of(name: str, values: Sequence[str | None]) -> Axis:
    """Return the axis of a configuration field from its text in each run, None where a run lacks the field.

    Numbers are placed by value, other texts evenly.
    """
    numbers = [_number(value) for value in values]
    told = [value for value in values if value is not None]
    known = [number for number in numbers if number is not None]
    if known and len(known) == len(told):
        return _number_axis(name, numbers, known)
    words = sorted(set(told))
    step = {word: _share(place, len(words)) for place, word in enumerate(words)}
    places = tuple(None if value is None else step[value] for value in values)
    return Axis(name, places, tuple((place, word) for word, place in step.items()), is_number=False)


def weight_of(axis: Axis, rates: Sequence[float | None]) -> float | None:
    """Return how closely success follows a setting.

    For numbers it is Spearman's rank correlation, -1 to 1; for words the share of the variance of success's ranks
    between them, 0 to 1. None for fewer than LEAST_RUNS runs with the setting, or where either is the same in all.
    """
    known = [(place, rate or 0.0) for place, rate in zip(axis.places, rates, strict=True) if place is not None]
    if len(known) < LEAST_RUNS:
        return None
    places, ranks = (_ranks(np.array(values)) for values in zip(*known, strict=True))
    if not np.ptp(places) or not np.ptp(ranks):
        return None
    if axis.is_number:
        return float(np.corrcoef(places, ranks)[0, 1])
    means = np.array([ranks[places == place].mean() for place in places])
    return float(means.var() / ranks.var())


def _ranks(values: np.ndarray) -> np.ndarray:
    """Return the rank of each value from 1; equal ones share their mean rank."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (counts.cumsum() - (counts - 1) / 2)[place]


def _number_axis(name: str, numbers: Sequence[float | None], known: Sequence[float]) -> Axis:
    low, high = min(known), max(known)
    is_log = low > 0 and high / low >= LOG_FROM

    def place(number: float) -> float:
        if high == low:
            return 0.5
        if is_log:
            return math.log(number / low) / math.log(high / low)
        return (number - low) / (high - low)

    few = sorted(set(known))
    shown = few if len(few) <= 6 else [low, high]
    places = tuple(None if number is None else place(number) for number in numbers)
    return Axis(name, places, tuple((place(one), number(one, ".6g")) for one in shown))


def success_axis(rates: Sequence[float]) -> Axis:
    """Return the axis of the success rates of the runs, from 0 to 1."""
    return Axis(SUCCESS, tuple(rates), tuple((rate, number(rate, ".0%")) for rate in (0.0, 0.5, 1.0)))


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text is not None else None
    except ValueError:
        return None
    return number if number is None or math.isfinite(number) else None


def _share(place: int, count: int) -> float:
    return 0.5 if count == 1 else place / (count - 1)
