"""A page of plots below each other; it scrolls when they need more room than there is."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from gui.widgets.plot_card import PlotCard


class CurvePage(QScrollArea):
    """`foot` is shown below all plots."""

    def __init__(self, foot: QWidget | None = None) -> None:
        super().__init__()
        self.cards: list[PlotCard] = []
        body = QWidget()
        body.setObjectName("scrollBody")
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 4, 0, 4)
        column.setSpacing(0)
        self._column = QVBoxLayout()
        self._column.setSpacing(0)
        column.addLayout(self._column, 1)
        if foot is not None:
            column.addWidget(foot)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidget(body)

    def add(self, card: PlotCard) -> None:
        self.cards.append(card)
        self._column.addWidget(card, 1)

    def remove(self, card: PlotCard) -> None:
        """Give a card up: to another page."""
        self.cards.remove(card)
        self._column.removeWidget(card)

    def is_empty(self) -> bool:
        """Whether every plot is hidden."""
        return all(card.isHidden() for card in self.cards)
