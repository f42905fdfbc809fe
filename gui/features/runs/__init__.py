"""Runs: table of the home's runs, notes, comparison, queue."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QMainWindow

from gui.features.runs.columns import RunColumns, RunConfigs
from gui.features.runs.comparison import Comparison
from gui.features.runs.controller import RunsController
from gui.features.runs.dock import RunsDock
from gui.features.runs.forms import RunNoteForm, color_menu
from gui.features.runs.model import RunList
from gui.features.runs.shown_runs import ShownRuns
from gui.features.train.controller import TrainingController
from gui.kit import object_names as names
from gui.kit.actions import ActionRegistry
from gui.kit.words import tr
from gui.state.context import Context, DockSpec, Feature
from gui.state.run_notes import RunNotes
from gui.state.session import Navigation
from gui.state.telemetry import TelemetryModel


def feature(context: Context) -> Feature:
    notes = context.add(RunNotes(context.home))
    columns = context.add(RunColumns(context.settings, RunConfigs(context.home)))
    shown = context.add(ShownRuns(context.telemetry))
    model = context.add(RunList(notes.line, columns, context.session.task_title, shown))
    notes.changed.connect(model.renew)
    context.telemetry.name_run = model.label
    runs = context.add(
        RunsController(
            context.bridge,
            context.session,
            model,
            context.telemetry,
            context[TrainingController],
            context.navigation,
            context.notices,
            notes,
            columns,
        )
    )
    context.actions.finders.append(runs.found)
    define_runs(context.actions, runs, context[TrainingController], context.telemetry, context.window)

    def make_dock() -> RunsDock:
        return RunsDock(model, context.telemetry, runs, columns, shown, context.actions)

    return Feature(
        docks=[DockSpec(make_dock, "F4")],
        finish=lambda: define_list(context.actions, runs, context[RunsDock], context.navigation),
        open_home=lambda: runs.open_home(context.view.pinned()),
        take_path=runs.take_path,
    )


def define_runs(
    registry: ActionRegistry,
    runs: RunsController,
    training: TrainingController,
    telemetry: TelemetryModel,
    window: QMainWindow,
) -> None:
    focus = (telemetry.focus_changed, telemetry.run_told, training.badge_changed)
    add = partial(registry.add, follows=focus)

    def ask_note() -> None:
        RunNoteForm(window, runs.current.name if runs.current else "", runs.note(), runs.annotate).open()

    def compare() -> None:
        names = [telemetry.label(run.run_id) for run in runs.compared()]
        Comparison(window, names, runs.differences(), runs.outcomes(), runs.parallel()).open()

    add(
        "pinRun",
        tr("Pin curves"),
        runs.toggle_pin,
        tip=tr("Show the run's curves beside those of other runs"),
        refusal=runs.refusal,
        is_on=lambda: telemetry.focus in telemetry.pinned,
        follows=(*focus, telemetry.pins_changed),
    )
    add("describeRun", tr("Name, tags and notes..."), ask_note, "Ctrl+T", refusal=runs.refusal, follows=focus)
    add(
        "runColor",
        tr("Colour of the curves..."),
        lambda: color_menu(window, runs.color(), runs.set_color).exec(QCursor.pos()),
        tip=tr("Choose the colour of the run's curves"),
        refusal=runs.refusal,
    )
    add(
        "compareRuns",
        tr("Compare configurations"),
        compare,
        "Ctrl+Shift+C",
        tip=tr("Show the settings in which the shown runs differ"),
        refusal=runs.compare_refusal,
        follows=(*focus, telemetry.pins_changed),
    )
    add(
        "showSweep",
        tr("Show the curves of the sweep"),
        runs.show_sweep,
        tip=tr("All trials of the run's sweep"),
        refusal=runs.sweep_refusal,
    )
    add(
        "toggleSweep",
        tr("Show each trial of the sweep as a row"),
        runs.toggle_sweep,
        tip=tr("Double-click the sweep's row to do the same"),
        refusal=runs.sweep_refusal,
        is_on=runs.is_sweep_open,
    )
    add(
        "hideOthers",
        tr("Hide the curves of other runs"),
        runs.hide_others,
        refusal=lambda: "" if telemetry.pinned else tr("No other run is shown"),
        follows=(telemetry.pins_changed,),
    )
    add(
        "resumeRun",
        tr("Resume the run from its checkpoint"),
        runs.resume,
        short=tr("Resume"),
        refusal=runs.resume_refusal,
    )
    for by, name, text in (
        (-1, "queueEarlier", tr("Earlier in the queue")),
        (1, "queueLater", tr("Later in the queue")),
    ):
        add(
            name,
            text,
            partial(runs.move_in_queue, by),
            tip=tr("Swap places with the run before or after it"),
            refusal=partial(runs.move_refusal, by),
            is_there=runs.waits,
            follows=(*focus, runs.queue_changed),
        )
    add("reuseConfig", tr("New run with its configuration"), runs.reuse_config, refusal=runs.reuse_refusal)
    add(
        "showError",
        tr("Show the run's log"),
        runs.show_log,
        short=tr("Error"),
        tip=tr("The last lines of its log"),
        refusal=runs.error_refusal,
        is_there=lambda: not runs.error_refusal(),
    )
    add(
        "openLog",
        tr("Open the run's log file"),
        runs.open_log,
        short=tr("File"),
        tip=tr("Open the whole log of the trainer in your editor"),
        refusal=runs.log_refusal,
    )
    add("openRunFolder", tr("Open the run's folder"), runs.open_folder, short=tr("Folder"), refusal=runs.refusal)


def define_list(registry: ActionRegistry, runs: RunsController, dock: RunsDock, navigation: Navigation) -> None:
    """Define the commands on rows of the run table (pin, colour, notes and others)."""

    def focus_filter() -> None:
        navigation.show_dock(names.RUNS_DOCK)
        dock.filter.setFocus(Qt.FocusReason.ShortcutFocusReason)

    registry.add(
        "showListed",
        tr("Show the curves of every run in the list"),
        lambda: runs.show_all(dock.proxy.run_ids()),
        tip=tr("Show those that match the filter, from the top, 250 at most"),
    )
    registry.add("filterRuns", tr("Filter runs"), focus_filter, "Ctrl+F")
