"""What the app shows: its docks and the tabs of its center, each with what it needs."""

from __future__ import annotations

from dataclasses import dataclass

from gui.actions import ActionRegistry
from gui.bridge import Bridge
from gui.center.curves import CurvesView
from gui.center.games import GamesView
from gui.center.league import LeagueView
from gui.center.live import LiveView
from gui.center.play_strip import PlayStrip
from gui.center.replay import ReplayView
from gui.center.wall import EnvWall
from gui.center.welcome import Welcome
from gui.docks.agent import AgentDock
from gui.docks.beliefs import BeliefsTab
from gui.docks.checkpoints import CheckpointsDock
from gui.docks.episodes import EpisodesTab
from gui.docks.log import LogDock
from gui.docks.memory import MemoryDock
from gui.docks.runs import RunsDock
from gui.docks.task import TaskDock
from gui.docks.telemetry import TelemetryDock
from gui.docks.trained import TrainedPage
from gui.docks.training import TrainingDock
from gui.parts import Controllers, Models
from trainer_core.lab.paths import HomePaths


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
    memory: MemoryDock


DOCK_NAMES = ("agent", "training", "telemetry", "checkpoints", "runs", "log", "task", "memory")


@dataclass(frozen=True, slots=True)
class Center:
    welcome: Welcome
    live: LiveView
    curves: CurvesView
    wall: EnvWall
    replay: ReplayView
    games: GamesView
    league: LeagueView


def make_docks(home: HomePaths, models: Models, controllers: Controllers, actions: ActionRegistry) -> Docks:
    training, playing = controllers.training, controllers.playing
    trained = TrainedPage(playing, models.checkpoints)
    return Docks(
        agent=AgentDock(models.session, controllers.runners, training.draft, playing, actions),
        training=TrainingDock(models.session, training, controllers.status, trained, actions),
        telemetry=TelemetryDock(
            models.telemetry,
            controllers.curves,
            controllers.gauges,
            actions,
            BeliefsTab(models.telemetry, playing, models.session),
            EpisodesTab(models.telemetry, models.session, home),
            models.notes,
        ),
        checkpoints=CheckpointsDock(models.checkpoints, models.runs.label, actions, models.palette),
        runs=RunsDock(models.runs, models.telemetry, controllers.runs, models.columns, actions),
        log=LogDock(models.log, actions),
        trained=trained,
        task=TaskDock(controllers.draft, playing, actions, models.palette),
        memory=MemoryDock(controllers.memory, models.palette),
    )


def make_center(bridge: Bridge, models: Models, controllers: Controllers, actions: ActionRegistry) -> Center:
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
