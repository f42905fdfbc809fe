"""Which buttons are held in the picture on show: eight small lights."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui import theme
from gui.widgets.painting import guarded
from gui.words import tr
from trainer_core.wire.buttons import MASK_BITS

_CROSS = {"up": (7, 1), "down": (7, 13), "left": (1, 7), "right": (13, 7)}
_ROUND = {"b": (32, 13), "a": (41, 8)}
_PILLS = {"select": 52, "start": 64}


class JoypadLights(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self._mask = 0
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(tr("Buttons held: none"))

    def sizeHint(self) -> QSize:
        return QSize(76, 20)

    def set_mask(self, mask: int) -> None:
        if mask != self._mask:
            self._mask = mask
            held = [name for bit, name in enumerate(MASK_BITS) if mask >> bit & 1]
            self.setAccessibleName(tr("Buttons held: {value}", value=", ".join(held) or "none"))
            self.update()

    def _color(self, name: str) -> QColor:
        colors = theme.current()
        held = self._mask >> MASK_BITS.index(name) & 1
        return QColor(colors.accent if held else colors.border)

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setPen(Qt.PenStyle.NoPen)
            for name, (x, y) in _CROSS.items():
                painter.fillRect(QRectF(x, y, 5, 5), self._color(name))
            painter.fillRect(QRectF(7, 7, 5, 5), QColor(theme.current().border))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            for name, (x, y) in _ROUND.items():
                painter.setBrush(self._color(name))
                painter.drawEllipse(QPointF(x, y), 4, 4)
            for name, x in _PILLS.items():
                painter.setBrush(self._color(name))
                painter.drawRoundedRect(QRectF(x, 9, 9, 4), 2, 2)
