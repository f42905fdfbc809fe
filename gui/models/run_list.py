"""The run table: one row a run, changed in place and never reset, and a filter over it."""

from __future__ import annotations

import time

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QSortFilterProxyModel, Qt

from gui.models.indices import NO_PARENT, Index
from gui.models.run_words import WORDS
from trainer_core.protocol.runs import RunRecord

COLUMNS = ("State", "Run", "Task", "Algo", "Device", "Steps", "Best", "Started")
NUMERIC = {"Steps", "Best"}
RUN_ROLE = Qt.ItemDataRole.UserRole
SORT_ROLE = Qt.ItemDataRole.UserRole + 1


def ago(when: float, now: float | None = None) -> str:
    """A few words for how long ago something was."""
    seconds = max(0.0, (now or time.time()) - when)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "just now"


def count_text(value: int) -> str:
    if value >= 1_000_000:
        return f"{value / 1e6:.1f}M"
    return f"{value / 1e3:.0f}k" if value >= 10_000 else str(value)


class RunList(QAbstractTableModel):
    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._runs: list[RunRecord] = []
        self._rows: dict[str, int] = {}
        self.pinned: list[str] = []

    def rowCount(self, parent: Index = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._runs)

    def columnCount(self, parent: Index = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return COLUMNS[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(COLUMNS[section])
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        run, column = self._runs[index.row()], COLUMNS[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(run, column)
        if role == RUN_ROLE:
            return run
        if role == SORT_ROLE:
            return self._sort_key(run, column)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{run.run_id}\n{run.reason}".strip()
        return None

    @staticmethod
    def _text(run: RunRecord, column: str) -> str:
        match column:
            case "State":
                return WORDS[run.state]
            case "Run":
                return run.name or run.run_id.rsplit("-", 1)[-1]
            case "Task":
                return run.task
            case "Algo":
                return run.algo
            case "Device":
                return run.device
            case "Steps":
                return count_text(run.env_steps)
            case "Best":
                return f"{run.best_success_rate:.2f}" if run.best_success_rate else ""
            case _:
                return ago(run.created_at)

    def _sort_key(self, run: RunRecord, column: str) -> object:
        keys = {"Steps": run.env_steps, "Best": run.best_success_rate, "Started": run.created_at}
        return keys.get(column, self._text(run, column))

    def put(self, run: RunRecord) -> None:
        """Add a run or change its row."""
        row = self._rows.get(run.run_id)
        if row is None:
            row = len(self._runs)
            self.beginInsertRows(QModelIndex(), row, row)
            self._runs.append(run)
            self._rows[run.run_id] = row
            self.endInsertRows()
        elif self._runs[row] != run:
            self._runs[row] = run
            self.dataChanged.emit(self.index(row, 0), self.index(row, len(COLUMNS) - 1))

    def put_all(self, runs: list[RunRecord]) -> None:
        """Add many new runs at once."""
        new = [run for run in runs if run.run_id not in self._rows]
        if new:
            first = len(self._runs)
            self.beginInsertRows(QModelIndex(), first, first + len(new) - 1)
            for run in new:
                self._rows[run.run_id] = len(self._runs)
                self._runs.append(run)
            self.endInsertRows()

    def run(self, row: int) -> RunRecord:
        return self._runs[row]

    def row_of(self, run_id: str) -> int:
        return self._rows.get(run_id, -1)


class RunFilter(QSortFilterProxyModel):
    """Rows whose run contains every word of the filter somewhere."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._words: list[str] = []
        self.setSortRole(SORT_ROLE)
        self.setDynamicSortFilter(True)

    def set_text(self, text: str) -> None:
        begin = getattr(self, "beginFilterChange", None)  # Qt 6.10 deprecates the older way
        if begin is not None:
            begin()
        self._words = text.lower().split()
        if begin is not None:
            self.endFilterChange(QSortFilterProxyModel.Direction.Rows)
        else:
            self.invalidateRowsFilter()

    def filterAcceptsRow(self, row: int, parent: Index) -> bool:
        if not self._words:
            return True
        run = self.sourceModel().run(row)  # type: ignore[attr-defined]
        text = f"{run.state} {run.run_id} {run.name} {run.task} {run.algo} {run.device}".lower()
        return all(word in text for word in self._words)


def _alignment(column: str) -> int:
    side = Qt.AlignmentFlag.AlignRight if column in NUMERIC else Qt.AlignmentFlag.AlignLeft
    return int(side | Qt.AlignmentFlag.AlignVCenter)
