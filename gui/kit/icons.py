"""Icons drawn in the colours of the theme."""

from __future__ import annotations

import functools
from collections.abc import Callable

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QIconEngine, QPainter, QPainterPath, QPen, QPixmap, QPolygonF

from gui.kit import theme
from gui.kit.painting import guarded_item
from gui.kit.style_sheet import ICON, MARK

STROKE = 1.5


class _Engine(QIconEngine):
    """Icon engine that draws a named shape, scaled from 16x16, in the colour of the icon's state."""

    def __init__(self, name: str, color: str = "") -> None:
        super().__init__()
        self._name, self._color = name, color

    def clone(self) -> QIconEngine:
        return _Engine(self._name, self._color)

    @guarded_item
    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        colors = theme.current()
        color = getattr(colors, self._color or "text", self._color)
        if mode == QIcon.Mode.Disabled:
            color = colors.disabled
        ratio = painter.device().devicePixelRatioF()
        painter.drawPixmap(rect.topLeft(), _picture(self._name, color, rect.width(), rect.height(), ratio))

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        made = QPixmap(size)
        if size.isEmpty():  # a button without space yet asks for it
            return made
        made.fill(Qt.GlobalColor.transparent)
        with QPainter(made) as painter:
            self.paint(painter, QRect(0, 0, size.width(), size.height()), mode, state)
        return made


@functools.lru_cache(maxsize=512)
def _picture(name: str, color: str, width: int, height: int, ratio: float) -> QPixmap:
    """Return an icon of `width` x `height`, drawn once for a screen of `ratio` device pixels per pixel."""
    made = QPixmap(round(width * ratio), round(height * ratio))
    made.setDevicePixelRatio(ratio)
    made.fill(Qt.GlobalColor.transparent)
    side = MARK if name in MARKS else ICON
    with QPainter(made) as painter:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.scale(width / side, height / side)
        _draw(painter, name, QColor(color))
    return made


def icon(name: str, color: str = "") -> QIcon:
    """Return the icon `name`, a key of a table below, in a theme's colour or another one, by default the text's."""
    return QIcon(_Engine(name, color))


def paint_icon(painter: QPainter, rect: QRect, name: str, color: str) -> None:
    """Paint the icon `name` into `rect`, in a theme's colour or another one."""
    _Engine(name, color).paint(painter, rect, QIcon.Mode.Normal, QIcon.State.Off)


_FILLED: dict[str, tuple[tuple[tuple[float, float], ...], ...]] = {
    "play": (((4.5, 2.5), (13, 8), (4.5, 13.5)),),
    "pause": (((4, 3), (7, 3), (7, 13), (4, 13)), ((9, 3), (12, 3), (12, 13), (9, 13))),
    "stop": (((4, 4), (12, 4), (12, 12), (4, 12)),),
    "step": (((3, 3), (10, 8), (3, 13)), ((11, 3), (13, 3), (13, 13), (11, 13))),
    "back": (((13, 3), (6, 8), (13, 13)), ((3, 3), (5, 3), (5, 13), (3, 13))),
    "star": (((8, 2), (9.8, 6), (14, 6.4), (10.8, 9.2), (11.8, 13.5),
              (8, 11.2), (4.2, 13.5), (5.2, 9.2), (2, 6.4), (6.2, 6)),),
    "square": (((0, 0), (8, 0), (8, 8), (0, 8)),),
    "bars": (((1, 0), (3, 0), (3, 8), (1, 8)), ((5, 0), (7, 0), (7, 8), (5, 8))),
}  # fmt: skip
"""Corners of the filled polygons of an icon."""
_DRAWN: dict[str, tuple[tuple[tuple[float, float], ...], ...]] = {
    "close": (((4, 4), (12, 12)), ((12, 4), (4, 12))),
    "check": (((2.75, 8.5), (6.25, 12), (13.25, 4.5)),),
    "warn": (((8, 2.25), (14.25, 13.25), (1.75, 13.25), (8, 2.25)), ((8, 6.25), (8, 9.25)), ((8, 11.4), (8, 11.5))),
    "right": (((6, 4), (10, 8), (6, 12)),),
    "down": (((4, 6), (8, 10), (12, 6)),),
    "up": (((4, 10), (8, 6), (12, 10)),),
    "copy": (((5.75, 5.75), (13.25, 5.75), (13.25, 13.25), (5.75, 13.25), (5.75, 5.75)),
             ((3, 10.25), (2.75, 10.25), (2.75, 2.75), (10.25, 2.75), (10.25, 3))),
    "folder": (((1.75, 3.75), (6, 3.75), (7.75, 5.75), (14.25, 5.75), (14.25, 12.75), (1.75, 12.75), (1.75, 3.75)),),
    "dock": (((1.75, 2.75), (14.25, 2.75), (14.25, 13.25), (1.75, 13.25), (1.75, 2.75)), ((6.25, 2.75), (6.25, 13.25))),
    "mark": (((4.75, 2.75), (11.25, 2.75), (11.25, 13.25), (8, 10.5), (4.75, 13.25), (4.75, 2.75)),),
    "fit": (((2.75, 6), (2.75, 2.75), (6, 2.75)), ((10, 2.75), (13.25, 2.75), (13.25, 6)),
            ((2.75, 10), (2.75, 13.25), (6, 13.25)), ((10, 13.25), (13.25, 13.25), (13.25, 10))),
    "maximise": (((9.5, 6.5), (13.25, 2.75)), ((9.5, 2.75), (13.25, 2.75), (13.25, 6.5)),
                 ((6.5, 9.5), (2.75, 13.25)), ((2.75, 9.5), (2.75, 13.25), (6.5, 13.25))),
    "export": (((8, 10), (8, 2.75)), ((5, 5.75), (8, 2.75), (11, 5.75)),
               ((2.75, 9.5), (2.75, 13.25), (13.25, 13.25), (13.25, 9.5))),
    "minus": (((3, 7.75), (13, 7.75)),),
    "plus": (((3, 7.75), (13, 7.75)), ((8, 2.75), (8, 12.75))),
    "tick": (((0.75, 4.5), (3, 6.75), (7.25, 1.75)),),
    "cross": (((1, 1), (7, 7)), ((7, 1), (1, 7))),
}  # fmt: skip
"""Points of the lines of an icon. Half the width of a line beside a pixel's border, it is sharp at 1x and at 2x."""


