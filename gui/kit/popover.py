"""Panel with a shadow over the window, which Escape or a click elsewhere closes."""

from __future__ import annotations

import shiboken6
from PySide6.QtCore import QEvent, QObject, QPoint, QRectF, Qt
from PySide6.QtGui import QCloseEvent, QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QApplication, QFrame, QWidget

from gui.kit.boxes import vbox
from gui.kit.painting import guarded
from gui.kit.style_sheet import RADIUS

SHADOW = 12
"""Width of the shadow in pixels; it is painted by hand, as Qt's effect paints the whole panel twice."""
DARKEST = 26
"""Alpha of the shadow's innermost line."""


class Popover(QWidget):
    """Panel in front of its window; `body` is the layout of its contents.

    A click on `opener` does not close it: that button does so itself.
    """

    def __init__(self, window: QWidget, object_name: str, accessible: str, opener: QWidget | None = None) -> None:
        super().__init__(window)
        self._opener = opener
        self._focused = QApplication.focusWidget()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName(object_name)
        self.setAccessibleName(accessible)
        outer = vbox(self, margins=(SHADOW, SHADOW, SHADOW, SHADOW))
        frame = QFrame()
        frame.setProperty("role", "popover")
        outer.addWidget(frame)
        self.body = vbox(frame, spacing=0)

    def open_at(self, corner: QPoint, width: int, height: int) -> None:
        """Show the panel with its upper left corner at `corner` of the window, without the shadow."""
        self.setGeometry(corner.x() - SHADOW, corner.y() - SHADOW, width + 2 * SHADOW, height + 2 * SHADOW)
        self.show()
        self.raise_()
        application = QApplication.instance()
        assert application is not None
        application.installEventFilter(self)
        self.setFocus(Qt.FocusReason.PopupFocusReason)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Close the panel at a press of the mouse outside of it."""
        if isinstance(event, QMouseEvent) and event.type() == QEvent.Type.MouseButtonPress:
            place = event.globalPosition().toPoint()
            room = self.rect().adjusted(SHADOW, SHADOW, -SHADOW, -SHADOW)
            opener = self._opener
            if opener is not None and opener.rect().contains(opener.mapFromGlobal(place)):
                return False
            if not room.contains(self.mapFromGlobal(place)):
                self.close()
        return False

    def closeEvent(self, event: QCloseEvent) -> None:
        """Give the keyboard back to the widget that had it."""
        super().closeEvent(event)
        focused = self._focused
        if focused is not None and shiboken6.isValid(focused) and self.isAncestorOf(QApplication.focusWidget() or self):
            focused.setFocus(Qt.FocusReason.PopupFocusReason)

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Keep Tab within the panel."""
        stops = [
            widget
            for widget in self.findChildren(QWidget)
            if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isVisible() and widget.isEnabled()
        ]
        if stops:
            here = QApplication.focusWidget()
            place = stops.index(here) + (1 if forward else -1) if here in stops else 0
            reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
            stops[place % len(stops)].setFocus(reason)
        return True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            super().keyPressEvent(event)

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            for away in range(SHADOW):
                painter.setPen(QColor(0, 0, 0, DARKEST * (SHADOW - away) ** 2 // SHADOW**2))
                inset = SHADOW - away - 0.5
                painter.drawRoundedRect(
                    QRectF(self.rect()).adjusted(inset, inset, -inset, -inset), RADIUS + away, RADIUS + away
                )
