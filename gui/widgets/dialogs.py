"""The few questions that must be answered before going on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QGridLayout,
    QMessageBox,
    QVBoxLayout,
    QWidget,
)

from gui.widgets.labels import button, label


def ask_about_running(parent: QWidget, count: int, stop_and_close: Callable[[], None]) -> None:
    """Ask whether to stop what runs and close; returns at once, the window lives on behind it."""
    box = QMessageBox(parent)
    box.setObjectName("closeQuestion")
    box.setWindowTitle("DMG Lab")
    what = "A training is running" if count == 1 else f"{count} trainings are running"
    box.setText(f"{what}. Closing stops it after a checkpoint.")
    stop = box.addButton("Stop and close", QMessageBox.ButtonRole.AcceptRole)
    stop.setObjectName("stopAndCloseButton")
    keep = box.addButton("Keep running", QMessageBox.ButtonRole.RejectRole)
    keep.setObjectName("keepRunningButton")
    box.setDefaultButton(keep)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    stop.clicked.connect(stop_and_close)
    box.open()


def ask_folder(parent: QWidget, title: str, then: Callable[[Path], object]) -> None:
    """Ask for a folder; `then` gets it unless the person cancels."""
    folder = QFileDialog.getExistingDirectory(parent, title)
    if folder:
        then(Path(folder))


def ask_new_file(parent: QWidget, title: str, name: str, then: Callable[[Path], object]) -> None:
    """Ask where to write a file; `then` gets its path unless the person cancels."""
    path, _ = QFileDialog.getSaveFileName(parent, title, name)
    if path:
        then(Path(path))


class CheatSheet(QDialog):
    """Every shortcut there is."""

    def __init__(self, parent: QWidget, rows: list[tuple[str, str]]) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("cheatSheet")
        self.setWindowTitle("Keyboard")
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 16, 24, 16)
        column.setSpacing(16)
        grid = QGridLayout()
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(4)
        half = (len(rows) + 1) // 2
        for index, (keys, text) in enumerate(rows):
            at = index % half, index // half * 2
            grid.addWidget(label(keys), *at, Qt.AlignmentFlag.AlignRight)
            grid.addWidget(label(text, "muted"), at[0], at[1] + 1)
        column.addLayout(grid)
        close = button("Close", clicked=self.accept)
        column.addWidget(close, 0, Qt.AlignmentFlag.AlignRight)
