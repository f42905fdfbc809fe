"""Undo and redo of changes of the view (layout, axes, runs, plots), and views saved under a name."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import msgspec
import shiboken6
from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QDialog,
    QDockWidget,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QMainWindow,
    QStackedWidget,
    QWidget,
)

from gui.features.curves.plots import PARTS, PlotChoices
from gui.features.runs.controller import RunsController
from gui.kit.boxes import named, put, vbox
from gui.kit.containers import empty_page
from gui.kit.labels import button
from gui.kit.settings import LAYOUT_VERSION, Settings
from gui.kit.words import tr
from gui.state.metric_series import X_AXES
from gui.state.notices import Notices
from gui.state.seed_groups import SPREADS
from gui.state.session import Navigation, Place, Session
from gui.state.telemetry import TelemetryModel

STEP_MS = 300
"""Milliseconds without further change that end one undo step: a drag of a slider is one step, not fifty."""
MOST_STEPS = 100
Snapshot = tuple[Any, ...]
VIEWS_KEY = "curves/views"
MOST_VIEWS = 100
"""Most saved views; the oldest are deleted first."""
MOST_NAME_LETTERS = 60


class ViewHistory(QObject):
    changed = Signal()
    """Undo or redo may have become possible or impossible."""

    def __init__(
        self,
        window: QMainWindow,
        docks: Iterable[QDockWidget],
        telemetry: TelemetryModel,
        plots: PlotChoices,
        session: Session,
    ) -> None:
        super().__init__(window)
        self._window, self._telemetry, self._plots = window, telemetry, plots
        self._past: list[Snapshot] = []
        self._future: list[Snapshot] = []
        self._rest = QTimer(self, singleShot=True, interval=STEP_MS)
        self._rest.timeout.connect(self._on_rest)
        self._now = self._take()
        for dock in docks:
            dock.visibilityChanged.connect(self._on_dock)
            dock.dockLocationChanged.connect(self._on_dock)
            dock.topLevelChanged.connect(self._on_dock)
        for signal in (telemetry.view_changed, telemetry.pins_changed, plots.changed):
            signal.connect(self._rest.start)
        session.mode_changed.connect(self._on_mode)

    # -- changes ----------------------------------------------------------------------------

    def _on_dock(self, *_: object) -> None:
        if not shiboken6.isValid(self._window):
            return  # docks get their window's close event, too
        if self._window.isVisible() and not self._window.isMinimized():
            self._rest.start()

    def _on_mode(self, *_: object) -> None:
        """Exclude from undo the docks that a change of the mode shows or hides."""
        self.settle()
        QTimer.singleShot(0, self, self.forget_difference)

    def settle(self) -> None:
        """Record a change that is still pending as an undo step now."""
        if self._rest.isActive():
            self._rest.stop()
            self._on_rest()

    def forget_difference(self) -> None:
        """Take the current view as the base of the next undo step, discarding pending changes."""
        self._rest.stop()
        self._now = self._take()

    def _on_rest(self) -> None:
        new = self._take()
        if new != self._now:
            self._past = [*self._past[1 - MOST_STEPS :], self._now]
            self._future.clear()
            self._now = new
            self.changed.emit()

    # -- steps ------------------------------------------------------------------------------

    def undo(self) -> None:
        self.settle()
        if self._past:
            self._future.append(self._now)
            self._put(self._past.pop())

    def redo(self) -> None:
        self.settle()
        if self._future:
            self._past.append(self._now)
            self._put(self._future.pop())

    def undo_refusal(self) -> str:
        return "" if self._past or self._rest.isActive() else tr("Nothing to undo in the view")

    def redo_refusal(self) -> str:
        return "" if self._future else tr("Nothing to redo in the view")

    def _take(self) -> Snapshot:
        view, plots = self._telemetry, self._plots
        return (
            bytes(self._window.saveState(LAYOUT_VERSION).data()),
            (view.x_axis, view.smoothing, view.spread, view.trims_outliers, view.smoothing_kind),
            (view.log_x, view.x_range, view.y_ranges),
            tuple(view.pinned),
            plots.state(),
        )

    def _put(self, wanted: Snapshot) -> None:
        """Restore a recorded view: dock layout, axes and smoothing, pinned runs, plots."""
        layout, (x_axis, smoothing, spread, trims, kind), (log_x, x_range, y_ranges), pinned, plots = wanted
        if layout != self._now[0]:
            self._window.restoreState(layout, LAYOUT_VERSION)
        view = self._telemetry
        view.set_x_axis(x_axis)
        view.set_smoothing(smoothing)
        view.set_log_x(log_x)
        view.move(x_range, y_ranges)
        view.set_spread(spread)
        view.set_trims_outliers(trims)
        view.set_smoothing_kind(kind)
        if list(pinned) != view.pinned:
            view.set_pinned(list(pinned))
        self._plots.put_state(plots)
        self._rest.stop()
        self._now = (layout, *self._take()[1:])
        self.changed.emit()
        QTimer.singleShot(0, self, self.forget_difference)


class View(msgspec.Struct, omit_defaults=True):
    """Saved view: axes, smoothing, plots and runs. One of an older version lacks some."""

    axis: str = ""
    smoothing: Annotated[float, msgspec.Meta(ge=0, lt=1)] | None = None
    kind: str = ""
    spread: str = ""
    outliers: bool = False
    log_x: bool = False
    focus: str = ""
    pinned: list[str] = []
    filter: str = ""
    plot_filter: str = ""
    plots: dict[str, list[str]] = {}


class SavedViews(QObject):
    changed = Signal()

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        self._views: dict[str, View] = {}
        for name, view in settings.decoded(VIEWS_KEY, dict[str, msgspec.Raw], {}).items():
            with contextlib.suppress(msgspec.MsgspecError, RecursionError):  # a damaged view is skipped
                self._views[name] = msgspec.json.decode(view, type=View)

    def names(self) -> list[str]:
        return list(self._views)

    def __getitem__(self, name: str) -> View:
        """Return the saved view `name`; an empty one if there is none."""
        return self._views.get(name, View())

    def put(self, name: str, view: View) -> None:
        """Save a view under `name`, replacing an existing one."""
        kept = {other: old for other, old in self._views.items() if other != name}
        self._keep({**dict(list(kept.items())[1 - MOST_VIEWS :]), name: view})

    def drop(self, name: str) -> None:
        self._keep({other: view for other, view in self._views.items() if other != name})

    def _keep(self, views: dict[str, View]) -> None:
        self._views = views
        self._settings.set(VIEWS_KEY, msgspec.json.encode(views).decode())
        self.changed.emit()


class ViewsController(QObject):
    def __init__(
        self,
        views: SavedViews,
        telemetry: TelemetryModel,
        plots: PlotChoices,
        runs: RunsController,
        navigation: Navigation,
        notices: Notices,
    ) -> None:
        super().__init__()
        self.views, self._telemetry, self._plots = views, telemetry, plots
        self._runs, self._navigation, self._notices = runs, navigation, notices
        self.filter_text: Callable[[], str] = str
        self.set_filter: Callable[[str], None] = lambda text: None
        """Function that sets the run table's filter text; set by the dock of runs."""
        self.plot_filter: Callable[[], str] = str
        self.set_plot_filter: Callable[[str], None] = lambda text: None
        """Function that sets the filter text of the Curves tab; set by that tab."""

    def save(self, name: str) -> None:
        """Save the current view under `name`; an empty name does nothing."""
        if not (name := name.strip()):
            return
        model = self._telemetry
        self.views.put(
            name,
            View(
                axis=model.x_axis,
                smoothing=model.smoothing,
                kind=model.smoothing_kind,
                spread=model.spread,
                outliers=model.trims_outliers,
                log_x=model.log_x,
                focus=model.focus,
                pinned=list(model.pinned),
                filter=self.filter_text(),
                plot_filter=self.plot_filter(),
                plots=dict(zip(PARTS, map(list, self._plots.state()), strict=True)),
            ),
        )

    def open(self, name: str) -> None:
        """Restore the saved view `name`; runs of it that no longer exist are left out."""
        view, model = self.views[name], self._telemetry
        if view.axis in X_AXES:
            model.set_x_axis(view.axis)
        if view.smoothing is not None:
            model.set_smoothing(view.smoothing)
        model.set_smoothing_kind(view.kind)
        if view.spread in SPREADS:
            model.set_spread(view.spread)
        model.set_trims_outliers(view.outliers)
        model.set_log_x(view.log_x)
        self._plots.put_state(tuple(tuple(view.plots.get(part, ())) for part in PARTS))
        self.set_filter(view.filter)
        self.set_plot_filter(view.plot_filter)
        wanted = list(dict.fromkeys(filter(None, [view.focus, *view.pinned])))
        if known := self._runs.known(wanted):
            self._runs.show(known[0])
        self._runs.show_all(self._runs.known(view.pinned))
        if gone := len(wanted) - len(known):
            self._notices.tell(
                tr("The view {name}", name=name), tr("{count} of its runs no longer exist", count=gone), "warn"
            )
        self._navigation.show(Place.CURVES)


