"""Telemetry: tabs of plots of the run in focus and the pinned ones, and what the run is."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QComboBox,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QMainWindow,
    QScrollArea,
    QSlider,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from gui import object_names as names
from gui import theme
from gui.docks.run_info import RunInfo
from gui.models.metric_series import X_AXES
from gui.models.run_telemetry import TelemetryModel
from gui.plot_card import PlotCard, PlotSpec
from gui.widgets.bars import ActionBars, TimeSplit
from gui.widgets.dock import Dock
from gui.widgets.labels import button, icon_button, label

PLOT_HZ = 4
"""How often each visible plot may be redrawn; one plot a tick, in turn."""

TABS: dict[str, tuple[PlotSpec, ...]] = {
    "Overview": (
        PlotSpec("reward_mean", "Reward a step", (("reward_mean", "reward"),)),
        PlotSpec("success_rate", "Success", (("success_rate", "success"),), evals=True),
        PlotSpec(
            "done_rate", "Episodes ending a step",
            (("done_rate", "goal"), ("trunc_rate", "time limit")),
        ),
        PlotSpec("entropy_mean", "Entropy", (("entropy_mean", "entropy"),)),
        PlotSpec(
            "dist_p50", "Goal distance",
            (("dist_p50", "p50"), ("dist_p10", "p10"), ("dist_p90", "p90")),
        ),
    ),
    "Policy": (
        PlotSpec("value_mean", "Value", (("value_mean", "mean"), ("value_std", "std"))),
        PlotSpec("value_loss", "Value loss", (("value_loss", "loss"),)),
        PlotSpec("policy_loss", "Policy loss", (("policy_loss", "loss"),)),
        PlotSpec("approx_kl", "Approximate KL", (("approx_kl", "KL"),)),
        PlotSpec(
            "clipfrac", "Clipped share", (("clipfrac", "ratio"), ("vf_clipfrac", "value"))
        ),
        PlotSpec("explained_variance", "Explained variance", (("explained_variance", "EV"),)),
        PlotSpec("grad_norm", "Gradient norm", (("grad_norm", "norm"),)),
        PlotSpec("learning_rate", "Learning rate", (("learning_rate", "rate"),)),
    ),
    "Env": (
        PlotSpec("reset_rate", "Resets a step", (("reset_rate", "resets"),)),
        PlotSpec("episodes", "Episodes a record", (("episodes", "episodes"),)),
    ),
    "Perf": (
        PlotSpec("sps", "Environment steps a second", (("sps", "steps/s"),)),
        PlotSpec("updates_per_s", "Updates a second", (("updates_per_s", "updates/s"),)),
    ),
}  # fmt: skip


class TelemetryDock(Dock):
    def __init__(self, model: TelemetryModel, window: QMainWindow) -> None:
        super().__init__("Telemetry", "telemetryDock", window)
        self.model = model
        self.cards: dict[str, PlotCard] = {}
        self._turn = 0
        self.tabs = QTabWidget()
        self.tabs.setObjectName(names.TELEMETRY_TABS)
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setAccessibleName("Telemetry tabs")
        self.tabs.tabBar().setExpanding(False)
        self.buttons_chosen = ActionBars()
        self.split = TimeSplit()
        extras = {"Env": self.buttons_chosen, "Perf": self.split}
        for title, specs in TABS.items():
            self.tabs.addTab(self._page(specs, extras.get(title)), title)
        self.info = RunInfo(model)
        self.tabs.addTab(self.info, "Run info")
        self.tabs.currentChanged.connect(lambda index: self._retime())
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.tabs, 1)
        column.addWidget(self._footer())
        self.setWidget(body)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._tick)
        self._retime()
        model.pins_changed.connect(self._on_legend)
        model.focus_changed.connect(lambda run_id: self._on_legend())

    def _page(self, specs: tuple[PlotSpec, ...], extra: QWidget | None) -> QWidget:
        body = QWidget()
        body.setObjectName("scrollBody")
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 4, 0, 4)
        column.setSpacing(0)
        for index, spec in enumerate(specs):
            card = PlotCard(spec, self.model, show_axis=index == len(specs) - 1)
            card.zoomed.connect(self._on_zoom)
            card.hovered.connect(self._on_hover)
            self.cards[spec.metric] = card
            column.addWidget(card, 1)
        if extra is not None:
            column.addWidget(extra)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(body)
        return scroll

    def _footer(self) -> QWidget:
        foot = QWidget()
        column = QVBoxLayout(foot)
        column.setContentsMargins(12, 4, 8, 4)
        column.setSpacing(4)
        row = QHBoxLayout()
        row.setSpacing(8)
        self.axis = QComboBox()
        self.axis.setObjectName("xAxisBox")
        self.axis.setAccessibleName("Horizontal axis")
        for name, text in X_AXES.items():
            self.axis.addItem(f"by {text}", name)
        self.axis.activated.connect(lambda: self._on_axis(str(self.axis.currentData())))
        row.addWidget(self.axis)
        row.addStretch(1)
        row.addWidget(label("Smooth", "muted"))
        self.smoothing = QSlider(Qt.Orientation.Horizontal)
        self.smoothing.setObjectName("smoothingSlider")
        self.smoothing.setAccessibleName("Smoothing")
        self.smoothing.setRange(0, 99)
        self.smoothing.setValue(round(self.model.smoothing * 100))
        self.smoothing.setFixedWidth(64)
        self.smoothing.valueChanged.connect(lambda value: self.model.set_smoothing(value / 100))
        row.addWidget(self.smoothing)
        self.follow = button("Follow", "followButton", clicked=self.reset_zoom)
        self.follow.setToolTip("Show everything and follow new data")
        self.follow.setEnabled(False)
        row.addWidget(self.follow)
        row.addWidget(icon_button("folder", "Export the visible plots as CSV", clicked=self.export))
        column.addLayout(row)
        self.legend = QLabel()
        self.legend.setTextFormat(Qt.TextFormat.RichText)
        self.legend.setObjectName("pinnedLegend")
        self.legend.setWordWrap(True)
        self.legend.hide()
        column.addWidget(self.legend)
        return foot

    # -- drawing in turn --------------------------------------------------------------------

    def visible_cards(self) -> list[PlotCard]:
        page = self.tabs.currentWidget()
        return [card for card in self.cards.values() if page is not None and _within(card, page)]

    def _retime(self) -> None:
        self._timer.start(max(12, 1000 // (PLOT_HZ * max(1, len(self.visible_cards())))))

    def _tick(self) -> None:
        """Redraw the next visible plot that is stale; at most one."""
        cards = [card for card in self.visible_cards() if card.isVisible()]
        for offset in range(len(cards)):
            card = cards[(self._turn + offset) % len(cards)]
            if card.is_stale():
                self._turn += offset + 1
                card.redraw()
                break
        if (run := self.model.runs.get(self.model.focus)) is not None:
            self.buttons_chosen.show_record(run.last_update)
            self.split.show_record(run.last_update)
        self.info.refresh()

    def redraw_all(self) -> None:
        """Draw every plot of the visible tab now."""
        for card in self.visible_cards():
            card.redraw()

    # -- view options -----------------------------------------------------------------------

    def _on_axis(self, name: str) -> None:
        self.reset_zoom()
        self.model.set_x_axis(name)

    def _on_zoom(self, low: float, high: float) -> None:
        self.follow.setEnabled(True)
        for card in self.cards.values():
            card.set_range((low, high))

    def reset_zoom(self) -> None:
        self.follow.setEnabled(False)
        for card in self.cards.values():
            card.set_range(None)

    def _on_hover(self, x: float | None) -> None:
        for card in self.visible_cards():
            card.set_hover(x)

    def _on_legend(self) -> None:
        shown = self.model.shown()
        self.legend.setVisible(len(shown) > 1)
        curves = theme.current().curves
        marks = (
            "\u2500\u2500",
            "\u2500 \u2500",
            "\u2500 \u00b7",
            "\u00b7 \u00b7",
            "\u2500 \u00b7\u00b7",
        )
        self.legend.setText(
            "&nbsp; ".join(
                f'<span style="color:{curves[i % len(curves)]}">{marks[i % len(marks)]}</span> '
                f"{run_id[-4:]}"
                for i, run_id in enumerate(shown)
            )
        )

    def recolor(self) -> None:
        for card in self.cards.values():
            card.recolor()
        self._on_legend()

    def export(self) -> None:
        cards = self.visible_cards()
        folder = QFileDialog.getExistingDirectory(self, "Folder for the CSV files") if cards else ""
        if folder:
            for card in cards:
                with open(f"{folder}/{card.spec.metric}.csv", "w", encoding="utf-8") as file:
                    file.write(card.to_csv())

    def copy_values(self) -> None:
        lines = [f"{card.spec.title}: {card.readout()}" for card in self.visible_cards()]
        QGuiApplication.clipboard().setText("\n".join(lines))


def _within(card: QWidget, page: QWidget) -> bool:
    return page.isAncestorOf(card)
