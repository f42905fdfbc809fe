"""Model of the run table's rows: one per run, in order of arrival; a sweep can be folded to one row."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, Qt, Signal

from gui.features.runs.columns import RunColumns, by_value
from gui.features.runs.shown_runs import ABOUT_SHOWN, CROSSHAIR, DIFFERS, ShownRuns
from gui.kit.labels import ago, count_text
from gui.kit.plot_shapes import value_text
from gui.kit.text_search import NO_PARENT, Index
from gui.kit.words import tr
from gui.state.run_progress import HELD_OUT, clock_text
from gui.state.run_words import WORDS, reason_words
from trainer_core.lab.task_lists import short_task
from trainer_core.wire.run_names import run_name
from trainer_core.wire.run_record import TRASHED, RunRecord, RunState, is_archived

_VARIED = re.compile(r"( [\w.]+=\S+)+$")
"""Pattern of the varied settings, such as ` learning_rate=0.001`, at the end of a trial's name."""
SHOWN = "Shown"
"""Column of the eye, which shows whether the run's curves are visible, and their colour."""
COLUMNS = (
    SHOWN, "Name", "State", "Task", "Algorithm", DIFFERS, "Steps", "Best success", "Time", CROSSHAIR, "Started",
    "Device",
)  # fmt: skip
NUMERIC = {"Steps", "Best success", "Time", "Started", CROSSHAIR}
RUN_ROLE = Qt.ItemDataRole.UserRole


def sweep_of(run: RunRecord | None) -> str:
    """Return the id of the sweep to which a run belongs as a trial; empty for any other run or None."""
    return run.tags.get("sweep", "") if run is not None else ""


def sweep_title(run: RunRecord) -> str:
    """Return the title of a run's sweep: the sweep's name, else the last letters of its id."""
    sweep_id = sweep_of(run)
    title = _VARIED.sub("", run.name)
    is_own = title not in ("", sweep_id, run_name(run.run_id))
    return title if is_own else sweep_id.rsplit("-", 1)[-1]


class SweepGroups:
    """Rows of the table's runs by sweep. A sweep is folded to its first row until the user unfolds it."""

    def __init__(self, runs: list[RunRecord]) -> None:
        """Take `runs`, the list of the table's runs, which grows later."""
        self._runs = runs
        self._rows: dict[str, list[int]] = {}
        self._open: set[str] = set()

    def note(self, row: int) -> None:
        """Register the run at `row`, which was appended to the list."""
        if name := sweep_of(self._runs[row]):
            self._rows.setdefault(name, []).append(row)

    def toggle(self, name: str) -> None:
        self._open ^= {name} & self._rows.keys()

    def is_folded_sweep(self, run: RunRecord) -> bool:
        """Return whether the run is a trial of a sweep of several trials that is folded to one row."""
        name = sweep_of(run)
        return len(self._rows.get(name, ())) > 1 and name not in self._open

    def folded_rows(self) -> set[int]:
        """Return the rows that are hidden: all but the first of each folded sweep."""
        groups = (rows for name, rows in self._rows.items() if name not in self._open)
        return {row for rows in groups for row in rows[1:]}

    def led_by(self, row: int) -> list[RunRecord]:
        """Return all trials of the sweep whose first trial is at `row`; empty if `row` is not the first of a sweep."""
        rows = self._rows.get(sweep_of(self._runs[row]), [])
        return [self._runs[one] for one in rows] if len(rows) > 1 and rows[0] == row else []

    def behind(self, row: int) -> list[str]:
        """Return the run ids that `row` stands for: all trials of a folded sweep, else one run."""
        is_folded = self.is_folded_sweep(self._runs[row])
        return [run.run_id for run in (self.led_by(row) if is_folded else ()) or [self._runs[row]]]

    def leader_of(self, run: RunRecord) -> int:
        """Return the row of the first trial of the run's sweep; -1 without a sweep of several trials."""
        rows = self._rows.get(sweep_of(run), [])
        return rows[0] if len(rows) > 1 else -1


