"""Sparkline of a run's success: one line, a dot for each validation, the target as a dotted line."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.kit import theme
from gui.kit.painting import guarded
from gui.kit.words import tr
from gui.state.metric_series import Array

MARGIN = 5
MOST_DOTS = 24
"""Newest validations that get a dot; more would hide the line."""


class Sparkline(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self._x: Array = np.empty(0)
        self._y: Array = np.empty(0)
        self._dots: Sequence[tuple[float, float]] = ()
        self._target, self._color, self._mark = 0.0, "", -1.0
        self.setObjectName("successLine")
        self.setAccessibleName(tr("Success so far"))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(172, 44)

    def show_line(
        self, x: Array, y: Array, dots: Sequence[tuple[float, float]], target: float, color: str, mark: float = -1.0
    ) -> None:
        """Show the curve (`x`, `y` 0 to 1), validations `dots`, the `target` rate (0 for none), all in `color`.

        `mark` is the x of the validation whose dot is larger and has the accent colour; -1 for none.
        """
        self._x, self._y, self._dots = x, y, dots[-MOST_DOTS:]
        self._target, self._color, self._mark = target, color, mark
        self.update()

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        wide, high = self.width() - 2 * MARGIN, self.height() - 2 * MARGIN
        ends = [at for at, _ in self._dots] + [float(at) for at in self._x[-1:]]
        if not ends:
            return
        last = max(ends) or 1.0
        colors, color = theme.current(), QColor(self._color)

        def point(x: float, y: float) -> QPointF:
            return QPointF(MARGIN + wide * x / last, MARGIN + high * (1.0 - min(1.0, max(0.0, y))))

        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            if self._target:
                painter.setPen(QPen(QColor(colors.muted), 1, Qt.PenStyle.DotLine))
                painter.drawLine(point(0, self._target), point(last, self._target))
            painter.setPen(QPen(color, 1.5))
            every = max(1, len(self._x) // max(1, wide))
            line = [point(x, y) for x, y in zip(self._x[::every], self._y[::every], strict=True)]
            painter.drawPolyline(QPolygonF(line or [point(x, y) for x, y in self._dots]))
            for x, y in self._dots:
                is_marked = x == self._mark
                painter.setPen(QPen(QColor(colors.window), 1.5))
                painter.setBrush(QColor(colors.accent) if is_marked else color)
                painter.drawEllipse(point(x, y), 4.5 if is_marked else 3.0, 4.5 if is_marked else 3.0)
