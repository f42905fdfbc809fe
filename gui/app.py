"""Composition: makes models, controllers, commands, views and the window. Knows everyone."""

from __future__ import annotations

import gc
import signal
from pathlib import Path

from PySide6.QtCore import QLibraryInfo, QObject, QTimer, QTranslator
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication

from gui import commands, theme, words
from gui.actions import ActionRegistry
from gui.bridge import Bridge, run_until_quit
from gui.controllers import ahead, desktop
from gui.controllers.library import rom_in
from gui.controllers.replay import CLIP_SUFFIXES
from gui.garbage import Collector
from gui.help_commands import define_help
from gui.main_window import MainWindow
from gui.menus import RECENT, build_menus, fill_recent
from gui.models.navigation import Place
from gui.models.notices import FILE_OPENED
from gui.parts import Controllers, Models, every_part, make_controllers, make_models
from gui.play_commands import (
    define_export,
    define_games,
    define_league,
    define_pictures,
    define_saliency,
    define_slots,
    define_sound,
    define_task_making,
)
from gui.remedy_commands import define_disk, define_remedies
from gui.replay_commands import define_demonstrations, define_replay, define_roll
from gui.report_commands import define_reports, define_saved_views
from gui.settings import DAMAGED, Settings
from gui.sweep_commands import define_sweeps
from gui.view_history import ViewHistory
from gui.views import DOCK_NAMES, make_center, make_docks
from gui.widgets.drop_target import DropTarget
from gui.widgets.settings_dialog import Choice
from gui.words import tr
from trainer_core.lab.paths import ASSETS, HomePaths
from trainer_core.service import is_logged

GC_THRESHOLD = (20_000, 10, 10)
"""Python's own starts a collection every 700 objects, which is every 30 records of a log."""


class App(QObject):
    """One window and all that it is made of; a child of the window, so that it lives as long."""

    def __init__(self, home: HomePaths, settings: Settings) -> None:
        super().__init__()
        self.bridge = Bridge(home)
        self.models = make_models(home, settings)
        self.controllers = make_controllers(self.bridge, self.models)
        self.window = MainWindow(self.controllers.shutdown)
        self.actions = ActionRegistry(self.window, settings)
        define_commands(self.actions, self.controllers, self.models, self.window)
        self.docks = make_docks(home, self.models, self.controllers, self.actions)
        self.center = make_center(self.bridge, self.models, self.controllers, self.actions)
        self._furnish()
        self._own()

    def _own(self) -> None:
        """Tie every part's life to the window's: nothing ticks once it is gone."""
        self.setParent(self.window)
        for part in (self.bridge, *every_part(self.models), *every_part(self.controllers)):
            if isinstance(part, QObject):
                part.setParent(self)

    def _furnish(self) -> None:
        models, controllers, window = self.models, self.controllers, self.window
        views = {
            Place.LIVE: self.center.live,
            Place.CURVES: self.center.curves,
            Place.WALL: self.center.wall,
            Place.REPLAY: self.center.replay,
            Place.GAMES: self.center.games,
            Place.LEAGUE: self.center.league,
        }
        window.place_center(views, models.navigation)
        window.center.currentChanged.connect(lambda _: models.view.keep_tab(models.navigation.place))
        window.place_docks(self.docks, models.session, models.navigation, models.settings)
        window.place_notices(models.notices, self.actions)
        controllers.desktop.watch(window)
        window.place_status(controllers.status)
        history = self.history = ViewHistory(
            window, [getattr(self.docks, name) for name in DOCK_NAMES], models.telemetry, models.plots, models.session
        )
        define_views(self)
        commands.define_undo(self.actions, history)
        recent = build_menus(window.menuBar(), self.actions)[RECENT]
        recent.aboutToShow.connect(lambda: fill_recent(recent, models.library.recent(), controllers.library.play))
        controllers.appearance.theme_changed.connect(self.docks.telemetry.recolor)
        beside = self.center.replay.beside
        for view in (self.center.live, self.center.wall, self.center.replay, *beside):
            controllers.appearance.screen_changed.connect(view.screen_view.recolor)
        controllers.appearance.screen_changed.connect(self.center.replay.strip.update)
        controllers.appearance.screen_changed.connect(self.docks.checkpoints.recolor)
        controllers.library.looked_for.connect(controllers.play_ahead.prepare_for_person)
        self.center.live.pictured.connect(self.docks.task.note_picture)
        DropTarget(window).dropped.connect(self._on_dropped)
        theme.dress(window)
        window.layouts.restore()
        history.forget_difference()

    def _on_dropped(self, path: Path) -> None:
        """Logs become curves, what can be looked at is replayed, all else is tried as a ROM."""
        self.models.notices.withdraw(FILE_OPENED)
        if is_logged(path):
            self.controllers.dashboards.import_curves(path)
        elif path.is_dir() and (rom := rom_in(path)) is not None:
            self.controllers.library.open_rom(rom)
        elif path.is_dir() or path.suffix.lower() in CLIP_SUFFIXES:
            self.models.navigation.show(Place.REPLAY)
            self.controllers.replay.open(path)
        else:
            self.controllers.library.open_rom(path)

    def open_home(self) -> None:
        """Show what earlier sessions left: runs, checkpoints, recordings."""
        if problem := self.models.settings.problem:
            self.models.notices.tell(
                tr("Your settings could not be read"),
                tr("{problem}; it is kept as {name}", problem=problem, name=DAMAGED),
                "warn",
            )
        self.controllers.runs.open_home(self.models.view.pinned())
        if self.bridge.service.runs and (tab := self.models.view.tab()) is not None:
            self.models.navigation.show(tab)
        self.controllers.checkpoints.reload()
        self.controllers.replay.reload()
        self.models.library.reload()


