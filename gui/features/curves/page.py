"""Pages of plots: redrawing in turn with one shared crosshair; sections, keyboard, context menu, controls."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QObject, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QMenu,
    QScrollArea,
    QSizePolicy,
    QSlider,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gui.features.curves.card import PlotCard
from gui.features.curves.plots import PlotChoices, PlotSpec
from gui.kit import theme
from gui.kit.actions import ActionRegistry, action_button
from gui.kit.icons import icon
from gui.kit.labels import label, rule
from gui.kit.painting import tell_once
from gui.kit.words import tr
from gui.state.metric_series import X_AXES
from gui.state.telemetry import TelemetryModel

PLOT_HZ = 4
"""Most redraws per second of each visible plot; each timer tick redraws one plot."""
BUDGET_S = 0.012
"""Most seconds of drawing in one timer tick; a plot of many runs needs several ticks."""
IDLE_MS, BUSY_MS = 250, 15
PLOT_MENU = (
    "plotMaximise",
    "plotPin",
    "plotLog",
    "plotHide",
    "",
    "plotPng",
    "plotSvg",
    "plotCsv",
    "",
    "followCurves",
    "resetPlots",
)
CARD_HEIGHT = 156
"""Height of a small plot in pixels."""
SMOOTHING_COMMANDS = ("smoothDecaying", "smoothRunning", "smoothGaussian")
NARROW_ROW = 320
"""Width in pixels of a row of controls below which the slider's label is hidden."""


class PlotBoard(QObject):
    """Redraws the plot cards of one view: a timer draws one visible outdated card at a time."""

    def __init__(
        self, model: TelemetryModel, choices: PlotChoices, parent: QObject, wanted: Callable[[], list[PlotCard]]
    ) -> None:
        """Start the timer; `wanted` returns the cards of the page that is visible now."""
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
        """Return a new card that the timer redraws.

        `key` is its key in `cards`, the metric by default; a second plot of the same metric needs another key.
        """
        card = PlotCard(spec, self._model)
        card.log_y = self._choices.is_log(spec.metric)
        card.zoomed.connect(lambda low, high: self._model.set_x_range((low, high)))
        card.hovered.connect(lambda x: self._on_hover(card, x))
        self.cards[spec.metric if key is None else key] = card
        return card

    def _seen(self) -> list[PlotCard]:
        return [card for card in self._wanted() if not card.visibleRegion().isEmpty()]

    def tick(self) -> None:
        """Redraw the next visible plot whose data changed, within BUDGET_S seconds."""
        if self._theme is not theme.current():  # in this turn the whole window has to be repainted
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
                except Exception as error:  # else no other plot would get its turn again
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


class PlotKeys(QObject):
    """Keyboard focus and selection among plots: commands act on the focused or clicked plot."""

    def __init__(self, choices: PlotChoices, scroll: QScrollArea, cards: Callable[[], list[PlotCard]]) -> None:
        super().__init__(scroll)
        self._choices, self._scroll, self._cards = choices, scroll, cards
        self._known: set[PlotCard] = set()

    def settle(self) -> None:
        """Let the Tab key stop at only one of the plots: the selected one, else the first."""
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
        """Move the focus to the next or previous plot (`across`), or to the nearest above or below (`down`)."""
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


def show_plot_menu(parent: QWidget, actions: ActionRegistry, choices: PlotChoices, metric: str, place: QPoint) -> None:
    choices.speak_of(metric)
    menu = QMenu(parent)
    menu.setToolTipsVisible(True)
    for name in PLOT_MENU:
        if name:
            menu.addAction(actions[name])
        else:
            menu.addSeparator()
    menu.exec(place)


class CurvePage(QScrollArea):
    """Scrollable page of sections of plots; the widget `foot` is shown below them."""

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
        """Remove a card from the page without deleting it, because another page is going to show it."""
        self.cards.remove(card)
        self._column.removeWidget(card)

    def is_empty(self) -> bool:
        """Return whether all plots of the page are hidden."""
        return all(card.isHidden() for card in self.cards)


class PlotSection(QWidget):
    toggled = Signal()
    """The user clicked the heading to fold or unfold the section."""

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
        """Show in the heading whether the section is folded and the number of its plots; hide an empty section."""
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
            card.setFixedHeight(CARD_HEIGHT)
            self._grid.addWidget(card, place // columns, place % columns)
            card.show()
        for place in range(columns):
            self._grid.setColumnStretch(place, 1)


class CurveControls(QWidget):
    """Row of controls for axis and smoothing; all rows show the state of the same model."""

    def __init__(self, model: TelemetryModel, actions: ActionRegistry, prefix: str = "") -> None:
        """Build the row; `prefix` makes the objectNames of its widgets unique."""
        super().__init__()
        self._model = model
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        self.axis = QComboBox()
        self.axis.setObjectName(f"{prefix}xAxisBox")
        self.axis.setAccessibleName(tr("Horizontal axis"))
        self.axis.setMinimumContentsLength(7)
        for name, text in X_AXES.items():
            self.axis.addItem(tr("by {what}", what=tr(text)), name)
        self.axis.activated.connect(lambda: model.set_x_axis(str(self.axis.currentData())))
        self.smoothing = QSlider(Qt.Orientation.Horizontal)
        self.smoothing.setObjectName(f"{prefix}smoothingSlider")
        self.smoothing.setAccessibleName(tr("Smoothing"))
        self.smoothing.setToolTip(tr("Smoothing; a right click chooses the kind"))
        self.smoothing.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.smoothing.addActions([actions[name] for name in SMOOTHING_COMMANDS])
        self.smoothing.setRange(0, 99)
        self.smoothing.setFixedWidth(64)
        self.smoothing.valueChanged.connect(lambda value: model.set_smoothing(value / 100))
        self.follow = action_button(actions["followCurves"], f"{prefix}followButton")
        row.addWidget(self.axis)
        row.addStretch(1)
        self._words = label(tr("Smooth"), "muted")
        self._words.setMinimumWidth(1)  # its text must not keep a dock from becoming narrow
        row.addWidget(self._words)
        row.addWidget(self.smoothing)
        row.addWidget(self.follow)
        model.view_changed.connect(self._show)
        self._show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hide the slider's label when the row is narrow; the slider's tooltip has the same text."""
        super().resizeEvent(event)
        self._words.setVisible(self.width() >= NARROW_ROW)

    def _show(self) -> None:
        self.axis.setCurrentIndex(self.axis.findData(self._model.x_axis))
        self.smoothing.blockSignals(True)
        self.smoothing.setValue(round(self._model.smoothing * 100))
        self.smoothing.blockSignals(False)
