"""Filter and order of the rows of the run table."""

from __future__ import annotations

import fnmatch
import operator
import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, Qt

from gui.features.runs.model import COLUMNS, RunList
from gui.features.runs.shown_runs import ABOUT_SHOWN
from gui.kit.text_search import NO_PARENT, Index, TextSearch
from gui.kit.words import tr
from trainer_core.wire.run_record import RunRecord, is_archived

_BOUND = re.compile(r"([A-Za-z_][\w.]*)(<=|>=|!=|=|<|>)(.+)")
_SAME = {"=": True, "!=": False}
_SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
OWN: dict[str, Callable[[RunRecord], float]] = {
    "best": lambda run: run.best_success_rate,
    "steps": lambda run: float(run.env_steps),
}
OWN_TEXTS: dict[str, Callable[[RunRecord], str]] = {
    "state": lambda run: run.state,
    "task": lambda run: run.task,
    "algo": lambda run: run.algo,
    "device": lambda run: run.device,
    "trainer": lambda run: run.runner,
    "run": lambda run: run.name,
    "id": lambda run: run.run_id,
}
"""Functions that return a run's property as text, by the name used in filters; other names are config fields."""
MOST_INSERTED = 64
"""Most new runs that are inserted into the order one by one; for more, all rows are sorted anew."""


@dataclass(frozen=True, slots=True)
class Bound:
    name: str
    sign: str
    value: float | str
    """A number for `<`, `>` and the like; for `=` and `!=` comma-separated texts, which may contain wildcards."""

    @property
    def asks_config(self) -> bool:
        return self.name not in OWN and (self.sign not in _SAME or self.name not in OWN_TEXTS)

    def holds(self, run: RunRecord, field: Callable[[str, str], str]) -> bool:
        """Return whether a run satisfies the comparison.

        `field(run_id, name)` returns a field of the run's configuration as text, "" if it is missing.
        """
        if isinstance(self.value, str):
            own = OWN_TEXTS.get(self.name) or OWN.get(self.name)
            text = str(own(run)) if own else field(run.run_id, self.name)
            return _is_one_of(text.lower(), self.value) == _SAME[self.sign]
        try:
            found = OWN[self.name](run) if self.name in OWN else float(field(run.run_id, self.name))
        except ValueError:  # the field is absent or no number
            return False
        return _SIGNS[self.sign](found, self.value)


def _is_one_of(text: str, wanted: str) -> bool:
    """Return whether `text`, or its part after the last slash, matches one of the comma-separated patterns."""
    ways = {text, text.rpartition("/")[2]}
    return any(fnmatch.fnmatchcase(way, one) or _same_number(way, one) for one in wanted.split(",") for way in ways)


def _same_number(a: str, b: str) -> bool:
    try:
        return float(a) == float(b)
    except ValueError:
        return False


def parse(words: list[str]) -> tuple[list[str], list[Bound]]:
    """Return (plain words, comparisons) of a filter's words; an incomplete comparison is a plain word."""
    plain: list[str] = []
    bounds: list[Bound] = []
    for word in words:
        found = _BOUND.fullmatch(word)
        try:
            if found is None:
                raise ValueError
            name, sign, value = found[1].lower(), found[2], found[3].lower()
            bounds.append(Bound(name, sign, value if sign in _SAME else float(value)))
        except ValueError:
            plain.append(word)
    return plain, bounds


