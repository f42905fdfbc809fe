"""Marks on the base line of a plot, its crosshair, and the names and values at the ends of its lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPen

from gui.kit import theme
from gui.kit.painting import guarded_item, saved
from gui.kit.plot_look import FADED_NAME, THIN, Plot
from gui.kit.plot_picture import paint_dots, stroke
from gui.kit.plot_shapes import EMPTY, Array, Name, Scene, place_text, spread, value_text
from gui.kit.words import tr

GAP = 16
"""Pixels between two names."""
MOST_NAMES, FEW_NAMES = 10, 9
"""Most names beside a plot; with more runs, there are this few and the number of the others."""
MARK = 8
"""Height in pixels of a mark on the base line."""
NAME_DOT = 3.5
HOVER_DOT = 2.0
LEADER, TEXT_AT, EDGE = 8, 16, 4
"""Pixels from the view to a name's dot and to its text, and from the value to the plot's edge."""


class Overlay(pg.GraphicsObject):
    """Item in the pixels of the plot item that it covers; the pointer passes through it."""

    def __init__(self, plot: Plot) -> None:
        super().__init__()
        self._plot = plot
        self.setParentItem(plot)
        self.setZValue(100)
        self.scene_shown: Scene = EMPTY
        self.names_width = 0
        self.is_file = False
        self.has_axis = True
        self.cross: float | None = None
        """Place of the crosshair in data units; None without one."""
        self.values: Mapping[str, tuple[float, str]] = {}
        """(y of the line, its value as text) at the crosshair, by run."""
        self.highlighted = ""
        self.rows: list[tuple[QRectF, str]] = []
        """Area and run of each name, and of the line that counts the others (no run), as painted last."""

    def boundingRect(self) -> QRectF:
        return self._plot.rect()

    def shape(self) -> QPainterPath:
        return QPainterPath()

    @guarded_item
    def paint(self, painter: QPainter, *_: Any) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(theme.small_font())
        area = self._plot.area()
        self._paint_marks(painter, area)
        self._paint_turns(painter, area)
        if self.scene_shown.target and area.top() <= (y := self.down(self.scene_shown.target)) <= area.bottom():
            painter.setPen(QPen(QColor(theme.colors(self.scene_shown.theme).disabled), 1, Qt.PenStyle.DotLine))
            painter.drawLine(QPointF(area.left(), round(y) + 0.5), QPointF(area.right(), round(y) + 0.5))
        ground = QColor(theme.colors(self.scene_shown.theme).base)
        for dots in self.scene_shown.dots if self.highlighted else ():
            if dots.owner == self.highlighted:  # above the faded ones
                places = self._pixels(dots.x, dots.y)
                is_inside = (area.left() <= places[:, 0]) & (places[:, 0] <= area.right())
                paint_dots(painter, places[is_inside], dots.color, ground)
        if self.cross is not None:
            self._paint_crosshair(painter, area, self.cross)
        if self.names_width:
            self._paint_names(painter, area)

    def _across(self, x: float) -> float:
        """Return the pixel of a place on the x axis."""
        return float(self._pixels(np.array([x]), np.ones(1))[0, 0])

    def down(self, y: float) -> float:
        """Return the pixel of a value on the y axis."""
        return float(self._pixels(np.ones(1), np.array([y]))[0, 1])

    def _pixels(self, x: Array, y: Array) -> Array:
        return self._plot.to_pixels(self.scene_shown, x, y)

    def _paint_marks(self, painter: QPainter, area: QRectF) -> None:
        for marks in self.scene_shown.marks:
            painter.setPen(QPen(marks.color, 1.5))
            for x in map(self._across, marks.x):
                if area.left() <= x <= area.right():
                    painter.drawLine(QPointF(x, area.bottom() - MARK), QPointF(x, area.bottom()))

    def _paint_turns(self, painter: QPainter, area: QRectF) -> None:
        words = self.scene_shown.turn_words
        for turn in self.scene_shown.turns:
            for at in (round(x) + 0.5 for x in map(self._across, turn.x) if area.left() <= x <= area.right()):
                painter.setPen(QPen(turn.color, 1, Qt.PenStyle.DashLine))
                painter.drawLine(QPointF(at, area.top()), QPointF(at, area.bottom()))
                width = QFontMetricsF(painter.font()).horizontalAdvance(words)
                left = at + 4 if at + 4 + width <= area.right() else at - 4 - width
                painter.drawText(QPointF(left, area.top() + 12), words)
                words = ""

    # -- crosshair --------------------------------------------------------------------------

    def _paint_crosshair(self, painter: QPainter, area: QRectF, x: float) -> None:
        at, colors = self._across(x), theme.colors(self.scene_shown.theme)
        if not area.left() <= at <= area.right():
            return
        painter.setPen(QPen(QColor(colors.muted), 1))
        at = round(at) + 0.5
        painter.drawLine(QPointF(at, area.top()), QPointF(at, area.bottom()))
        for name in self.scene_shown.names:
            if (
                name.owner in self.values
                and area.top() <= (y := self.down(self.values[name.owner][0])) <= area.bottom()
            ):
                is_bold = name.owner == self.highlighted
                radius = NAME_DOT if is_bold else HOVER_DOT
                paint_dots(painter, np.array([[at, y]]), name.color, QColor(colors.base), radius)
        if self.has_axis:
            self._paint_chip(painter, area, at, place_text(x, by_clock=self.scene_shown.by_clock))

    def _paint_chip(self, painter: QPainter, area: QRectF, at: float, text: str) -> None:
        """Write the place of the crosshair on the axis, in place of the tick labels that it meets."""
        colors, font = theme.colors(self.scene_shown.theme), theme.small_font(QFont.Weight.DemiBold)
        metrics = QFontMetricsF(font)
        width = metrics.horizontalAdvance(text) + 14
        left = min(max(at - width / 2, area.left()), self._plot.rect().right() - width)
        chip = QRectF(left, min(area.bottom() + 6, self._plot.rect().bottom() - 17), width, 16)
        for label in getattr(self._plot.bottom, "label_areas", ()):
            covered = self._plot.mapRectFromItem(self._plot.bottom, label)
            if covered.intersects(chip):
                painter.fillRect(covered.adjusted(-1, 0, 1, 2), QColor(colors.base))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colors.text))
        painter.drawRoundedRect(chip, 4, 4)
        painter.setPen(QColor(colors.base))
        painter.setFont(font)
        painter.drawText(chip, Qt.AlignmentFlag.AlignCenter, text)
        painter.setFont(theme.small_font())

    # -- names ------------------------------------------------------------------------------

    def _paint_names(self, painter: QPainter, area: QRectF) -> None:
        kept, rest = self.kept()
        wanted = [min(max(self.down(name.y), area.top() + 4), area.bottom() - 4) for name in kept]
        order = sorted(range(len(kept)), key=wanted.__getitem__)
        least, most = area.top() + 4, area.bottom() - 4 - (GAP if rest else 0)
        places = spread([wanted[place] for place in order], GAP, least, most)
        self.rows = []
        for place, y in zip(order, places, strict=True):
            self._paint_name(painter, kept[place], area, wanted[place], y)
        if rest:
            box = self._box(area, max([*places, least - GAP]) + GAP)
            painter.setPen(QColor(theme.colors(self.scene_shown.theme).muted))
            painter.drawText(box.adjusted(TEXT_AT, 0, 0, 0), _MIDDLE, tr("and {rest} more", rest=rest))
            self.rows.append((box, ""))

    def kept(self) -> tuple[Sequence[Name], int]:
        """Return the names that are written, and the number of the others."""
        names, room = self.scene_shown.names, int(self._plot.area().height() // GAP)
        most = max(1, room if self.is_file else min(MOST_NAMES, room))
        if len(names) <= most:
            return names, 0
        kept = list(names[: max(1, room - 1 if self.is_file else min(FEW_NAMES, room - 1))])
        chosen = [name for name in names[len(kept) :] if name.owner == self.highlighted]
        kept[len(kept) - len(chosen) :] = chosen
        return kept, len(names) - len(kept)

    def _box(self, area: QRectF, y: float) -> QRectF:
        return QRectF(area.right() + LEADER, y - GAP / 2, self.names_width - LEADER - EDGE, GAP)

    def _paint_name(self, painter: QPainter, name: Name, area: QRectF, begin: float, y: float) -> None:
        colors = theme.colors(self.scene_shown.theme)
        box, is_bold = self._box(area, y), name.owner == self.highlighted
        self.rows.append((box, name.owner))
        font = theme.small_font(QFont.Weight.DemiBold if is_bold else QFont.Weight.Normal)
        metrics = QFontMetricsF(font)
        last = "" if self.values else value_text(name.y, is_percent=self.scene_shown.is_percent)
        value = self.values[name.owner][1] if name.owner in self.values else last
        room = box.width() - TEXT_AT - metrics.horizontalAdvance(value) - 6
        with saved(painter):
            painter.setOpacity(1.0 if is_bold or not self.highlighted else FADED_NAME)
            right = area.right()
            leader = [(right + 1, begin), (right + LEADER - 2, y), (box.left() + NAME_DOT, y)]
            stroke(painter, np.array(leader), name.color, THIN, is_file=self.is_file)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(name.color)
            painter.drawEllipse(QPointF(box.left() + NAME_DOT + 3, y), NAME_DOT, NAME_DOT)
            painter.setFont(font)
            painter.setPen(QColor(colors.text))
            text = metrics.elidedText(name.text, Qt.TextElideMode.ElideMiddle, room)
            painter.drawText(box.adjusted(TEXT_AT, 0, 0, 0), _MIDDLE, text)
            painter.drawText(box, _RIGHT, value)

    def row_at(self, place: QPointF) -> str | None:
        """Return the run whose name is written at this pixel; "" at the number of the others, None elsewhere."""
        return next((owner for box, owner in self.rows if box.contains(place)), None)


_MIDDLE = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
