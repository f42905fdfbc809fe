"""Icons drawn in the colours of the theme."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QIconEngine, QPainter, QPainterPath, QPen, QPixmap

from gui.kit import theme
from gui.kit.painting import guarded_item, saved


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
        color = getattr(colors, self._color) if self._color else colors.text
        if mode == QIcon.Mode.Disabled:
            color = colors.disabled
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.translate(rect.topLeft())
        painter.scale(rect.width() / 16, rect.height() / 16)
        _SHAPES[self._name](painter, QColor(color))

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        made = QPixmap(size)
        if size.isEmpty():  # a button without space yet asks for it
            return made
        made.fill(Qt.GlobalColor.transparent)
        with QPainter(made) as painter:
            self.paint(painter, QRect(0, 0, size.width(), size.height()), mode, state)
        return made


def icon(name: str, color: str = "") -> QIcon:
    """Return the icon `name`, a key of _SHAPES, in the theme colour `color`, by default the text colour."""
    return QIcon(_Engine(name, color))


def _polygon(*points: tuple[float, float]) -> QPainterPath:
    path = QPainterPath(QPointF(*points[0]))
    for point in points[1:]:
        path.lineTo(QPointF(*point))
    path.closeSubpath()
    return path


def _bar(painter: QPainter, color: QColor, x: float, y: float, w: float, h: float) -> None:
    painter.fillRect(QRectF(x, y, w, h), color)


def _play(painter: QPainter, color: QColor) -> None:
    painter.fillPath(_polygon((4, 2.5), (13, 8), (4, 13.5)), color)


def _pause(painter: QPainter, color: QColor) -> None:
    _bar(painter, color, 4, 3, 3, 10)
    _bar(painter, color, 9, 3, 3, 10)


def _stop(painter: QPainter, color: QColor) -> None:
    _bar(painter, color, 3.5, 3.5, 9, 9)


def _step(painter: QPainter, color: QColor) -> None:
    painter.fillPath(_polygon((3, 2.5), (10, 8), (3, 13.5)), color)
    _bar(painter, color, 11, 2.5, 2, 11)


def _back(painter: QPainter, color: QColor) -> None:
    painter.fillPath(_polygon((13, 2.5), (6, 8), (13, 13.5)), color)
    _bar(painter, color, 3, 2.5, 2, 11)


def _record(painter: QPainter, color: QColor) -> None:
    painter.setBrush(color)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.drawEllipse(QPointF(8, 8), 5, 5)


def _restart(painter: QPainter, color: QColor) -> None:
    painter.setPen(QPen(color, 1.8, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap))
    painter.drawArc(QRectF(3, 3, 10, 10), 60 * 16, 280 * 16)
    painter.fillPath(_polygon((8, 0.5), (13, 3.5), (8, 6.5)), color)


def _close(painter: QPainter, color: QColor) -> None:
    painter.setPen(QPen(color, 1.5))
    painter.drawLine(QPointF(4, 4), QPointF(12, 12))
    painter.drawLine(QPointF(12, 4), QPointF(4, 12))


def _right(painter: QPainter, color: QColor) -> None:
    painter.setPen(QPen(color, 1.6, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
    painter.drawPolyline([QPointF(6, 4), QPointF(10, 8), QPointF(6, 12)])


def _down(painter: QPainter, color: QColor) -> None:
    painter.setPen(QPen(color, 1.6, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
    painter.drawPolyline([QPointF(4, 6), QPointF(8, 10), QPointF(12, 6)])


def _copy(painter: QPainter, color: QColor) -> None:
    painter.setPen(QPen(color, 1.3))
    painter.drawRect(QRectF(2.5, 5.5, 8, 8))
    painter.drawPolyline([QPointF(5.5, 3), QPointF(5.5, 2.5), QPointF(13.5, 2.5)])
    painter.drawPolyline([QPointF(13.5, 2.5), QPointF(13.5, 10.5), QPointF(13, 10.5)])


def _folder(painter: QPainter, color: QColor) -> None:
    painter.setPen(QPen(color, 1.3))
    painter.drawPath(_polygon((2, 4), (6.5, 4), (8, 5.5), (14, 5.5), (14, 12.5), (2, 12.5)))


def _more(painter: QPainter, color: QColor) -> None:
    painter.setBrush(color)
    painter.setPen(Qt.PenStyle.NoPen)
    for x in (3.5, 8.0, 12.5):
        painter.drawEllipse(QPointF(x, 8), 1.4, 1.4)


def _undo(painter: QPainter, color: QColor) -> None:
    painter.setPen(QPen(color, 1.8, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap))
    painter.drawArc(QRectF(4, 5, 9, 8), -90 * 16, 180 * 16)
    painter.drawLine(QPointF(9, 5), QPointF(6, 5))
    painter.fillPath(_polygon((6.5, 1.5), (1.5, 5), (6.5, 8.5)), color)


def _redo(painter: QPainter, color: QColor) -> None:
    with saved(painter):
        painter.scale(-1, 1)
        painter.translate(-16, 0)
        _undo(painter, color)


def _minus(painter: QPainter, color: QColor) -> None:
    _bar(painter, color, 3, 7, 10, 2)


def _plus(painter: QPainter, color: QColor) -> None:
    _minus(painter, color)
    _bar(painter, color, 7, 3, 2, 10)


def _bell(painter: QPainter, color: QColor) -> None:
    painter.setPen(QPen(color, 1.3))
    path = QPainterPath(QPointF(3, 11.5))
    path.cubicTo(5, 9.5, 3.5, 3, 8, 3)
    path.cubicTo(12.5, 3, 11, 9.5, 13, 11.5)
    path.closeSubpath()
    painter.drawPath(path)
    painter.drawLine(QPointF(6.5, 13.5), QPointF(9.5, 13.5))


def _dock(painter: QPainter, color: QColor) -> None:
    painter.setPen(QPen(color, 1.3))
    painter.drawRoundedRect(QRectF(2, 3, 12, 10), 1.5, 1.5)
    painter.drawLine(QPointF(6.5, 3), QPointF(6.5, 13))


def _mark(painter: QPainter, color: QColor) -> None:
    painter.setPen(QPen(color, 1.4))
    painter.drawPath(_polygon((4.5, 2.5), (11.5, 2.5), (11.5, 13.5), (8, 10.5), (4.5, 13.5)))


_SHAPES = {
    "play": _play, "pause": _pause, "stop": _stop, "step": _step, "back": _back,
    "record": _record, "restart": _restart, "close": _close, "right": _right, "down": _down,
    "copy": _copy, "bell": _bell, "folder": _folder, "more": _more,
    "undo": _undo, "redo": _redo, "plus": _plus, "minus": _minus,
    "dock": _dock, "mark": _mark,
}  # fmt: skip
