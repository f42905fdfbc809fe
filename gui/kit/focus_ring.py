"""Ring around the widget that has the keyboard focus, while it is moved by keys."""

from __future__ import annotations

from collections.abc import Iterator

import shiboken6
from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QAbstractScrollArea,
    QAbstractSpinBox,
    QApplication,
    QLineEdit,
    QTabBar,
    QTableView,
    QWidget,
)

from gui.kit import theme
from gui.kit.painting import guarded
from gui.kit.style_sheet import RADIUS

WIDTH, AWAY = 2, 1
"""Pixels: width of the ring, and its distance from the control that it surrounds."""
BY_KEYS = Qt.WidgetAttribute.WA_KeyboardFocusChange
"""Qt's mark on a window whose focus moved by Tab, Backtab or a shortcut; a click takes it away."""
_MOVES = (QEvent.Type.Move, QEvent.Type.Resize, QEvent.Type.Show, QEvent.Type.Hide)
_INSIDE = (QLineEdit, QAbstractSpinBox, QAbstractScrollArea)


class FocusRings(QObject):
    """Shows a ring after Tab, Backtab or a shortcut moved the focus; a click leaves none."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.ring: Ring | None = None
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._on_focus)

    def _on_focus(self, old: QWidget | None, new: QWidget | None) -> None:
        had_ring = self.ring is not None and shiboken6.isValid(self.ring) and not self.ring.isHidden()
        if had_ring and self.ring is not None:
            self.ring.end()
        self.ring = None
        if new is None or new.isWindow():
            return
        # A key may move the focus by other ways, for example an arrow in joined buttons.
        moved_on = had_ring and QApplication.mouseButtons() == Qt.MouseButton.NoButton
        if moved_on or new.window().testAttribute(BY_KEYS):
            self.ring = Ring(new)


class Ring(QWidget):
    """Ring over a control, outside of it or, for fields and rows, inside; it follows the control."""

    def __init__(self, target: QWidget) -> None:
        self._target = target
        if isinstance(target, QAbstractScrollArea) and target.viewport() is not None:
            self._holder, self._watched = target.viewport(), [target, target.viewport()]
        else:
            *self._watched, self._holder = _up_to_holder(target)
        super().__init__(self._holder)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        for widget in self._watched:
            widget.installEventFilter(self)
        if isinstance(target, QAbstractScrollArea):
            target.verticalScrollBar().valueChanged.connect(self.place)
        if isinstance(target, QAbstractItemView) and target.selectionModel() is not None:
            target.selectionModel().currentChanged.connect(self.place)
        if isinstance(target, QTabBar):
            target.currentChanged.connect(self.place)
        self.place()
        self.show()

    def end(self) -> None:
        """Remove the ring."""
        self.hide()
        self.deleteLater()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in _MOVES:
            self.place()
        elif event.type() == QEvent.Type.MouseButtonPress:
            self.end()
        return False

    def place(self, *_: object) -> None:
        """Move the ring to where the control is now."""
        room, is_inside = self._room()
        grow = 0 if is_inside else WIDTH + AWAY
        is_row = isinstance(self._target, QAbstractScrollArea | QTabBar)
        self._radius = 0 if is_row else RADIUS + grow - WIDTH // 2
        self.setGeometry(room.adjusted(-grow, -grow, grow, grow))
        self.raise_()

    def _room(self) -> tuple[QRect, bool]:
        """Return the rectangle in the holder that the ring marks, and whether the ring is inside of it."""
        target = self._target
        if isinstance(target, QAbstractItemView) and (index := target.currentIndex()).isValid():
            row = target.visualRect(index)
            if isinstance(target, QTableView):
                row.setLeft(0)
                row.setWidth(self._holder.width())
            return row, True
        if isinstance(target, QAbstractScrollArea):
            return self._holder.rect(), True
        row = target.parentWidget()
        if target.property("segment") and row is not None:
            target = row
        rect = QRect(target.mapTo(self._holder, QPoint()), target.size())
        if isinstance(target, QTabBar):
            return target.tabRect(target.currentIndex()).translated(rect.topLeft()), True
        return rect, isinstance(target, _INSIDE)

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        half, is_row = WIDTH / 2, not self._radius
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, not is_row)
            painter.setPen(QPen(QColor(theme.current().text), WIDTH))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(half, half, -half, -half), self._radius, self._radius)


def _up_to_holder(target: QWidget) -> Iterator[QWidget]:
    """Yield the control, its ancestors, and last the one that clips them: the page of a scroll area, or the window."""
    yield target
    while (parent := target.parentWidget()) is not None:
        yield parent
        viewport = parent.parentWidget()
        if parent.isWindow() or viewport is None or isinstance(viewport.parentWidget(), QAbstractScrollArea):
            return
        target = parent
