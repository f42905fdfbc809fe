"""Layout of the docks: which are shown in which situation, their sizes, and the arrangement that the user saved."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import shiboken6
from PySide6.QtCore import QByteArray, QEvent, QObject, QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabBar, QTabWidget

from gui.kit import object_names as names
from gui.kit.boxes import later
from gui.kit.settings import LAYOUT_VERSION, Settings
from gui.shell.folds import Folds
from gui.shell.layout_state import frame_place, is_sound_geometry, is_sound_state
from gui.shell.screen_fit import WINDOW_SIZES, ScreenFit, WindowSize
from gui.state.session import Mode, Session
from gui.state.situation import Situation, Situations

LOW = 800
"""Height of the window in pixels below which the run table is folded while a run is on show."""
BOTTOM_HEIGHT, SPLIT_MORE, AGENT_HEIGHT, CHECKPOINTS_HEIGHT = 140, 84, 140, 360
SETTLED_MS = (0, 20, 60)
"""Milliseconds after a dock was shown or hidden at which the sizes of all docks are set.

Qt resizes docks over several event loop turns.
"""
LEFT = (names.AGENT_DOCK, names.TRAINING_DOCK, names.TASK_DOCK)
RIGHT = (names.TELEMETRY_DOCK, names.CHECKPOINTS_DOCK)
BOTTOM = (names.RUNS_DOCK, names.LOG_DOCK)
SIZES, SPLIT = "layout/sizes", "layout/split"
"""Settings with the docks' sizes, and whether those at the right stand below each other."""


