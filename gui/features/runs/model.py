"""Model of the run table: one row a run or a folded sweep, in order of arrival, updated in place."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, Qt, Signal

from gui.features.runs.columns import RunColumns, by_value
from gui.kit.labels import ago, count_text
from gui.kit.text_search import NO_PARENT, Index
from gui.kit.words import tr
from gui.state.run_words import WORDS
from trainer_core.lab.task_lists import short_task
from trainer_core.wire.run_record import RunRecord, RunState, is_archived

_VARIED = re.compile(r"( [\w.]+=\S+)+$")
"""The settings at the end of a trial's name, after the sweep's."""
SHOWN = "Shown"
"""Column of the eye: visibility and colour of a run's curves."""
COLUMNS = (SHOWN, "State", "Run", "Task", "Algo", "Device", "Steps", "Best", "Started")
NUMERIC = {"Steps", "Best"}
RUN_ROLE = Qt.ItemDataRole.UserRole


def sweep_of(run: RunRecord | None) -> str:
    """Return the id of the sweep that a run is a trial of, empty for any other."""
    return run.tags.get("sweep", "") if run is not None else ""


def sweep_title(run: RunRecord) -> str:
    """Return the displayed name of a run's sweep: its name, else the end of its id."""
    sweep_id = sweep_of(run)
    title = _VARIED.sub("", run.name)
    return title if title and title != sweep_id else sweep_id.rsplit("-", 1)[-1]


class SweepGroups:
    """Rows by sweep, in order of arrival; folded until the user unfolds it."""

    def __init__(self, runs: list[RunRecord]) -> None:
        """Take `runs`, the table's own list, which grows."""
        self._runs = runs
        self._rows: dict[str, list[int]] = {}
        self._open: set[str] = set()

    def note(self, row: int) -> None:
        """Add a row that was appended to the table."""
        if name := sweep_of(self._runs[row]):
            self._rows.setdefault(name, []).append(row)

    def toggle(self, name: str) -> None:
        self._open ^= {name} & self._rows.keys()

    def is_folded_sweep(self, run: RunRecord) -> bool:
        """Return whether the run belongs to a sweep that is one row now."""
        name = sweep_of(run)
        return len(self._rows.get(name, ())) > 1 and name not in self._open

    def folded_rows(self) -> set[int]:
        """Return the hidden rows: all but the first of each folded sweep."""
        groups = (rows for name, rows in self._rows.items() if name not in self._open)
        return {row for rows in groups for row in rows[1:]}

    def led_by(self, row: int) -> list[RunRecord]:
        """Return every trial of the sweep whose first row this is; empty for any other row."""
        rows = self._rows.get(sweep_of(self._runs[row]), [])
        return [self._runs[one] for one in rows] if len(rows) > 1 and rows[0] == row else []

    def behind(self, row: int) -> list[str]:
        """Return the ids of all runs of a row: a folded sweep's trials, else the run itself."""
        is_folded = self.is_folded_sweep(self._runs[row])
        return [run.run_id for run in (self.led_by(row) if is_folded else ()) or [self._runs[row]]]

    def leader_of(self, run: RunRecord) -> int:
        """Return the row that represents the run's sweep, -1 where none does."""
        rows = self._rows.get(sweep_of(run), [])
        return rows[0] if len(rows) > 1 else -1


