"""Dock of the run table: filter, sort, select the run in focus, pin runs to compare, resume."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QModelIndex, Qt
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QMenu, QStackedWidget, QWidget

from gui.features.runs.columns import RunColumns
from gui.features.runs.controller import RunsController
from gui.features.runs.filter import RunFilter
from gui.features.runs.model import COLUMNS, RUN_ROLE, SHOWN, RunList
from gui.features.runs.shown_runs import ABOUT_SHOWN, CROSSHAIR, DIFFERS, ShownRuns
from gui.features.runs.table import EyeDelegate, NameDelegate, RunTable, StateDelegate
from gui.kit import object_names as names
from gui.kit.actions import ActionRegistry
from gui.kit.boxes import named
from gui.kit.containers import Dock, empty_page
from gui.kit.labels import KeyButton, button, clear_by_escape, label, search_field
from gui.kit.words import tr
from gui.state.telemetry import TelemetryModel
from trainer_core.wire.run_record import RunRecord

_WIDTHS = {
    SHOWN: 32, "Name": 164, "State": 112, "Algorithm": 80, "Steps": 88, "Best success": 100, "Time": 64, "Started": 104,
    "Device": 60, DIFFERS: 176, CROSSHAIR: 168,
}  # fmt: skip
_FIRST_TO_GO = ("Device", "Time", "Algorithm", "Started", "Steps", DIFFERS, "Best success", CROSSHAIR)
"""Columns that a narrow table hides in this order, before the user's own from the last: it never scrolls sideways."""
LEAST_TASK, FIELD_WIDTH, TITLE_ROOM = 128, 64, 22
"""Pixels: least width of the task's column, width of a configuration field's, margins of a title."""
ALWAYS = (SHOWN, "Name", "State", "Task")
LOOKED_AT = 200
"""Number of runs, from the top of the table, among which differing configuration fields are searched."""
MENU = (
    "describeRun", "runColor", "pinRun", "hideOthers", "compareRuns", "showSweep", "toggleSweep",
    "queueEarlier", "queueLater", "resumeRun", "reuseConfig",
    "openRunFolder", "archiveRun", "restoreRun",
)  # fmt: skip
"""Ids of the commands in a row's context menu; a right click puts the row's run in focus first."""


