"""Where the docks are: the default arrangement, and what a person made of it, with a version."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from gui.settings import LAYOUT_VERSION, Settings

if TYPE_CHECKING:
    from gui.main_window import MainWindow

LEFT_WIDTH, RIGHT_WIDTH, BOTTOM_HEIGHT = 304, 364, 196
AGENT_HEIGHT, CHECKPOINTS_HEIGHT = 176, 216


class Layout:
    """Every dock exists before a state is restored; a state of another version is ignored."""

    def __init__(self, window: MainWindow, settings: Settings) -> None:
        self._window, self._settings = window, settings
        self._arrange()
        self._default = window.saveState(LAYOUT_VERSION)

    def _arrange(self) -> None:
        window = self._window
        area = Qt.DockWidgetArea
        for corner in (Qt.Corner.TopLeftCorner, Qt.Corner.BottomLeftCorner):
            window.setCorner(corner, area.LeftDockWidgetArea)
        for corner in (Qt.Corner.TopRightCorner, Qt.Corner.BottomRightCorner):
            window.setCorner(corner, area.RightDockWidgetArea)
        window.addDockWidget(area.LeftDockWidgetArea, window.agent_dock)
        window.addDockWidget(area.LeftDockWidgetArea, window.training_dock)
        window.addDockWidget(area.RightDockWidgetArea, window.telemetry_dock)
        window.addDockWidget(area.RightDockWidgetArea, window.checkpoints_dock)
        window.addDockWidget(area.BottomDockWidgetArea, window.runs_dock)
        window.addDockWidget(area.BottomDockWidgetArea, window.log_dock)
        window.tabifyDockWidget(window.runs_dock, window.log_dock)
        window.runs_dock.raise_()
        self._size()

    def _size(self) -> None:
        window = self._window
        window.resizeDocks(
            [window.agent_dock, window.telemetry_dock],
            [LEFT_WIDTH, RIGHT_WIDTH],
            Qt.Orientation.Horizontal,
        )
        window.resizeDocks(
            [window.agent_dock, window.training_dock, window.telemetry_dock,
             window.checkpoints_dock, window.runs_dock],
            [AGENT_HEIGHT, 560, 520, CHECKPOINTS_HEIGHT, BOTTOM_HEIGHT],
            Qt.Orientation.Vertical,
        )  # fmt: skip

    def tighten(self) -> None:
        """Give the training dock back the height that the agent dock took while it was hidden."""
        window = self._window
        if window.agent_dock.height() > AGENT_HEIGHT + 40 and not window.agent_dock.isFloating():
            window.resizeDocks(
                [window.agent_dock, window.training_dock],
                [AGENT_HEIGHT, window.height() - AGENT_HEIGHT],
                Qt.Orientation.Vertical,
            )

    def restore(self) -> bool:
        """Bring the saved layout back. False when there is none that fits."""
        geometry = self._settings.blob("layout/geometry")
        state = self._settings.blob("layout/state")
        if state.isEmpty() or not self._window.restoreState(state, LAYOUT_VERSION):
            return False
        if not geometry.isEmpty():
            self._window.restoreGeometry(geometry)
        self._clamp()
        return True

    def save(self) -> None:
        """Remember the layout, unless the window is hidden: its sizes would be wrong."""
        if self._window.isVisible() and not self._window.isMinimized():
            self._settings.set_blob("layout/state", self._window.saveState(LAYOUT_VERSION))
            self._settings.set_blob("layout/geometry", self._window.saveGeometry())

    def reset(self) -> None:
        self._settings.remove("layout/state")
        self._settings.remove("layout/geometry")
        self._window.restoreState(self._default, LAYOUT_VERSION)
        self._size()
        self._window.apply_mode()

    def _clamp(self) -> None:
        """A window that was saved on a screen that is gone comes back to one that is there."""
        frame = self._window.frameGeometry()
        screens = QGuiApplication.screens()
        if not any(screen.availableGeometry().intersects(frame) for screen in screens):
            self._window.move(QGuiApplication.primaryScreen().availableGeometry().topLeft())