class RunList(QAbstractTableModel):
    """Qt table model of all runs, one row each; `sweeps` knows which rows are trials of the same sweep.

    The row of a folded sweep's first trial shows the texts of the whole sweep.
    """

    sweeps_changed = Signal()
    """A sweep was folded or unfolded."""
    places_changed = Signal()
    """The queue, or the order of its runs, changed."""

    def __init__(
        self,
        notes: Callable[[str], str] = lambda run_id: "",
        further: RunColumns | None = None,
        title: Callable[[str], str] = short_task,
        shown: ShownRuns | None = None,
    ) -> None:
        """Build an empty model.

        `notes(run_id)` returns the text of the user's note; `further` are the configuration fields chosen as columns;
        `title(task)` returns the title of a task; `shown` has the texts about the runs on show.
        """
        super().__init__()
        self._notes, self._further, self._title, self.shown = notes, further, title, shown
        self.columns: tuple[str, ...] = COLUMNS
        self._runs: list[RunRecord] = []
        self._rows: dict[str, int] = {}
        self._words: list[str] = []
        self.sweeps = SweepGroups(self._runs)
        self.places: dict[str, int] = {}
        """Position in the queue, from 1, by run id."""
        self.renew_columns()

    def renew_columns(self) -> None:
        """Update the columns after the user's choice of fields changed or configurations were read."""
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
            return self.shown.head() if name == CROSSHAIR and self.shown else "" if name == SHOWN else tr(name)
        if role == Qt.ItemDataRole.DisplayRole:
            return name.rpartition(".")[2]
        if role == Qt.ItemDataRole.ToolTipRole:
            return tr(HELD_OUT) if name == "Best success" else name if section >= len(COLUMNS) else None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(name)
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        return self.value(index.row(), index.column(), role)

    def value(self, row: int, column_number: int, role: int, *, is_alone: bool = False) -> object:
        """Return what `data` returns for a row, a column and a Qt role, without the cost of an index.

        With `is_alone`, the first trial of a sweep shows its own texts instead of the sweep's.
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
            if column == DIFFERS and (text := self._text(run, column)):
                return text
            words = (run.name, run.run_id, run.task, reason_words(run.reason), _rates(run), self._notes(run.run_id))
            return "\n".join(part for part in words if part)
        return None

    def _group_text(self, run: RunRecord, column: str, group: list[RunRecord]) -> str:
        """Return a sweep's text in a column: title and number of trials, best success, sum of steps and others."""
        match column:
            case "Name":
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
            case "Best success":
                return _share_text(max(one.best_success_rate for one in group))
        return self._text(run, column)

    def toggle_sweep(self, name: str) -> None:
        """Unfold the sweep with the id `name` to one row per trial, or fold it to one row."""
        self.sweeps.toggle(name)
        self.sweeps_changed.emit()

    def set_places(self, waiting: list[str]) -> None:
        """Set the ids of the queued runs, the next one to start first."""
        old, self.places = self.places, {run_id: at for at, run_id in enumerate(waiting, 1)}
        if old != self.places:
            for run_id in old.keys() | self.places.keys():
                if old.get(run_id) != self.places.get(run_id):
                    self.renew(run_id)
            self.places_changed.emit()

    def _on_trial(self, run: RunRecord) -> None:
        """Repaint the first row of a sweep after one of its trials was added or changed."""
        leader = self.sweeps.leader_of(run)
        if leader >= 0:
            last = len(self.columns) - 1
            self.dataChanged.emit(self.index(leader, 0), self.index(leader, last))

    def _text(self, run: RunRecord, column: str) -> str:
        match column:
            case "Shown":
                return ""
            case "State" if is_archived(run):
                return tr("In the trash") if run.reason.startswith(TRASHED) else tr("Archived")
            case "State":
                place = self.places.get(run.run_id, 0) if run.state is RunState.QUEUED else 0
                return f"{tr(WORDS[run.state])} {place}" if place else tr(WORDS[run.state])
            case "Name":
                return self.label(run.run_id)
            case "Task":
                return self._title(run.task)
            case "Algorithm":
                return run.algo.upper()
            case "Steps":
                return count_text(run.env_steps)
            case "Best success":
                return _share_text(run.best_success_rate)
            case "Time":
                return clock_text(seconds) if (seconds := _seconds(run)) else ""
            case "Started":
                return ago(run.created_at)
            case "Device":
                return run.device.replace("cpu", "CPU")
            case name if name in ABOUT_SHOWN:
                return self.shown.text(run.run_id, name) if self.shown else ""
            case name:
                return self._further.configs.read(run.run_id).get(name, "") if self._further else ""

    def sort_key(self, row: int, column_number: int) -> Any:
        """Return the value by which a row is sorted in a column."""
        run = self._runs[row]
        match self.columns[column_number]:
            case name if name not in COLUMNS and self._further:
                return by_value(self._further.configs.peek(run.run_id, name))
            case "Started":
                return run.created_at
            case "Steps":
                return run.env_steps
            case "Best success":
                return run.best_success_rate
            case "Time":
                return _seconds(run)
            case name if name == CROSSHAIR:
                value = self.shown.value(run.run_id) if self.shown else None
                return -math.inf if value is None else value
            case column:
                return self._text(run, column)

    def words(self, row: int) -> str:
        """Return the text of a row that a filter searches, in lower case: state, names, task, note, tags."""
        found = self._words[row]
        if not found:
            run = self._runs[row]
            parts = (
                run.state,
                run.run_id,
                run.name,
                run.task,
                self._title(run.task),
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
        """Add a run, or update the row of a run with the same id."""
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
        """Append many new runs in one step."""
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
        """Repaint a run's row after its note or its place in the queue changed."""
        row = self._rows.get(run_id)
        if row is not None:
            self._words[row] = ""
            self.dataChanged.emit(self.index(row, 0), self.index(row, len(self.columns) - 1))

    def label(self, run_id: str) -> str:
        """Return a run's name: the user's, else the one made of its id."""
        row = self._rows.get(run_id)
        return run_name(run_id) if row is None else self._runs[row].name

    def field(self, run_id: str, name: str) -> str:
        """Return a field of a run's configuration, if that was read, by its name or the last part of the name."""
        return self._further.configs.find(run_id, name) if self._further else ""

    def run(self, row: int) -> RunRecord:
        return self._runs[row]

    def row_of(self, run_id: str) -> int:
        return self._rows.get(run_id, -1)


def _share_text(share: float) -> str:
    return value_text(share, is_percent=True) if share else ""


def _seconds(run: RunRecord) -> float:
    """Return the seconds of a run's training; of an old record, those from its creation to its end."""
    return run.wall_time_s or (max(0.0, run.finished_at - run.created_at) if run.env_steps else 0.0)


def _rates(run: RunRecord) -> str:
    """Return the best success rates of a run's validations as text; empty while they are zero."""
    if not (run.best_success_rate or run.best_leaving_rate):
        return ""
    return tr(
        "Best success on held-out starts: greedy {greedy:.0%}, loops left by chance {leaving:.0%}",
        greedy=run.best_success_rate,
        leaving=run.best_leaving_rate,
    )


def _alignment(column: str) -> int:
    side = Qt.AlignmentFlag.AlignRight if column in NUMERIC else Qt.AlignmentFlag.AlignLeft
    return int(side | Qt.AlignmentFlag.AlignVCenter)