class RunsDock(Dock):
    def __init__(
        self,
        model: RunList,
        telemetry: TelemetryModel,
        runs: RunsController,
        columns: RunColumns,
        shown: ShownRuns,
        actions: ActionRegistry,
    ) -> None:
        super().__init__(tr("Runs"), names.RUNS_DOCK)
        self._model, self._runs, self._actions = model, runs, actions
        self._telemetry, self._columns, self._shown = telemetry, columns, shown
        self._is_fitting = False
        self.proxy = RunFilter(model, self)
        self.table = named(RunTable(), names.RUN_TABLE, tr("Runs"))
        self.table.setModel(self.proxy)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.setSortingEnabled(True)
        self.table.setItemDelegateForColumn(COLUMNS.index("State"), StateDelegate(self.table))
        self.table.setItemDelegateForColumn(COLUMNS.index("Name"), NameDelegate(telemetry, self.table))
        self.table.setItemDelegateForColumn(COLUMNS.index(SHOWN), EyeDelegate(telemetry, self.table))
        self.table.eye_clicked.connect(runs.toggle_shown)
        self.table.dropped.connect(runs.take_place_of)
        self.table.pointed.connect(telemetry.set_highlight)
        telemetry.highlighted.connect(lambda run_id: self.table.light.move_to(self.proxy.row_of(run_id)))
        self.table.doubleClicked.connect(self._on_double_click)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.table.customContextMenuRequested.connect(self._menu)
        self.table.selectionModel().selectionChanged.connect(self._on_selection)
        self.filter = search_field("runFilter", tr("Filter runs"), tr("Filter by name, task or state"))
        self.filter.setFixedWidth(232)
        self.filter.setToolTip(
            tr(
                "Words, -without, wild*cards, regular|expressions, and comparisons: best>0.9, "
                "learning_rate<0.001, state=failed,lost"
            )
        )
        self.filter.textChanged.connect(self._on_filter)
        self.head.addWidget(self.filter)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.table)
        self._stack.addWidget(self._empty_page())
        self._stack.addWidget(self._no_match_page())
        clear_by_escape(self.filter, self)
        self.setWidget(self._stack)
        model.rowsInserted.connect(lambda *_: self._on_count())
        telemetry.focus_changed.connect(self._on_focus)
        telemetry.pins_changed.connect(self.table.viewport().update)
        shown.changed.connect(self._fit_columns)
        self.proxy.layoutChanged.connect(lambda: self.table.light.move_to(self.proxy.row_of(telemetry.highlight)))
        self.proxy.modelReset.connect(self._on_reset)
        self._make_header()
        self._on_count()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_columns()

    def _make_header(self) -> None:
        """Set up the table header: a click sorts, an edge resizes, a right click opens the menu of columns.

        All choices are saved.
        """
        header = self.table.horizontalHeader()
        header.setMinimumSectionSize(28)
        header.setToolTip(tr("Right-click to choose columns"))
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(lambda place: self.column_menu().exec(header.mapToGlobal(place)))
        name, is_falling = self._columns.sort
        shown = self._model.columns
        order = Qt.SortOrder.DescendingOrder if is_falling else Qt.SortOrder.AscendingOrder
        self.table.sortByColumn(shown.index(name if name in shown else "Started"), order)
        self._on_columns()
        header.sectionResized.connect(self._on_width)
        header.sortIndicatorChanged.connect(self._on_sort)
        self._columns.changed.connect(self._on_columns)

    def _on_columns(self) -> None:
        """Set the columns' widths after the user changed the choice of columns."""
        if self._model.columns != (*COLUMNS, *self._columns.fields):
            self._model.renew_columns()
        header = self.table.horizontalHeader()
        self._is_fitting = True
        for place, name in enumerate(self._model.columns):
            is_task = name == "Task"
            mode = QHeaderView.ResizeMode.Stretch if is_task else QHeaderView.ResizeMode.Interactive
            header.setSectionResizeMode(place, mode)
            if not is_task:
                self.table.setColumnWidth(place, self._width(name))
        self._is_fitting = False
        self._fit_columns()

    def _width(self, name: str) -> int:
        """Return the width in pixels of a column: the user's, else the one that its title needs."""
        title = "" if name == SHOWN else name.rpartition(".")[2] if name not in COLUMNS else tr(name)
        needed = self.fontMetrics().horizontalAdvance(title) + TITLE_ROOM if title else 0
        return self._columns.widths.get(name, max(_WIDTHS.get(name, FIELD_WIDTH), needed))

    def _fit_columns(self) -> None:
        """Hide the columns that the user turned off, and as many others as the table's width requires."""
        shown = [name for name in self._model.columns if name not in self._columns.hidden]
        left_out = self._columns.hidden - set(ALWAYS)
        if self._shown.is_one():
            shown = [name for name in shown if name not in ABOUT_SHOWN]
            left_out = left_out | set(ABOUT_SHOWN)
        room = self.width() - LEAST_TASK - sum(self._width(n) for n in shown if n != "Task")
        for name in (*_FIRST_TO_GO, *reversed(self._columns.fields)):
            if name not in COLUMNS and room + LEAST_TASK // 2 >= 0:
                break  # half of the task's name is given up for the user's own columns
            if room < 0 and name in shown:
                room += self._width(name)
                left_out = left_out | {name}
        self._is_fitting = True
        for place, name in enumerate(self._model.columns):
            self.table.setColumnHidden(place, name in left_out)
        self._is_fitting = False

    def _on_width(self, place: int, old: int, new: int) -> None:
        """Save the width to which the user resized a column."""
        name = self._model.columns[place] if place < len(self._model.columns) else "Task"
        if not self._is_fitting and new and name != "Task":
            self._columns.set_width(name, new)

    def _on_sort(self, place: int, order: Qt.SortOrder) -> None:
        if 0 <= place < len(self._model.columns):
            name = self._model.columns[place]
            self._columns.set_sort(name, order == Qt.SortOrder.DescendingOrder)

    def column_menu(self) -> QMenu:
        """Return a menu for choosing columns; configuration fields that differ among the runs come first."""
        menu = QMenu(self)
        menu.setToolTipsVisible(True)
        for place, name in enumerate(COLUMNS):
            if name in ALWAYS:
                continue
            is_wanted = name not in self._columns.hidden
            no_room = is_wanted and self.table.isColumnHidden(place)
            toggle, is_on = self._columns.toggle_hidden, is_wanted and not no_room
            action = self._offer(menu, name, tr(name), is_on, toggle)
            is_one = name in ABOUT_SHOWN and self._shown.is_one()
            why = tr("Show two runs or more") if is_one else tr("The table is too narrow for this column")
            action.setToolTip(why if no_room else "")
            action.setEnabled(not no_room)
        menu.addSeparator()
        configs, fields = self._columns.configs, self._columns.fields
        first = list(dict.fromkeys([*fields, *configs.differing(self.proxy.run_ids()[:LOOKED_AT])]))
        own = {"algo", *(name.lower() for name in COLUMNS)}
        first = [name for name in first if name.lower() not in own or name in fields]
        for name in first:
            self._offer(menu, name, name, name in fields, self._runs.toggle_field)
        rest = [name for name in configs.read(self._telemetry.focus) if name not in first and name.lower() not in own]
        if rest:
            further = menu.addMenu(tr("More columns"))
            for name in rest:
                self._offer(further, name, name, False, self._runs.toggle_field)
        return menu

    def _offer(self, menu: QMenu, name: str, text: str, is_on: bool, toggle: Callable[[str], None]) -> QAction:
        action = menu.addAction(text)
        action.setCheckable(True)
        action.setChecked(is_on)
        action.triggered.connect(lambda: toggle(name))
        return action

    def _empty_page(self) -> QWidget:
        welcome = self._actions["welcome"]
        start = button(tr("Start demo"), "startDemoFromRuns", clicked=welcome.trigger)
        page = empty_page(tr("No run yet"), tr("The demo takes a minute."), start)
        # The welcome page has that button; a second one beside it would only confuse.
        start.setVisible(welcome.isVisible())
        welcome.changed.connect(lambda: start.setVisible(welcome.isVisible()))
        return page

    def _no_match_page(self) -> QWidget:
        clear = named(KeyButton(tr("Clear filter"), tr("Esc")), "clearRunFilter")
        clear.clicked.connect(self.filter.clear)
        self.no_match, self._hidden = label(), label("", "caption")
        return empty_page(self.no_match, self._hidden, clear)

    def _on_count(self) -> None:
        none_found = self.proxy.is_filtered and not self.proxy.rowCount()
        if none_found:
            self.no_match.setText(tr("No run matches \u201c{text}\u201d", text=self.filter.text()))
            self._hidden.setText(tr("{count} runs are hidden by the filter", count=self._model.rowCount()))
        self._stack.setCurrentIndex(1 if not self._model.rowCount() else 2 if none_found else 0)

    def _on_focus(self, run_id: str) -> None:
        self.select(run_id)
        self.table.viewport().update()

    def _on_filter(self, text: str) -> None:
        """Apply the filter text; if it compares configuration fields, read all configurations first."""
        self.proxy.set_text(text)
        self._on_count()
        if any(bound.asks_config for bound in self.proxy.bounds):
            self._runs.read_configs()

    def _on_reset(self) -> None:
        """Clear the selection after a model reset, because Qt emits no signal for that."""
        self._runs.selected = []
        self.select(self._telemetry.focus)

    def select(self, run_id: str) -> None:
        """Select the row of a run without changing anything else."""
        row, run = self.proxy.row_of(run_id), self.current()
        if row >= 0 and (run is None or run.run_id != run_id):
            index = self.proxy.index(row, 0)
            # Not selectRow: a Shift or Ctrl held for something else would change its effect.
            rows = QItemSelectionModel.SelectionFlag.Rows
            self.table.selectionModel().setCurrentIndex(index, QItemSelectionModel.SelectionFlag.ClearAndSelect | rows)
            self.table.scrollTo(index)

    def current(self) -> RunRecord | None:
        """Return the run of the row selected last; None if it is not selected any more."""
        picked, rows = self.table.currentIndex(), self.table.selectionModel().selectedRows()
        last = [row for row in rows if row.row() == picked.row()]
        return (last or rows)[0].data(RUN_ROLE) if rows else None

    def _on_selection(self, selected: QItemSelection, deselected: QItemSelection) -> None:
        rows = self.table.selectionModel().selectedRows()
        self._runs.selected = [row.data(RUN_ROLE).run_id for row in rows]
        run = self.current()
        if run is not None and selected.count():
            self._runs.show(run.run_id)

    def _on_double_click(self, index: QModelIndex) -> None:
        """Fold or unfold a sweep whose row was double-clicked."""
        run = index.data(RUN_ROLE)
        if self._model.sweeps.led_by(self._model.row_of(run.run_id)):
            self._model.toggle_sweep(run.tags["sweep"])

    def _menu(self, position) -> None:  # type: ignore[no-untyped-def]
        if self.current() is not None:
            menu = QMenu(self)
            menu.setToolTipsVisible(True)
            menu.addActions([self._actions[name] for name in MENU])
            menu.exec(self.table.viewport().mapToGlobal(position))
