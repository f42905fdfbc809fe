"""Pages of plots: redrawing in turn, one crosshair and one highlighted run for all; sections, menus, controls."""

from __future__ import annotations

import functools
import gc
import time
from collections.abc import Callable

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QGridLayout,
    QMenu,
    QScrollArea,
    QSizePolicy,
    QSlider,
    QTableView,
    QToolButton,
    QWidget,
)

from gui.features.curves.card import PlotCard, load_plots
from gui.features.curves.plots import PlotChoices, PlotSpec
from gui.features.runs.model import RUN_ROLE
from gui.kit import theme
from gui.kit.actions import ActionRegistry, action_button
from gui.kit.boxes import hbox, named, put, vbox
from gui.kit.icons import icon
from gui.kit.labels import label, rule
from gui.kit.painting import tell_once
from gui.kit.words import number, tr
from gui.state.metric_series import X_AXES
from gui.state.telemetry import TelemetryModel

LEAST_S = 0.25
"""Least seconds between two redraws of a plot, unless an axis was moved."""
BUDGET_S = 0.008
"""Most seconds of drawing in one timer tick; a plot of many runs needs several ticks."""
HIDDEN_MS, IDLE_MS, REST_MS, RESTORE_MS = 250, 50, 40, 150
"""Milliseconds between two turns without a plot in sight, and with none to draw; after the last move of an axis until
plots are drawn anew; after the pointer left a curve until the others are restored."""
PLOT_EXPORTS = ("plotPng", "plotSvg", "plotCsv", "plotCopy")
PLOT_MENU = ("plotFit", "plotMaximise", "plotPin", "plotHide", "", "plotLog", "plotLogX", "trimOutliers", "",
             *PLOT_EXPORTS, "", "followCurves", "resetPlots")  # fmt: skip
CARD_HEIGHT = 240
"""Height of a small plot in pixels."""
SMOOTHING_COMMANDS = ("smoothDecaying", "smoothRunning", "smoothGaussian")
NARROW_ROW = 380
"""Width in pixels of a row of controls below which its words are hidden."""


@functools.lru_cache(maxsize=1)
def load_once() -> None:
    """Import PyQtGraph, which takes 0.15 s; not in a thread, where PySide6 crashes."""
    load_plots()
    gc.freeze()  # as at the start of the app: scanning PyQtGraph again and again would stall the window


class PlotBoard(QObject):
    """Redraws the plot cards of one view: a timer draws one visible outdated card at a time."""

    def __init__(
        self,
        model: TelemetryModel,
        choices: PlotChoices,
        actions: ActionRegistry,
        parent: QWidget,
        wanted: Callable[[], list[PlotCard]],
    ) -> None:
        """Start the timer; `wanted` returns the cards of the page that is visible now."""
        super().__init__(parent)
        self._model, self._choices, self._wanted = model, choices, wanted
        self._actions, self._page = actions, parent
        self.cards: dict[str, PlotCard] = {}
        self._turn = 0
        self._is_moved = False
        """True from a move of an axis until the first plot is drawn anew."""
        self._theme = theme.current()
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.tick)
        self._timer.start(IDLE_MS)
        self._unpointed = QTimer(self, singleShot=True, interval=RESTORE_MS)
        self._unpointed.timeout.connect(lambda: model.set_highlight(""))
        choices.changed.connect(self._on_choices)
        model.moved.connect(self._on_moved)
        model.crosshair_moved.connect(lambda x: [card.show_crosshair() for card in self._seen()])
        model.highlighted.connect(self._on_highlighted)

    def make_card(self, spec: PlotSpec, key: str | None = None, *, has_names: bool = False) -> PlotCard:
        """Return a new card that the timer redraws.

        `key` is its key in `cards`, the metric by default; a second plot of the same metric needs another key.
        """
        card, metric, choices = PlotCard(spec, self._model, has_names=has_names), spec.metric, self._choices
        card.show_choices(choices.line(metric), is_log=choices.is_log(metric))
        card.pointed.connect(self._on_pointed)
        card.focused.connect(lambda: choices.speak_of(metric))
        card.line_chosen.connect(lambda line: choices.choose_line(metric, line))
        card.log_wanted.connect(lambda: choices.toggle_log(metric))
        card.menu_wanted.connect(lambda place: self._show_menu(metric, place, PLOT_MENU))
        card.export_wanted.connect(lambda place: self._show_menu(metric, place, PLOT_EXPORTS))
        self.cards[metric if key is None else key] = card
        return card

    def _show_menu(self, metric: str, place: QPoint, commands: tuple[str, ...]) -> None:
        self._choices.speak_of(metric)
        menu = QMenu(self._page)
        menu.setToolTipsVisible(True)
        for name in commands:
            if name:
                menu.addAction(self._actions[name])
            else:
                menu.addSeparator()
        menu.exec(place)

    def _seen(self) -> list[PlotCard]:
        return [card for card in self._wanted() if not card.visibleRegion().isEmpty()]

    def tick(self) -> None:
        """Redraw the next visible plot that is due, within BUDGET_S seconds."""
        self._timer.setInterval(IDLE_MS)
        if self._theme is not theme.current():  # in this turn the whole window has to be repainted
            self._theme = theme.current()
            return
        if not (cards := self._seen()):
            self._timer.setInterval(HIDDEN_MS)
            return
        try:
            load_once()
        except ImportError as error:  # an installation without PyQtGraph
            tell_once(self._page, error)
            return
        now = time.perf_counter()
        turns = [cards[(self._turn + offset) % len(cards)] for offset in range(len(cards))]
        if self._is_moved:  # what the user looks at comes first, once: a run that grows would keep others from it
            turns.sort(key=lambda card: not card.underMouse())
        for card in turns:
            if now - card.drawn_at >= LEAST_S and card.is_stale():
                is_done = True
                try:
                    is_done = card.redraw(now + BUDGET_S)
                except Exception as error:  # else no other plot would get its turn again
                    tell_once(card, error)
                    card.give_up()
                self._turn = cards.index(card) + is_done
                self._is_moved = self._is_moved and not is_done
                self._timer.setInterval(0)
                break

    def _on_moved(self) -> None:
        """Stretch what is painted; it is drawn anew once the wheel or the drag rests."""
        for card in self._seen():
            card.follow_axes()
            card.drawn_at = 0.0
        self._is_moved = True
        self._timer.start(REST_MS)

    def _on_pointed(self, run_id: str) -> None:
        if run_id:
            self._unpointed.stop()
            self._model.set_highlight(run_id)
        elif self._model.highlight and not self._unpointed.isActive():
            self._unpointed.start()

    def _on_highlighted(self, run_id: str) -> None:
        self._unpointed.stop()  # whatever has the highlight now, the pointer did not leave it
        for card in self._seen():
            card.show_highlight()

    def _on_choices(self) -> None:
        for card in self.cards.values():
            metric = card.spec.metric
            card.show_choices(self._choices.line(metric), is_log=self._choices.is_log(metric))


