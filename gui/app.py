"""Composition: makes models, controllers, commands, views and the window. Knows everyone."""

from __future__ import annotations

import gc
import signal
from dataclasses import dataclass, fields
from pathlib import Path

from PySide6.QtCore import QLibraryInfo, QObject, QTimer, QTranslator
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication

from gui import commands, theme, words
from gui.actions import ActionRegistry
from gui.bridge import Bridge, run_until_quit
from gui.center.curves import CurvesView
from gui.center.games import GamesView
from gui.center.league import LeagueView
from gui.center.live import LiveView
from gui.center.play_strip import PlayStrip
from gui.center.replay import ReplayView
from gui.center.wall import EnvWall
from gui.center.welcome import Welcome
from gui.controllers import ahead, desktop
from gui.controllers.ahead import PlayAhead, StartAhead
from gui.controllers.alerts import Alerts
from gui.controllers.appearance import Appearance
from gui.controllers.archives import ArchivesController
from gui.controllers.checkpoints import CheckpointsController
from gui.controllers.compiling import Compiling
from gui.controllers.curves import CurvesController
from gui.controllers.dashboards import Dashboards
from gui.controllers.demo import Demo
from gui.controllers.demonstrations import Demonstrations
from gui.controllers.desktop import DesktopNotices
from gui.controllers.gamepad import Gamepad
from gui.controllers.gauges import GaugesController
from gui.controllers.journal import Journal
from gui.controllers.league import LeagueController
from gui.controllers.library import LibraryController
from gui.controllers.playing import PlayController
from gui.controllers.remedies import Remedies
from gui.controllers.replay import CLIP_SUFFIXES, ReplayController
from gui.controllers.roll import RollController
from gui.controllers.runners import RunnersController
from gui.controllers.runs import RunsController
from gui.controllers.saliency import SaliencyController
from gui.controllers.shutdown import Shutdown
from gui.controllers.slots import SlotsController
from gui.controllers.sound import SoundController
from gui.controllers.status import RunStatus
from gui.controllers.sweeping import SweepController
from gui.controllers.task_draft import TaskDraft
from gui.controllers.training import TrainingController
from gui.docks.agent import AgentDock
from gui.docks.beliefs import BeliefsTab
from gui.docks.checkpoints import CheckpointsDock
from gui.docks.episodes import EpisodesTab
from gui.docks.log import LogDock
from gui.docks.runs import RunsDock
from gui.docks.task import TaskDock
from gui.docks.telemetry import TelemetryDock
from gui.docks.trained import TrainedPage
from gui.docks.training import TrainingDock
from gui.main_window import MainWindow
from gui.menus import build_menus
from gui.models.checkpoints import CheckpointList
from gui.models.game_keys import GameKeys
from gui.models.log_buffer import LogBuffer
from gui.models.navigation import Navigation, Place
from gui.models.notices import Notices
from gui.models.plot_choices import PlotChoices
from gui.models.rom_library import RomLibrary
from gui.models.run_columns import RunColumns, RunConfigs
from gui.models.run_list import RunList
from gui.models.run_notes import RunNotes
from gui.models.run_telemetry import TelemetryModel
from gui.models.session import Session
from gui.models.task_draft import DraftModel
from gui.models.view_memory import ViewMemory
from gui.play_commands import (
    define_export,
    define_games,
    define_league,
    define_saliency,
    define_slots,
    define_sound,
    define_task_making,
)
from gui.remedy_commands import define_disk, define_remedies
from gui.replay_commands import define_demonstrations, define_replay, define_roll
from gui.settings import Settings
from gui.sweep_commands import define_sweeps
from gui.view_history import ViewHistory
from gui.widgets.drop_target import DropTarget
from gui.widgets.screen import Palette
from gui.widgets.settings_dialog import Choice
from gui.words import tr
from trainer_core.protocol.paths import ASSETS, HomePaths

GC_THRESHOLD = (20_000, 10, 10)
"""Python's own starts a collection every 700 objects, which is every 30 records of a log."""


