"""Main window: docks, tabs, banners and status line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QCloseEvent, QShowEvent
from PySide6.QtWidgets import QDockWidget, QLabel, QMainWindow, QTabBar, QTabWidget, QWidget

from gui.kit import object_names as names
from gui.kit.actions import ActionRegistry
from gui.kit.dialogs import ask_about_running
from gui.kit.settings import Settings
from gui.kit.words import tr
from gui.shell.layout import Layout
from gui.shell.notices import BannerArea, NoticesButton
from gui.shell.shutdown import Shutdown
from gui.state.notices import Notices
from gui.state.session import Navigation, Place, Session

MOST_STOPS = 200
"""Most presses of Tab that are tried until a visible widget gets the focus."""
DEFAULT_SIZE = (1280, 800)
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
        self.resize(*DEFAULT_SIZE)
        self.setMinimumSize(*LEAST_SIZE)

    # -- placing ----------------------------------------------------------------------------

    def place_center(self, views: Mapping[Place, QWidget], navigation: Navigation) -> None:
        self.center = QTabWidget()
        self.center.setObjectName(names.CENTER_TABS)
        self.center.setDocumentMode(True)
        self.center.tabBar().setAccessibleName(tr("Center tabs"))
        self.center.tabBar().setExpanding(False)
        for place, view in views.items():
            self.center.addTab(view, tr(place.value))
        self.setCentralWidget(self.center)
        navigation.place_wanted.connect(lambda place: self.center.setCurrentWidget(views[place]))
        places = list(views)
        self.center.currentChanged.connect(lambda index: navigation.note_place(places[index]))

    def place_docks(
        self, docks: Iterable[QDockWidget], session: Session, navigation: Navigation, settings: Settings
    ) -> None:
        self.layouts = Layout(self, docks, session, settings)
        navigation.dock_wanted.connect(self.layouts.raise_dock)

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
        bar.addPermanentWidget(self._bell)
        self.banners.is_taken.connect(self._run.setHidden)
        status.changed.connect(self._on_status)
        self._on_status()

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
            self.layouts.fit_screen()

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
