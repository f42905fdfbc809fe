"""Parallel coordinates: one line a run over its parameters to its success, brighter the better."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from gui import theme
from gui.models.parallel import Axis
from gui.widgets.painting import guarded
from gui.words import tr

LEFT, TOP, RIGHT, BOTTOM = 56, 34, 56, 18
NEAR = 8.0
"""Pixels from a line within which the pointer means it."""


class ParallelView(QWidget):
    def __init__(self, names: list[str], axes: list[Axis]) -> None:
        """`names` of the runs, in the order of every axis' places; the last axis is success."""
        super().__init__()
        self.names, self.axes = names, axes
        self.hovered = -1
        """Index of the run under the pointer, -1 for none."""
        self.setObjectName("parallelView")
        self.setAccessibleName(tr("{count} runs over {value} parameters", count=len(names), value=len(axes) - 1))
        self.setMouseTracking(True)
        self.setMinimumSize(320, 200)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def lines(self) -> list[QPolygonF]:
        """One a run, in the widget's coordinates; axes without its value are passed over."""
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
            for number, axis in enumerate(self.axes):
                self._paint_axis(painter, colors, self._across(number), axis)

    def _paint_axis(self, painter: QPainter, colors: theme.Colors, x: float, axis: Axis) -> None:
        painter.setPen(QPen(QColor(colors.border), 1))
        painter.drawLine(QPointF(x, self._down(1.0)), QPointF(x, self._down(0.0)))
        painter.setFont(theme.ui_font(8.5))
        painter.setPen(QColor(colors.text))
        room = (self.width() - LEFT - RIGHT) / max(1, len(self.axes) - 1)
        words = painter.fontMetrics().elidedText(axis.name, Qt.TextElideMode.ElideMiddle, int(min(room, 160)))
        painter.drawText(QRectF(x - 80, 4, 160, 18), Qt.AlignmentFlag.AlignCenter, words)
        painter.setFont(theme.ui_font(7.5))
        painter.setPen(QColor(colors.muted))
        for place, text in axis.ticks:
            short = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, 70)
            box = QRectF(x + 4, self._down(place) - 8, 72, 16)
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, short)

    # -- the mouse --------------------------------------------------------------------------

    def run_at(self, point: QPointF) -> int:
        """The run whose line passes nearest, -1 when none is near."""
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
                    "{value}: {value2:.2f} success", value=self.names[run], value2=self.axes[-1].places[run] or 0.0
                )
            QToolTip.showText(event.globalPosition().toPoint(), words, self)
