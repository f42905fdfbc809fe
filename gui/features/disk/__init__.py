"""Disk use: the size of each run, archives, storage profiles, the trash, and restoring runs from them."""

from __future__ import annotations

from PySide6.QtWidgets import QMainWindow

from gui.features.checkpoints.controller import CheckpointsController
from gui.features.disk.controller import ArchivesController
from gui.features.disk.dialog import DiskDialog
from gui.features.disk.storage import StorageController
from gui.features.runs.controller import RunsController
from gui.features.runs.model import RunList
from gui.kit.actions import ActionRegistry
from gui.kit.words import tr
from gui.state.context import Context, Feature
from gui.state.telemetry import TelemetryModel


def feature(context: Context) -> Feature:
    archives = context.add(
        ArchivesController(context.bridge, context[RunList], context[CheckpointsController], context.notices)
    )
    storage = context.add(StorageController(context.bridge, archives, context.notices))
    define_disk(context.actions, archives, storage, context[RunsController], context.telemetry, context.window)
    return Feature(ends=[archives.close], take_path=archives.take_path, open_home=storage.tidy)


def define_disk(
    registry: ActionRegistry,
    archives: ArchivesController,
    storage: StorageController,
    runs: RunsController,
    telemetry: TelemetryModel,
    window: QMainWindow,
) -> None:
    in_focus = runs.in_focus
    follows = (telemetry.focus_changed, telemetry.run_told, archives.changed)
    registry.add(
        "archiveRun",
        tr("Archive the run"),
        lambda: archives.archive([run.run_id for run in in_focus()]),
        tip=tr(
            "Pack the run (or all trials of a folded sweep) into one file, check it, then delete the folder. Filter"
            " by archived to find it again"
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
        lambda: DiskDialog(window, archives, storage).open(),
        short=tr("Free space..."),
        tip=tr("Show the disk space of each run; archive, move and restore runs"),
    )
