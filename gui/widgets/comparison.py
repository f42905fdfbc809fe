"""What several runs were told differently, side by side."""

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
from gui.widgets.labels import button, label
from gui.widgets.parallel import ParallelView
from gui.words import tr


class Comparison(QDialog):
    def __init__(
        self, parent: QWidget, runs: list[str], rows: list[tuple[str, list[str]]],
        parallel: tuple[list[str], list[Axis]],
    ) -> None:  # fmt: skip
        """`rows` are (field, value by run), the runs in the order of their names.

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
        told = (
            tr("{count} fields differ between {count2} runs.", count=len(rows), count2=len(runs))
            if rows
            else same
        )
        column.addWidget(label(told, "muted"))
        self.table = QTableWidget(len(rows), len(runs))
        self.table.setAccessibleName(tr("Fields that differ"))
        self.table.setHorizontalHeaderLabels(runs)
        self.table.setVerticalHeaderLabels([name for name, _ in rows])
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.setTabKeyNavigation(False)
        for row, (_, values) in enumerate(rows):
            for place, value in enumerate(values):
                item = QTableWidgetItem(value)
                item.setToolTip(value)
                self.table.setItem(row, place, item)
        self.table.resizeColumnsToContents()
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setAccessibleName(tr("Ways to compare"))
        self.tabs.addTab(self.table, tr("Fields"))
        self.tabs.addTab(ParallelView(*parallel), tr("Parallel"))
        self.tabs.setVisible(bool(rows))
        column.addWidget(self.tabs, 1)
        column.addWidget(button(tr("Close"), clicked=self.accept), 0, Qt.AlignmentFlag.AlignRight)
        self.resize(min(900, 420 + 110 * len(runs)), min(560, 380 + 12 * len(rows)))
