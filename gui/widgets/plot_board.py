"""Plots that are drawn in turn and share a crosshair and a range."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

from gui import theme
from gui.models.plot_choices import PlotChoices
from gui.models.plot_specs import PlotSpec
from gui.models.run_telemetry import TelemetryModel
from gui.widgets.painting import tell_once
from gui.widgets.plot_card import PlotCard

PLOT_HZ = 4
"""How often each visible plot may be redrawn; one plot a tick, in turn."""
BUDGET_S = 0.012
"""Longest that a tick computes; a plot of many runs takes several."""
IDLE_MS, BUSY_MS = 250, 15


class PlotBoard(QObject):
    """Makes the cards of one view, and redraws those that can be seen and are stale."""

    def __init__(
        self, model: TelemetryModel, choices: PlotChoices, parent: QObject, wanted: Callable[[], list[PlotCard]]
    ) -> None:
        """`wanted` are the cards on the page in front."""
        super().__init__(parent)
        self._model, self._choices, self._wanted = model, choices, wanted
        self.cards: dict[str, PlotCard] = {}
        self._turn = 0
        self._theme = theme.current()
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.tick)
        self._timer.start(IDLE_MS)
        choices.changed.connect(self._on_choices)

    def make_card(self, spec: PlotSpec, key: str | None = None) -> PlotCard:
        """A card that is drawn in turn; `key` where a plot has a second card here."""
        card = PlotCard(spec, self._model)
        card.log_y = self._choices.is_log(spec.metric)
        card.zoomed.connect(lambda low, high: self._model.set_x_range((low, high)))
        card.hovered.connect(lambda x: self._on_hover(card, x))
        self.cards[spec.metric if key is None else key] = card
        return card

    def _seen(self) -> list[PlotCard]:
        return [card for card in self._wanted() if not card.visibleRegion().isEmpty()]

    def tick(self) -> None:
        """Redraw the next visible plot that is stale, as far as time allows."""
        if self._theme is not theme.current():  # a turn that has the whole window to paint
            self._theme = theme.current()
            self._timer.setInterval(BUSY_MS)
            return
        cards = self._seen()
        deadline = time.perf_counter() + BUDGET_S
        is_done = True
        for offset in range(len(cards)):
            card = cards[(self._turn + offset) % len(cards)]
            if card.is_stale():
                try:
                    is_done = card.redraw(deadline)
                except Exception as error:  # else no other plot would have its turn again
                    tell_once(card, error)
                    card.give_up()
                self._turn += offset + is_done
                break
        turn_ms = max(BUSY_MS, 1000 // (PLOT_HZ * max(1, len(cards))))
        self._timer.setInterval(turn_ms if is_done else BUSY_MS)

    def _on_hover(self, hovered: PlotCard, x: float | None) -> None:
        for card in self._seen():
            card.set_hover(x, tell=card is hovered)

    def _on_choices(self) -> None:
        for card in self.cards.values():
            card.log_y = self._choices.is_log(card.spec.metric)
