"""Picture of the goal as the agent sees it, in which the user paints the region that counts."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from gui.kit import object_names as names
from gui.kit import theme
from gui.kit.painting import guarded
from gui.kit.screen import Palette
from gui.kit.words import tr

WIDTH, HEIGHT = 80, 72
SCALES = (2, 3)
"""Least and greatest size of an observation's pixel: the largest whole one that fits is taken."""
CELL = 4
"""Step of the keyboard cursor in observation pixels: 4, which are a tile of 8 screen pixels."""
_ARROWS = {Qt.Key.Key_Left: (-1, 0), Qt.Key.Key_Right: (1, 0), Qt.Key.Key_Up: (0, -1), Qt.Key.Key_Down: (0, 1)}


class MaskPainter(QWidget):
    """Painter of the goal's mask: a drag adds a rectangle to it, a drag with the right button removes one.

    By keyboard, arrows move a cursor of one tile, Space adds or removes the tile.
    """

    painted = Signal(int, int, int, int, bool)
    """Rectangle (x, y, width, height) in observation pixels; True to add it to the mask, False to remove it."""

    def __init__(self, palette: Palette) -> None:
        super().__init__()
        self._palette = palette
        self._template: np.ndarray | None = None
        self._mask = np.ones((HEIGHT, WIDTH), bool)
        self._anchor: QPoint | None = None
        self._dragged = QRect()
        self._cell = QPoint(0, 0)
        self.setObjectName(names.GOAL_MASK)
        self.setAccessibleName(tr("Goal picture: paint the pixels that count"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        least, most = SCALES
        self.setMinimumSize(WIDTH * least, HEIGHT * least)
        self.setMaximumSize(WIDTH * most, HEIGHT * most)
        self.setToolTip(tr("Drag over the pixels that count; drag with the right button to remove them"))

    @property
    def scale(self) -> int:
        return min(self.width() // WIDTH, self.height() // HEIGHT)

    def show_goal(self, template: np.ndarray | None, mask: np.ndarray) -> None:
        """Show the goal's observation `template`, u8[72, 80] or None, and the `mask`, bool[72, 80]."""
        self._template, self._mask = template, mask
        self.update()

    # -- painting ---------------------------------------------------------------------------

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            colors = theme.current()
            room = self._scaled(QRect(0, 0, WIDTH, HEIGHT)).adjusted(0, 0, 1, 1)
            painter.fillRect(room, QColor(colors.letterbox))
            if self._template is None:
                painter.setPen(QColor(colors.muted))
                painter.drawText(room, Qt.AlignmentFlag.AlignCenter, tr("No goal yet"))
                return
            pixels = np.empty((HEIGHT, WIDTH), np.uint32)
            self._palette.paint(self._template, pixels)
            dim = (pixels >> 1 & 0x7F7F7F) | np.uint32(0xFF000000)
            pixels = np.ascontiguousarray(np.where(self._mask, pixels, dim))
            image = QImage(pixels.data, WIDTH, HEIGHT, WIDTH * 4, QImage.Format.Format_RGB32)
            painter.drawImage(room, image)
            painter.setPen(QColor(colors.accent))
            if not self._dragged.isEmpty():
                painter.drawRect(self._scaled(self._dragged))
            if self.hasFocus():
                painter.drawRect(self._scaled(QRect(self._cell * CELL, QSize(CELL, CELL))))

    # -- mouse ------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self._template is not None:
            self._anchor = self._pixel(event)
            self._drag_to(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._drag_to(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._anchor is None:
            return
        self._drag_to(event)
        box, self._anchor, self._dragged = self._dragged, None, QRect()
        counts = event.button() != Qt.MouseButton.RightButton
        self.painted.emit(box.x(), box.y(), box.width(), box.height(), counts)

    def _drag_to(self, event: QMouseEvent) -> None:
        if self._anchor is not None:
            box = QRect(self._anchor, self._pixel(event)).normalized()
            self._dragged = box & QRect(0, 0, WIDTH, HEIGHT)
            self.update()

    # -- keyboard ---------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self._template is None:
            super().keyPressEvent(event)
        elif (key := Qt.Key(event.key())) in _ARROWS:
            x, y = _ARROWS[key]
            self._cell = QPoint((self._cell.x() + x) % (WIDTH // CELL), (self._cell.y() + y) % (HEIGHT // CELL))
            self.update()
        elif key == Qt.Key.Key_Space:
            x, y = self._cell.x() * CELL, self._cell.y() * CELL
            is_all = bool(self._mask.all())
            self.painted.emit(x, y, CELL, CELL, is_all or not self._mask[y, x])
        else:
            super().keyPressEvent(event)

    # -- scale ------------------------------------------------------------------------------

    def _pixel(self, event: QMouseEvent) -> QPoint:
        """Return the pixel of the observation under the pointer."""
        return QPoint(int(event.position().x() // self.scale), int(event.position().y() // self.scale))

    def _scaled(self, box: QRect) -> QRect:
        scale = self.scale
        return QRect(box.x() * scale, box.y() * scale, box.width() * scale - 1, box.height() * scale - 1)
