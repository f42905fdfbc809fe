"""Buttons of one plot that are there while the pointer or the keyboard focus is: fit, maximise, export, more, axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtWidgets import QToolButton

from gui.kit.labels import icon_button
from gui.kit.words import tr
from gui.state.metric_series import CLOCK

if TYPE_CHECKING:
    from gui.features.curves.card import PlotCard

BUTTON, LETTERS = QSize(24, 20), {"A": QSize(16, 16), "log": QSize(26, 16)}
"""Sizes of a button in the header, and of those under an axis by their letters."""
NARROW = 300
"""Width of a card below which the header has the menu alone."""


class CardTools:
    """Buttons over a card; none of them takes the focus, since the card has a key for each."""

    def __init__(self, card: PlotCard) -> None:
        self._card = card
        made = [
            ("fit", tr("Fit both axes (Home)"), card.fit),
            ("maximise", tr("Maximise the plot, and back (F)"), card.maximise_wanted.emit),
            ("export", tr("Export the plot"), lambda: card.export_wanted.emit(self._below(2))),
            ("more", tr("More of the plot"), lambda: card.menu_wanted.emit(self._below(3))),
        ]
        self.head = [icon_button(name, words, clicked=act) for name, words, act in made]
        for one in self.head:
            one.setFixedSize(BUTTON)
            one.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            card.head.addWidget(one)
        self.auto_y = self._letters("A", tr("Fit y to what is on show (A)"), lambda: card.toggle_auto(1))
        self.log_y = self._letters("log", tr("Logarithmic y axis (L)"), card.log_wanted.emit)
        self.auto_x = self._letters("A", tr("Fit x to all data (Shift+A)"), lambda: card.toggle_auto(0))
        self.log_x = self._letters(
            "log", tr("Logarithmic x axis (Shift+L)"), lambda: card.model.set_log_x(not card.model.log_x)
        )
        card.model.view_changed.connect(self._show)
        self.place()

    def _letters(self, letters: str, words: str, act) -> QToolButton:  # type: ignore[no-untyped-def]
        made = QToolButton(self._card)
        made.setText(letters)
        made.setAccessibleName(words)
        made.setToolTip(words)
        made.setCheckable(True)
        made.setProperty("axis", True)
        made.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        made.setStyleSheet("QToolButton { padding: 0; min-height: 0; font-size: 10px; border-radius: 4px; }")
        made.setFixedSize(LETTERS[letters])
        made.clicked.connect(lambda: (act(), self._show()))
        return made

    def _below(self, index: int) -> QPoint:
        button = self.head[index]
        return button.mapToGlobal(QPoint(0, button.height()))

    def set_shown(self, is_shown: bool) -> None:
        is_wide = self._card.width() >= NARROW
        for one in self.head:
            one.setVisible(is_shown and (is_wide or one is self.head[-1]))
        has_axis = self._card.has_axis
        for one in (self.auto_y, self.log_y, self.auto_x, self.log_x):
            one.setVisible(is_shown and (has_axis or one in (self.auto_y, self.log_y)))
        self.place()
        self._show()

    def _show(self) -> None:
        model, metric = self._card.model, self._card.spec.metric
        self.auto_y.setChecked(metric not in model.y_ranges)
        self.log_y.setChecked(self._card.log_y)
        self.auto_x.setChecked(model.x_range is None)
        self.log_x.setChecked(model.log_x)
        self.log_x.setEnabled(model.x_axis != CLOCK)

    def place(self) -> None:
        """Put the buttons of y left under the axis, those of x right of it."""
        card = self._card
        bottom = card.height() - LETTERS["A"].height() - 3
        canvas = card.canvas
        right = card.width() - 64 if canvas is None else int(canvas.view.sceneBoundingRect().right()) + 6
        right = min(right, card.width() - 52)
        for one, x in ((self.auto_y, 1), (self.log_y, 18), (self.auto_x, right), (self.log_x, right + 17)):
            one.move(x, bottom)
            one.raise_()
