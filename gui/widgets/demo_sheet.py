"""Which task a recording is a demonstration of, and which part of it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QDialog, QFormLayout, QHBoxLayout, QVBoxLayout, QWidget

from gui.widgets.labels import button, label, spin_box
from gui.words import tr


class DemoSheet(QDialog):
    def __init__(self, parent: QWidget, tasks: list[str], frames: int, add: Callable[[str, int, int], object]) -> None:
        """`add` gets task, first and last frame, counted from 0."""
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("demoSheet")
        self.setWindowTitle(tr("Use as a demonstration"))
        self._add = add
        self.task = QComboBox()
        self.task.setObjectName("demoTask")
        self.task.setAccessibleName(tr("Task"))
        self.task.addItems(tasks)
        self.first = spin_box("demoFirst", tr("From frame"), 1, frames, 1)
        self.last = spin_box("demoLast", tr("To frame"), 1, frames, frames)
        form = QFormLayout()
        form.addRow(tr("Task"), self.task)
        form.addRow(tr("From frame"), self.first)
        form.addRow(tr("To frame"), self.last)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(button(tr("Cancel"), "demoCancel", clicked=self.reject))
        self.agree = button(tr("Keep it"), "demoAgree", primary=True, clicked=self._agree)
        self.agree.setEnabled(bool(tasks))
        row.addWidget(self.agree)
        column = QVBoxLayout(self)
        if not tasks:
            column.addWidget(
                label(
                    tr(
                        "There is no task of your own for this game. Make one first: save a start state "
                        "(F7) and capture a goal (F8) while you play."
                    ),
                    wrap=True,
                )
            )
        column.addLayout(form)
        column.addLayout(row)

    def _agree(self) -> None:
        first, last = self.first.value(), self.last.value()
        self._add(self.task.currentText(), first - 1, max(first, last) - 1)
        self.accept()