@dataclass(frozen=True, slots=True)
class Models:
    """State without widgets."""

    settings: Settings
    session: Session
    telemetry: TelemetryModel
    view: ViewMemory
    plots: PlotChoices
    runs: RunList
    columns: RunColumns
    notes: RunNotes
    checkpoints: CheckpointList
    log: LogBuffer
    navigation: Navigation
    notices: Notices
    palette: Palette
    library: RomLibrary
    task_draft: DraftModel
    game_keys: GameKeys


@dataclass(frozen=True, slots=True)
class Controllers:
    """The verbs, over models and services."""

    training: TrainingController
    ahead: StartAhead
    play_ahead: PlayAhead
    playing: PlayController
    draft: TaskDraft
    library: LibraryController
    slots: SlotsController
    sound: SoundController
    saliency: SaliencyController
    gamepad: Gamepad
    checkpoints: CheckpointsController
    runs: RunsController
    runners: RunnersController
    sweeps: SweepController
    desktop: DesktopNotices
    replay: ReplayController
    league: LeagueController
    roll: RollController
    demonstrations: Demonstrations
    dashboards: Dashboards
    curves: CurvesController
    compiling: Compiling
    demo: Demo
    alerts: Alerts
    gauges: GaugesController
    journal: Journal
    archives: ArchivesController
    remedies: Remedies
    status: RunStatus
    appearance: Appearance
    shutdown: Shutdown


@dataclass(frozen=True, slots=True)
class Docks:
    agent: AgentDock
    training: TrainingDock
    telemetry: TelemetryDock
    checkpoints: CheckpointsDock
    runs: RunsDock
    log: LogDock
    trained: TrainedPage
    task: TaskDock


DOCK_NAMES = ("agent", "training", "telemetry", "checkpoints", "runs", "log", "task")


@dataclass(frozen=True, slots=True)
class Center:
    welcome: Welcome
    live: LiveView
    curves: CurvesView
    wall: EnvWall
    replay: ReplayView
    games: GamesView
    league: LeagueView


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
        for part in (self.bridge, *_parts(self.models), *_parts(self.controllers)):
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
        window.place_docks(self.docks, models.session, models.navigation, models.settings)
        window.place_notices(models.notices, self.actions)
        controllers.desktop.watch(window)
        window.place_status(controllers.status)
        history = self.history = ViewHistory(
            window, [getattr(self.docks, name) for name in DOCK_NAMES], models.telemetry,
            models.plots, models.session,
        )  # fmt: skip
        define_views(self)
        commands.define_undo(self.actions, history)
        build_menus(window.menuBar(), self.actions)
        controllers.appearance.theme_changed.connect(self.docks.telemetry.recolor)
        beside = self.center.replay.beside
        for view in (self.center.live, self.center.wall, self.center.replay, *beside):
            controllers.appearance.screen_changed.connect(view.screen_view.recolor)
        controllers.appearance.screen_changed.connect(self.center.replay.strip.update)
        controllers.library.looked_for.connect(controllers.play_ahead.prepare_for_person)
        self.center.live.pictured.connect(self.docks.task.note_picture)
        DropTarget(window).dropped.connect(self._on_dropped)
        theme.dress(window)
        window.layouts.restore()
        history.forget_difference()

    def _on_dropped(self, path: Path) -> None:
        """What can be looked at goes to the replay, everything else is tried as a ROM."""
        if path.is_dir() or path.suffix.lower() in CLIP_SUFFIXES:
            self.models.navigation.show(Place.REPLAY)
            self.controllers.replay.open(path)
        else:
            self.controllers.library.open_rom(path)

    def open_home(self) -> None:
        """Show what earlier sessions left: runs, checkpoints, recordings."""
        self.controllers.runs.open_home(self.models.view.pinned())
        self.controllers.checkpoints.reload()
        self.controllers.replay.reload()
        self.models.library.reload()


def _parts(group: Models | Controllers) -> list[object]:
    return [getattr(group, field.name) for field in fields(group)]


