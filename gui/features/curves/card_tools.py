"""Buttons of one plot that are there while the pointer or the keyboard focus is: fit, maximise, export, more."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QWidget

from gui.kit.labels import icon_button
from gui.kit.words import tr

BUTTON = QSize(24, 20)
NARROW = 300
"""Width of a card below which the header has the menu alone."""


class Acts(NamedTuple):
    """Functions that the buttons of a plot call; a place is on the screen."""

    fit: Callable[[], object]
    maximise: Callable[[], object]
    export: Callable[[QPoint], object]
    more: Callable[[QPoint], object]


class CardTools:
    """Buttons in the header of a card; none of them takes the focus, since the card has a key for each."""

    def __init__(self, card: QWidget, head: QHBoxLayout, acts: Acts) -> None:
        self._card = card
        made = [
            ("fit", tr("Fit both axes (Home)"), acts.fit),
            ("maximise", tr("Maximise or restore the plot (F)"), acts.maximise),
            ("export", tr("Export the plot"), lambda: acts.export(self._below(2))),
            ("more", tr("More actions"), lambda: acts.more(self._below(3))),
        ]
        self.head = [icon_button(name, words, clicked=act) for name, words, act in made]
        for one in self.head:
            one.setFixedSize(BUTTON)
            one.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            head.addWidget(one)

    def _below(self, index: int) -> QPoint:
        button = self.head[index]
        return button.mapToGlobal(QPoint(0, button.height()))

    def set_shown(self, is_shown: bool) -> None:
        is_wide = self._card.width() >= NARROW
        for one in self.head:
            one.setVisible(is_shown and (is_wide or one is self.head[-1]))
