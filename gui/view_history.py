"""Undo for what is on show: docks, plots, axes, smoothing, zoom, pinned runs; not for deeds.

A snapshot is taken once things have come to rest; one step back puts the former one in place.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import shiboken6
from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QDockWidget, QMainWindow

from gui.models.plot_choices import PlotChoices
from gui.models.run_telemetry import TelemetryModel
from gui.models.session import Session
from gui.settings import LAYOUT_VERSION
from gui.words import tr

REST_MS = 300
"""A drag of the smoothing slider is one change, not fifty."""
MOST = 100
Snapshot = tuple[Any, ...]


class ViewHistory(QObject):
    changed = Signal()
    """Whether there is a step back or forth may have changed."""

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
        self._rest = QTimer(self, singleShot=True, interval=REST_MS)
        self._rest.timeout.connect(self._on_rest)
        self._now = self._take()
        for dock in docks:
            dock.visibilityChanged.connect(self._on_dock)
            dock.dockLocationChanged.connect(self._on_dock)
            dock.topLevelChanged.connect(self._on_dock)
        for signal in (telemetry.view_changed, telemetry.pins_changed, plots.changed):
            signal.connect(self._rest.start)
        session.mode_changed.connect(self._on_mode)

    # -- noticing ---------------------------------------------------------------------------

    def _on_dock(self, *_: object) -> None:
        if not shiboken6.isValid(self._window):
            return  # docks are told of the end of their window, too
        if self._window.isVisible() and not self._window.isMinimized():
            self._rest.start()

    def _on_mode(self, *_: object) -> None:
        """Docks that a mode brings or takes are no choice of the layout."""
        self.settle()
        QTimer.singleShot(0, self, self.forget_difference)

    def settle(self) -> None:
        """Take what changed a moment ago as a step of its own."""
        if self._rest.isActive():
            self._rest.stop()
            self._on_rest()

    def forget_difference(self) -> None:
        """What is on show now is where the next step begins."""
        self._rest.stop()
        self._now = self._take()

    def _on_rest(self) -> None:
        new = self._take()
        if new != self._now:
            self._past = [*self._past[1 - MOST :], self._now]
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
        return "" if self._past or self._rest.isActive() else tr("Nothing on show was changed")

    def redo_refusal(self) -> str:
        return "" if self._future else tr("Nothing was undone")

    def _take(self) -> Snapshot:
        view, plots = self._telemetry, self._plots
        return (
            bytes(self._window.saveState(LAYOUT_VERSION).data()),
            (view.x_axis, view.smoothing, view.x_range, view.spread, view.trims_outliers, view.smoothing_kind),
            tuple(view.pinned),
            plots.state(),
        )

    def _put(self, wanted: Snapshot) -> None:
        """Bring back those parts that differ, in the order in which they build on each other."""
        layout, (x_axis, smoothing, x_range, spread, trims, kind), pinned, plots = wanted
        if layout != self._now[0]:
            self._window.restoreState(layout, LAYOUT_VERSION)
        view = self._telemetry
        view.set_x_axis(x_axis)
        view.set_smoothing(smoothing)
        view.set_x_range(x_range)
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
