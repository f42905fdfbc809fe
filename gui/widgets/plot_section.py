"""The plots of one group under a heading that opens and closes, in as many columns as fit."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from gui.widgets.icons import icon
from gui.widgets.labels import label, rule
from gui.widgets.plot_card import PlotCard
from gui.words import tr

HEIGHT = 156
"""Pixels of a small multiple."""


class PlotSection(QWidget):
    toggled = Signal()
    """A person wants it closed, or open again."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.cards: list[PlotCard] = []
        self._columns = 0
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 4, 0, 4)
        column.setSpacing(2)
        head = QHBoxLayout()
        head.setContentsMargins(4, 0, 12, 0)
        self.toggle = QToolButton()
        self.toggle.setText(title)
        self.toggle.setAccessibleName(title)
        self.toggle.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.toggle.setProperty("flat", True)
        self.toggle.setProperty("role", "title")
        self.toggle.setSizePolicy(QSizePolicy.Policy.Minimum, QSizePolicy.Policy.Fixed)
        self.toggle.clicked.connect(lambda: self.toggled.emit())
        self._note = label("", "muted")
        head.addWidget(self.toggle)
        head.addWidget(self._note)
        head.addWidget(rule(), 1)
        column.addLayout(head)
        self._grid = QGridLayout()
        self._grid.setSpacing(0)
        column.addLayout(self._grid)

    def show_count(self, count: int, *, is_folded: bool) -> None:
        """How many plots it has; without any it is not there."""
        self.toggle.setIcon(icon("right" if is_folded else "down", "muted"))
        self.toggle.setAccessibleDescription(tr("closed") if is_folded else tr("open"))
        self._note.setText(str(count) if is_folded else "")
        self.setVisible(bool(count))

    def place(self, cards: list[PlotCard], columns: int) -> None:
        if (cards, columns) == (self.cards, self._columns):
            return
        for card in self.cards:
            if card.parentWidget() is self:  # else another group has it by now
                self._grid.removeWidget(card)
                card.hide()
        for place in range(self._columns):
            self._grid.setColumnStretch(place, 0)
        self.cards, self._columns = cards, columns
        for place, card in enumerate(cards):
            card.setFixedHeight(HEIGHT)
            self._grid.addWidget(card, place // columns, place % columns)
            card.show()
        for place in range(columns):
            self._grid.setColumnStretch(place, 1)
