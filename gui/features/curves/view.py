"""Curves tab: small plots by group, one of which can fill the page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QComboBox,
    QFrame,
    QLineEdit,
    QMenu,
    QScrollArea,
    QSizePolicy,
    QStackedWidget,
    QWidget,
)

from gui.features.curves.card import NOTHING, PlotCard, why_empty
from gui.features.curves.page import CurveControls, PlotBoard, PlotSection
from gui.features.curves.plots import (
    MORE,
    PAGES,
    TASKS,
    CurvesController,
    PlotSpec,
    every_spec,
    further_specs,
    spec_by_name,
)
from gui.features.curves.reports import curves_csv, run_tables, to_png, to_svg
from gui.kit import object_names as names
from gui.kit.actions import ActionRegistry, action_button
from gui.kit.boxes import hbox, named, put, vbox
from gui.kit.containers import Segmented
from gui.kit.labels import button, label
from gui.kit.text_search import TextSearch
from gui.kit.words import tr
from gui.state.compiling import Compiling, CompilingCard
from gui.state.seed_groups import APART, DEVIATION, RANGE, SPREADS
from gui.state.telemetry import TelemetryModel

LEAST_WIDTH = 500
"""Least width of a small plot in pixels, where there is more than one column."""
HEAD_ROOM = 40
"""Pixels around the controls above the plots."""
WITH_EXPORT = 520
"""Least width in pixels of the tab with a button for exports."""
SEARCH_WIDTHS = 104, 180
"""Least and greatest width in pixels of the filter's text field."""
MAKE_S = 0.01
"""Most seconds of one event loop turn spent on creating plots."""
PINNED, ADDED, OTHER = "pinned", "added", "other"
SECTIONS = {PINNED: "Pinned", "tasks": TASKS, **PAGES, OTHER: MORE, ADDED: "Added"}
"""Heading of each group of plots by its name; groups of other trainers' metrics are headed by their name."""


