"""Table of plots, the user's arrangement of the plots, and commands on one plot."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication, QImage

from gui.kit.settings import Settings
from gui.kit.words import tr
from gui.state.new_files import NewFiles
from gui.state.seed_groups import APART
from gui.state.session import Navigation, Place
from gui.state.telemetry import TelemetryModel
from trainer_core.wire.metric_names import METRICS, Metric, metric

PAGES = {"overview": "Overview", "policy": "Policy", "env": "Environment", "perf": "Speed"}
"""Title of each page by its group of metrics, in the order of the tabs."""
TASKS = "Tasks"
"""Section for a run of several tasks: the plot of each metric has one line per task."""
MORE = "More"
"""Page of metrics outside the built-in table, from other trainers."""
WITH_EVALS = "success_rate"
"""Metric whose plot also shows validation results as dots."""
PARTS = ("order", "hidden", "log", "added", "pinned", "folded", "lines")
"""Names of the saved lists of `PlotChoices`; each holds metrics, except `folded`, which holds groups.

`lines` holds the metric of a plot and that of the line chosen in it, with a line break between them.
"""


@dataclass(frozen=True, slots=True)
class PlotSpec:
    """Description of one plot: the metric that names it, and its lines as (metric, short name)."""

    metric: str
    title: str
    lines: tuple[tuple[str, str], ...]
    help: str = ""
    evals: bool = False
    """True if validation results are drawn as dots."""
    is_share: bool = False
    """True if the values lie between 0 and 1."""
    is_fixed: bool = False
    """True if the y axis is always 0 to 1, even where all values are small."""
    group: str = "other"


def spec_of(row: Metric) -> PlotSpec:
    """Return the plot of a metric, including the related metrics that are drawn in the same plot."""
    rows = (row, *(other for other in METRICS if other.beside == row.name))
    return PlotSpec(
        metric=row.name,
        title=tr(row.title),
        lines=tuple((line.name, tr(line.label or line.title)) for line in rows),
        help="\n".join(tr(line.help) for line in rows if line.help),
        evals=row.name == WITH_EVALS,
        is_share=row.is_share,
        is_fixed=row.is_share and row.reduction != "mean",
        group=row.group,
    )


def page_specs(group: str) -> tuple[PlotSpec, ...]:
    """Return the plots of a page, given by its group of metrics, in the table's order."""
    return tuple(spec_of(row) for row in METRICS if row.group == group and not row.beside)


def every_spec() -> list[PlotSpec]:
    """Return the plots of all pages."""
    return [spec for group in PAGES for spec in page_specs(group)]


def spec_by_name(name: str, measured: Iterable[str] = ()) -> PlotSpec:
    """Return the plot that the metric `name` names, else a plot of only that metric.

    `measured` are the names of all metrics of the runs: plots with one line per task are built from them.
    """
    for spec in (*every_spec(), *further_specs(measured)):
        if spec.metric == name:
            return spec
    return spec_of(metric(name))


def further_specs(names: Iterable[str]) -> list[PlotSpec]:
    """Return plots for the metrics of `names` outside the built-in table; a metric of several tasks is one plot."""
    known = {row.name for row in METRICS}
    rows = [metric(name) for name in names if name not in known]
    by_task: dict[str, list[Metric]] = {}
    for row in rows:
        if row.group == "tasks":
            by_task.setdefault(row.name.partition("/")[0], []).append(row)
    return [
        *(_by_task(metric(head), found) for head, found in by_task.items()),
        *(spec_of(row) for row in rows if row.group != "tasks"),
    ]


def _by_task(row: Metric, of_tasks: list[Metric]) -> PlotSpec:
    """Return one plot of metric `row` with a line for each of `of_tasks`, the same metric of single tasks.

    A line's label is the last part of the task id where that is unique, else the whole id.
    """
    last = [found.label.rpartition("/")[2] for found in of_tasks]
    labels = last if len(set(last)) == len(last) else [found.label for found in of_tasks]
    lines = ((found.name, name) for found, name in zip(of_tasks, labels, strict=True))
    return replace(spec_of(row), metric=f"{row.name}_by_task", lines=tuple(lines), group="tasks", help=tr(row.help))


