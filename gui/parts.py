"""What the app is made of below its views: models, and the controllers over them."""

from __future__ import annotations

from dataclasses import dataclass, fields

from gui.bridge import Bridge
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
from gui.controllers.memory import MemoryController
from gui.controllers.new_files import NewFiles
from gui.controllers.pictures import PicturesController
from gui.controllers.playing import PlayController
from gui.controllers.remedies import Remedies
from gui.controllers.replay import ReplayController
from gui.controllers.reports import Reports
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
from gui.controllers.views import ViewsController
from gui.models.checkpoints import CheckpointList
from gui.models.game_keys import GameKeys
from gui.models.log_buffer import LogBuffer
from gui.models.navigation import Navigation
from gui.models.notices import Notices
from gui.models.plot_choices import PlotChoices
from gui.models.rom_library import RomLibrary
from gui.models.run_columns import RunColumns, RunConfigs
from gui.models.run_list import RunList
from gui.models.run_notes import RunNotes
from gui.models.run_telemetry import TelemetryModel
from gui.models.saved_views import SavedViews
from gui.models.session import Session
from gui.models.task_draft import DraftModel
from gui.models.view_memory import ViewMemory
from gui.settings import Settings
from gui.widgets.screen import Palette
from trainer_core.lab.paths import HomePaths


@dataclass(frozen=True, slots=True)
class Models:
    """State without widgets."""

    settings: Settings
    session: Session
    telemetry: TelemetryModel
    view: ViewMemory
    plots: PlotChoices
    saved_views: SavedViews
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
    memory: MemoryController
    pictures: PicturesController
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
    files: NewFiles
    reports: Reports
    views: ViewsController
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


def every_part(group: Models | Controllers) -> list[object]:
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
        saved_views=SavedViews(settings),
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
    training = TrainingController(bridge, session, navigation, models.settings)
    playing = PlayController(bridge, session, navigation, models.log)
    runs = RunsController(
        bridge,
        session,
        models.runs,
        models.telemetry,
        training,
        playing,
        navigation,
        notices,
        models.notes,
        models.columns,
    )
    checkpoints = CheckpointsController(
        bridge, session, models.checkpoints, models.runs, training, playing, navigation, notices
    )
    archives = ArchivesController(bridge, models.runs, checkpoints, notices)
    dashboards = Dashboards(bridge, models.telemetry, runs, navigation, notices)
    replay = ReplayController(bridge, playing, models.log, navigation, notices)
    roll = RollController(bridge, replay, playing, notices)
    remedies = Remedies(bridge, training, runs, models.telemetry, notices, replay, navigation)
    sweeps = SweepController(bridge, training, runs, navigation, notices)
    files = NewFiles(bridge, notices)
    curves = CurvesController(models.telemetry, models.plots, navigation, files)
    return Controllers(
        training=training,
        sweeps=sweeps,
        desktop=DesktopNotices(notices, models.settings),
        ahead=StartAhead(bridge, session, training, models.settings, models.task_draft),
        play_ahead=PlayAhead(bridge, models.checkpoints, playing, models.settings),
        playing=playing,
        draft=TaskDraft(bridge, session, playing, training, notices, models.task_draft),
        library=LibraryController(bridge, session, models.library, playing, navigation, notices, models.palette),
        sound=SoundController(playing, models.settings),
        saliency=SaliencyController(playing),
        memory=MemoryController(bridge, playing),
        pictures=PicturesController(bridge, playing, replay, navigation, notices, models.palette),
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
        curves=curves,
        files=files,
        reports=Reports(bridge, models.telemetry, runs, curves, models.columns.configs, models.notes, files),
        views=ViewsController(models.saved_views, models.telemetry, models.plots, runs, navigation, notices),
        compiling=Compiling(bridge, models.telemetry),
        remedies=remedies,
        journal=Journal(bridge, models.log, notices, navigation, checkpoints),
        archives=archives,
        status=RunStatus(training, models.telemetry),
        appearance=Appearance(models.settings, models.palette),
        shutdown=Shutdown(bridge, models.settings, playing, dashboards, roll, archives, sweeps),
    )