class CurvesView(QWidget):
    def __init__(
        self, model: TelemetryModel, curves: CurvesController, compiling: Compiling, actions: ActionRegistry
    ) -> None:
        super().__init__()
        self._model, self._curves, self._actions = model, curves, actions
        self._choices = curves.choices
        self.setObjectName(names.CURVES_VIEW)
        self.board = PlotBoard(model, self._choices, actions, self, self.cards_in_front)
        self._sections: dict[str, PlotSection] = {}
        self.large: PlotCard | None = None
        column = vbox(self, spacing=0)
        column.addWidget(self._head())
        self._stack = QStackedWidget()
        self._stack.addWidget(self._page())
        self._stack.addWidget(self._large_page())
        self._empty = label(tr(NOTHING), "muted")
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._stack.addWidget(self._empty)
        self.compiling_card = CompilingCard(compiling, lambda: model.focus, "curvesCompiling")
        self.compiling_card.turned.connect(lambda is_on: self._later.start())
        self._stack.addWidget(self.compiling_card)
        column.addWidget(self._stack, 1)
        self._later = QTimer(self, singleShot=True, interval=0)
        self._later.timeout.connect(self._arrange_in_front)
        for signal in (model.focus_changed, model.pins_changed, model.run_told):
            signal.connect(lambda *_: self._later.start())
        self._choices.changed.connect(self._later.start)
        self._choices.maximised.connect(self._on_maximised)
        curves.draw, curves.card_of, curves.on_page = self._draw, self._card_of, self._on_page
        self.arrange()

    # -- parts ------------------------------------------------------------------------------

    def _head(self) -> QWidget:
        head = QWidget()
        head.setMinimumWidth(SEARCH_WIDTHS[1])  # narrower than its one row, so that it may become two
        self._rows = QBoxLayout(QBoxLayout.Direction.LeftToRight, head)
        self._rows.setContentsMargins(16, 6, 16, 6)
        self._rows.setSpacing(8)
        self._choice_row = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._choice_row.setSpacing(8)
        row = hbox(spacing=8)
        self.back = action_button(self._actions["allPlots"], "allPlotsButton")
        self.search = named(QLineEdit(), "plotFilter", tr("Find a plot"))
        self.search.setPlaceholderText(tr("Find a plot"))
        self.search.setToolTip(tr("Words, -without, wild*cards, regular|expressions"))
        self.search.setClearButtonEnabled(True)
        self.search.setMinimumWidth(SEARCH_WIDTHS[0])
        self.search.setMaximumWidth(SEARCH_WIDTHS[1])
        self.search.textChanged.connect(lambda _: self._later.start())
        self.add = named(QComboBox(), "addPlotBox", tr("Add a plot by the name of its metric"))
        self.add.setPlaceholderText(tr("Add a plot"))
        self.add.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.add.setMinimumContentsLength(8)
        self.add.activated.connect(self._on_add)
        seeds = [(APART, tr(SPREADS[APART]), ""), (RANGE, tr("Seeds: mean and range"), "")]
        self.spread = Segmented("spreadBox", seeds, tr("Runs that differ only in their seed"))
        self.spread.setToolTip(tr("Draw shown runs that differ only in their seed as one curve"))
        self.spread.picked.connect(self._model.set_spread)
        self._model.view_changed.connect(self._show_spread)
        self._show_spread()
        put(row, self.back, (self.search, 1), self.add)
        put(self._choice_row, row, self.spread)
        self._rows.addLayout(self._choice_row)
        controls = CurveControls(self._model, self._actions, "curves")
        self.export = button(tr("Export..."), "exportCurvesButton", clicked=self._offer_exports)
        controls.row.addWidget(self.export)
        self._rows.addWidget(controls, 1)
        return head

    def _offer_exports(self) -> None:
        menu = QMenu(self)
        for name in ("curvesCsv", "writeReport", "writeReportPdf"):
            menu.addAction(self._actions[name])
        menu.exec(self.export.mapToGlobal(QPoint(0, self.export.height())))

    def _fit_head(self) -> None:
        """Put the choices above the sliders, and the seeds below the others, where a window is too narrow."""
        self.export.setVisible(self.width() >= WITH_EXPORT)  # the menu has these commands too
        for box in (self._rows, self._choice_row):
            needed = sum(item.sizeHint().width() for item in map(box.itemAt, range(box.count())) if item is not None)
            is_wide = needed + HEAD_ROOM <= self.width()
            box.setDirection(QBoxLayout.Direction.LeftToRight if is_wide else QBoxLayout.Direction.TopToBottom)

    def _show_spread(self) -> None:
        self.spread.set_value(RANGE if self._model.spread == DEVIATION else self._model.spread)

    def _page(self) -> QWidget:
        body = named(QWidget(), "scrollBody")
        self._column = vbox(body, margins=(0, 0, 0, 12), spacing=4)
        self._column.addStretch(1)
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setWidget(body)
        return self._scroll

    def _large_page(self) -> QWidget:
        page = QWidget()
        page.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._large_column = vbox(page, margins=(0, 0, 0, 8))
        return page

    # -- choice of plots --------------------------------------------------------------------

    def cards_in_front(self) -> list[PlotCard]:
        if self.large is not None:
            return [self.large]
        return [card for section in self._sections.values() for card in section.cards]

    def measured(self) -> list[str]:
        """Return the names of all metrics of the runs on show."""
        runs = [self._model.runs.get(run_id) for run_id in self._model.shown()]
        return list({name: True for run in runs if run is not None for name in run.table.names})

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._arrange_in_front()

    def _arrange_in_front(self) -> None:
        """Arrange the plots if this tab is visible, else when it becomes visible."""
        if self.isVisible():
            self.arrange()

    def arrange(self) -> None:
        """Show a plot for each metric of the runs on show, in the user's order.

        Creating many plots is spread over several event loop turns.
        """
        measured = self.measured()
        deadline, most = time.perf_counter() + MAKE_S, len(self.board.cards) + 1

        def is_late() -> bool:
            return time.perf_counter() > deadline and len(self.board.cards) >= most

        groups = self._groups(measured)
        groups |= {group: [] for group in self._sections if group not in groups}
        shown = {group: self._unhidden(group, specs) for group, specs in groups.items()}
        is_whole = all([self._fill_section(group, specs, is_late) for group, specs in shown.items()])
        found = {spec.metric for specs in shown.values() for spec in specs}
        self._offer([name for name in measured if name not in found])
        if not is_whole:
            self._later.start()
        if self.large is None:
            self._show_plots_or_why_none(measured, found)

    def _unhidden(self, group: str, specs: list[PlotSpec]) -> list[PlotSpec]:
        """Return the plots of a group in the user's order, without those that the user hid."""
        by_name = {spec.metric: spec for spec in specs}
        wanted = list(by_name) if group == PINNED else self._choices.ordered(list(by_name))
        return [by_name[name] for name in wanted if not self._choices.is_hidden(name)]

    def _fill_section(self, group: str, specs: list[PlotSpec], is_late: Callable[[], bool]) -> bool:
        """Put the group's plots into its section; return whether all of them have been created.

        No plot is created once `is_late()` returns True.
        """
        is_folded = self._choices.is_folded(group)
        drawn = [] if is_folded else specs
        cards = [self._card(spec) for spec in drawn if spec.metric in self.board.cards or not is_late()]
        section = self._section(group)
        section.place(cards, max(1, self._scroll.viewport().width() // LEAST_WIDTH))
        section.show_count(len(specs), is_folded=is_folded)
        return len(cards) == len(drawn)

    def _show_plots_or_why_none(self, measured: list[str], found: set[str]) -> None:
        self.compiling_card.refresh()
        self._empty.setText(why_empty(self._model))
        if measured and self.search.text() and not found:
            self._empty.setText(tr("No plot has this name"))
            self._stack.setCurrentIndex(2)
            return
        self._stack.setCurrentIndex(0 if measured else 3 if self.compiling_card.is_on else 2)

    def _groups(self, measured: list[str]) -> dict[str, list[PlotSpec]]:
        """Return the plots that match the filter, by group in the order of the page."""
        groups: dict[str, list[PlotSpec]] = {name: [] for name in SECTIONS if name != ADDED}
        search = TextSearch(self.search.text().split())
        for group, spec in self._grouped(measured):
            if search.finds(_words(spec, group)):
                groups.setdefault(group, []).append(spec)
        found = {spec.metric: spec for specs in groups.values() for spec in specs}
        pinned = [found[name] for name in self._choices.pinned if name in found]
        for group, specs in groups.items():
            groups[group] = [spec for spec in specs if found[spec.metric] not in pinned]
        return {**groups, PINNED: pinned}

    def _grouped(self, measured: list[str]) -> Iterator[tuple[str, PlotSpec]]:
        """Yield (group, plot) for each plot that has a metric in `measured`.

        Metrics of other trainers are grouped by the part of the name before the first slash.
        """
        found = set(measured)
        specs = [*every_spec(), *further_specs(measured)]
        specs = [spec for spec in specs if any(name in found for name, _ in spec.lines)]
        added = [spec_by_name(name) for name in self._choices.added if name in found]
        for spec in (*specs, *added):
            group = ADDED if spec in added else spec.group
            if group == OTHER and "/" in spec.metric:
                group = spec.metric.partition("/")[0] + "/"
            yield group, spec

    def _on_page(self) -> list[tuple[str, list[str]]]:
        """Return (title, metrics of the visible plots) of each group that is not hidden, folded or filtered out."""
        groups = self._groups(self.measured()).items()
        open_groups = [(group, specs) for group, specs in groups if not self._choices.is_folded(group)]
        found = [(_title(group), self._unhidden(group, specs)) for group, specs in open_groups]
        return [(title, [spec.metric for spec in specs]) for title, specs in found if specs]

    def _section(self, group: str) -> PlotSection:
        """Return the section widget of a group, created at the first call."""
        if group not in self._sections:
            made = self._sections[group] = PlotSection(_title(group))
            made.toggled.connect(lambda: self._choices.toggle_folded(group))
            self._column.insertWidget(self._place_of(group), made)
        return self._sections[group]

    def _card(self, spec: PlotSpec) -> PlotCard:
        card = self.board.cards.get(spec.metric)
        if card is None:
            card = self.board.make_card(spec, has_names=True)
            card.show_axis()
            card.can_move = True
            card.maximise_wanted.connect(lambda: self._curves.maximise(spec.metric))
            card.dropped.connect(lambda moved: self._on_dropped(moved, spec.metric))
        card.show_spec(spec)
        return card

    def _offer(self, unshown: list[str]) -> None:
        rest = sorted(unshown)
        if rest != [self.add.itemText(index) for index in range(self.add.count())]:
            self.add.clear()
            self.add.addItems(rest)
            self.add.setCurrentIndex(-1)

    def _place_of(self, group: str) -> int:
        """Return the layout index for the new section of a group.

        Groups of other trainers are in alphabetic order, before the plots that the user added.
        """
        later = [other for other in sorted(self._sections) if other.endswith("/") and other > group]
        later = later if group.endswith("/") else []
        if ADDED in self._sections:
            later.append(ADDED)
        return self._column.indexOf(self._sections[later[0]]) if later else self._column.count() - 1

    def _on_add(self, index: int) -> None:
        name = self.add.itemText(index)
        self.add.setCurrentIndex(-1)
        if self._choices.is_hidden(name):
            self._choices.set_hidden(name, False)
        else:
            self._choices.add(name)

    def _on_dropped(self, moved: str, on: str) -> None:
        for section in self._sections.values():
            shown = [card.spec.metric for card in section.cards]
            if moved in shown and on in shown:
                self._choices.move(moved, on, shown)

    # -- one plot fills the page ------------------------------------------------------------

    def _on_maximised(self, metric: str) -> None:
        has_keys = isinstance(self.window().focusWidget(), PlotCard)
        if self.large is not None:
            self._large_column.removeWidget(self.large)
            self.large.deleteLater()
            self.large = None
            self.board.cards.pop("", None)
        self.search.setVisible(not metric)
        self.add.setVisible(not metric)  # an added plot would not be visible on this page
        if metric:
            self.large = self.board.make_card(spec_by_name(metric, self.measured()), key="", has_names=True)
            self.large.show_axis()
            self.large.maximise_wanted.connect(lambda: self._choices.maximise(""))
            self._large_column.addWidget(self.large)
            self._stack.setCurrentIndex(1)
            self._large_column.activate()
        else:
            self.arrange()
        for card in self.cards_in_front():
            if has_keys and card.spec.metric == self._choices.current:
                card.setFocus(Qt.FocusReason.OtherFocusReason)

    def _draw(self, metric: str, kind: str) -> bytes:
        """Return the plot of `metric` as the bytes of a `kind` (png, svg, csv) file."""
        card = self._card_of(metric)
        if kind == "csv":
            names = [self._model.x_axis, *(name for name, _ in card.spec.lines)]
            return curves_csv(run_tables(self._model, names)).encode()
        return to_png(card) if kind == "png" else to_svg(card)

    def _card_of(self, metric: str) -> PlotCard:
        """Return a new card, in no window, with the plot of `metric` as it is on show."""
        card = PlotCard(spec_by_name(metric, self.measured()), self._model, has_names=True)
        card.show_axis()
        card.show_choices(self._choices.line(metric), is_log=self._choices.is_log(metric))
        return card

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_head()
        self._later.start()


def _title(group: str) -> str:
    return tr(SECTIONS[group]) if group in SECTIONS else group.removesuffix("/")


def _words(spec: PlotSpec, group: str) -> str:
    """Return the text in which the filter searches for a plot, in lower case: title, group, line names."""
    names = (spec.title, tr(SECTIONS.get(group, "")), *(name for name, _ in spec.lines))
    return " ".join(names).lower()