class PlotChoices(QObject):
    """The user's order, folding, hiding and scales of plots, saved in the settings; a plot is known by its metric."""

    changed = Signal()
    spoken_of = Signal()
    """Commands on one plot now act on another plot."""
    maximised = Signal(str)
    """Metric of the plot that fills the page; empty when all plots are shown again."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        self._parts = {name: self._read(name) for name in PARTS}
        self.current = ""
        """Metric of the plot that commands act on: the one focused, clicked, or maximised last."""
        self.is_maximised = False

    def _read(self, name: str) -> list[str]:
        return self._settings.decoded(f"curves/{name}", list[str], [])

    def _keep(self, name: str, value: list[str]) -> None:
        self._parts[name] = value
        self._settings.set(f"curves/{name}", json.dumps(value))
        self.changed.emit()

    def _toggle(self, part: str, name: str) -> None:
        kept = [other for other in self._parts[part] if other != name]
        self._keep(part, kept if name in self._parts[part] else [*kept, name])

    def ordered(self, metrics: list[str]) -> list[str]:
        """Return `metrics` in the order chosen by the user; metrics never moved keep their place."""
        wanted = [name for name in self._parts["order"] if name in metrics]
        moved, known = iter(wanted), set(wanted)
        return [next(moved) if name in known else name for name in metrics]

    def move(self, metric: str, before: str, metrics: list[str]) -> None:
        """Move a plot to the place of the plot `before`.

        `metrics` are all plots of the section in their order.
        """
        order = self.ordered(metrics)
        if metric == before or metric not in order or before not in order:
            return
        goal = order.index(before)
        order.remove(metric)
        order.insert(goal, metric)
        others = [name for name in self._parts["order"] if name not in metrics]
        self._keep("order", others + order)

    def is_hidden(self, metric: str) -> bool:
        return metric in self._parts["hidden"]

    def set_hidden(self, metric: str, is_hidden: bool) -> None:
        if is_hidden != self.is_hidden(metric):
            self._toggle("hidden", metric)

    @property
    def hidden(self) -> tuple[str, ...]:
        return tuple(self._parts["hidden"])

    def is_log(self, metric: str) -> bool:
        return metric in self._parts["log"]

    def toggle_log(self, metric: str) -> None:
        self._toggle("log", metric)

    def line(self, metric: str) -> str:
        """Return the metric of the line chosen in a plot; empty if the user chose none."""
        found = (entry.partition("\n") for entry in self._parts["lines"])
        return next((line for name, _, line in found if name == metric), "")

    def choose_line(self, metric: str, line: str) -> None:
        others = [entry for entry in self._parts["lines"] if entry.partition("\n")[0] != metric]
        self._keep("lines", [*others, f"{metric}\n{line}"])

    @property
    def pinned(self) -> tuple[str, ...]:
        """Metrics of the plots shown above all groups, in the order in which they were pinned."""
        return tuple(self._parts["pinned"])

    def toggle_pinned(self, metric: str) -> None:
        self._toggle("pinned", metric)

    def is_folded(self, group: str) -> bool:
        """Return whether only the heading of a group of plots is visible."""
        return group in self._parts["folded"]

    def toggle_folded(self, group: str) -> None:
        self._toggle("folded", group)

    @property
    def added(self) -> tuple[str, ...]:
        """Metrics for which the user added a plot by typing the name."""
        return tuple(self._parts["added"])

    def add(self, metric: str) -> None:
        if metric not in self._parts["added"]:
            self._toggle("added", metric)

    def drop(self, metric: str) -> None:
        """Remove a plot from the page: delete it if the user added it, else hide it."""
        if metric in self._parts["added"]:
            self._toggle("added", metric)
        else:
            self.set_hidden(metric, True)

    def reset(self) -> None:
        """Restore the default arrangement: table order, linear axes, nothing hidden, folded, pinned or added."""
        self.put_state(tuple(() for _ in PARTS), always=True)

    def state(self) -> tuple[tuple[str, ...], ...]:
        """Return the saved lists, one tuple for each name in PARTS, for `put_state`."""
        return tuple(tuple(self._parts[name]) for name in PARTS)

    def put_state(self, state: tuple[tuple[str, ...], ...], *, always: bool = False) -> None:
        if state == self.state() and not always:
            return
        for name, part in zip(PARTS, state, strict=True):
            self._parts[name] = list(part)
            self._settings.set(f"curves/{name}", json.dumps(part))
        self.changed.emit()

    def speak_of(self, metric: str) -> None:
        """Let commands on one plot act on this plot."""
        self.current = metric
        self.spoken_of.emit()

    def maximise(self, metric: str) -> None:
        if metric:
            self.speak_of(metric)
        self.is_maximised = bool(metric)
        self.maximised.emit(metric)


class CurvesController(QObject):
    """Commands on a single plot: the one that `choices.current` names."""

    def __init__(
        self, telemetry: TelemetryModel, choices: PlotChoices, navigation: Navigation, files: NewFiles
    ) -> None:
        super().__init__()
        self._telemetry, self.choices = telemetry, choices
        self._navigation, self._files = navigation, files
        self.draw: Callable[[str, str], bytes] = lambda metric, kind: b""
        """Function (metric, kind) that returns a plot as the bytes of a png, svg or csv file; set by the view."""
        self.card_of: Callable[[str], Any] = lambda metric: None
        """Function that returns a new card of the plot of a metric, for a file; set by the view."""
        self.on_page: Callable[[], list[tuple[str, list[str]]]] = list
        """Function that returns (title, metrics of its plots) for each visible group; set by the view."""

    def refusal(self) -> str:
        """Return why a command on one plot is impossible now; empty when it is possible."""
        return "" if self.choices.current else tr("Click on a plot first")

    def follow_refusal(self) -> str:
        is_moved = self._telemetry.x_range is not None or self._telemetry.y_ranges
        return "" if is_moved else tr("Everything is already shown, and new data too")

    def follow(self) -> None:
        self._telemetry.move(None, {})

    def fit(self) -> None:
        """Fit x, and y of the current plot."""
        metric, ranges = self.choices.current, self._telemetry.y_ranges
        self._telemetry.move(None, {name: kept for name, kept in ranges.items() if name != metric})

    def toggle_log_x(self) -> None:
        self._telemetry.set_log_x(not self._telemetry.log_x)

    def toggle_outliers(self) -> None:
        self._telemetry.set_trims_outliers(not self._telemetry.trims_outliers)

    def smooth_by(self, kind: str) -> None:
        self._telemetry.set_smoothing_kind(kind)

    def toggle_spread(self, spread: str) -> None:
        """Show runs that differ only in their seed as a mean with a band (`spread`), or as separate curves again."""
        telemetry = self._telemetry
        telemetry.set_spread(APART if telemetry.spread == spread else spread)

    def toggle_maximised(self) -> None:
        choices = self.choices
        choices.maximise("" if choices.is_maximised else choices.current)
        self._navigation.show(Place.CURVES)

    def maximise(self, metric: str) -> None:
        """Let the plot of `metric` fill the Curves page."""
        self.choices.maximise(metric)
        self._navigation.show(Place.CURVES)

    def toggle_log(self) -> None:
        self.choices.toggle_log(self.choices.current)

    def toggle_pinned(self) -> None:
        self.choices.toggle_pinned(self.choices.current)

    def hide(self) -> None:
        self.choices.maximise("")
        self.choices.drop(self.choices.current)

    def file_name(self, kind: str) -> str:
        """Return the proposed file name for an export of the current plot; `kind` is png, svg or csv."""
        return f"{self.choices.current.replace('/', '_')}.{kind}"

    def copy(self) -> None:
        """Copy a picture of the current plot to the clipboard."""
        image = QImage.fromData(self.draw(self.choices.current, "png"))
        QGuiApplication.clipboard().setImage(image)

    def export(self, kind: str, path: Path) -> None:
        """Write the current plot to `path` as `kind` (png, svg, csv) and announce it with a link to the folder."""
        content = self.draw(self.choices.current, kind)
        self._files.write(path, lambda: content, tr("Plot saved"))
