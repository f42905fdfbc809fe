"""Plots by keyboard: Tab comes to one of a page's plots, the arrows go on from there."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QPoint, Qt
from PySide6.QtWidgets import QScrollArea

from gui.models.plot_choices import PlotChoices
from gui.widgets.plot_card import PlotCard


class PlotKeys(QObject):
    """The plot that has the keys, or was clicked, is the one that commands are about."""

    def __init__(self, choices: PlotChoices, scroll: QScrollArea, cards: Callable[[], list[PlotCard]]) -> None:
        super().__init__(scroll)
        self._choices, self._scroll, self._cards = choices, scroll, cards
        self._known: set[PlotCard] = set()

    def settle(self) -> None:
        """Dozens of plots are one stop of Tab: that of the chosen plot, else of the first."""
        cards = self._cards()
        chosen = [card for card in cards if card.spec.metric == self._choices.current]
        for card in cards:
            if card not in self._known:
                self._known.add(card)
                card.focused.connect(lambda card=card: self._on_focused(card))
                card.stepped.connect(lambda x, y, card=card: self._step(card, x, y))
            is_stop = card is (chosen or cards)[0]
            policy = Qt.FocusPolicy.StrongFocus if is_stop else Qt.FocusPolicy.ClickFocus
            card.setFocusPolicy(policy)

    def _on_focused(self, card: PlotCard) -> None:
        if card.spec.metric != self._choices.current:
            self._choices.speak_of(card.spec.metric)
        self.settle()

    def _step(self, card: PlotCard, across: int, down: int) -> None:
        """To the plot beside, in the order of the page, or to the nearest one above or below."""
        cards = self._cards()
        if across:
            place = cards.index(card) + across
            found = cards[place : place + 1] if place >= 0 else []
        else:
            here = _center(card, self._scroll)
            places = [(_center(other, self._scroll) - here, other) for other in cards]
            beyond = [(abs(at.y()), abs(at.x()), other) for at, other in places if at.y() * down > other.height() // 2]
            found = [min(beyond, key=lambda one: one[:2])[2]] if beyond else []
        for other in found:
            other.setFocus(Qt.FocusReason.TabFocusReason)
            self._scroll.ensureWidgetVisible(other)


def _center(card: PlotCard, scroll: QScrollArea) -> QPoint:
    page = scroll.widget()
    assert page is not None
    return card.mapTo(page, card.rect().center())
