"""Data of one plot: the decimated curves of the runs on show, and their values at a place on the x axis.

No painting here. Curves of a run are cached until the run or the view changes.
"""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass

import numpy as np

from gui.features.curves.plots import PlotSpec
from gui.state.metric_series import CLOCK, DECAYING, Array, decimate, nearest
from gui.state.run_history import RunTelemetry
from gui.state.seed_groups import SeedGroup
from gui.state.telemetry import TelemetryModel
from trainer_core.wire.records import EvalRecord

Entry = RunTelemetry | SeedGroup
SMALL_SHARE = 0.25
"""Largest value up to which a plot of shares gets a y axis shorter than 0 to 1, so that it is no flat line."""
OUTLIERS, BULK_ROOM = 0.05, 0.25
"""Share of the values at either end that may be cut off, and space added around the rest, as share of the range."""
RAW, SMOOTH, REST = "raw", "smooth", "rest"
"""Kinds of line: as measured; smoothed; the longest run of a group of seeds beyond the end of the mean."""
MOST_WHOLE = 5
"""Most runs of which a plot draws every line.

With more runs, or several groups with bands, only the first line of each is drawn: more would be unreadable.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """One drawn curve; `run` and `line` are the indices of its run and metric in the plot."""

    run_id: str
    metric: str
    layer: str
    run: int
    line: int
    kind: object
    x: Array
    y: Array
    low: float
    high: float
    """Greatest value of y and of the band; -inf for a line without points, whose `low` is inf."""
    band: tuple[Array, Array, Array] | None = None
    """(x, lower edge, upper edge), f64[points] each, of the range of a group of seeds; None for one run."""


class PlotLines:
    """Decimated lines of one plot, computed run by run within a deadline, so that the window stays responsive."""

    def __init__(self, spec: PlotSpec, model: TelemetryModel) -> None:
        self.spec, self.model = spec, model
        self._known: dict[str, tuple[object, list[Line]]] = {}
        """Cached lines by run id, with the state of the run's records that they were computed from."""
        self._measured: set[str] = set()
        """Ids of runs that have had a measurement of one of the plot's metrics."""
        self.by_run: list[list[Line]] = []
        """Lines of each run, in the order of `runs`; a run's list object is replaced only when the run changed."""
        self.runs: list[Entry] = []
        """Runs found by the last call of `find_runs`."""
        self.is_alone = True
        """True while at most one run or group on show has records; its lines then get different colours."""
        self.computed = 0
        """Number of lines computed so far, counted for a test."""
        self._view: object = None
        self._next = 0
        """Index of the run with which the next call of `compute` continues."""

    def find_runs(self) -> list[Entry]:
        """Return the runs on show that have a measurement of one of the plot's metrics, the run in focus first."""
        wanted = [metric for metric, _ in self.spec.lines]
        found, measured = self.model.entries(), self._measured
        for run in found:
            if run.run_id not in measured and any(map(run.table.has, wanted)):
                measured.add(run.run_id)
        self.runs = [run for run in found if run.run_id in measured]
        self.is_alone = sum(bool(run.table.names) for run in found) <= 1
        return self.runs

    def compute(self, runs: list[Entry], low: float, high: float, columns: int, deadline: float) -> bool:
        """Compute the lines of `runs` between `low` and `high` on `columns` pixels into `by_run`.

        Return False when `deadline`, a time of `time.perf_counter`, passed before the end; the next call continues.
        """
        model = self.model
        smoothing = (model.smoothing, model.smoothing_kind)
        view = (model.x_axis, smoothing, low, high, columns, len(runs), self.is_alone)
        first = self._next if view == self._view else 0
        if view != self._view:
            self._known.clear()
        self._view, self._next = view, 0
        is_over = False
        for index, run in enumerate(runs[first:], first):
            state = (run.table.version, run.table.rewinds, index)
            known = self._known.get(run.run_id)
            if known is None or known[0] != state:
                if is_over:
                    self._next = index
                    return False
                self._known[run.run_id] = (state, self._lines_of(run, index, low, high, columns))
                is_over = time.perf_counter() > deadline  # at least one run per call, so that it ends
        if first:  # check all again: an earlier one may have grown meanwhile
            return self.compute(runs, low, high, columns, deadline)
        if len(self._known) > len(runs):
            shown = {run.run_id for run in runs}
            self._known = {name: known for name, known in self._known.items() if name in shown}
        self.by_run = [self._known[run.run_id][1] for run in runs]
        return True

    def shown_lines(self) -> list[tuple[int, str, str]]:
        """Return (index, metric, name) of each of the plot's lines that is drawn."""
        every = [(place, *line) for place, line in enumerate(self.spec.lines)]
        has_bands = any(isinstance(run, SeedGroup) for run in self.runs)
        if self.is_alone if has_bands else len(self.runs) <= MOST_WHOLE:
            return every
        return [line for line in every if line[1] == self.spec.metric] or every

    def _layers(self, index: int) -> tuple[str, ...]:
        """Return the kinds of line (RAW, SMOOTH, REST) to draw for the run at `index`, the lowest layer first."""
        if isinstance(self.runs[index], SeedGroup):
            return SMOOTH, REST
        if self.model.smoothing > 0 and index == 0 and len(self.spec.lines) == 1:
            return RAW, SMOOTH
        return (SMOOTH,)

    def _weight(self, layer: str) -> float:
        return 0.0 if layer == RAW else self.model.smoothing

    def _lines_of(self, run: Entry, index: int, low: float, high: float, columns: int) -> list[Line]:
        return [
            self._line(run, metric, layer, index, line, (low, high), columns)
            for line, metric, _ in self.shown_lines()
            for layer in self._layers(index)
        ]

    def _line(
        self, run: Entry, metric: str, layer: str, index: int, line: int, x_range: tuple[float, float], columns: int
    ) -> Line:
        self.computed += 1
        weight = self._weight(layer)
        smoothing = self.model.smoothing_kind
        is_rest = layer == REST
        curve = run.rest if is_rest and isinstance(run, SeedGroup) else run.curve
        x, y = curve(metric, self.model.x_axis, weight, smoothing)
        x, y = decimate(x, y, *x_range, columns)
        kind: object = (self.model.x_axis, weight, run.table.rewinds, index, line)
        if smoothing != DECAYING and weight > 0:
            kind = (kind, smoothing, run.table.version)  # a new point changes those before it
        low, high = (float(y.min()), float(y.max())) if len(y) else (math.inf, -math.inf)
        band = None
        if isinstance(run, SeedGroup):
            kind = (kind, run.table.version, run.spread)  # any point of a mean may have changed
        if isinstance(run, SeedGroup) and not is_rest:
            band = _within(run.band(metric, self.model.x_axis, weight, smoothing), *x_range)
            if len(band[0]):
                low, high = min(low, float(band[1].min())), max(high, float(band[2].max()))
        return Line(run.run_id, metric, layer, index, line, kind, x, y, low, high, band)

    # -- ranges -----------------------------------------------------------------------------

    def first_x(self, runs: list[Entry]) -> float:
        """Return the lower end of the x axis: zero, or the time of the first record on the clock axis."""
        if self.model.x_axis != CLOCK:
            return 0.0
        columns = [run.table.column(CLOCK) for run in runs]
        return min([float(x[0]) for x in columns if len(x)], default=0.0)

    def last_x(self, runs: list[Entry]) -> float:
        """Return the greatest x of all records of `runs`."""
        columns = [run.table.column(self.model.x_axis) for run in runs]
        return max([float(x[-1]) for x in columns if len(x)], default=1.0)

    def y_range(self, further: list[Array], *, log: bool) -> tuple[float, float]:
        """Return (low, high) of the y axis for all lines and the values in `further`; `log` for a logarithmic axis."""
        lines = [line for lines in self.by_run for line in lines]
        if log:
            return _log_range(lines, further)
        measured = [line for line in lines if line.low <= line.high]
        if self.model.trims_outliers and any(len(line.y) for line in measured):
            extremes = [_bulk(measured)]
        else:
            extremes = [(line.low, line.high) for line in measured]
        extremes += _extremes(further)
        if not extremes:
            return 0.0, 1.0
        low, high = min(low for low, _ in extremes), max(high for _, high in extremes)
        if self.spec.is_share:
            is_small = high <= SMALL_SHARE and not self.spec.is_fixed
            return padded(0.0, max(high, 1e-6) if is_small else 1.0)
        return padded(low, high)

    # -- values -----------------------------------------------------------------------------

    def value_at(self, run: Entry, metric: str, x: float | None) -> float | None:
        """Return the run's measurement of `metric` nearest to x, or the newest if x is None.

        Return None beyond the run's last and before its first measurement.
        """
        places, values = self._owner(run, metric, x).curve(metric, self.model.x_axis)
        if not len(values):
            return None
        if x is None:
            return float(values[-1])
        before = 0.0 if self.model.x_axis == CLOCK else float(places[0]) * 0.5  # counted from zero
        if x > places[-1] or x < places[0] - before:
            return None
        return float(values[nearest(places, x)])

    def _owner(self, run: Entry, metric: str, x: float | None) -> Entry:
        """Return the run whose value is shown at x: for a group beyond the end of its mean, its longest run."""
        if isinstance(run, SeedGroup) and x is not None:
            places, _ = run.curve(metric, self.model.x_axis)
            if len(places) and x > places[-1]:
                return run.longest(metric, self.model.x_axis)
        return run

    def band_at(self, run: Entry, metric: str, x: float) -> tuple[float, float] | None:
        """Return (low, high) of a group of seeds at x; None for a single run or without measurements."""
        if not isinstance(run, SeedGroup):
            return None
        places, low, high = run.band(metric, self.model.x_axis)
        if not len(places) or not places[0] <= x <= places[-1]:
            return None
        here = nearest(places, x)
        return float(low[here]), float(high[here])

    def last_before(self, run: Entry, metric: str, x: float) -> tuple[float, float] | None:
        """Return (x, value) of the last measurement of a run that ended before x; None for any other run."""
        places, values = self._owner(run, metric, x).curve(metric, self.model.x_axis)
        if not len(places) or x <= places[-1]:
            return None
        return float(places[-1]), float(values[-1])

    def rows_at(self, x: float) -> list[tuple[int, int, str, float, tuple[float, float] | None]]:
        """Return (run index, line index, name, value, band) of each line measured at x, the greatest value first."""
        found = []
        runs = self.runs
        for index, run in enumerate(runs):
            for line, metric, words in self.shown_lines():
                value = self.value_at(run, metric, x)
                if value is not None:
                    owner = self._owner(run, metric, x)
                    is_named = len(runs) > 1 or owner is not run
                    name = self.model.label(owner.run_id) if is_named else words
                    if is_named and len(self.spec.lines) > 1:
                        name = f"{name} {words}"
                    found.append((index, line, name, value, self.band_at(run, metric, x)))
        return sorted(found, key=lambda row: -row[3])

    def to_csv(self) -> str:
        """Return every point of the plot's lines as CSV, including points that are not drawn."""
        names = [metric for metric, _ in self.spec.lines]
        rows = ["run," + self.model.x_axis + "," + ",".join(names)]
        entries = self.model.entries()
        members = [run.members if isinstance(run, SeedGroup) else [run] for run in entries]
        for run in itertools.chain.from_iterable(members):
            columns = [run.table.raw(name) for name in (self.model.x_axis, *names)]
            rows += [
                ",".join([run.run_id, *(_cell(value) for value in values)]) for values in zip(*columns, strict=True)
            ]
        return "\n".join(rows) + "\n"


