"""Main window: docks, tabs, banners and status line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QCloseEvent, QShowEvent
from PySide6.QtWidgets import QDockWidget, QLabel, QMainWindow, QMenuBar, QStackedWidget, QTabBar, QTabWidget, QWidget

from gui.kit import object_names as names
from gui.kit.actions import ActionRegistry
from gui.kit.boxes import hbox, named, vbox
from gui.kit.dialogs import ask_about_running
from gui.kit.labels import button, set_role
from gui.kit.settings import Settings
from gui.kit.words import tr
from gui.shell.dock_tabs import DockTabs
from gui.shell.layout import Layout
from gui.shell.notices import BannerArea, NoticesButton
from gui.shell.shutdown import Shutdown
from gui.state.notices import Notices
from gui.state.session import Navigation, Place, Session
from gui.state.situation import Situation, Situations

MOST_STOPS = 200
"""Most presses of Tab that are tried until a visible widget gets the focus."""
LEAST_SIZE = (1024, 700)


class DropTarget(QObject):
    """Event filter that accepts local files dropped on `window`."""

    dropped = Signal(object)
    """Path of a dropped file or folder."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        window.setAcceptDrops(True)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.DragEnter, QEvent.Type.Drop):
            paths = [
                Path(url.toLocalFile())
                for url in event.mimeData().urls()  # type: ignore[attr-defined]
                if url.isLocalFile()
            ]
            if paths:
                event.acceptProposedAction()  # type: ignore[attr-defined]
                if event.type() == QEvent.Type.Drop:
                    self.dropped.emit(paths[0])
                return True
        return super().eventFilter(watched, event)


class StatusLine(Protocol):
    """Interface of the object with the texts of the status bar."""

    @property
    def changed(self) -> Any: ...  # a bound Signal
    @property
    def run(self) -> str: ...
    @property
    def speed(self) -> str: ...
    @property
    def age(self) -> str: ...