def make_models(home: HomePaths, settings: Settings) -> Models:
    notes = RunNotes(home)
    columns = RunColumns(settings, RunConfigs(home))
    runs = RunList(notes.line, columns)
    notes.changed.connect(runs.renew)
    telemetry = TelemetryModel(runs.label)
    return Models(
        settings=settings,
        session=Session(home, settings),
        telemetry=telemetry,
        view=ViewMemory(telemetry, settings),
        plots=PlotChoices(settings),
        runs=runs,
        columns=columns,
        notes=notes,
        checkpoints=CheckpointList(),
        log=LogBuffer(),
        navigation=Navigation(),
        notices=Notices(),
        palette=Palette(),
        library=RomLibrary(home, settings),
        task_draft=DraftModel(),
        game_keys=GameKeys(settings),
    )


def make_controllers(bridge: Bridge, models: Models) -> Controllers:
    session, navigation, notices = models.session, models.navigation, models.notices
    training = TrainingController(bridge, session, navigation)
    playing = PlayController(bridge, session, navigation, models.log)
    runs = RunsController(
        bridge, session, models.runs, models.telemetry, training, navigation, notices,
        models.notes, models.columns,
    )  # fmt: skip
    checkpoints = CheckpointsController(
        bridge, session, models.checkpoints, models.runs, training, playing, navigation,
        notices,
    )  # fmt: skip
    archives = ArchivesController(bridge, models.runs, checkpoints, notices)
    dashboards = Dashboards(bridge, models.telemetry, runs, navigation, notices)
    replay = ReplayController(bridge, playing, models.log, navigation, notices)
    roll = RollController(bridge, replay, playing, notices)
    remedies = Remedies(bridge, training, runs, models.telemetry, notices, replay, navigation)
    sweeps = SweepController(bridge, training, runs, navigation, notices)
    return Controllers(
        training=training,
        sweeps=sweeps,
        desktop=DesktopNotices(notices, models.settings),
        ahead=StartAhead(bridge, session, training, models.settings, models.task_draft),
        play_ahead=PlayAhead(bridge, models.checkpoints, playing, models.settings),
        playing=playing,
        draft=TaskDraft(bridge, session, playing, training, notices, models.task_draft),
        library=LibraryController(
            bridge, session, models.library, playing, navigation, notices, models.palette
        ),
        sound=SoundController(playing, models.settings),
        saliency=SaliencyController(playing),
        gamepad=Gamepad(),
        slots=SlotsController(bridge, playing, notices, models.palette),
        checkpoints=checkpoints,
        runs=runs,
        runners=RunnersController(bridge, session, notices),
        replay=replay,
        league=LeagueController(bridge, session, navigation, replay, models.checkpoints),
        roll=roll,
        demonstrations=Demonstrations(bridge, replay, notices),
        dashboards=dashboards,
        alerts=Alerts(models.telemetry, training, navigation, notices),
        gauges=GaugesController(bridge, training, models.telemetry),
        demo=Demo(bridge, training, checkpoints, notices),
        curves=CurvesController(bridge, models.telemetry, models.plots, navigation, notices),
        compiling=Compiling(bridge, models.telemetry),
        remedies=remedies,
        journal=Journal(bridge, models.log, notices, navigation, checkpoints),
        archives=archives,
        status=RunStatus(training, models.telemetry),
        appearance=Appearance(models.settings, models.palette),
        shutdown=Shutdown(bridge, models.settings, playing, dashboards, roll, archives, sweeps),
    )


def define_commands(
    actions: ActionRegistry, controllers: Controllers, models: Models, window: MainWindow
) -> None:
    """The commands that docks and tabs show as buttons."""
    commands.define_training(actions, controllers.training, models.session, models.navigation)
    commands.define_runners(actions, controllers.runners)
    define_sweeps(actions, controllers.sweeps, window)
    commands.define_runs(
        actions, controllers.runs, controllers.dashboards, controllers.training, models.telemetry,
        window,
    )  # fmt: skip
    commands.define_curves(actions, controllers.curves, models.telemetry, window)
    commands.define_checkpoints(actions, controllers.checkpoints, window)
    commands.define_playing(actions, controllers.playing, controllers.draft, controllers.replay)
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
    define_disk(actions, controllers.archives, window)
    define_remedies(actions, controllers.remedies, controllers.training, models.telemetry)