def define_commands(actions: ActionRegistry, controllers: Controllers, models: Models, window: MainWindow) -> None:
    """The commands that docks and tabs show as buttons."""
    commands.define_training(actions, controllers.training, models.session, models.navigation)
    commands.define_runners(actions, controllers.runners)
    define_sweeps(actions, controllers.sweeps, window)
    commands.define_runs(
        actions, controllers.runs, controllers.dashboards, controllers.training, models.telemetry, window
    )
    commands.define_curves(actions, controllers.curves, models.telemetry, window)
    commands.define_checkpoints(actions, controllers.checkpoints, window)
    commands.define_playing(actions, controllers.playing, controllers.draft, controllers.replay, controllers.appearance)
    define_games(actions, controllers.library, window)
    define_league(actions, controllers.league)
    define_task_making(actions, controllers.draft)
    define_replay(actions, controllers.replay, window)
    define_demonstrations(actions, controllers.demonstrations, controllers.replay, window)
    define_roll(actions, controllers.roll)
    define_export(actions, controllers.replay, controllers.appearance, window)
    define_slots(actions, controllers.slots, controllers.playing)
    define_sound(actions, controllers.sound)
    define_saliency(actions, controllers.saliency)
    define_pictures(actions, controllers.pictures, controllers.playing, controllers.replay, models.navigation)
    define_disk(actions, controllers.archives, controllers.runs, models.telemetry, window)
    define_remedies(actions, controllers.remedies, controllers.training, models.telemetry)


def define_views(app: App) -> None:
    """The commands that only change what is on show."""
    window, docks, navigation = app.window, app.docks, app.models.navigation
    dock_keys = {
        docks.agent: "F1",
        docks.training: "F3",
        docks.telemetry: "F2",
        docks.task: "Shift+F3",
        docks.runs: "F4",
        docks.checkpoints: "F6",
        docks.log: "Ctrl+L",
        docks.memory: "Shift+F6",
    }
    tabs = {"telemetry": docks.telemetry.tabs, "center": window.center}
    commands.define_places(
        app.actions,
        dock_keys,
        tabs,
        docks.runs.filter,
        docks.runs.proxy,
        app.controllers.runs,
        navigation,
        app.models.telemetry,
    )
    define_reports(
        app.actions, app.controllers.reports, app.controllers.files, docks.runs.proxy, app.models.telemetry, window
    )
    define_saved_views(app.actions, app.controllers.views, docks.runs.filter, app.center.curves.search, window)
    commands.define_views(app.actions, window, window.layouts, app.controllers.appearance, app.bridge.home.root)
    define_help(app.actions, window, app.bridge.home.root)
    commands.define_dialogs(
        app.actions,
        window,
        app.models.settings,
        make_choices(app.controllers),
        app.controllers.journal,
        app.models.telemetry,
        app.models.game_keys,
        app.controllers.gamepad,
    )


def make_choices(controllers: Controllers) -> list[Choice]:
    """What the settings dialog offers to turn on and off."""
    return [
        Choice(
            ahead.SETTING,
            tr("Start a worker while the form is open"),
            tr(
                "It loads torch and the kernels before you press Start, so that the first curve "
                "comes seconds earlier. It holds about 450 MB until the form is left."
            ),
            changed=controllers.ahead.on_setting,
        ),
        Choice(
            ahead.PLAY_SETTING,
            tr("Start a player while a checkpoint is selected or a ROM is looked for"),
            tr(
                "It loads torch and the kernels before you press Deploy, so that the agent is seen "
                "seconds earlier. It holds about 350 MB until ten minutes have passed."
            ),
            changed=controllers.play_ahead.on_setting,
        ),
        Choice(
            desktop.SETTING,
            tr("Desktop notifications"),
            tr("When a run ends or an alert fires while this window is not in front."),
        ),
    ]


def create_app(home: Path, theme_name: str = "") -> App:
    """The whole app on one home, without starting a loop."""
    application = create_application()
    paths = HomePaths(Path(home))
    settings = Settings(paths)
    speak(application, settings.text(words.SETTING))
    chosen = theme_name or settings.text("view/theme") or theme.system_theme()
    theme.apply_theme(application, chosen)
    app = App(paths, settings)
    app.open_home()
    return app


def create_window(home: Path, theme_name: str = "") -> MainWindow:
    """The window of `create_app`, which keeps the rest alive."""
    return create_app(home, theme_name).window


def speak(application: QApplication, language: str) -> None:
    """Have our words and Qt's own (its dialogs' buttons) in this language; "" is English."""
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
    """`create_app` with its window on show, for a process that does nothing else.

    What is there by then (modules, widgets, thousands of runs) stays; the collector that walked it
    all again from time to time held the window up for 60 ms and more.
    """
    gc.set_threshold(*GC_THRESHOLD)
    app = create_app(home, theme_name)
    Collector(app)
    app.window.show()
    QTimer.singleShot(0, app, gc.freeze)
    return app


def run_app(home: Path, theme_name: str = "") -> int:
    """Open the app and stay in it. Returns the exit status."""
    app = open_app(home, theme_name)
    app.bridge.catch_all()
    # Python handles signals between bytecodes only; a timer gives it some while Qt sleeps.
    signal.signal(signal.SIGINT, lambda *_: app.controllers.shutdown.begin())
    signal.signal(signal.SIGTERM, lambda *_: app.controllers.shutdown.begin())
    heartbeat = QTimer(app, interval=200)
    heartbeat.timeout.connect(lambda: None)
    heartbeat.start()
    return run_until_quit()