class MainWindow(QMainWindow):
    def __init__(self) -> None:
        super().__init__()
        self.setObjectName(names.MAIN_WINDOW)
        self.setWindowTitle("DMG Lab")
        self.setMinimumSize(*LEAST_SIZE)
        self._menus = QMenuBar()
        self._top = QWidget()
        self._column = column = vbox(self._top, spacing=0)
        self._menu_row = hbox(spacing=0)
        self._menu_row.addWidget(self._menus, 1)
        column.addLayout(self._menu_row)
        self.setMenuWidget(self._top)

    def menuBar(self) -> QMenuBar:
        """Return the menu bar, which shares its row with the mode switch before the first run."""
        return self._menus

    # -- placing ----------------------------------------------------------------------------

    def place_bars(self, bars: Iterable[QWidget], corner: QWidget) -> None:
        """Put fixed bars below the menu bar, over the whole width, and `corner` at the right end of the menu bar."""
        self._menu_row.addWidget(corner)
        self._top_bars = QWidget()
        column = vbox(self._top_bars, spacing=0)
        for bar in bars:
            column.addWidget(bar)
        self._column.addWidget(self._top_bars)

    def place_center(self, views: Mapping[Place, QWidget], navigation: Navigation) -> None:
        self.center = named(QTabWidget(), names.CENTER_TABS)
        self.center.setDocumentMode(True)
        self.center.tabBar().setAccessibleName(tr("Center tabs"))
        self.center.tabBar().setExpanding(False)
        corner = QWidget()
        row = hbox(corner)
        self._corners: dict[QWidget, QWidget] = {}
        for place, view in views.items():
            self.center.addTab(view, tr(place.value))
            if isinstance(tools := getattr(view, "corner", None), QWidget):
                self._corners[view] = tools
                row.addWidget(tools)
        self.center.setCornerWidget(corner, Qt.Corner.TopRightCorner)
        self.center.currentChanged.connect(self._show_corner)
        self.setCentralWidget(self.center)
        places = list(views)
        self.center.setTabVisible(places.index(Place.LEAGUE), False)  # until somebody asks for it

        def show(place: Place) -> None:
            self.center.setTabVisible(places.index(place), True)
            self.center.setCurrentWidget(views[place])

        navigation.place_wanted.connect(show)
        self.center.currentChanged.connect(lambda index: navigation.note_place(places[index]))

    def _show_corner(self) -> None:
        """Show the controls of the tab in front at the right end of the tabs."""
        for view, tools in self._corners.items():
            tools.setVisible(view is self.center.currentWidget() and not self.center.tabBar().isHidden())

    def place_docks(
        self,
        docks: Iterable[QDockWidget],
        session: Session,
        navigation: Navigation,
        situations: Situations,
        settings: Settings,
    ) -> None:
        self._situations = situations
        self.layouts = Layout(self, docks, session, situations, settings)
        self._dock_tabs = DockTabs(self, self.layouts)
        navigation.dock_wanted.connect(self.layouts.raise_dock)
        situations.changed.connect(self._on_situation)
        self._on_situation()

    def _on_situation(self) -> None:
        """Hide the tabs while nothing but the welcome card is on show."""
        is_first = self._situations.now is Situation.FIRST
        self.center.tabBar().setHidden(is_first)
        if (pages := self.center.findChild(QStackedWidget)) is not None:
            set_role(pages, "bare", is_first)
        self._show_corner()

    def place_notices(self, notices: Notices, actions: ActionRegistry) -> None:
        """Put the banner area and the bell button into the status bar."""
        self.banners = BannerArea(notices, actions)
        self.statusBar().addPermanentWidget(self.banners, 1)
        self._bell = NoticesButton(notices, actions)

    def place_status(self, status: StatusLine) -> None:
        bar = self.statusBar()
        bar.setSizeGripEnabled(False)
        self._status = status
        self._run, self._speed, self._age = QLabel(), QLabel(), QLabel()
        self._run.setTextFormat(Qt.TextFormat.PlainText)  # it has a name that the user typed
        bar.addWidget(self._run)
        bar.addPermanentWidget(self._speed)
        bar.addPermanentWidget(self._age)
        self._runs = button(tr("Runs"), "unfoldRuns", clicked=lambda: self.layouts.raise_dock(names.RUNS_DOCK))
        self._runs.setProperty("flat", True)
        self._runs.setToolTip(tr("Show the run table"))
        bar.addPermanentWidget(self._runs)
        bar.addPermanentWidget(self._bell)
        self.banners.is_taken.connect(self._run.setHidden)
        self.layouts.changed.connect(self._on_layout)
        self._on_layout()
        status.changed.connect(self._on_status)
        self._on_status()

    def _on_layout(self) -> None:
        """Offer the run table in the status bar while it is folded; show no bars around a game that is alone."""
        dock = self.findChild(QDockWidget, names.RUNS_DOCK)
        is_folded = dock is not None and dock.isHidden()
        self._runs.setVisible(is_folded and self._situations.has_runs and not self.layouts.is_only_center)
        self._top_bars.setHidden(self.layouts.is_only_center)

    def _on_status(self) -> None:
        self._run.setText(self._status.run)
        self._speed.setText(self._status.speed)
        self._age.setText(self._status.age)

    # -- Tab --------------------------------------------------------------------------------

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Move the focus by Tab, skipping widgets in docks that are covered by other docks.

        Qt moves covered docks off the screen without hiding them.
        """
        for _ in range(MOST_STOPS):
            if not super().focusNextPrevChild(forward):
                return False
            reached = self.focusWidget()
            if isinstance(reached, QTabBar) and not reached.accessibleName():
                reached.setAccessibleName(tr("Docks in one place"))
            if not _is_behind(reached):
                break
        return True

    # -- the start --------------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not event.spontaneous():
            self.layouts.fit.after_show()

    # -- the end ----------------------------------------------------------------------------

    def end_by(self, shutdown: Shutdown) -> None:
        """Let closing the window start `shutdown`, which ends the processes first."""
        self._shutdown = shutdown
        shutdown.finished.connect(self.close)
        shutdown.began.connect(self._on_end)

    def _on_end(self) -> None:
        """Save the layout and hide the window while the processes end."""
        self.layouts.save()
        self.hide()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Ask about running trainings, then end all processes and the app."""
        if self._shutdown.has_begun:
            event.accept()
            return
        event.ignore()
        running = self._shutdown.running()
        if running:
            begin = self._shutdown.begin
            ask_about_running(self, running, lambda: begin(), lambda: begin(keep=True))
        else:
            self._shutdown.begin()


def _is_behind(widget: QWidget | None) -> bool:
    """Return whether a widget is inside a dock that is completely covered."""
    while widget is not None and not isinstance(widget, QDockWidget):
        widget = widget.parentWidget()
    return widget is not None and widget.visibleRegion().isEmpty()
