"""Buttons of one plot that are there while the pointer or the keyboard focus is: fit, maximise, export, more, axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from gui.kit.labels import icon_button
from gui.kit.words import tr

BUTTON, LETTERS = QSize(24, 20), {"A": QSize(16, 16), "log": QSize(26, 16)}
"""Sizes of a button in the header, and of those under an axis by their letters."""
NARROW = 300
"""Width of a card below which the header has the menu alone."""


class Acts(NamedTuple):
    """Functions that the buttons of a plot call; an axis is 0 for x and 1 for y, a place is on the screen."""

    fit: Callable[[], object]
    maximise: Callable[[], object]
    export: Callable[[QPoint], object]
    more: Callable[[QPoint], object]
    toggle_auto: Callable[[int], object]
    toggle_log: Callable[[int], object]


class Axes(NamedTuple):
    """State of a plot's axes, (x, y) each: fitted to the data, logarithmic, able to be so; whether x has labels.

    `right` is the pixel at which the buttons of x begin.
    """

    is_auto: tuple[bool, bool]
    is_log: tuple[bool, bool]
    can_log: tuple[bool, bool]
    has_labels: bool
    right: int


class CardTools:
    """Buttons over a card; none of them takes the focus, since the card has a key for each."""

    def __init__(self, card: QWidget, head: QHBoxLayout, acts: Acts, axes: Callable[[], Axes]) -> None:
        self._card, self._axes = card, axes
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
        self.auto = (
            self._letters("A", tr("Fit x to all data (Shift+A)"), lambda: acts.toggle_auto(0)),
            self._letters("A", tr("Fit y to the data shown (A)"), lambda: acts.toggle_auto(1)),
        )
        self.log = (
            self._letters("log", tr("Logarithmic x axis (Shift+L)"), lambda: acts.toggle_log(0)),
            self._letters("log", tr("Logarithmic y axis (L)"), lambda: acts.toggle_log(1)),
        )

    def _letters(self, letters: str, words: str, act: Callable[[], object]) -> QToolButton:
        made = QToolButton(self._card)
        made.setText(letters)
        made.setAccessibleName(words)
        made.setToolTip(words)
        made.setCheckable(True)
        made.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        made.setStyleSheet("QToolButton { padding: 0; min-height: 0; font-size: 10px; border-radius: 4px; }")
        made.setFixedSize(LETTERS[letters])
        made.clicked.connect(lambda: (act(), self.refresh()))
        return made

    def _below(self, index: int) -> QPoint:
        button = self.head[index]
        return button.mapToGlobal(QPoint(0, button.height()))

    def set_shown(self, is_shown: bool) -> None:
        is_wide = self._card.width() >= NARROW
        for one in self.head:
            one.setVisible(is_shown and (is_wide or one is self.head[-1]))
        for axis in (0, 1):
            for one in (self.auto[axis], self.log[axis]):
                one.setVisible(is_shown and (axis == 1 or self._axes().has_labels))
        self.refresh()

    def refresh(self) -> None:
        """Show the state of the axes, and put the buttons of y left under the axis, those of x right of it."""
        axes = self._axes()
        bottom = self._card.height() - LETTERS["A"].height() - (7 if axes.has_labels else 3)
        for axis, left in ((0, min(axes.right, self._card.width() - 46)), (1, 1)):
            for one, x in ((self.auto[axis], left), (self.log[axis], left + 17)):
                one.move(x, bottom)
                one.raise_()
            self.auto[axis].setChecked(axes.is_auto[axis])
            self.log[axis].setChecked(axes.is_log[axis])
            self.log[axis].setEnabled(axes.can_log[axis])
