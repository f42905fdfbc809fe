"""Assembly of the app from its features, and its start."""

from __future__ import annotations

import gc
import signal
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QLibraryInfo, QObject, QTimer, QTranslator
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication

from gui.features import (
    agents,
    checkpoints,
    curves,
    disk,
    games,
    header,
    league,
    log,
    memory,
    play,
    replay,
    roll,
    runners,
    runs,
    sweeps,
    tasks,
    train,
)
from gui.kit import object_names as names
from gui.kit import theme, words
from gui.kit.settings import DAMAGED, Settings
from gui.kit.words import tr
from gui.shell.commands import define_dialogs, define_places, define_views
from gui.shell.help import define_help
from gui.shell.menus import build_menus
from gui.shell.notices import DESKTOP_SETTING, DesktopNotices
from gui.shell.shutdown import Shutdown
from gui.shell.window import DropTarget, MainWindow
from gui.state.bridge import run_until_quit
from gui.state.context import Choice, Context
from gui.state.notices import FILE_OPENED
from gui.state.session import Place
from trainer_core.lab.paths import ASSETS, HomePaths

FEATURES = (
    train,
    play,
    games,
    runs,
    checkpoints,
    tasks,
    replay,
    roll,
    curves,
    agents,
    memory,
    league,
    sweeps,
    runners,
    header,
    disk,
    log,
)
"""Features in the order of their creation; each may use the models and controllers of those before it."""
DOCK_ORDER = (
    names.AGENT_DOCK,
    names.TRAINING_DOCK,
    names.TELEMETRY_DOCK,
    names.TASK_DOCK,
    names.RUNS_DOCK,
    names.CHECKPOINTS_DOCK,
    names.LOG_DOCK,
    names.MEMORY_DOCK,
)
"""objectNames of the docks in the order of the menu and the command palette."""
GC_THRESHOLD = (20_000, 10, 10)
"""Thresholds of `gc.set_threshold`; Python's default of 700 objects is reached by every 30 log records."""
COLLECT_MS = 250
"""Milliseconds between two checks of `Collector` whether garbage collection is due."""
Part = TypeVar("Part")


class App(QObject):
    """Main window with every feature's models, controllers, docks and tabs.

    The object is a Qt child of the window, so that deleting the window deletes both.
    """

    def __init__(self, home: HomePaths, settings: Settings) -> None:
        super().__init__()
        self.window = MainWindow()
        context = self.context = Context(home, settings, self.window)
        self.actions, self.bridge = context.actions, context.bridge
        self.shutdown = context.add(Shutdown(context.bridge, settings))
        self.window.end_by(self.shutdown)
        self._features = [module.feature(context) for module in FEATURES]
        self.shutdown.ends = [end for feature in self._features for end in feature.ends]
        self._place_views()
        for feature in self._features:
            feature.finish()
        self._define_commands()
        build_menus(self.window.menuBar(), self.actions, context.menus)
        theme.dress(self.window)
        self.window.layouts.restore()
        self.window.layouts.arranged.connect(self[curves.ViewHistory].forget_difference)
        self[curves.ViewHistory].forget_difference()
        self.setParent(self.window)
        context.own(self)

    def __getitem__(self, kind: type[Part]) -> Part:
        """Return the model, controller, dock or tab of class `kind`. Raises LookupError when there is none."""
        return self.context[kind]

    def _place_views(self) -> None:
        context, window = self.context, self.window
        docks = [(context.add(spec.make()), spec.keys) for feature in self._features for spec in feature.docks]
        tabs = {spec.place: context.add(spec.make()) for feature in self._features for spec in feature.tabs}
        self._docks = dict(sorted(docks, key=lambda pair: DOCK_ORDER.index(pair[0].objectName())))
        context.docks.extend(self._docks)
        window.place_center({place: tabs[place] for place in Place}, context.navigation)
        window.center.currentChanged.connect(lambda _: context.view.keep_tab(context.navigation.place))
        for page in filter(None, (feature.first_page for feature in self._features)):
            self[play.LiveView].place_welcome(context.add(page()))
        bars = [context.add(make()) for feature in self._features for make in feature.bars]
        window.place_bars(bars, self[runners.ModeCorner])
        window.place_docks(context.docks, context.session, context.navigation, context.situations, context.settings)
        window.place_notices(context.notices, self.actions)
        window.place_status(self[train.RunStatus])
        context.add(DesktopNotices(context.notices, context.settings)).watch(window)
        DropTarget(window).dropped.connect(self.open_path)
        context.navigation.path_wanted.connect(self.open_path)

    def _define_commands(self) -> None:
        context = self.context
        tabs = {"telemetry": self[curves.TelemetryDock].tabs, "center": self.window.center}
        define_places(self.actions, self._docks, tabs, context.telemetry, self.window.layouts)
        define_views(context, self.window.layouts)
        define_help(self.actions, self.window, context.home.root)
        notices = Choice(
            DESKTOP_SETTING,
            tr("Desktop notifications"),
            tr("Sent when a run ends or needs attention while this window is not in front."),
        )
        choices = [choice for feature in self._features for choice in feature.choices]
        define_dialogs(context, self._features, [*choices, notices])

    def open_path(self, path: Path) -> None:
        """Open a dropped or chosen path: logs as curves, recordings in the replay, any other file as a ROM."""
        self.context.notices.withdraw(FILE_OPENED)
        any(feature.take_path(path) for feature in reversed(self._features))

    def open_home(self) -> None:
        """Show the runs, checkpoints and recordings that earlier sessions left in the home folder."""
        if problem := self.context.settings.problem:
            self.context.notices.tell(
                tr("Your settings could not be read"),
                tr("{problem}; the file was renamed to {name}", problem=problem, name=DAMAGED),
                "warn",
            )
        for feature in self._features:
            feature.open_home()
        if self.bridge.service.runs:  # the card is for who has none
            self.context.navigation.leave_welcome()
        self.context.situations.open_home()


