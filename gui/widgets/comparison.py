"""What several runs were told differently and what came of it, side by side."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QTableWidget,
    QTableWidgetItem,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from gui.models.parallel import Axis
from gui.models.run_words import shortened
from gui.widgets.labels import button, label
from gui.widgets.parallel import ParallelView
from gui.words import tr

LEAST, WIDEST, LETTERS = 84, 168, 20
"""Pixels of a run's column, whatever its name, and letters of that."""


class Comparison(QDialog):
    def __init__(
        self,
        parent: QWidget,
        runs: list[str],
        rows: list[tuple[str, list[str]]],
        outcomes: list[tuple[str, list[str]]],
        parallel: tuple[list[str], list[Axis]],
    ) -> None:
        """`rows` and `outcomes` are (field, value by run), the runs in the order of their names.

        `parallel` are the names and axes of all runs on show, more than a table has room for.
        """
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("comparison")
        self.setWindowTitle(tr("Compare the configurations"))
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 16)
        column.setSpacing(12)
        same = tr("{count} runs were configured alike.", count=len(runs))
        told = tr("{count} fields differ between {count2} runs.", count=len(rows), count2=len(runs)) if rows else same
        column.addWidget(label(told, "muted"))
        self.table = _side_by_side(tr("Fields that differ"), runs, rows)
        self.outcomes = _side_by_side(tr("What came of it"), runs, outcomes)
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setAccessibleName(tr("Ways to compare"))
        if rows:
            self.tabs.addTab(self.table, tr("Fields"))
        self.tabs.addTab(self.outcomes, tr("Outcome"))
        if rows:
            self.tabs.addTab(ParallelView(*parallel), tr("Parallel"))
        column.addWidget(self.tabs, 1)
        column.addWidget(button(tr("Close"), clicked=self.accept), 0, Qt.AlignmentFlag.AlignRight)
        self.resize(min(900, 420 + 110 * len(runs)), min(560, 380 + 12 * len(rows)))


def _side_by_side(words: str, runs: list[str], rows: list[tuple[str, list[str]]]) -> QTableWidget:
    """A column a run, a row a field; long names end in an ellipsis and have a tooltip."""
    table = QTableWidget(len(rows), len(runs))
    table.setAccessibleName(words)
    table.setCornerButtonEnabled(False)
    table.setVerticalHeaderLabels([name for name, _ in rows])
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setTabKeyNavigation(False)
    for row, (_, values) in enumerate(rows):
        for place, value in enumerate(values):
            item = QTableWidgetItem(value)
            item.setToolTip(value)
            table.setItem(row, place, item)
    for place, name in enumerate(runs):
        head = QTableWidgetItem(shortened(name, LETTERS))
        head.setToolTip(name)
        table.setHorizontalHeaderItem(place, head)
    table.resizeColumnsToContents()
    for place in range(len(runs)):
        table.setColumnWidth(place, min(max(table.columnWidth(place), LEAST), WIDEST))
    return table