class RowHighlight(QObject):
    """Highlights the curves of the run whose row of a table is under the pointer."""

    def __init__(self, table: QTableView, model: TelemetryModel) -> None:
        super().__init__(table)
        self._model = model
        table.setMouseTracking(True)
        table.entered.connect(self._on_entered)
        table.viewport().installEventFilter(self)

    def _on_entered(self, index: QModelIndex) -> None:
        run_id = index.data(RUN_ROLE).run_id
        self._model.set_highlight(run_id if run_id in self._model.shown() else "")

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            self._model.set_highlight("")
        return False


class CurvePage(QScrollArea):
    """Scrollable page of sections of plots; the widget `foot` is shown below them."""

    def __init__(self, foot: QWidget | None = None) -> None:
        super().__init__()
        self.cards: list[PlotCard] = []
        body = named(QWidget(), "scrollBody")
        column = vbox(body, margins=(0, 4, 0, 4), spacing=0)
        self._column = vbox(spacing=8)  # a title stands apart from the axis above it
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
        column = vbox(self, margins=(0, 4, 0, 4), spacing=2)
        head = hbox(margins=(4, 0, 12, 0))
        self.toggle = QToolButton()
        self.toggle.setText(title)
        self.toggle.setAccessibleName(title)
        self.toggle.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.toggle.setProperty("flat", True)
        self.toggle.setProperty("role", "title")
        self.toggle.setSizePolicy(QSizePolicy.Policy.Minimum, QSizePolicy.Policy.Fixed)
        self.toggle.clicked.connect(lambda: self.toggled.emit())
        self._note = label("", "muted")
        put(head, self.toggle, self._note, (rule(), 1))
        column.addLayout(head)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(0)
        self._grid.setVerticalSpacing(8)
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
            QWidget.setTabOrder(cards[place - 1] if place else self.toggle, card)
            card.show()
        for place in range(columns):
            self._grid.setColumnStretch(place, 1)


class CurveControls(QWidget):
    """Row of controls for axis and smoothing; all rows show the state of the same model."""

    def __init__(self, model: TelemetryModel, actions: ActionRegistry, prefix: str = "") -> None:
        """Build the row; `prefix` makes the objectNames of its widgets unique."""
        super().__init__()
        self._model = model
        row = self.row = hbox(self, spacing=8)
        self.axis = named(QComboBox(), f"{prefix}xAxisBox", tr("Horizontal axis"))
        self.axis.setMinimumContentsLength(6)
        for name, text in X_AXES.items():
            self.axis.addItem(tr(text), name)
        self.axis.activated.connect(lambda: model.set_x_axis(str(self.axis.currentData())))
        self.smoothing = named(QSlider(Qt.Orientation.Horizontal), f"{prefix}smoothingSlider", tr("Smoothing"))
        self.smoothing.setToolTip(tr("Smoothing; right-click to choose the kind"))
        self.smoothing.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.smoothing.addActions([actions[name] for name in SMOOTHING_COMMANDS])
        self.smoothing.setRange(0, 99)
        self.smoothing.setMinimumWidth(40)
        self.smoothing.setMaximumWidth(80)
        self.smoothing.valueChanged.connect(lambda value: model.set_smoothing(value / 100))
        self._value = label("")
        self._value.setFixedWidth(self._value.fontMetrics().horizontalAdvance("0.00"))
        self.follow = action_button(actions["followCurves"], f"{prefix}followButton")
        self._words = [label(tr("Along"), "muted"), label(tr("Smooth"), "muted")]
        for words in self._words:
            words.setMinimumWidth(1)  # its text must not keep a dock from becoming narrow
        for widget in (self._words[0], self.axis, self._words[1], self.smoothing, self._value):
            row.addWidget(widget)
        put(row, 1, self.follow)
        model.view_changed.connect(self._show)
        self._show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hide the words when the row is narrow; the tooltips have them."""
        super().resizeEvent(event)
        for words in self._words:
            words.setVisible(self.width() >= NARROW_ROW)

    def _show(self) -> None:
        self.axis.setCurrentIndex(self.axis.findData(self._model.x_axis))
        with QSignalBlocker(self.smoothing):
            self.smoothing.setValue(round(self._model.smoothing * 100))
        self._value.setText(number(self._model.smoothing, ".2f"))