class Layout(QObject):
    """Positions, sizes and visibility of the docks. All docks must exist before a saved state is restored.

    Each situation shows its docks. Those that the user shows or hides otherwise are remembered for the situation and
    the size of the window; those that the user opened stay until the app ends. A state of another LAYOUT_VERSION is
    ignored.
    """

    changed = Signal()
    """All docks were hidden for the game in the middle, or shown again; or the run table was folded or unfolded."""
    arranged = Signal()
    """Docks were shown or hidden by the situation and not by the user."""

    def __init__(
        self,
        window: QMainWindow,
        docks: Iterable[QDockWidget],
        session: Session,
        situations: Situations,
        settings: Settings,
    ) -> None:
        super().__init__(window)
        self._window = window
        self._docks = {dock.objectName(): dock for dock in docks}
        self._session, self._situations, self._settings = session, situations, settings
        self._before: QByteArray | None = None
        """Saved state of the docks from before they were all hidden; None while they are shown."""
        self.fit = ScreenFit(window)
        self._folds = Folds(settings)
        self._row: Situation | None = None
        self._key = ""
        self._arranged: frozenset[str] = frozenset()
        """objectNames of the docks on show after the last arrangement."""
        self._sizes: dict[str, QSize] = {}
        """Last size of each dock by objectName, restored when it is shown again."""
        self._place_docks()
        self._every_dock = window.findChildren(QDockWidget)
        self._default = window.saveState(LAYOUT_VERSION)
        self._turn = later(self, self._on_turn)
        self._settling = QTimer(self, singleShot=True, interval=SETTLED_MS[-1] + 20)
        session.mode_changed.connect(lambda mode: self._on_mode())
        situations.changed.connect(self.arrange)
        for dock in self._all_docks():
            dock.installEventFilter(self)
        window.installEventFilter(self)
        self.arrange()

    def _all_docks(self) -> list[QDockWidget]:
        """Return all docks of the window from a cached list, as Qt would search through all widgets."""
        return [dock for dock in self._every_dock if shiboken6.isValid(dock)]

    def _inside(self) -> Iterator[QDockWidget]:
        """Yield the docks on show inside the window, including those behind another dock."""
        for dock in self._all_docks():
            if not dock.isHidden() and not dock.isFloating():
                yield dock

    def _on_show(self) -> frozenset[str]:
        return frozenset(dock.objectName() for dock in self._all_docks() if not dock.isHidden())

    @property
    def size(self) -> WindowSize:
        width = self._window.width()
        return next(size for size in WINDOW_SIZES if width >= size.least)

    # -- what a situation shows -------------------------------------------------------------

    def _left(self) -> set[str]:
        """Return the docks that stand at the left in the present mode."""
        return {names.AGENT_DOCK, names.TRAINING_DOCK if self._session.mode is Mode.AGENT else names.TASK_DOCK}

    def _usual(self) -> set[str]:
        """Return the docks that the present situation shows, as long as the user has not chosen others."""
        situations = self._situations
        bottom: set[str] = set(BOTTOM) if situations.has_runs else set()
        match situations.now:
            case Situation.FIRST:
                return set()
            case Situation.SETUP:
                return self._left() | bottom
            case Situation.RUN:
                low = self._window.height() < LOW
                return (set(RIGHT) if situations.has_runs else set()) | (set() if low else bottom)
            case Situation.WATCH:
                return set(RIGHT)
            case Situation.CURVES:
                return bottom
            case Situation.PLAY:
                return self._left() | (set(RIGHT) if situations.is_busy else set())

    def _wanted(self) -> set[str]:
        """Return the docks to show now: those of the situation, changed by what the user opened and closed."""
        wanted = self._folds.wanted(self._key, self._usual(), self._left(), self._docks)
        if self.size.name == WINDOW_SIZES[-1].name and wanted & set(LEFT) and self._row is not Situation.WATCH:
            wanted -= set(RIGHT)
        return wanted

    def arrange(self) -> None:
        """Show the docks of the present situation and window size, and hide the others; floating docks stay."""
        if self._before is not None:
            return
        self._take_changes()
        row, self._row = self._row, self._situations.now
        key, self._key = self._key, f"{self._row}/{self.size.name}"
        if key.partition("/")[2] not in ("", self.size.name):
            self._sizes.clear()
            self._settle()
        self._stack_right()
        wanted = self._wanted()
        before = self._on_show()
        self._note_sizes()
        for name, dock in self._docks.items():
            if not dock.isFloating() and dock.isHidden() is (name in wanted):
                focused = dock.focusWidget() if name not in wanted else None
                if focused is not None and focused.hasFocus():
                    focused.clearFocus()  # else Qt gives the focus to some field of another dock
                dock.setVisible(name in wanted)
        self._arranged = self._on_show()
        self._situations.note_left(names.AGENT_DOCK not in self._arranged)
        if self._row is not row:
            self._raise_first(names.CHECKPOINTS_DOCK if self._row is Situation.WATCH else names.TELEMETRY_DOCK)
        if self._arranged != before:
            if names.RUNS_DOCK not in before:
                self._raise_first(names.RUNS_DOCK)
            self._settle()
            self.arranged.emit()
            self.changed.emit()

    def _raise_first(self, name: str) -> None:
        """Show a dock in front of those at the same place, unless it is hidden."""
        if name in self._arranged:
            self._docks[name].raise_()

    # -- what the user shows and hides ------------------------------------------------------

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if watched is self._window:
            if kind == QEvent.Type.Resize and self._key:
                is_low = self._window.height() < LOW
                if self._key != f"{self._row}/{self.size.name}" or is_low is not self._was_low:
                    self._turn.start()
                self._was_low = is_low
        elif kind in (QEvent.Type.Show, QEvent.Type.Hide) and self._before is None and self._window.isVisible():
            self._note_sizes(watched if kind == QEvent.Type.Hide else None)
            self._turn.start()
        return super().eventFilter(watched, event)

    _was_low = False

    def _on_turn(self) -> None:
        self._take_changes()
        self.arrange()

    def _take_changes(self) -> None:
        """Remember the docks that the user showed or hid since the last arrangement."""
        now = self._on_show()
        if self._before is not None or now == self._arranged or not self._key:
            return
        closed, opened = self._arranged - now, now - self._arranged
        if names.AGENT_DOCK in closed and self._row is Situation.SETUP:
            self._arranged = now
            self._situations.end_setup()
            return
        self._folds.note(self._key, set(closed), set(opened), self._left())
        if self.size.name == WINDOW_SIZES[-1].name and opened & set(RIGHT):
            self._folds.fold(self._key, names.AGENT_DOCK)
        self._arranged = now
        self.changed.emit()
        self._settle()
        self._turn.start()

    def toggle(self, dock: QDockWidget) -> None:
        """Hide a dock in front; show one that is hidden or behind another one. The docks at the left go together."""
        if dock.isHidden() or dock.visibleRegion().isEmpty():
            self.raise_dock(dock.objectName())
        elif dock.objectName() == names.AGENT_DOCK and self._situations.now is Situation.SETUP:
            self._situations.end_setup()
        else:
            dock.close()

    def raise_dock(self, object_name: str) -> None:
        """Show the dock with this objectName in front of others at the same place.

        A dock at the left begins the set-up of the next run, unless a run or a game is under way.
        """
        dock = self._window.findChild(QDockWidget, object_name)
        if dock is None:
            return
        situations = self._situations
        may_set_up = situations.now in (Situation.FIRST, Situation.RUN) and not situations.is_busy
        if object_name in self._left() and may_set_up and not dock.isFloating():
            self._folds.forget(f"{Situation.SETUP}/{self.size.name}", object_name)
            situations.begin_setup()
        dock.show()
        dock.raise_()

    # -- sizes ------------------------------------------------------------------------------

    @property
    def is_settling(self) -> bool:
        """True while sizes are being set, so that those on show are not the user's."""
        return self._settling.isActive()

    def _settle(self) -> None:
        """Set the sizes of the docks now and while Qt resizes them."""
        self._settling.start()
        for wait_ms in SETTLED_MS:
            QTimer.singleShot(wait_ms, self, self._set_sizes)

    def _note_sizes(self, hiding: QObject | None = None) -> None:
        """Remember the sizes of the docks, which Qt changes only after this turn, and of the one that is `hiding`."""
        if self.is_settling or not self._window.isVisible():
            return
        for dock in self._all_docks():
            if dock.objectName() not in self._arranged or dock.isFloating():
                continue
            mates = self._window.tabifiedDockWidgets(dock)
            behind = any(not one.visibleRegion().isEmpty() for one in mates)
            if not behind and (dock is hiding or not dock.visibleRegion().isEmpty()):
                size = self._size_of(dock)
                self._sizes |= {one.objectName(): size for one in (dock, *mates)}  # they share one place
        self._settling.start()

    def _size_of(self, dock: QDockWidget) -> QSize:
        """Return a dock's size including its tab bar, as `resizeDocks` expects it."""
        beside = self._window.tabifiedDockWidgets(dock)
        if all(other.isHidden() for other in beside):
            return dock.size()
        tabs = max((bar.height() for bar in self._tab_bars() if bar.isVisible()), default=0)
        return dock.size() + QSize(0, tabs)

    def _tab_bars(self) -> list[QTabBar]:
        return self._window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)

    def _set_sizes(self) -> None:
        """Give each dock the size that it had last, and a new one that of the table."""
        if self._before is not None:
            return
        docks = [dock for dock in self._inside() if not dock.visibleRegion().isEmpty()]
        if docks:
            sizes = [self._sizes.get(dock.objectName(), self._usual_size(dock)) for dock in docks]
            self._window.resizeDocks(docks, [size.width() for size in sizes], Qt.Orientation.Horizontal)
            self._window.resizeDocks(docks, [size.height() for size in sizes], Qt.Orientation.Vertical)
            self._tighten()

    def _usual_size(self, dock: QDockWidget) -> QSize:
        area, size = self._window.dockWidgetArea(dock), self.size
        if area is Qt.DockWidgetArea.BottomDockWidgetArea:
            return QSize(dock.width(), BOTTOM_HEIGHT + SPLIT_MORE * size.is_split)
        width = size.left if area is Qt.DockWidgetArea.LeftDockWidgetArea else size.right
        if dock.objectName() == names.AGENT_DOCK:
            return QSize(width, self._text_height(width))
        return QSize(width, CHECKPOINTS_HEIGHT if dock.objectName() == names.CHECKPOINTS_DOCK else 520)

    def _text_height(self, width: int) -> int:
        """Return the height in pixels that the agent dock needs at this width to show all of its texts."""
        agent = self._docks[names.AGENT_DOCK]
        body, bar = agent.widget(), agent.titleBarWidget()
        layout = body.layout() if body is not None else None
        if layout is None or not layout.hasHeightForWidth():
            return AGENT_HEIGHT
        return max(AGENT_HEIGHT, layout.heightForWidth(width) + (bar.height() if bar is not None else 0))

    def _tighten(self) -> None:
        """Set the agent dock's height to that of its texts, and give the rest to the dock below.

        A height that the user chose stays if the texts fit.
        """
        agent = self._docks[names.AGENT_DOCK]
        below = next((self._docks[name] for name in LEFT[1:] if not self._docks[name].isHidden()), None)
        wanted = self._text_height(agent.width())
        most = agent.maximumHeight() if names.AGENT_DOCK in self._sizes else wanted + 4
        if below is not None and not agent.isFloating() and not wanted <= agent.height() <= most:
            rest = max(1, agent.height() + below.height() - wanted)
            self._window.resizeDocks([agent, below], [wanted, rest], Qt.Orientation.Vertical)

    def _on_mode(self) -> None:
        self.arrange()
        self._sizes.pop(names.AGENT_DOCK, None)  # its texts are others now
        QTimer.singleShot(0, self, self._tighten)

    # -- places -----------------------------------------------------------------------------

    def _place_docks(self) -> None:
        window, docks, area = self._window, self._docks, Qt.DockWidgetArea
        window.setDockNestingEnabled(True)
        window.setAnimated(False)  # sizes change at once
        window.setTabPosition(area.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        for corner in (Qt.Corner.TopLeftCorner, Qt.Corner.BottomLeftCorner):
            window.setCorner(corner, area.LeftDockWidgetArea)
        for corner in (Qt.Corner.TopRightCorner, Qt.Corner.BottomRightCorner):
            window.setCorner(corner, area.RightDockWidgetArea)
        for name in LEFT:
            window.addDockWidget(area.LeftDockWidgetArea, docks[name])
        for name in RIGHT:
            window.addDockWidget(area.RightDockWidgetArea, docks[name])
        for name in BOTTOM:
            window.addDockWidget(area.BottomDockWidgetArea, docks[name])
        window.tabifyDockWidget(docks[names.RUNS_DOCK], docks[names.LOG_DOCK])
        docks[names.RUNS_DOCK].raise_()
        window.tabifyDockWidget(docks[names.TELEMETRY_DOCK], docks[names.MEMORY_DOCK])
        docks[names.MEMORY_DOCK].hide()
        self._is_split = True
        self._stack_right()

    def _stack_right(self) -> None:
        """Put the checkpoints behind the telemetry, or below it in a wide window; moved docks stay where they are."""
        window, is_split = self._window, self.size.is_split
        if is_split is self._is_split:
            return
        self._is_split = is_split
        telemetry, checkpoints = (self._docks[name] for name in RIGHT)
        right = Qt.DockWidgetArea.RightDockWidgetArea
        moved = any(dock.isFloating() or window.dockWidgetArea(dock) is not right for dock in (telemetry, checkpoints))
        is_behind = checkpoints in window.tabifiedDockWidgets(telemetry)
        if moved or is_behind is not is_split:
            return
        is_hidden = checkpoints.isHidden()
        if is_split:
            window.addDockWidget(right, checkpoints, Qt.Orientation.Vertical)
        else:
            window.tabifyDockWidget(telemetry, checkpoints)
            telemetry.raise_()
        checkpoints.setHidden(is_hidden)

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
            self._arranged = self._on_show()
            self.arrange()
        self.changed.emit()

    # -- saving -----------------------------------------------------------------------------

    def restore(self) -> bool:
        """Restore the saved layout and window position. Return False when there is none that is valid here."""
        found = self._restore()
        self.fit.place(found)
        if found:  # what it was arranged for: the screen may be another one now
            self._is_split = self._settings.flag(SPLIT, self.size.is_split)
        self.arrange()
        self._settle()  # the window gets its own size only once it is shown
        return found

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
            if self._window.windowState() == Qt.WindowState.WindowNoState:
                self._window.move(*frame_place(bytes(geometry.data())))  # Qt moves one at the upper edge down
        self._sizes = {
            name: QSize(*size) for name, size in self._settings.decoded(SIZES, dict[str, tuple[int, int]], {}).items()
        }
        self._arranged = self._on_show()
        return True

    def save(self) -> None:
        """Save the layout, unless the window is hidden: a hidden window has wrong sizes."""
        if self._window.isVisible() and not self._window.isMinimized():
            if self._before is None:
                self._note_sizes()  # of what the user has dragged since the last arrangement
            state = self._before or self._window.saveState(LAYOUT_VERSION)
            self._settings.set_blob("layout/state", state)
            self._settings.set_blob("layout/geometry", self._window.saveGeometry())
            sizes = {name: (size.width(), size.height()) for name, size in self._sizes.items()}
            self._settings.set(SIZES, json.dumps(sizes))
            self._settings.set(SPLIT, self._is_split)

    def reset(self) -> None:
        for key in ("layout/state", "layout/geometry", SIZES):
            self._settings.remove(key)
        self._before = None
        self._sizes.clear()
        self._folds.clear()
        self._window.restoreState(self._default, LAYOUT_VERSION)
        self._is_split = False
        self._arranged = self._on_show()
        self.arrange()
        self._settle()
        self.changed.emit()
