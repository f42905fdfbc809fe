"""New training runs: form, preflight checks, consent, start, pause, stop, and the wall of running games."""

from __future__ import annotations

from gui.features.train.ahead import WORKER_AHEAD, StartAhead
from gui.features.train.controller import TrainingController
from gui.features.train.datasets import DatasetsController, define_datasets
from gui.features.train.dock import TrainingDock
from gui.features.train.hardware import Hardware
from gui.features.train.status import RunStatus
from gui.features.train.wall import EnvWall
from gui.features.train.welcome import Demo, Welcome
from gui.kit.actions import ActionRegistry
from gui.kit.words import tr
from gui.state.compiling import Compiling
from gui.state.context import Choice, Context, DockSpec, Feature, TabSpec
from gui.state.session import Navigation, Place, Session
from gui.state.task_preview import TaskPreview
from trainer_core.runs.wandb_run import PROJECT
from trainer_core.wire.run_record import RunState


def feature(context: Context) -> Feature:
    hardware = context.add(Hardware(context.bridge, context.settings))
    training = context.add(
        TrainingController(context.bridge, context.session, context.navigation, context.settings, hardware)
    )
    ahead = context.add(StartAhead(context.bridge, context.session, training, context.settings))
    compiling = context.add(Compiling(context.bridge, context.telemetry))
    context.add(RunStatus(training, context.telemetry))
    context.add(Demo(context.bridge, training, context.notices, lambda: context.actions["deploy"].trigger()))
    define_training(context.actions, training, context.session)
    define_welcome(context.actions, context.navigation)
    datasets = context.add(DatasetsController(context.bridge, training.draft, context.notices))
    define_datasets(context.actions, datasets)

    def make_dock() -> TrainingDock:
        return TrainingDock(context.session, training, context.checkpoints, datasets, context.actions)

    def make_wall() -> EnvWall:
        navigation, telemetry, settings = context.navigation, context.telemetry, context.settings
        return EnvWall(context.bridge, training, compiling, context.palette, navigation, telemetry, settings)

    def make_welcome() -> Welcome:
        preview = TaskPreview(context.palette, context.session, context.home)
        return Welcome(training, context.navigation, context.actions, preview)

    def open_home() -> None:
        hardware.look()
        datasets.reload()

    def finish() -> None:
        context.appearance.screen_changed.connect(context[EnvWall].recolor)

    return Feature(
        docks=[DockSpec(make_dock, "F3")],
        first_page=make_welcome,
        tabs=[TabSpec(Place.WALL, make_wall)],
        finish=finish,
        open_home=open_home,
        choices=[
            Choice(
                WORKER_AHEAD,
                tr("Prepare training while the form is open"),
                tr(
                    "The first curve then appears seconds earlier. This takes about 450 MB of memory until you "
                    "leave the form."
                ),
                changed=ahead.on_setting,
            )
        ],
    )


def define_training(registry: ActionRegistry, training: TrainingController, session: Session) -> None:
    add, state = registry.add, (training.badge_changed, session.runner_changed)

    def is_paused() -> bool:
        return training.state is RunState.PAUSED

    def is_stopping() -> bool:
        return training.state is RunState.STOPPING

    add(
        "keepRunning",
        tr("Keep the next run running after the app closes"),
        lambda: training.set_detach(not training.detach),
        tip=tr("The run has its own process and waits while the device is busy"),
        is_on=lambda: training.detach,
        follows=(training.plan_changed,),
    )
    add(
        "sendToWandb",
        tr("Send the next run to Weights & Biases"),
        lambda: training.set_wandb("" if training.wandb else PROJECT),
        tip=tr("Curves, settings, clips and sample tables; the key is WANDB_API_KEY or netrc's"),
        is_on=lambda: bool(training.wandb),
        follows=(training.plan_changed,),
    )
    add(
        "moreOptions",
        tr("Show all settings"),
        session.toggle_more,
        short=lambda: tr("Fewer settings") if session.shows_more else tr("+ More"),
        tip=tr("Also show the settings for other trainers, several tasks, sweeps and the league"),
        follows=(session.more_changed,),
    )
    add("trainNew", tr("New run"), training.train_new, "Ctrl+N", tip=tr("Show the form of a new run and check it"))
    add(
        "start",
        tr("Start training"),
        training.start,
        "Ctrl+Return",
        refusal=training.reason,
        follows=(training.ready_changed,),
    )
    add(
        "pause",
        lambda: tr("Resume training") if is_paused() else tr("Pause training"),
        training.toggle_pause,
        "Ctrl+P",
        short=lambda: tr("Resume") if is_paused() else tr("Pause"),
        symbol=lambda: "play" if is_paused() else "pause",
        refusal=training.pause_refusal,
        is_there=lambda: training.capabilities.pause,
        follows=state,
    )
    add(
        "checkpoint",
        tr("Save checkpoint"),
        training.save_checkpoint,
        "Ctrl+S",
        short=tr("Checkpoint"),
        tip=tr("Save a checkpoint at the next update"),
        refusal=training.checkpoint_refusal,
        is_there=lambda: training.capabilities.checkpoints,
        follows=state,
    )
    add(
        "stop",
        lambda: tr("Force the run to stop now") if is_stopping() else tr("Stop training"),
        training.stop,
        "Ctrl+.",
        short=lambda: tr("Force now") if is_stopping() else tr("Stop"),
        refusal=training.stop_refusal,
        follows=state,
    )


def define_welcome(registry: ActionRegistry, navigation: Navigation) -> None:
    registry.add(
        "welcome",
        tr("Welcome"),
        navigation.show_welcome,
        tip=tr("Show the start page with the demo"),
        is_there=lambda: not (navigation.welcome and navigation.place is Place.LIVE),
        follows=(navigation.welcome_changed, navigation.place_changed),
    )