def make_docks(
    home: HomePaths, models: Models, controllers: Controllers, actions: ActionRegistry
) -> Docks:
    training, playing = controllers.training, controllers.playing
    trained = TrainedPage(playing, models.checkpoints)
    return Docks(
        agent=AgentDock(models.session, controllers.runners, training.draft, actions),
        training=TrainingDock(models.session, training, controllers.status, trained, actions),
        telemetry=TelemetryDock(
            models.telemetry,
            controllers.curves,
            controllers.gauges,
            actions,
            BeliefsTab(models.telemetry, playing, models.session),
            EpisodesTab(models.telemetry, models.session, home),
        ),
        checkpoints=CheckpointsDock(models.checkpoints, models.runs.label, actions),
        runs=RunsDock(models.runs, models.telemetry, controllers.runs, models.columns, actions),
        log=LogDock(models.log),
        trained=trained,
        task=TaskDock(controllers.draft, playing, actions, models.palette),
    )


def make_center(
    bridge: Bridge, models: Models, controllers: Controllers, actions: ActionRegistry
) -> Center:
    session, navigation, palette = models.session, models.navigation, models.palette
    welcome = Welcome(controllers.training, navigation, actions)
    return Center(
        welcome=welcome,
        live=LiveView(
            controllers.playing,
            session,
            navigation,
            palette,
            welcome,
            models.checkpoints,
            PlayStrip(controllers.playing, controllers.slots, controllers.sound, actions),
            models.game_keys,
            controllers.gamepad,
            models.notices,
            controllers.saliency,
        ),
        curves=CurvesView(models.telemetry, controllers.curves, controllers.compiling, actions),
        wall=EnvWall(bridge, controllers.training, controllers.compiling, palette),
        replay=ReplayView(controllers.replay, controllers.roll, actions, palette),
        games=GamesView(controllers.library, actions),
        league=LeagueView(controllers.league, actions),
    )


def define_views(app: App) -> None:
    """The commands that only change what is on show."""
    window, docks, navigation = app.window, app.docks, app.models.navigation
    dock_keys = {
        docks.agent: "F1", docks.training: "F3", docks.telemetry: "F2",
        docks.task: "Shift+F3", docks.runs: "F4", docks.checkpoints: "F6", docks.log: "Ctrl+L",
    }  # fmt: skip
    tabs = {"telemetry": docks.telemetry.tabs, "center": window.center}
    commands.define_places(
        app.actions, dock_keys, tabs, docks.runs.filter, docks.runs.proxy, app.controllers.runs,
        navigation, app.models.telemetry,
    )  # fmt: skip
    commands.define_views(
        app.actions, window, window.layouts, app.controllers.appearance,
        app.bridge.home.root,
    )  # fmt: skip
    commands.define_dialogs(
        app.actions, window, app.models.settings, make_choices(app.controllers),
        app.controllers.journal, app.models.telemetry,
        app.models.game_keys, app.controllers.gamepad,
    )  # fmt: skip


def make_choices(controllers: Controllers) -> list[Choice]:
    """What the settings dialog offers to turn on and off."""
    return [
        Choice(
            ahead.SETTING, tr("Start a worker while the form is open"),
            tr("It loads torch and the kernels before you press Start, so that the first curve "
               "comes seconds earlier. It holds about 450 MB until the form is left."),
            changed=controllers.ahead.on_setting,
        ),
        Choice(
            ahead.PLAY_SETTING,
            tr("Start a player while a checkpoint is selected or a ROM is looked for"),
            tr("It loads torch and the kernels before you press Deploy, so that the agent is seen "
               "seconds earlier. It holds about 350 MB until ten minutes have passed."),
            changed=controllers.play_ahead.on_setting,
        ),
        Choice(
            desktop.SETTING, tr("Desktop notifications"),
            tr("When a run ends or an alert fires while this window is not in front."),
        ),
    ]  # fmt: skip


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