class RunFilter(QAbstractTableModel):
    """Table model of those runs of a `RunList` that match the filter, sorted by a column."""

    def __init__(self, source: RunList, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._source = source
        self._search = TextSearch(())
        self.bounds: list[Bound] = []
        """Comparisons of the filter, all of which a run must satisfy."""
        self._column, self._falling = COLUMNS.index("Started"), True
        self._order: list[int] = []
        """Row numbers in the source model in ascending order; a descending order reads the list backwards."""
        source.rowsInserted.connect(self._on_inserted)
        source.dataChanged.connect(self._on_changed)
        source.modelReset.connect(self._rebuild)
        source.sweeps_changed.connect(self._rebuild)
        if source.shown is not None:
            source.shown.changed.connect(self._on_shown)
        self._rebuild()

    # -- what is asked of the filter --------------------------------------------------------

    def set_text(self, text: str) -> None:
        words, bounds = parse(text.split())
        search, before = TextSearch(words), self._search
        if (search, bounds) == (before, self.bounds):
            return
        self._search = search
        narrows = before and search.narrows(before)
        narrows = narrows and asks_archived(search) == asks_archived(before)
        if bounds or self.bounds or not narrows:
            self.bounds = bounds
            self._rebuild()
        else:  # the user typed on: the visible rows are in order already
            self.beginResetModel()
            self._order = self._matching(self._order)
            self.endResetModel()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._column, self._falling = column, order == Qt.SortOrder.DescendingOrder
        self._rebuild()

    def run(self, row: int) -> RunRecord:
        return self._source.run(self._source_row(row))

    def row_of(self, run_id: str) -> int:
        """Return the row of a run, -1 when the filter excludes it."""
        source = self._source.row_of(run_id)
        place = self._place(source) if source >= 0 else -1
        return self._mirrored(place) if place >= 0 else -1

    @property
    def is_filtered(self) -> bool:
        return bool(self._search or self.bounds)

    def run_ids(self) -> list[str]:
        """Return the ids of the runs in the table from top to bottom, including trials of folded sweeps."""
        behind, rows = self._source.sweeps.behind, range(len(self._order))
        if self.is_filtered:  # then nothing is folded
            return [self.run(row).run_id for row in rows]
        return [run_id for row in rows for run_id in behind(self._source_row(row))]

    # -- QAbstractTableModel ----------------------------------------------------------------

    def rowCount(self, parent: Index = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._order)

    def columnCount(self, parent: Index = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._source.columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        return self._source.headerData(section, orientation, role)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row = self._source_row(index.row())
        return self._source.value(row, index.column(), role, is_alone=self.is_filtered)

    # -- the order --------------------------------------------------------------------------

    def _key(self, row: int) -> tuple[object, int]:
        return self._source.sort_key(row, self._column), row

    def _mirrored(self, place: int) -> int:
        return len(self._order) - 1 - place if self._falling else place

    def _source_row(self, row: int) -> int:
        return self._order[self._mirrored(row)]

    def _place(self, source_row: int) -> int:
        place = bisect_left(self._order, self._key(source_row), key=self._key)
        found = place < len(self._order) and self._order[place] == source_row
        return place if found else -1

    def _accepts(self, source_row: int) -> bool:
        return bool(self._matching([source_row]))

    def _matching(self, rows: list[int]) -> list[int]:
        """Return those of the source model's rows that the table shows.

        Without a filter, all trials of a folded sweep but the first are left out. Archived runs are left out unless the
        filter has the word for archived runs.
        """
        if not asks_archived(self._search):
            run = self._source.run
            rows = [row for row in rows if not is_archived(run(row))]
        if self.bounds:
            run, field = self._source.run, self._source.field
            rows = [row for row in rows if all(bound.holds(run(row), field) for bound in self.bounds)]
        if not self.is_filtered:
            hidden = self._source.sweeps.folded_rows()
            return [row for row in rows if row not in hidden] if hidden else rows
        text, search = self._source.words, self._search
        for word in search.plain:  # most filters are no more than that, and rows are many
            rows = [row for row in rows if word in text(row)]
        return rows if search.is_plain else [row for row in rows if search.finds(text(row))]

    def _rebuild(self) -> None:
        self.beginResetModel()
        if self._column >= len(self._source.columns):  # it was removed
            self._column, self._falling = COLUMNS.index("Started"), True
        column = self._column
        self._order = self._matching(list(range(self._source.rowCount())))
        self._order.sort(key=lambda row: self._source.sort_key(row, column))  # equal keys stay in order
        self.endResetModel()

    def _on_inserted(self, parent: QModelIndex, first: int, last: int) -> None:
        if last - first >= MOST_INSERTED:
            self._rebuild()
            return
        for row in range(first, last + 1):
            if self._accepts(row):
                self._insert(row)

    def _insert(self, source_row: int) -> None:
        place = bisect_left(self._order, self._key(source_row), key=self._key)
        row = len(self._order) - place if self._falling else place
        self.beginInsertRows(QModelIndex(), row, row)
        self._order.insert(place, source_row)
        self.endInsertRows()

    def _remove(self, place: int) -> None:
        row = self._mirrored(place)
        self.beginRemoveRows(QModelIndex(), row, row)
        del self._order[place]
        self.endRemoveRows()

    def _on_changed(self, top: QModelIndex, bottom: QModelIndex, roles: object = None) -> None:
        for row in range(top.row(), bottom.row() + 1):
            self._renew(row)

    def _on_shown(self) -> None:
        """Repaint the columns about the runs on show, and sort by them without a reset: the crosshair moves often."""
        if not self._order:
            return
        columns = [self._source.columns.index(name) for name in ABOUT_SHOWN]
        if self._column in columns:
            self.layoutAboutToBeChanged.emit()
            kept = self.persistentIndexList()
            rows = [self._source_row(index.row()) for index in kept]
            self._order.sort(key=self._key)
            places = {row: self._mirrored(place) for place, row in enumerate(self._order)}
            moved = [self.index(places[row], index.column()) for row, index in zip(rows, kept, strict=True)]
            self.changePersistentIndexList(kept, moved)
            self.layoutChanged.emit()
        for column in columns:
            self.dataChanged.emit(self.index(0, column), self.index(self.rowCount() - 1, column))
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, column, column)

    def _renew(self, source_row: int) -> None:
        """Update the position of a changed run: insert, remove, move or repaint its row."""
        place = self._order.index(source_row) if source_row in self._order else -1
        if not self._accepts(source_row):
            if place >= 0:
                self._remove(place)
            return
        if place < 0:
            self._insert(source_row)
            return
        key = self._key(source_row)
        low = self._key(self._order[place - 1]) if place else None
        high = self._key(self._order[place + 1]) if place + 1 < len(self._order) else None
        if (low is None or low < key) and (high is None or key < high):
            row = self._mirrored(place)
            self.dataChanged.emit(self.index(row, 0), self.index(row, self.columnCount() - 1))
        else:
            self._move(place, source_row)

    def _move(self, place: int, source_row: int) -> None:
        row = self._mirrored(place)
        rest = self._order[:place] + self._order[place + 1 :]
        goal = bisect_left(rest, self._key(source_row), key=self._key)
        end = len(rest) - goal if self._falling else goal
        self.beginMoveRows(QModelIndex(), row, row, QModelIndex(), end + (end > row))
        rest.insert(goal, source_row)
        self._order = rest
        self.endMoveRows()


def asks_archived(search: TextSearch) -> bool:
    """Return whether the filter contains the whole word for archived runs."""
    return tr("Archived").lower() in search.plain
