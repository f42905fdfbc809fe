"""Log: texts on events, alerts, and commands that help after a failure."""

from __future__ import annotations

from functools import partial

from PySide6.QtWidgets import QMainWindow

from gui.features.checkpoints.controller import CheckpointsController
from gui.features.log.controller import Alerts, Journal
from gui.features.log.dock import LogDock
from gui.features.log.remedies import Remedies
from gui.features.runs.controller import RunsController
from gui.features.train.controller import TrainingController
from gui.kit.actions import ActionRegistry
from gui.kit.dialogs import ask_new_file
from gui.kit.words import tr
from gui.state.context import Context, DockSpec, Feature
from gui.state.telemetry import TelemetryModel


def feature(context: Context) -> Feature:
    training, runs, telemetry = context[TrainingController], context[RunsController], context.telemetry
    notices, navigation, actions = context.notices, context.navigation, context.actions
    context.add(Alerts(telemetry, training, navigation, notices))
    remedies = context.add(Remedies(context.bridge, training, runs, telemetry, notices, navigation))
    journal = context.add(Journal(context.bridge, context.log, notices, navigation, context[CheckpointsController]))
    define_log(actions, journal, telemetry, context.window)
    define_remedies(actions, remedies, training, telemetry)
    return Feature(docks=[DockSpec(lambda: LogDock(context.log, actions), "Ctrl+L")])


def define_remedies(
    registry: ActionRegistry, remedies: Remedies, training: TrainingController, telemetry: TelemetryModel
) -> None:
    add = registry.add
    draft = (training.draft.changed, training.badge_changed)
    run = (training.badge_changed, telemetry.focus_changed, telemetry.run_told)

    def words() -> str:
        failure = remedies.failure()
        return registry[failure.command].iconText() if failure else ""

    def fix() -> None:
        failure = remedies.failure()
        if failure is not None:
            registry[failure.command].trigger()

    def fix_refusal() -> str:
        failure = remedies.failure()
        if failure is None:
            return tr("The run did not fail, or the cause is unknown")
        action = registry[failure.command]
        return "" if action.isEnabled() else action.toolTip()

    add(
        "useCpu",
        tr("Train on the CPU"),
        remedies.use_cpu,
        short=tr("Use the CPU"),
        tip=tr("Start the same run on the CPU, with a fitting number of Game Boys"),
        follows=draft,
    )
    add(
        "fewerGameBoys",
        tr("Train with half the Game Boys"),
        remedies.use_fewer,
        short=tr("Half the Game Boys"),
        refusal=remedies.fewer_refusal,
        follows=draft,
    )
    add(
        "openReceipt",
        tr("Open the error record"),
        remedies.open_receipt,
        short=tr("Error record"),
        tip=tr("Show the last steps before the failure in the replay"),
        refusal=remedies.receipt_refusal,
        follows=run,
    )
    add(
        "copyInstall",
        tr("Copy the install command"),
        remedies.copy_install,
        short=tr("Copy the command"),
        refusal=remedies.install_refusal,
        follows=(*run, training.checks_changed),
    )
    add(
        "fixRun",
        lambda: words() or tr("Suggested fix"),
        fix,
        tip=tr("Suggested fix for the failed run"),
        refusal=fix_refusal,
        is_there=lambda: remedies.failure() is not None,
        follows=run,
    )


def define_log(registry: ActionRegistry, journal: Journal, telemetry: TelemetryModel, window: QMainWindow) -> None:
    registry.add(
        "bugReport",
        tr("Save a bug report..."),
        lambda: ask_new_file(
            window,
            tr("Bug report"),
            f"dmglab-report{'-' if telemetry.focus else ''}{telemetry.focus}.zip",
            partial(journal.write_report, telemetry.focus),
        ),
        tip=tr("Logs and configuration of the run in one file, no ROM and no weights"),
    )
