"""Telemetry dock: pages with plots of the run in focus and of pinned runs, and a page with information on the run."""

from __future__ import annotations

import html
import time

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QLabel, QTabWidget, QWidget

from gui.features.curves.card import PlotCard
from gui.features.curves.page import CurveControls, CurvePage, PlotBoard
from gui.features.curves.plots import MORE, PAGES, CurvesController, PlotSpec, further_specs, page_specs
from gui.features.curves.run_info import RunInfo, RunInfoController
from gui.kit import object_names as names
from gui.kit import theme
from gui.kit.actions import ActionRegistry
from gui.kit.boxes import named, vbox
from gui.kit.containers import Dock, PagePicker
from gui.kit.indicators import ActionBars, TimeSplit
from gui.kit.words import tr
from gui.state.run_notes import RunNotes
from gui.state.run_words import without_middle
from gui.state.telemetry import TelemetryModel

CLOCK_MS = 250
MAKE_S = 0.01
"""Most seconds of one event loop turn spent on creating plots of metrics outside the built-in table."""
MOST_MAIN = 6
"""Most plots on the Overview page of a run that has none of the Overview's built-in metrics."""
MOST_NAMED, MOST_IN_TIP, LONGEST = 6, 40, 36
"""Most runs named under the plots, and in the tooltip there; most characters of a name."""


class OwnPage(QWidget):
    """Base class of a tab that is only visible for runs of one kind."""

    @property
    def is_wanted(self) -> bool:
        """True while the run in focus has data for this tab."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Show the newest records of the run in focus."""
        raise NotImplementedError


