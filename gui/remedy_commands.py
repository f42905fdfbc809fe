"""Commands that help where something failed or the disk fills: what the failure catalogue names."""

from __future__ import annotations

from PySide6.QtWidgets import QMainWindow

from gui.actions import ActionRegistry
from gui.controllers.archives import ArchivesController
from gui.controllers.remedies import Remedies
from gui.controllers.runs import RunsController
from gui.controllers.training import TrainingController
from gui.models.run_telemetry import TelemetryModel
from gui.widgets.disk_dialog import DiskDialog
from gui.words import tr
from trainer_core.wire.run_record import RunRecord


def define_disk(
    registry: ActionRegistry,
    archives: ArchivesController,
    runs: RunsController,
    telemetry: TelemetryModel,
    window: QMainWindow,
) -> None:
    def in_focus() -> list[RunRecord]:
        return runs.in_focus()

    follows = (telemetry.focus_changed, telemetry.run_told, archives.changed)
    registry.add(
        "archiveRun",
        tr("Archive the run"),
        lambda: archives.archive([run.run_id for run in in_focus()]),
        tip=tr(
            "Into one file, which is compared before its folder goes; all trials of a folded"
            " sweep. The filter's word archived finds it again"
        ),
        refusal=lambda: archives.archive_refusal(in_focus()),
        follows=follows,
    )
    registry.add(
        "restoreRun",
        tr("Restore the archived run"),
        lambda: archives.restore_run(in_focus()),
        refusal=lambda: archives.restore_refusal(in_focus()),
        is_there=lambda: not archives.restore_refusal(in_focus()),
        follows=follows,
    )
    registry.add(
        "diskUse",
        tr("Disk use and archives..."),
        lambda: DiskDialog(window, archives).open(),
        short=tr("Free space..."),
        tip=tr("What each run takes; archive old ones, bring them back"),
    )


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
            return tr("The run did not fail, or nobody knows why")
        action = registry[failure.command]
        return "" if action.isEnabled() else action.toolTip()

    add(
        "useCpu",
        tr("Train on the CPU"),
        remedies.use_cpu,
        short=tr("Use the CPU"),
        tip=tr("The same order for the CPU, with as many Game Boys as that keeps busy"),
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
        tr("Open the failure's receipt"),
        remedies.open_receipt,
        short=tr("Receipt"),
        tip=tr("The last steps before it failed, in the replay"),
        refusal=remedies.receipt_refusal,
        follows=run,
    )
    add(
        "copyInstall",
        tr("Copy the command that installs what is missing"),
        remedies.copy_install,
        short=tr("Copy the command"),
        refusal=remedies.install_refusal,
        follows=(*run, training.checks_changed),
    )
    add(
        "fixRun",
        lambda: words() or tr("What helps"),
        fix,
        tip=tr("What helps against the failure of the run"),
        refusal=fix_refusal,
        is_there=lambda: remedies.failure() is not None,
        follows=run,
    )
