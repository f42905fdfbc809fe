"""Curves of runs: telemetry dock, Curves tab, saved views, reports, export and import of other tools' logs."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QLineEdit, QMainWindow

from gui.features.curves.dashboards import Dashboards
from gui.features.curves.dock import TelemetryDock
from gui.features.curves.page import RowHighlight
from gui.features.curves.plots import CurvesController, PlotChoices
from gui.features.curves.reports import Reports
from gui.features.curves.run_info import RunInfoController
from gui.features.curves.saved_views import SavedViews, ViewHistory, ViewsController, ViewsDialog
from gui.features.curves.view import CurvesView
from gui.features.runs.columns import RunColumns
from gui.features.runs.controller import RunsController
from gui.features.runs.dock import RunsDock
from gui.features.runs.filter import RunFilter
from gui.features.train.controller import TrainingController
from gui.kit.actions import ActionRegistry
from gui.kit.dialogs import ask_file, ask_folder, ask_new_file
from gui.kit.words import tr
from gui.state.compiling import Compiling
from gui.state.context import Context, DockSpec, Feature, TabSpec
from gui.state.metric_series import CLOCK, KINDS
from gui.state.new_files import NewFiles
from gui.state.run_notes import RunNotes
from gui.state.seed_groups import DEVIATION, RANGE, SPREADS
from gui.state.session import Place
from gui.state.telemetry import TelemetryModel
from trainer_core.service import is_logged


def feature(context: Context) -> Feature:
    runs, telemetry, actions, notes = context[RunsController], context.telemetry, context.actions, context[RunNotes]
    choices = context.add(PlotChoices(context.settings))
    curves = context.add(CurvesController(telemetry, choices, context.navigation, context.files))
    facts = context.add(RunInfoController(context.bridge, telemetry))
    dashboards = context.add(Dashboards(context.bridge, telemetry, runs, context.navigation, context.notices))
    configs = context[RunColumns].configs
    reports = context.add(Reports(context.bridge, telemetry, runs, curves, configs, notes, context.files))
    views = context.add(
        ViewsController(
            context.add(SavedViews(context.settings)), telemetry, choices, runs, context.navigation, context.notices
        )
    )
    define_curves(actions, curves, telemetry, context.window)
    define_dashboards(actions, runs, dashboards, context[TrainingController], telemetry, context.window)

    def make_dock() -> TelemetryDock:
        return TelemetryDock(telemetry, curves, facts, actions, notes)

    def make_view() -> CurvesView:
        return CurvesView(telemetry, curves, context[Compiling], actions)

    def finish() -> None:
        context.appearance.theme_changed.connect(context[TelemetryDock].recolor)
        RowHighlight(context[RunsDock].table, telemetry)
        history = context.add(ViewHistory(context.window, context.docks, telemetry, choices, context.session))
        define_undo(actions, history)
        define_reports(actions, reports, context.files, context[RunsDock].proxy, telemetry, context.window)
        define_saved_views(actions, views, context[RunsDock].filter, context[CurvesView].search, context.window)

    def open_home() -> None:
        if context.bridge.service.runs and (tab := context.view.tab()) is not None:
            context.navigation.show(tab)

    def take(path: Path) -> bool:
        if found := is_logged(path):
            dashboards.import_curves(path)
        return found

    async def end() -> None:
        dashboards.close()

    return Feature(
        docks=[DockSpec(make_dock, "F2")],
        tabs=[TabSpec(Place.CURVES, make_view)],
        finish=finish,
        open_home=open_home,
        take_path=take,
        ends=[end],
    )


def define_curves(
    registry: ActionRegistry, curves: CurvesController, telemetry: TelemetryModel, window: QMainWindow
) -> None:
    add, choices = registry.add, curves.choices
    spoken = (choices.spoken_of, choices.changed, choices.maximised)

    add(
        "followCurves",
        tr("Fit all plots"),
        curves.follow,
        short=tr("Fit all"),
        tip=tr("Show everything and follow new data"),
        refusal=curves.follow_refusal,
        follows=(telemetry.view_changed,),
    )
    add(
        "plotMaximise",
        lambda: tr("Show all plots") if choices.is_maximised else tr("Maximise the plot"),
        curves.toggle_maximised,
        tip=tr("Press F in a plot or double-click its title to do the same"),
        refusal=curves.refusal,
        follows=spoken,
    )
    add(
        "allPlots",
        tr("All plots"),
        curves.toggle_maximised,
        tip=tr("Show every plot again"),
        is_there=lambda: choices.is_maximised,
        follows=(choices.maximised,),
    )
    add(
        "plotLog",
        tr("Logarithmic y axis"),
        curves.toggle_log,
        refusal=curves.refusal,
        is_on=lambda: choices.is_log(choices.current),
        follows=spoken,
    )
    add(
        "plotLogX",
        tr("Logarithmic x axis"),
        curves.toggle_log_x,
        tip=tr("For all plots"),
        refusal=lambda: tr("The clock axis cannot be logarithmic") if telemetry.x_axis == CLOCK else "",
        is_on=lambda: telemetry.log_x,
        follows=(telemetry.view_changed,),
    )
    add(
        "plotFit",
        tr("Fit the plot"),
        curves.fit,
        tip=tr("Press Home in a plot or double-click it to do the same; A and Shift+A fit or hold y and x"),
        refusal=curves.refusal,
        follows=spoken,
    )
    add(
        "plotCopy",
        tr("Copy the plot"),
        curves.copy,
        tip=tr("Copy a picture of the plot to the clipboard"),
        refusal=curves.refusal,
        follows=spoken,
    )
    add(
        "plotPin",
        tr("Pin plot"),
        curves.toggle_pinned,
        tip=tr("Keep the plot at the top, whichever runs are shown"),
        refusal=curves.refusal,
        is_on=lambda: choices.current in choices.pinned,
        follows=spoken,
    )
    add(
        "plotHide",
        tr("Hide the plot"),
        curves.hide,
        tip=tr("Add a plot shows it again"),
        refusal=curves.refusal,
        follows=spoken,
    )
    for kind in ("png", "svg", "csv"):
        add(
            f"plot{kind.capitalize()}",
            tr("Export the plot as {upper}...", upper=kind.upper()),
            lambda kind=kind: ask_new_file(
                window, tr("Export the plot"), curves.file_name(kind), partial(curves.export, kind)
            ),
            refusal=curves.refusal,
            follows=spoken,
        )
    for spread, name in ((RANGE, "groupRange"), (DEVIATION, "groupDeviation")):
        add(
            name,
            tr(SPREADS[spread]),
            partial(curves.toggle_spread, spread),
            tip=tr("Draw shown runs that differ only in their seed as one curve"),
            is_on=lambda spread=spread: telemetry.spread == spread,
            follows=(telemetry.view_changed,),
        )
    for kind in KINDS:
        add(
            f"smooth{kind.capitalize() or 'Decaying'}",
            tr(KINDS[kind]),
            partial(curves.smooth_by, kind),
            tip=tr("How smoothing weighs neighbouring points"),
            is_on=lambda kind=kind: telemetry.smoothing_kind == kind,
            follows=(telemetry.view_changed,),
        )
    add(
        "trimOutliers",
        tr("Ignore outliers"),
        curves.toggle_outliers,
        tip=tr("The y axis has room for all but the highest and lowest twentieth"),
        is_on=lambda: telemetry.trims_outliers,
        follows=(telemetry.view_changed,),
    )
    add(
        "resetPlots",
        tr("Reset the plots"),
        choices.reset,
        tip=tr("Show every plot in the original order with linear axes"),
    )


def define_undo(registry: ActionRegistry, history: ViewHistory) -> None:
    follows = (history.changed,)
    registry.add(
        "undoView",
        tr("Undo change of view"),
        history.undo,
        "Ctrl+Z",
        tip=tr("Docks, plots, axes, zoom and pinned runs; not training, files or games"),
        refusal=history.undo_refusal,
        follows=follows,
    )
    registry.add(
        "redoView",
        tr("Redo change of view"),
        history.redo,
        "Ctrl+Shift+Z",
        refusal=history.redo_refusal,
        follows=follows,
    )


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
        tr("Save a report of the curves..."),
        lambda: ask_new_file(window, tr("Save a report"), "report.html", reports.write_report),
        tip=tr("One HTML file with the shown runs: settings that differ, outcome, notes, plots"),
        refusal=reports.refusal,
        follows=follows,
    )
    add(
        "writeReportPdf",
        tr("Save a report of the curves as PDF..."),
        lambda: ask_new_file(window, tr("Save a report"), "report.pdf", reports.write_report),
        tip=tr("Save the report on A4 pages in light colours"),
        refusal=reports.refusal,
        follows=follows,
    )
    add(
        "curvesCsv",
        tr("Export all curves as CSV..."),
        lambda: ask_new_file(window, tr("Export all curves"), "curves.csv", reports.write_curves),
        tip=tr("All records of the shown runs, one column per metric"),
        refusal=reports.refusal,
        follows=follows,
    )
    add(
        "runsCsv",
        tr("Export the run table as CSV..."),
        lambda: ask_new_file(window, tr("Export the run table"), "runs.csv", write_runs),
        tip=tr("The runs in the list with all their settings"),
        refusal=lambda: "" if listed.rowCount() else tr("The list has no run"),
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
        tip=tr("Save the current view under a name and restore it later"),
    )


def define_dashboards(
    registry: ActionRegistry,
    runs: RunsController,
    dashboards: Dashboards,
    training: TrainingController,
    telemetry: TelemetryModel,
    window: QMainWindow,
) -> None:
    add = registry.add
    focus = (telemetry.focus_changed, telemetry.run_told, training.badge_changed)
    add(
        "openTensorBoard",
        tr("Open the run in TensorBoard"),
        dashboards.open_tensorboard,
        short=tr("TensorBoard"),
        tip=tr("Export the curves and open them in your browser"),
        refusal=runs.curves_refusal,
        follows=focus,
    )
    add(
        "openWandb",
        tr("Open the run on Weights & Biases"),
        dashboards.open_wandb,
        short=tr("Open on W&B"),
        tip=tr("Open the page of a run that was sent there"),
        refusal=runs.refusal,
        follows=focus,
    )
    add(
        "exportWandb",
        tr("Export the run for Weights & Biases"),
        dashboards.export_wandb,
        short="W&B",
        tip=tr("In the format of an offline run; nothing is sent"),
        refusal=runs.curves_refusal,
        follows=focus,
    )
    kinds = tr("Runs of TensorBoard and W&B") + " (*.tfevents.* *.wandb history.jsonl)"
    add(
        "importCurves",
        tr("Import curves of TensorBoard or W&B..."),
        lambda: ask_file(window, tr("Import curves"), kinds, dashboards.import_curves),
        tip=tr("A TensorBoard event file, the file of an offline W&B run, or a W&B history"),
        short=tr("Import curves..."),
    )
    add(
        "importCurveFolder",
        tr("Import a log folder of TensorBoard..."),
        lambda: ask_folder(window, tr("Import a log folder"), dashboards.import_curves),
        tip=tr("Import every run in the folder and its subfolders"),
    )
