"""The window: puts docks, tabs, banners and the status line in their places. Nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt
from PySide6.QtGui import QCloseEvent, QShowEvent
from PySide6.QtWidgets import QDockWidget, QLabel, QMainWindow, QTabBar, QTabWidget, QWidget

from gui import object_names as names
from gui.actions import ActionRegistry
from gui.controllers.shutdown import Shutdown
from gui.controllers.status import RunStatus
from gui.layout import Docks, Layout
from gui.models.navigation import Navigation, Place
from gui.models.notices import Notices
from gui.models.session import Session
from gui.settings import Settings
from gui.widgets.banner import BannerArea, NoticesButton
from gui.widgets.dialogs import ask_about_running
from gui.words import tr

MOST_STOPS = 200
"""Of Tab, among which one is in sight."""
DEFAULT_SIZE = (1280, 800)
LEAST_SIZE = (1024, 700)


class MainWindow(QMainWindow):
    def __init__(self, shutdown: Shutdown) -> None:
        super().__init__()
        self.setObjectName(names.MAIN_WINDOW)
        self.setWindowTitle("DMG Lab")
        self.resize(*DEFAULT_SIZE)
        self.setMinimumSize(*LEAST_SIZE)
        self._shutdown = shutdown
        shutdown.finished.connect(self.close)

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

    def place_docks(self, docks: Docks, session: Session, navigation: Navigation, settings: Settings) -> None:
        self.layouts = Layout(self, docks, session, settings)
        navigation.dock_wanted.connect(self.layouts.raise_dock)
        self._shutdown.began.connect(self._on_end)

    def place_notices(self, notices: Notices, actions: ActionRegistry) -> None:
        """Banners stand in the status bar, where they cover nothing; the bell has all of them."""
        self.banners = BannerArea(notices, actions)
        self.statusBar().addPermanentWidget(self.banners, 1)
        self._bell = NoticesButton(notices, actions)

    def place_status(self, status: RunStatus) -> None:
        bar = self.statusBar()
        bar.setSizeGripEnabled(False)
        self._status = status
        self._run, self._speed, self._age = QLabel(), QLabel(), QLabel()
        self._run.setTextFormat(Qt.TextFormat.PlainText)  # it has a name that somebody typed
        bar.addWidget(self._run)
        bar.addPermanentWidget(self._speed)
        bar.addPermanentWidget(self._age)
        bar.addPermanentWidget(self._bell)
        status.changed.connect(self._on_status)
        self._on_status()

    def _on_status(self) -> None:
        self._run.setText(self._status.run)
        self._speed.setText(self._status.speed)
        self._age.setText(self._status.age)

    # -- Tab ---------------------------------------------------------------------------------

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Pass by what lies in docks behind other docks: Qt has them out of sight, not hidden."""
        for _ in range(MOST_STOPS):
            if not super().focusNextPrevChild(forward):
                return False
            reached = self.focusWidget()
            if isinstance(reached, QTabBar) and not reached.accessibleName():
                reached.setAccessibleName(tr("Docks in one place"))
            if not _is_behind(reached):
                break
        return True

    # -- the beginning ----------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not event.spontaneous():
            self.layouts.fit_screen()

    # -- the end ----------------------------------------------------------------------------

    def _on_end(self) -> None:
        """Remember the layout, then be gone: what still ends needs no window."""
        self.layouts.save()
        self.hide()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Ask about running trainings; then end every process, then the app."""
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
    """Whether a widget lies in a dock of which nothing is in sight."""
    while widget is not None and not isinstance(widget, QDockWidget):
        widget = widget.parentWidget()
    return widget is not None and widget.visibleRegion().isEmpty()
