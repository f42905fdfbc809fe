"""What several runs were told differently, side by side."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from gui.widgets.labels import button, label


class Comparison(QDialog):
    def __init__(self, parent: QWidget, runs: list[str], rows: list[tuple[str, list[str]]]) -> None:
        """`rows` are (field, value by run), the runs in the order of their names."""
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("comparison")
        self.setWindowTitle("Compare the configurations")
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 16)
        column.setSpacing(12)
        same = f"{len(runs)} runs were configured alike."
        told = f"{len(rows)} fields differ between {len(runs)} runs." if rows else same
        column.addWidget(label(told, "muted"))
        self.table = QTableWidget(len(rows), len(runs))
        self.table.setAccessibleName("Fields that differ")
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
        self.table.setVisible(bool(rows))
        column.addWidget(self.table, 1)
        column.addWidget(button("Close", clicked=self.accept), 0, Qt.AlignmentFlag.AlignRight)
        self.resize(min(900, 260 + 110 * len(runs)), min(520, 150 + 26 * len(rows)))
