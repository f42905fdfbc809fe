"""Layout of the docks in the main window: the default, and the one that the user saved."""

from __future__ import annotations

from collections.abc import Iterable

import shiboken6
from PySide6.QtCore import QByteArray, QEvent, QObject, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabBar

from gui.kit import object_names as names
from gui.kit.settings import LAYOUT_VERSION, Settings
from gui.shell.layout_state import is_sound_geometry, is_sound_state
from gui.state.session import Mode, Session

LEFT_WIDTH, RIGHT_WIDTH, BOTTOM_HEIGHT = 304, 364, 196
RIGHT_NARROW, ROOMY_WIDTH = 308, 1200
"""Width of the docks at the right in a narrow window, and window width from which they are wider."""
FRAME = QSize(8, 40)
"""Assumed size of the desktop's frame around a window, rather too large than too small."""
FRAME_TOLD_MS = (0, 100, 500)
"""Milliseconds after showing the window at which its frame is measured, as the desktop adds it late."""
SETTLED_MS = (0, 20, 60)
"""Milliseconds after a dock was shown or hidden at which the sizes of all docks are restored.

Qt resizes docks over several event loop turns.
"""
AGENT_HEIGHT, CHECKPOINTS_HEIGHT = 156, 268


class Layout(QObject):
    """Positions and sizes of the docks. All docks must exist before a saved state is restored.

    A state of another LAYOUT_VERSION is ignored.
    """

    changed = Signal()
    """All docks were hidden for the game in the middle, or shown again."""

    def __init__(self, window: QMainWindow, docks: Iterable[QDockWidget], session: Session, settings: Settings) -> None:
        super().__init__(window)
        self._window = window
        self._docks = {dock.objectName(): dock for dock in docks}
        self._session, self._settings = session, settings
        self._before: QByteArray | None = None
        """Saved state of the docks from before they were all hidden; None while they are shown."""
        self._size_shown = QSize()
        self._sizes: dict[frozenset[str], dict[QDockWidget, QSize]] = {}
        """Sizes of the docks for each set of visible docks, restored when the same set is visible again."""
        self._shown: frozenset[str] = frozenset()
        self._arrange()
        self._every_dock = window.findChildren(QDockWidget)
        self._default = window.saveState(LAYOUT_VERSION)
        session.mode_changed.connect(self._on_mode)
        self._show_for_mode()
        self._shown = self._on_show()
        for dock in self._all_docks():
            dock.installEventFilter(self)

    def _all_docks(self) -> list[QDockWidget]:
        """Return all docks of the window from a cached list, as Qt would search through all widgets."""
        return [dock for dock in self._every_dock if shiboken6.isValid(dock)]

    # -- docks that go and come -------------------------------------------------------------

    def _on_show(self) -> frozenset[str]:
        """Return the objectNames of the docks inside the window, including those covered by another dock."""
        docks = self._all_docks()
        return frozenset(dock.objectName() for dock in docks if not (dock.isHidden() or dock.isFloating()))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Show, QEvent.Type.Hide) and self._before is None:
            shown = self._on_show()
            if shown != self._shown and self._window.isVisible():
                self._sizes[self._shown] = {
                    dock: self._size_of(dock)
                    for dock in self._all_docks()
                    if (dock.objectName() in self._shown and not dock.visibleRegion().isEmpty()) or dock is watched
                }
                for wait_ms in SETTLED_MS:
                    QTimer.singleShot(wait_ms, self, self._bring_sizes_back)
            self._shown = shown
        return super().eventFilter(watched, event)

    def _size_of(self, dock: QDockWidget) -> QSize:
        """Return a dock's size including its tab bar, as `resizeDocks` expects it."""
        beside = self._window.tabifiedDockWidgets(dock)
        if all(other.isHidden() for other in beside):
            return dock.size()
        bars = self._window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        tabs = max((bar.height() for bar in bars if bar.isVisible()), default=0)
        return dock.size() + QSize(0, tabs)

    def _bring_sizes_back(self) -> None:
        """Restore the sizes that the docks had when the same set of docks was visible."""
        kept = self._sizes.get(self._on_show(), {})
        docks = [dock for dock in kept if not dock.isHidden() and not dock.isFloating()]
        if self._before is not None:
            return
        if docks:
            wide = [kept[dock].width() for dock in docks]
            high = [kept[dock].height() for dock in docks]
            self._window.resizeDocks(docks, wide, Qt.Orientation.Horizontal)
            self._window.resizeDocks(docks, high, Qt.Orientation.Vertical)

    def _arrange(self) -> None:
        window, docks, area = self._window, self._docks, Qt.DockWidgetArea
        window.setDockNestingEnabled(True)
        window.setAnimated(False)  # sizes change at once
        for corner in (Qt.Corner.TopLeftCorner, Qt.Corner.BottomLeftCorner):
            window.setCorner(corner, area.LeftDockWidgetArea)
        for corner in (Qt.Corner.TopRightCorner, Qt.Corner.BottomRightCorner):
            window.setCorner(corner, area.RightDockWidgetArea)
        window.addDockWidget(area.LeftDockWidgetArea, docks[names.AGENT_DOCK])
        window.addDockWidget(area.LeftDockWidgetArea, docks[names.TRAINING_DOCK])
        window.addDockWidget(area.LeftDockWidgetArea, docks[names.TASK_DOCK])
        window.addDockWidget(area.RightDockWidgetArea, docks[names.TELEMETRY_DOCK])
        window.addDockWidget(area.RightDockWidgetArea, docks[names.CHECKPOINTS_DOCK])
        window.addDockWidget(area.BottomDockWidgetArea, docks[names.RUNS_DOCK])
        window.addDockWidget(area.BottomDockWidgetArea, docks[names.LOG_DOCK])
        window.tabifyDockWidget(docks[names.RUNS_DOCK], docks[names.LOG_DOCK])
        docks[names.RUNS_DOCK].raise_()
        window.tabifyDockWidget(docks[names.TELEMETRY_DOCK], docks[names.MEMORY_DOCK])
        docks[names.MEMORY_DOCK].hide()
        self._size()

    def _size(self) -> None:
        window, docks = self._window, self._docks
        right = RIGHT_WIDTH if window.width() >= ROOMY_WIDTH else RIGHT_NARROW
        window.resizeDocks(
            [docks[names.AGENT_DOCK], docks[names.TELEMETRY_DOCK]], [LEFT_WIDTH, right], Qt.Orientation.Horizontal
        )
        window.resizeDocks(
            [
                docks[names.AGENT_DOCK],
                docks[names.TRAINING_DOCK],
                docks[names.TELEMETRY_DOCK],
                docks[names.CHECKPOINTS_DOCK],
                docks[names.RUNS_DOCK],
            ],
            [AGENT_HEIGHT, 560, 520, CHECKPOINTS_HEIGHT, BOTTOM_HEIGHT],
            Qt.Orientation.Vertical,
        )

    def raise_dock(self, object_name: str) -> None:
        """Show the dock with this objectName in front of others at the same place."""
        dock = self._window.findChild(QDockWidget, object_name)
        if dock is not None:
            dock.show()
            dock.raise_()

    @property
    def is_only_center(self) -> bool:
        """True while all docks are hidden for the game in the middle."""
        return self._before is not None

    def toggle_only_center(self) -> None:
        """Hide all docks, or show them as before."""
        if self._before is None:
            self._before = self._window.saveState(LAYOUT_VERSION)
            for dock in self._all_docks():
                dock.hide()
        else:
            before, self._before = self._before, None
            self._window.restoreState(before, LAYOUT_VERSION)
            self._show_for_mode()
        self.changed.emit()

    # -- following the mode -----------------------------------------------------------------

    def _on_mode(self, mode: Mode) -> None:
        self._show_for_mode()
        QTimer.singleShot(0, self, self._tighten)

    def _show_for_mode(self) -> None:
        """Show the training dock in agent mode, and the new-task dock in the other modes."""
        if self._before is not None:
            return
        learns = self._session.mode is Mode.AGENT
        self._docks[names.TRAINING_DOCK].setVisible(learns)
        self._docks[names.TASK_DOCK].setVisible(not learns)

    def _tighten(self) -> None:
        """Set the agent dock's height to that of its texts, and give the rest to the dock below."""
        agent, learns = self._docks[names.AGENT_DOCK], self._session.mode is Mode.AGENT
        below = self._docks[names.TRAINING_DOCK] if learns else self._docks[names.TASK_DOCK]
        text = _text_height(agent)
        if (body := agent.widget()) is not None:  # the sizes below are shares of the whole
            body.setMinimumHeight(max(0, text - _bar_height(agent)))
        wanted = max(AGENT_HEIGHT, text)
        if not agent.isFloating() and not wanted <= agent.height() <= wanted + 40:
            self._window.resizeDocks([agent, below], [wanted, self._window.height() - wanted], Qt.Orientation.Vertical)

    # -- saving -----------------------------------------------------------------------------

    def restore(self) -> bool:
        """Restore the saved layout and window position. Return False when there is none that is valid here."""
        found = self._restore()
        self._clamp(QSize() if found else FRAME)
        return found

    def fit_screen(self) -> None:
        """Move the window with its frame onto the screen; call this after the window is shown."""
        self._size_shown = self._window.size()
        QTimer.singleShot(0, self, self._raise_floating)
        for wait_ms in FRAME_TOLD_MS:
            QTimer.singleShot(wait_ms, self, self._clamp_frame)

    def _raise_floating(self) -> None:
        """Raise floating docks above the main window, which was shown after them."""
        for dock in self._all_docks():
            if dock.isFloating() and not dock.isHidden():
                dock.raise_()

    def _clamp_frame(self) -> None:
        if self._window.size() == self._size_shown:  # else the user chose another one
            self._clamp()
            self._size_shown = self._window.size()

    def _restore(self) -> bool:
        geometry = self._settings.blob("layout/geometry")
        state = self._settings.blob("layout/state")
        names = [dock.objectName() for dock in self._all_docks()]
        if not is_sound_state(bytes(state.data()), LAYOUT_VERSION, names):
            return False
        if not self._window.restoreState(state, LAYOUT_VERSION):
            return False
        if is_sound_geometry(bytes(geometry.data())):
            self._window.restoreGeometry(geometry)
        mode = self._session.mode.value
        if self._settings.text("layout/mode", mode) != mode:  # the app was killed in between
            self._show_for_mode()
        return True

    def save(self) -> None:
        """Save the layout, unless the window is hidden: a hidden window has wrong sizes."""
        if self._window.isVisible() and not self._window.isMinimized():
            state = self._before or self._window.saveState(LAYOUT_VERSION)
            self._settings.set_blob("layout/state", state)
            self._settings.set_blob("layout/geometry", self._window.saveGeometry())
            self._settings.set("layout/mode", self._session.mode.value)

    def reset(self) -> None:
        self._settings.remove("layout/state")
        self._settings.remove("layout/geometry")
        self._before = None
        self._sizes.clear()
        self._window.restoreState(self._default, LAYOUT_VERSION)
        self._size()
        self._show_for_mode()
        self.changed.emit()

    def _clamp(self, assumed: QSize | None = None) -> None:
        """Move and shrink the window, including its frame, until all of it is on the screen.

        `assumed` is the least size of the frame, for the time before the desktop reports it.
        """
        window, frame = self._window, self._window.frameGeometry()
        screens = [screen.availableGeometry() for screen in QGuiApplication.screens()]
        home = QGuiApplication.primaryScreen().availableGeometry()
        room = next((room for room in screens if room.intersects(frame)), home)
        border = (frame.size() - window.size()).expandedTo(assumed or QSize())
        window.setMinimumSize(window.minimumSize().boundedTo(room.size() - border))
        if not room.contains(QRect(frame.topLeft(), window.size() + border)):
            window.resize(window.size().boundedTo(room.size() - border))
            wide, high = window.width() + border.width(), window.height() + border.height()
            left = min(max(frame.left(), room.left()), room.right() + 1 - wide)
            top = min(max(frame.top(), room.top()), room.bottom() + 1 - high)
            window.move(left, top)


def _text_height(dock: QDockWidget) -> int:
    """Return the height in pixels that a dock needs at its present width to show all of its texts."""
    body = dock.widget()
    layout = body.layout() if body is not None else None
    if layout is None or not layout.hasHeightForWidth():
        return 0
    return layout.heightForWidth(dock.width()) + _bar_height(dock)


def _bar_height(dock: QDockWidget) -> int:
    bar = dock.titleBarWidget()
    return bar.height() if bar is not None else 0