def _ellipse(painter: QPainter, x: float, y: float, radius: float) -> None:
    painter.drawEllipse(QPointF(x, y), radius, radius)


def _dot(painter: QPainter) -> None:
    painter.setBrush(painter.pen().color())
    _ellipse(painter, 4, 4, 3.25)


def _ring(painter: QPainter) -> None:
    _ellipse(painter, 4, 4, 3.25)


def _half(painter: QPainter) -> None:
    _ring(painter)
    painter.setBrush(painter.pen().color())
    painter.drawPie(QRectF(0.75, 0.75, 6.5, 6.5), 90 * 16, 180 * 16)


def _record(painter: QPainter) -> None:
    painter.setBrush(painter.pen().color())
    _ellipse(painter, 8, 8, 4.25)


def _more(painter: QPainter) -> None:
    painter.setBrush(painter.pen().color())
    for x in (3.5, 8.0, 12.5):
        _ellipse(painter, x, 8, 0.5)


def _info(painter: QPainter) -> None:
    _ellipse(painter, 8, 8, 6.25)
    painter.drawLine(QPointF(8, 7.5), QPointF(8, 11))
    painter.drawPoint(QPointF(8, 5))


def _search(painter: QPainter) -> None:
    _ellipse(painter, 7, 7, 4.25)
    painter.drawLine(QPointF(10.25, 10.25), QPointF(13.25, 13.25))


def _restart(painter: QPainter) -> None:
    painter.drawArc(QRectF(2.75, 2.75, 10.5, 10.5), 50 * 16, 290 * 16)
    painter.drawPolyline([QPointF(13.25, 2), QPointF(13.25, 5.25), QPointF(10, 5.25)])


def _undo(painter: QPainter) -> None:
    painter.drawArc(QRectF(5, 4.75, 8.5, 8), -90 * 16, 180 * 16)
    painter.drawLine(QPointF(9.25, 12.75), QPointF(5, 12.75))
    painter.drawLine(QPointF(9.25, 4.75), QPointF(2.75, 4.75))
    painter.drawPolyline([QPointF(5.5, 2), QPointF(2.75, 4.75), QPointF(5.5, 7.5)])


def _redo(painter: QPainter) -> None:
    painter.scale(-1, 1)
    painter.translate(-16, 0)
    _undo(painter)


def _bell(painter: QPainter) -> None:
    path = QPainterPath(QPointF(2.75, 11.25))
    path.cubicTo(5, 9.25, 3.25, 2.75, 8, 2.75)
    path.cubicTo(12.75, 2.75, 11, 9.25, 13.25, 11.25)
    path.closeSubpath()
    painter.drawPath(path)
    painter.drawLine(QPointF(6.5, 13.75), QPointF(9.5, 13.75))


def _eye(painter: QPainter) -> None:
    _lids(painter)
    _ellipse(painter, 8, 8, 1.75)


def _eye_off(painter: QPainter) -> None:
    _lids(painter)
    painter.drawLine(QPointF(3, 13), QPointF(13, 3))


def _lids(painter: QPainter) -> None:
    lids = QPainterPath(QPointF(1.25, 8))
    lids.quadTo(8, 0.25, 14.75, 8)
    lids.quadTo(8, 15.75, 1.25, 8)
    painter.drawPath(lids)


_CURVED: dict[str, Callable[[QPainter], None]] = {
    "record": _record, "more": _more, "info": _info, "search": _search, "restart": _restart, "undo": _undo,
    "redo": _redo, "bell": _bell, "eye": _eye, "eyeOff": _eye_off, "dot": _dot, "ring": _ring, "half": _half,
}  # fmt: skip


MARKS = ("dot", "ring", "half", "tick", "square", "cross", "bars")
"""Marks of a run's state, drawn in 8x8 where icons are drawn in 16x16."""


def _draw(painter: QPainter, name: str, color: QColor) -> None:
    """Draw an icon of 16x16, or a mark of 8x8, with lines of 1.5."""
    for corners in _FILLED.get(name, ()):
        path = QPainterPath()
        path.addPolygon(QPolygonF([QPointF(x, y) for x, y in corners]))
        painter.fillPath(path, color)
    painter.setPen(QPen(color, STROKE, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin))
    for points in _DRAWN.get(name, ()):
        painter.drawPolyline([QPointF(x, y) for x, y in points])
    if name in _CURVED:
        _CURVED[name](painter)
