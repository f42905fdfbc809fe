"""Commands about all that is on show: kept as a view, written into files for others."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QLineEdit, QMainWindow

from gui.actions import ActionRegistry
from gui.controllers.new_files import NewFiles
from gui.controllers.reports import Reports
from gui.controllers.views import ViewsController
from gui.models.run_filter import RunFilter
from gui.models.run_telemetry import TelemetryModel
from gui.widgets.dialogs import ask_new_file
from gui.widgets.views_dialog import ViewsDialog
from gui.words import tr


def define_reports(
    registry: ActionRegistry,
    reports: Reports,
    files: NewFiles,
    listed: RunFilter,
    telemetry: TelemetryModel,
    window: QMainWindow,
) -> None:
    files.ask = lambda title, name, then: ask_new_file(window, title, name, then)
    add = registry.add
    follows = (telemetry.focus_changed, telemetry.pins_changed, telemetry.run_told)

    def write_runs(path: Path) -> None:
        reports.write_runs(listed.run_ids(), path)

    add(
        "writeReport",
        tr("Write a report of the curves..."),
        lambda: ask_new_file(window, tr("Write a report"), "report.html", reports.write_report),
        tip=tr("One HTML file: the runs on show, what differs, what came of it, notes, plots"),
        refusal=reports.refusal,
        follows=follows,
    )
    add(
        "curvesCsv",
        tr("Export all curves as CSV..."),
        lambda: ask_new_file(window, tr("Export all curves"), "curves.csv", reports.write_curves),
        tip=tr("Every record of every run on show, every metric a column"),
        refusal=reports.refusal,
        follows=follows,
    )
    add(
        "runsCsv",
        tr("Export the run table as CSV..."),
        lambda: ask_new_file(window, tr("Export the run table"), "runs.csv", write_runs),
        tip=tr("The runs in the list with every field of their configurations"),
        refusal=lambda: "" if listed.rowCount() else tr("No run is in the list"),
        follows=(listed.rowsInserted, listed.rowsRemoved, listed.modelReset),
    )


def define_saved_views(
    registry: ActionRegistry, views: ViewsController, filter_box: QLineEdit, plot_filter: QLineEdit, window: QMainWindow
) -> None:
    views.filter_text, views.set_filter = filter_box.text, filter_box.setText
    views.plot_filter, views.set_plot_filter = plot_filter.text, plot_filter.setText
    registry.add(
        "savedViews",
        tr("Saved views..."),
        lambda: ViewsDialog(window, views.views, views.save, views.open).open(),
        "Ctrl+Shift+V",
        tip=tr("Keep what is on show under a name, and bring it back"),
    )