def _log_range(lines: list[Line], further: list[Array]) -> tuple[float, float]:
    """Return (low, high) of a logarithmic y axis for all positive values of lines, bands and `further`."""
    edges = [edge for line in lines if line.band for edge in line.band[1:]]
    values = [*(line.y for line in lines), *edges, *further]
    extremes = _extremes([y[y > 0] for y in values])
    if not extremes:
        return 0.1, 1.0
    return min(low for low, _ in extremes) / 1.25, max(high for _, high in extremes) * 1.25


def _extremes(values: list[Array]) -> list[tuple[float, float]]:
    return [(float(y.min()), float(y.max())) for y in values if len(y)]


def _bulk(lines: list[Line]) -> tuple[float, float]:
    """Return (low, high) of the lines' values without the share OUTLIERS at either end, plus some space."""
    low, high = np.quantile(np.concatenate([line.y for line in lines]), (OUTLIERS, 1 - OUTLIERS))
    room = BULK_ROOM * (high - low)
    return (
        max(float(low - room), min(line.low for line in lines)),
        min(float(high + room), max(line.high for line in lines)),
    )


def _within(band: tuple[Array, Array, Array], low: float, high: float) -> tuple[Array, Array, Array]:
    """Return the points of a band between `low` and `high`, plus one neighbour on either side."""
    first = max(0, int(band[0].searchsorted(low)) - 1)
    last = int(band[0].searchsorted(high, side="right")) + 1
    x, floor, top = band
    return x[first:last], floor[first:last], top[first:last]


def _cell(value: float) -> str:
    """Return a number as the text of a CSV cell; empty for NaN."""
    return "" if np.isnan(value) else f"{value:.10g}"


def padded(low: float, high: float) -> tuple[float, float]:
    room = (high - low) * 0.08
    if high - low < 1e-3 * abs(high):  # nearly constant: all ticks would read the same
        room = abs(high) * 0.1
    room = room or 1.0  # all values are zero
    return low - room, high + room


def settled(old: tuple[float, float] | None, new: tuple[float, float]) -> tuple[float, float]:
    """Return the previous axis range `old` while `new` still fits into it well: a changed range redraws the plot."""
    if old is None:
        return new
    fits = old[0] <= new[0] and new[1] <= old[1]
    return old if fits and new[1] - new[0] >= 0.6 * (old[1] - old[0]) else new


def greedy_results(run: Entry, metric: str) -> list[EvalRecord]:
    """Return the run's greedy validations on the metric's task, which is the part after the slash.

    A metric without a task gets the validations over all tasks of the run.
    """
    task = metric.partition("/")[2]
    return [
        record
        for record in run.evals
        if record.mode == "greedy" and record.is_part == bool(task) and task in ("", record.task)
    ]