class TelemetryDock(Dock):
    def __init__(
        self,
        model: TelemetryModel,
        curves: CurvesController,
        facts: RunInfoController,
        actions: ActionRegistry,
        notes: RunNotes,
    ) -> None:
        super().__init__(tr("Telemetry"), names.TELEMETRY_DOCK)
        self.model = model
        self._curves, self._actions = curves, actions
        self.board = PlotBoard(model, curves.choices, actions, self, self.visible_cards)
        self.tabs = named(QTabWidget(), names.TELEMETRY_TABS)
        self.picker = PagePicker(self.tabs, "telemetryPages", tr("Telemetry page"))
        self.head.addWidget(self.picker)
        self._add_pages()
        self.info = RunInfo(model, actions, notes)
        facts.disk_use_read.connect(self.info.show_disk_use)
        facts.is_watched = self.info.isVisible
        facts.wandb_read.connect(self.info.show_wandb)
        self.tabs.addTab(self.info, tr("Run info"))
        self._own_pages: list[OwnPage] = []
        self.more = CurvePage()
        self._further: list[PlotCard] = []
        """Plots of metrics outside the built-in table; they are on the page More or on the Overview."""
        self.tabs.addTab(self.more, tr(MORE))
        body = QWidget()
        column = vbox(body, spacing=0)
        column.addWidget(self.tabs, 1)
        foot = self._footer()
        column.addWidget(foot)
        self.setWidget(body)
        self.tabs.currentChanged.connect(lambda _: foot.setHidden(self.tabs.currentWidget() is self.info))
        self._clock = QTimer(self, interval=CLOCK_MS)
        self._clock.timeout.connect(self._on_clock)
        self._clock.start()
        self._later = QTimer(self, singleShot=True, interval=0)
        self._later.timeout.connect(self._on_metrics)
        model.pins_changed.connect(self._on_shown)
        model.focus_changed.connect(self._on_shown)
        model.view_changed.connect(self._on_legend)
        model.renamed.connect(self._on_legend)
        model.run_told.connect(lambda run_id: self._later.start())
        self._on_shown()

    def _add_pages(self) -> None:
        """Add a tab with its plots for each group of built-in metrics; two tabs also get charts of other kinds."""
        self.buttons_chosen = ActionBars()
        self.split = TimeSplit()
        extras = {"env": self.buttons_chosen, "perf": self.split}
        self.pages: list[CurvePage] = []
        for group, title in PAGES.items():
            page = CurvePage(extras.get(group))
            self.pages.append(page)
            self.tabs.addTab(page, tr(title))
            for spec in page_specs(group):
                self._add_card(page, spec)
            page.cards[-1].show_axis()

    def add_own_page(self, page: OwnPage, title: str) -> None:
        """Add a tab that is only visible for runs of one kind."""
        self._own_pages.append(page)
        self.tabs.insertTab(self.tabs.indexOf(self.more), page, title)
        self.picker.offer(page, page.is_wanted)

    @property
    def cards(self) -> dict[str, PlotCard]:
        return self.board.cards

    def _add_card(self, page: CurvePage, spec: PlotSpec) -> None:
        card = self.board.make_card(spec)
        card.maximise_wanted.connect(lambda: self._curves.maximise(spec.metric))
        page.add(card)

    def _footer(self) -> QWidget:
        foot = QWidget()
        column = vbox(foot, margins=(12, 4, 8, 4), spacing=4)
        self.controls = CurveControls(self.model, self._actions)
        self.follow = self.controls.follow
        column.addWidget(self.controls)
        self.legend = QLabel()
        self.legend.setTextFormat(Qt.TextFormat.RichText)
        self.legend.setObjectName("pinnedLegend")
        self.legend.setWordWrap(True)
        self.legend.hide()
        column.addWidget(self.legend)
        return foot

    # -- redrawing --------------------------------------------------------------------------

    def visible_cards(self) -> list[PlotCard]:
        page = self.tabs.currentWidget()
        if not isinstance(page, CurvePage):
            return []
        return [card for card in page.cards if not card.isHidden()]

    def _on_clock(self) -> None:
        if (run := self.model.runs.get(self.model.focus)) is not None:
            self.buttons_chosen.show_record(run.last_update)
            self.split.show_record(run.last_update)
        self.info.refresh()
        for page in self._own_pages:
            self.picker.offer(page, page.is_wanted)
            page.refresh()

    # -- choice of plots --------------------------------------------------------------------

    def _on_shown(self) -> None:
        self._on_metrics()
        self._on_legend()

    def _on_metrics(self) -> None:
        """Show the plots of all metrics of the runs on show; every built-in plot while no metric is known yet."""
        runs = [self.model.runs[name] for name in self.model.shown() if name in self.model.runs]
        measured = {name: True for run in runs for name in run.table.names}
        further = further_specs(measured)
        deadline = time.perf_counter() + MAKE_S
        for place, spec in enumerate(further):
            if spec.metric not in self.cards:
                if time.perf_counter() > deadline:
                    further = further[:place]
                    self._later.start()
                    break
                self._add_card(self.more, spec)
                self._further.append(self.more.cards[-1])
                self.more.cards[-1].show_axis()
            self.cards[spec.metric].show_spec(spec)
        self._share_out([self.cards[spec.metric] for spec in further], measured)
        for card in self.cards.values():
            card.setHidden(not card.shows_any(measured) and (bool(measured) or card in self._further))
        if not self.model.shown():  # nothing is on show: one plot's place says what to do
            for page in self.pages:
                for card in page.cards[1:]:
                    card.hide()
        self.picker.offer(self.more, not self.more.is_empty())

    def _share_out(self, further: list[PlotCard], measured: dict[str, bool]) -> None:
        """Move the plots `further` between the page More and the Overview.

        The first MOST_MAIN of them are on the Overview if no built-in plot of the Overview shows a metric in
        `measured`.
        """
        overview = self.pages[0]
        of_table = [card for card in overview.cards if card not in self._further]
        is_foreign = not any(card.shows_any(measured) for card in of_table)
        main = further[:MOST_MAIN] if is_foreign else []
        for card in self._further:
            new, old = (overview, self.more) if card in main else (self.more, overview)
            if card in old.cards:
                old.remove(card)
                new.add(card)

    def _on_legend(self) -> None:
        shown = self.model.names_shown()
        self.legend.setVisible(len(self.model.shown()) > 1)
        texts = []
        for name in shown[:MOST_NAMED]:
            color = theme.curve_color(self.model.slots.get(name, 0)).name()
            words = html.escape(without_middle(self.model.label(name), LONGEST)).replace(" ", "&nbsp;")
            texts.append(f'<span style="color:{color}">\u25cf</span>&nbsp;{words}')
        if len(shown) > MOST_NAMED:
            texts.append(tr("and {value} more", value=len(shown) - MOST_NAMED))
        self.legend.setText("&nbsp; ".join(texts))  # a line that wraps begins with its dot
        self.legend.setToolTip("\n".join(map(self.model.label, shown[:MOST_IN_TIP])))

    def recolor(self) -> None:
        self._on_legend()
