"""Checkpoints: list, deploy, warm start, import, and the page *Use trained*."""

from __future__ import annotations

from PySide6.QtWidgets import QMainWindow

from gui.features.checkpoints.controller import CheckpointsController
from gui.features.checkpoints.dock import CheckpointsDock, TrainedPage
from gui.features.play.controller import PlayController
from gui.features.runs.model import RunList
from gui.features.train.controller import TrainingController
from gui.features.train.dock import TrainingDock
from gui.kit.actions import ActionRegistry
from gui.kit.dialogs import ask_folder
from gui.kit.words import tr
from gui.state.context import Context, DockSpec, Feature


def feature(context: Context) -> Feature:
    playing, model, runs = context[PlayController], context.checkpoints, context[RunList]
    checkpoints = context.add(
        CheckpointsController(
            context.bridge,
            context.session,
            model,
            runs,
            context[TrainingController],
            playing,
            context.navigation,
            context.notices,
        )
    )
    define_checkpoints(context.actions, checkpoints, context.window)

    def make_dock() -> CheckpointsDock:
        return CheckpointsDock(model, runs.label, context.session.task_title, context.actions, context.palette, playing)

    def count() -> None:
        """Show the number of checkpoints on the dock's tab."""
        shown = model.rowCount()
        context[CheckpointsDock].setWindowTitle(tr("Checkpoints") + (f"  {shown}" if shown else ""))

    def finish() -> None:
        for signal in (model.rowsInserted, model.rowsRemoved):
            signal.connect(count)
        context[TrainingDock].place_trained(context.add(TrainedPage(playing, model)))
        context.appearance.screen_changed.connect(context[CheckpointsDock].recolor)

    return Feature(
        docks=[DockSpec(make_dock, "F6")], finish=finish, open_home=checkpoints.reload, take_path=checkpoints.take_path
    )


def define_checkpoints(registry: ActionRegistry, checkpoints: CheckpointsController, window: QMainWindow) -> None:
    add, chosen = registry.add, (checkpoints.model.selection_changed,)

    def ask_import() -> None:
        ask_folder(window, tr("Import a checkpoint folder"), checkpoints.import_folder)

    add(
        "import",
        tr("Import checkpoint..."),
        ask_import,
        "Ctrl+O",
        short=tr("Import..."),
        tip=tr("Copy a checkpoint folder into the data folder"),
    )
    add(
        "ownCheckpoints",
        tr("Show checkpoints of the selected run only"),
        checkpoints.toggle_own,
        short=tr("Only this run"),
        tip=tr("Hide those of other runs"),
        is_on=lambda: checkpoints.is_own_only,
        follows=(checkpoints.model.shown_changed,),
    )
    add(
        "deploy",
        tr("Deploy checkpoint"),
        checkpoints.deploy_selected,
        "Ctrl+D",
        short=tr("Deploy"),
        tip=tr("Let the checkpoint play in the Live tab"),
        refusal=checkpoints.deploy_refusal,
        follows=chosen,
    )
    add(
        "deployBeside",
        tr("Deploy beside the current player"),
        checkpoints.deploy_beside,
        "Ctrl+Shift+D",
        short=tr("Deploy beside"),
        tip=tr("Compare two policies from the same start states"),
        refusal=checkpoints.beside_refusal,
        follows=(*chosen, checkpoints.playing_changed),
    )
    add(
        "watchRun",
        tr("Watch the run play"),
        checkpoints.watch_run,
        short=tr("Deploy"),
        tip=tr("Deploy its best checkpoint, or its newest"),
        refusal=checkpoints.watch_refusal,
        follows=(checkpoints.model.rowsInserted, checkpoints.model.rowsRemoved, checkpoints.training_changed),
    )
    add(
        "warmStart",
        tr("Start from this checkpoint"),
        checkpoints.warm_start_selected,
        short=tr("Start from it"),
        tip=tr("Start a new run with the weights of this checkpoint"),
        refusal=checkpoints.warm_start_refusal,
        follows=chosen,
    )
