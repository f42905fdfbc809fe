"""A row of joined buttons of which exactly one is down."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QPushButton, QSizePolicy, QWidget


class Segmented(QWidget):
    """`items` are (value, text, objectName)."""

    picked = Signal(str)

    def __init__(self, name: str, items: Sequence[tuple[str, str, str]], accessible: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(accessible)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        self._group = QButtonGroup(self)
        self._buttons: dict[str, QPushButton] = {}
        for index, (value, text, object_name) in enumerate(items):
            made = QPushButton(text)
            made.setObjectName(object_name)
            made.setAccessibleName(f"{accessible}: {text}")
            made.setCheckable(True)
            made.setAutoDefault(False)
            made.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            place = "first" if index == 0 else "last" if index == len(items) - 1 else "middle"
            made.setProperty("segment", place)
            made.clicked.connect(lambda _=False, value=value: self.picked.emit(value))
            self._group.addButton(made)
            self._buttons[value] = made
            row.addWidget(made)

    def set_value(self, value: str) -> None:
        """Show `value` as the chosen one; emits nothing."""
        self._buttons[value].setChecked(True)

    def button(self, value: str) -> QPushButton:
        return self._buttons[value]