def create_app(home: Path, theme_name: str = "") -> App:
    """Build the window with all features for the home folder `home`, without showing it or running the event loop."""
    application = create_application()
    paths = HomePaths(Path(home))
    settings = Settings(paths)
    speak(application, settings.text(words.LANGUAGE_SETTING))
    chosen = theme_name or settings.text("view/theme") or theme.system_theme()
    theme.apply_theme(application, chosen)
    app = App(paths, settings)
    app.open_home()
    return app


def speak(application: QApplication, language: str) -> None:
    """Translate the app's texts and Qt's own dialogs into `language`, a code such as "de"; "" is English."""
    words.choose_language(language)
    name = "qtTranslator"
    if (old := application.findChild(QTranslator, name)) is not None:
        application.removeTranslator(old)
        old.deleteLater()
    translator = QTranslator(application)
    translator.setObjectName(name)
    folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
    if translator.load(f"qtbase_{language}", folder):
        application.installTranslator(translator)


def create_application() -> QApplication:
    app = QApplication.instance()
    if not isinstance(app, QApplication):
        app = QApplication([])
    app.setApplicationName("DMG Lab")
    app.setApplicationDisplayName("DMG Lab")
    app.setDesktopFileName("dmglab")
    app.setWindowIcon(QIcon(str(ASSETS / "icons" / "dmglab.svg")))
    app.setQuitOnLastWindowClosed(False)  # the window quits once its processes have ended
    return app


def open_app(home: Path, theme_name: str = "") -> App:
    """Build the app and show its window; meant for a process that runs nothing else.

    The garbage collector is tuned: objects that exist after the start (modules, widgets, thousands of runs) are frozen,
    because scanning them again stalled the window for more than 60 ms.
    """
    gc.set_threshold(*GC_THRESHOLD)
    app = create_app(home, theme_name)
    Collector(app)
    app.window.show()
    QTimer.singleShot(0, app, gc.freeze)
    return app


def run_app(home: Path, theme_name: str = "") -> int:
    """Open the app and run its event loop until the user quits. Return the exit status."""
    app = open_app(home, theme_name)
    app.bridge.catch_all()
    # Python handles signals only between bytecodes; the timer runs some while Qt sleeps.
    signal.signal(signal.SIGINT, lambda *_: app.shutdown.begin())
    signal.signal(signal.SIGTERM, lambda *_: app.shutdown.begin())
    heartbeat = QTimer(app, interval=200)
    heartbeat.timeout.connect(lambda: None)
    heartbeat.start()
    return run_until_quit()


class Collector(QObject):
    """Timer that runs Python's garbage collector on the event loop instead of in the middle of painting."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        gc.disable()
        self._timer = QTimer(self, interval=COLLECT_MS)
        self._timer.timeout.connect(collect_if_due)
        self._timer.start()


def collect_if_due() -> None:
    """Collect the oldest generation whose allocation count exceeds its threshold, on this thread."""
    due = [count > most for count, most in zip(gc.get_count(), gc.get_threshold(), strict=True)]
    if due[0]:
        gc.collect(2 if due[1] and due[2] else 1 if due[1] else 0)
