"""Docks in one place: their tabs are their titles, and what a title bar holds stands at the right end of the tabs."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabBar

from gui.kit.boxes import later
from gui.kit.containers import Dock
from gui.shell.layout import Layout

MARGIN = 8
TORN_BY = QPoint(40, -80)
"""Way by which a dock that is torn off moves, so that it is seen to be apart."""
MOVES = {QEvent.Type.Resize, QEvent.Type.Move, QEvent.Type.LayoutRequest, QEvent.Type.Show, QEvent.Type.Hide}
"""Events after which tab bars may stand elsewhere."""


class DockTabs(QObject):
    """Follower of the window's tab bars, which Qt makes and deletes as docks are put behind each other."""

    def __init__(self, window: QMainWindow, layouts: Layout) -> None:
        super().__init__(window)
        self._window = window
        self._docks = [dock for dock in window.findChildren(QDockWidget) if isinstance(dock, Dock)]
        self._later = later(self, self._place)
        for dock in self._docks:
            for signal in (dock.visibilityChanged, dock.topLevelChanged, dock.dockLocationChanged):
                signal.connect(self._later.start)
        window.installEventFilter(self)
        layouts.arranged.connect(self._later.start)
        self._later.start()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the tab bars; a double click on a tab gives its dock a window of its own, as one on a title does."""
        if event.type() in MOVES:
            self._later.start()
        is_double = isinstance(event, QMouseEvent) and event.type() == QEvent.Type.MouseButtonDblClick
        if is_double and isinstance(watched, QTabBar) and isinstance(event, QMouseEvent):
            title = watched.tabText(watched.tabAt(event.position().toPoint()))
            for dock in self._docks:
                if dock.windowTitle() == title:
                    dock.setFloating(True)
                    dock.move(dock.pos() + TORN_BY)
                    return True
        return super().eventFilter(watched, event)

    def _place(self) -> None:
        bars = self._window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        for bar in bars:  # Qt may have made some of them since the last time
            bar.setDrawBase(False)
            bar.setExpanding(False)
            bar.installEventFilter(self)
        several = [bar for bar in bars if bar.isVisible() and bar.count() > 1]
        shown = {bar.tabText(at): (bar, at) for bar in several for at in range(bar.count())}
        for dock in self._docks:
            bar, at = shown.get(dock.windowTitle(), (None, -1))
            is_tab = bar is not None and not dock.isFloating() and not dock.isHidden()
            dock.set_tab(is_tab, self._window)
            if is_tab and bar is not None:
                dock.tools.setVisible(bar.currentIndex() == at and dock.has_tools)
                size = dock.tools.sizeHint()
                wide = min(size.width(), max(0, bar.width() - bar.tabRect(bar.count() - 1).right() - 2 * MARGIN))
                dock.tools.setGeometry(
                    bar.geometry().right() - wide - MARGIN + 1,
                    bar.y() + (bar.height() - size.height()) // 2,
                    wide,
                    size.height(),
                )
                dock.tools.raise_()