class RunList(QAbstractTableModel):
    """List of runs; `sweeps` knows the trials of each sweep: folded, the first represents all."""

    sweeps_changed = Signal()
    """A sweep was folded or unfolded."""
    places_changed = Signal()
    """Queued runs came, went or changed places."""

    def __init__(
        self,
        notes: Callable[[str], str] = lambda run_id: "",
        further: RunColumns | None = None,
        parent: QObject | None = None,
    ) -> None:
        """Take `notes`, the user's text on a run, and `further`, the columns that they chose."""
        super().__init__(parent)
        self._notes, self._further = notes, further
        self.columns: tuple[str, ...] = COLUMNS
        self._runs: list[RunRecord] = []
        self._rows: dict[str, int] = {}
        self._words: list[str] = []
        self.sweeps = SweepGroups(self._runs)
        self.places: dict[str, int] = {}
        """Places of queued runs by id, from 1."""
        self.renew_columns()

    def renew_columns(self) -> None:
        """Update the columns of chosen fields, or what was read of them since."""
        self.beginResetModel()
        self.columns = (*COLUMNS, *(self._further.fields if self._further else ()))
        self._words = [""] * len(self._words)
        self.endResetModel()

    def rowCount(self, parent: Index = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._runs)

    def columnCount(self, parent: Index = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation != Qt.Orientation.Horizontal:
            return None
        name = self.columns[section]
        if role == Qt.ItemDataRole.DisplayRole and section < len(COLUMNS):
            return "" if name == SHOWN else tr(name)
        if role == Qt.ItemDataRole.DisplayRole:
            return name.rpartition(".")[2]
        if role == Qt.ItemDataRole.ToolTipRole and section >= len(COLUMNS):
            return name
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(name)
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        return self.value(index.row(), index.column(), role)

    def value(self, row: int, column_number: int, role: int, *, is_alone: bool = False) -> object:
        """Return the value of `data` without an index: a view of views calls it often.

        `is_alone`: every trial has a row, so that the first represents only itself.
        """
        run, column = self._runs[row], self.columns[column_number]
        is_text = role == Qt.ItemDataRole.DisplayRole
        if is_text and not is_alone and (group := self.sweeps.led_by(row)):
            return self._group_text(run, column, group)
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(run, column)
        if role == RUN_ROLE:
            return run
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(column)
        if role == Qt.ItemDataRole.ToolTipRole:
            if column == SHOWN:
                return tr("Show or hide its curves")
            words = (run.name, run.run_id, run.task, run.reason, _rates(run), self._notes(run.run_id))
            return "\n".join(part for part in words if part)
        return None

    def _group_text(self, run: RunRecord, column: str, group: list[RunRecord]) -> str:
        """Return a folded sweep's text in its first trial's row: number, best, sum of steps."""
        match column:
            case "Run":
                mark = "\u25b8" if self.sweeps.is_folded_sweep(run) else "\u25be"
                return f"{mark} {sweep_title(run)} \u00d7{len(group)}"
            case "State":
                moving = next((one for one in group if not one.state.is_end), run)
                return tr(WORDS[moving.state])
            case "Steps":
                return count_text(sum(one.env_steps for one in group))
            case name if name not in COLUMNS and self._further:
                read = self._further.configs.read
                told = dict.fromkeys(read(one.run_id).get(name, "") for one in group)
                return ", ".join(told)
            case "Best":
                best = max(one.best_success_rate for one in group)
                return f"{best:.2f}" if best else ""
        return self._text(run, column)

    def toggle_sweep(self, name: str) -> None:
        """Give each trial a row of its own, or fold the sweep to one row."""
        self.sweeps.toggle(name)
        self.sweeps_changed.emit()

    def set_places(self, waiting: list[str]) -> None:
        """Set the queued runs, the next one first."""
        old, self.places = self.places, {run_id: at for at, run_id in enumerate(waiting, 1)}
        if old != self.places:
            for run_id in old.keys() | self.places.keys():
                if old.get(run_id) != self.places.get(run_id):
                    self.renew(run_id)
            self.places_changed.emit()

    def _on_trial(self, run: RunRecord) -> None:
        """Update the first row of a sweep after a trial came or changed."""
        leader = self.sweeps.leader_of(run)
        if leader >= 0:
            last = len(self.columns) - 1
            self.dataChanged.emit(self.index(leader, 0), self.index(leader, last))

    def _text(self, run: RunRecord, column: str) -> str:
        match column:
            case "Shown":
                return ""
            case "State" if is_archived(run):
                return tr("Archived")
            case "State":
                place = self.places.get(run.run_id, 0) if run.state is RunState.QUEUED else 0
                return f"{tr(WORDS[run.state])} {place}" if place else tr(WORDS[run.state])
            case "Run":
                return self.label(run.run_id)
            case "Task":
                return short_task(run.task)
            case "Algo":
                return run.algo
            case "Device":
                return run.device
            case "Steps":
                return count_text(run.env_steps)
            case "Best":
                return f"{run.best_success_rate:.2f}" if run.best_success_rate else ""
            case "Started":
                return ago(run.created_at)
            case name:
                return self._further.configs.read(run.run_id).get(name, "") if self._further else ""

    def sort_key(self, row: int, column_number: int) -> Any:
        """Return the sort key of a row in a column."""
        run = self._runs[row]
        match self.columns[column_number]:
            case name if name not in COLUMNS and self._further:
                return by_value(self._further.configs.peek(run.run_id, name))
            case "Started":
                return run.created_at
            case "Steps":
                return run.env_steps
            case "Best":
                return run.best_success_rate
            case column:
                return self._text(run, column)

    def words(self, row: int) -> str:
        """Return all filterable text of a row in lower case."""
        found = self._words[row]
        if not found:
            run = self._runs[row]
            parts = (
                run.state,
                run.run_id,
                run.name,
                run.task,
                run.algo,
                run.device,
                self._notes(run.run_id),
                *run.tags.values(),
            )
            if self._further:
                told = [(name, self._further.configs.peek(run.run_id, name)) for name in self._further.fields]
                parts += tuple(f"{name.rpartition('.')[2]}={text}" for name, text in told)
            if is_archived(run):
                parts += (tr("Archived"),)
            found = self._words[row] = " ".join(parts).lower()
        return found

    def put(self, run: RunRecord) -> None:
        """Add a run or update its row."""
        row = self._rows.get(run.run_id)
        if row is None:
            if self._further and self._further.fields:
                self._further.configs.read(run.run_id)  # the sort key may come from the configuration
            row = len(self._runs)
            self.beginInsertRows(QModelIndex(), row, row)
            self._runs.append(run)
            self._words.append("")
            self._rows[run.run_id] = row
            self.sweeps.note(row)
            self.endInsertRows()
            self._on_trial(run)
        elif self._runs[row] != run:
            self._runs[row] = run
            self._words[row] = ""
            self.dataChanged.emit(self.index(row, 0), self.index(row, len(self.columns) - 1))
            self._on_trial(run)

    def put_all(self, runs: list[RunRecord]) -> None:
        """Add many new runs at once."""
        new = [run for run in runs if run.run_id not in self._rows]
        if new:
            first = len(self._runs)
            self.beginInsertRows(QModelIndex(), first, first + len(new) - 1)
            for run in new:
                self._rows[run.run_id] = len(self._runs)
                self._runs.append(run)
                self._words.append("")
                self.sweeps.note(len(self._runs) - 1)
            self.endInsertRows()

    def renew(self, run_id: str) -> None:
        """Update a row after the user's note or its place in the queue changed."""
        row = self._rows.get(run_id)
        if row is not None:
            self._words[row] = ""
            self.dataChanged.emit(self.index(row, 0), self.index(row, len(self.columns) - 1))

    def label(self, run_id: str) -> str:
        """Return a run's short name: its name, else the end of its id."""
        row = self._rows.get(run_id)
        return (row is not None and self._runs[row].name) or run_id.rsplit("-", 1)[-1]

    def field(self, run_id: str, name: str) -> str:
        """Return a field of a run's configuration, also by its last name, as far as that was read."""
        return self._further.configs.find(run_id, name) if self._further else ""

    def run(self, row: int) -> RunRecord:
        return self._runs[row]

    def row_of(self, run_id: str) -> int:
        return self._rows.get(run_id, -1)


def _rates(run: RunRecord) -> str:
    """Return the best validations in words; empty before the first."""
    if not (run.best_success_rate or run.best_leaving_rate):
        return ""
    return tr(
        "Best validation: greedy {greedy:.2f}, leaving loops {leaving:.2f}",
        greedy=run.best_success_rate,
        leaving=run.best_leaving_rate,
    )


def _alignment(column: str) -> int:
    side = Qt.AlignmentFlag.AlignRight if column in NUMERIC else Qt.AlignmentFlag.AlignLeft
    return int(side | Qt.AlignmentFlag.AlignVCenter)