class ViewsDialog(QDialog):
    def __init__(
        self, parent: QWidget, views: SavedViews, save: Callable[[str], object], show: Callable[[str], object]
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("viewsDialog")
        self.setWindowTitle(tr("Saved views"))
        self._views, self._save, self._show = views, save, show
        column = vbox(self, margins=(16, 16, 16, 16), spacing=8)
        self.list = named(QListWidget(), "viewsList", tr("Saved views"))
        self.list.itemActivated.connect(lambda _: self.accept())
        self.list.currentRowChanged.connect(lambda _: self._on_row())
        self._stack = QStackedWidget()
        self._stack.addWidget(self.list)
        why = tr("A view holds axes, smoothing, plots, the shown runs and both filters.")
        self._stack.addWidget(empty_page(tr("No saved view yet"), why))
        column.addWidget(self._stack, 1)
        row = QHBoxLayout()
        self.name = named(QLineEdit(), "viewName", tr("Name of the view"))
        self.name.setPlaceholderText(tr("Name of the view"))
        self.name.setMaxLength(MOST_NAME_LETTERS)
        self.name.textChanged.connect(lambda _: self._on_row())
        self.keep = button(tr("Save current view"), "saveViewButton", clicked=self._on_save)
        put(row, (self.name, 1), self.keep)
        column.addLayout(row)
        row = QHBoxLayout()
        self.drop = button(tr("Delete"), "deleteViewButton", clicked=self._on_drop)
        self.open_it = button(tr("Open"), "openViewButton", primary=True, clicked=self.accept)
        put(row, self.drop, 1, button(tr("Close"), clicked=self.reject), self.open_it)
        column.addLayout(row)
        views.changed.connect(self._fill)
        self._fill()
        (self.list if self.list.count() else self.name).setFocus()
        self.resize(440, 280)

    def _fill(self) -> None:
        self.list.clear()
        self.list.addItems(self._views.names())
        self.list.setCurrentRow(self.list.count() - 1)
        self._stack.setCurrentIndex(0 if self.list.count() else 1)
        self._on_row()

    def _chosen(self) -> str:
        item = self.list.currentItem()
        return item.text() if item is not None else ""

    def _on_row(self) -> None:
        nothing = "" if self._chosen() else tr("No saved view yet")
        for one in (self.drop, self.open_it):
            one.setEnabled(not nothing)
            one.setToolTip(nothing)
        name = self.name.text().strip()
        self.keep.setEnabled(bool(name))
        (self.keep if name else self.open_it).setDefault(True)  # Return presses it
        is_old = name in self._views.names()
        self.keep.setToolTip(
            tr("This replaces the view of the same name") if is_old else "" if name else tr("Type a name first")
        )

    def _on_save(self) -> None:
        self._save(self.name.text())
        self.name.clear()

    def _on_drop(self) -> None:
        self._views.drop(self._chosen())

    def accept(self) -> None:
        if name := self._chosen():
            self._show(name)
            super().accept()
