"""A plot as a file: its title, the names of the runs and the curves, as they are on show."""

from __future__ import annotations

from PySide6.QtCore import QBuffer, QIODevice, QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtSvg import QSvgGenerator

from gui import theme
from gui.widgets.plot_card import PlotCard

EDGE, GAP = 12, 10
"""Pixels beside the head, and between two names in it."""
LEAST_TITLE = 0.4
"""Share of the head that names of runs leave to the title."""


def to_png(card: PlotCard, ratio: float = 2.0) -> bytes:
    image = QImage(card.size() * ratio, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    image.fill(QColor(theme.current().window))
    with QPainter(image) as painter:
        _paint(card, painter)
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]
    return bytes(buffer.data().data())


def to_svg(card: PlotCard) -> bytes:
    buffer = QBuffer()
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    generator.setSize(QSize(card.width(), card.height()))
    generator.setViewBox(QRectF(0, 0, card.width(), card.height()))
    generator.setTitle(card.spec.title)
    with QPainter(generator) as painter:
        painter.fillRect(card.rect(), QColor(theme.current().window))
        _paint(card, painter)
    return bytes(buffer.data().data())


def _paint(card: PlotCard, painter: QPainter) -> None:
    head = card.canvas.mapTo(card, QPoint(0, 0)).y()
    painter.setFont(theme.ui_font())
    metrics = painter.fontMetrics()
    right, least = card.width() - float(EDGE), EDGE + LEAST_TITLE * card.width()
    for color, name in reversed(card.legend()):
        width = metrics.horizontalAdvance(name)
        if right - width < least:
            continue
        painter.setPen(color)
        painter.drawText(QRectF(right - width, 4, width + 2, head), 0, name)
        right -= width + GAP
    painter.setPen(QColor(theme.current().text))
    room = right - EDGE
    title = metrics.elidedText(card.spec.title, Qt.TextElideMode.ElideMiddle, int(room))
    painter.drawText(QRectF(EDGE, 4, room, head), 0, title)
    painter.translate(0, head)
    card.canvas.paint_lines(painter)
    painter.translate(0, -head)
