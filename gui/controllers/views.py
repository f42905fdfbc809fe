"""Views of the curves by name: axes, smoothing, plots, runs on show and the filter of the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject

from gui.controllers.runs import RunsController
from gui.models.metric_series import X_AXES
from gui.models.navigation import Navigation, Place
from gui.models.notices import Notices
from gui.models.plot_choices import PARTS, PlotChoices
from gui.models.run_telemetry import TelemetryModel
from gui.models.saved_views import SavedViews
from gui.models.seed_groups import SPREADS
from gui.words import tr


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
        """The table's; both are its dock's to give."""
        self.plot_filter: Callable[[], str] = str
        self.set_plot_filter: Callable[[str], None] = lambda text: None
        """That of the plots, which the page of curves has."""

    def save(self, name: str) -> None:
        """Keep what is on show under a name; nothing where the name is empty."""
        if not (name := name.strip()):
            return
        model = self._telemetry
        self.views.put(
            name,
            {
                "axis": model.x_axis,
                "smoothing": model.smoothing,
                "kind": model.smoothing_kind,
                "spread": model.spread,
                "outliers": model.trims_outliers,
                "focus": model.focus,
                "pinned": model.pinned,
                "filter": self.filter_text(),
                "plot_filter": self.plot_filter(),
                "plots": dict(zip(PARTS, map(list, self._plots.state()), strict=True)),
            },
        )

    def open(self, name: str) -> None:
        """Bring back what was on show; of its runs those that are still there."""
        view, model = self.views[name], self._telemetry
        if view.get("axis") in X_AXES:
            model.set_x_axis(view["axis"])
        if isinstance(view.get("smoothing"), int | float):
            model.set_smoothing(view["smoothing"])
        model.set_smoothing_kind(str(view.get("kind", "")))
        if view.get("spread") in SPREADS:
            model.set_spread(view["spread"])
        model.set_trims_outliers(bool(view.get("outliers")))
        self._plots.put_state(_plots(view.get("plots")))
        self.set_filter(str(view.get("filter", "")))
        self.set_plot_filter(str(view.get("plot_filter", "")))
        pinned = [name for name in _list(view.get("pinned")) if isinstance(name, str)]
        wanted = list(dict.fromkeys(filter(None, [str(view.get("focus", "")), *pinned])))
        if known := self._runs.known(wanted):
            self._runs.show(known[0])
        self._runs.show_all(self._runs.known(pinned))
        if gone := len(wanted) - len(known):
            self._notices.tell(
                tr("The view {name}", name=name), tr("{count} of its runs are not here any more", count=gone), "warn"
            )
        self._navigation.show(Place.CURVES)


def _plots(found: Any) -> tuple[tuple[str, ...], ...]:
    """As `PlotChoices.put_state` wants them; a part that an older app did not have is empty."""
    parts = found if isinstance(found, dict) else {}
    return tuple(tuple(map(str, _list(parts.get(name)))) for name in PARTS)


def _list(found: Any) -> list[Any]:
    return found if isinstance(found, list) else []
