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
from gui.kit.plot_shapes import rounded
from gui.state.metric_series import CLOCK, Array, decimate, decimate_band, nearest
from gui.state.run_history import RunTelemetry
from gui.state.seed_groups import SeedGroup
from gui.state.telemetry import PlotLine, TelemetryModel
from trainer_core.wire.metric_names import PHASE
from trainer_core.wire.records import EvalRecord

Entry = RunTelemetry | SeedGroup
SMALL_SHARE = 0.25
"""Largest value up to which a plot of shares gets a y axis shorter than 0 to 1, so that it is no flat line."""
ALL = "*"
OUTLIERS, BULK_ROOM = 0.05, 0.25
"""Share of the values at either end that may be cut off, and space added around the rest, as share of the range."""
RAW, SMOOTH, REST = "raw", "smooth", "rest"
"""Kinds of line: as measured; smoothed; the longest run of a group of seeds beyond the end of the mean."""
BANDS = {("p10", "p90"): "middle 80 %", ("min", "max"): "lowest to highest"}
"""Text of each pair of metrics, by the ends of their names, that is drawn as a band around the first line of a plot."""


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """One drawn curve; `run` and `line` are the indices of its run and metric in the plot."""

    run_id: str
    """Id of the run or group; of a REST, of the run that goes on."""
    metric: str
    layer: str
    run: int
    line: int
    x: Array
    y: Array
    low: float
    high: float
    """Greatest value of y and of the band; -inf for a line without points, whose `low` is inf."""
    band: tuple[Array, Array, Array] | None = None
    """(x, lower edge, upper edge), f64[points] each, of the range of a group of seeds or between two metrics."""


class PlotLines:
    """Decimated lines of one plot, computed run by run within a deadline, so that the window stays responsive."""

    def __init__(self, spec: PlotSpec, model: TelemetryModel) -> None:
        self.spec, self.model = spec, model
        self.picked = ""
        """Metric of the line that the user chose to see; ALL for every line; empty for the plot's usual one."""
        self._known: dict[str, tuple[object, list[Line]]] = {}
        """Cached lines by run id, with the state of the run's records that they were computed from."""
        self._measured: set[str] = set()
        """Ids of runs that have had a measurement of one of the plot's metrics."""
        self.by_run: list[tuple[Entry, list[Line]]] = []
        """Runs and their lines as computed last; a run's list object is replaced only when the run changed."""
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
        view = (model.x_axis, smoothing, low, high, columns, len(runs), self.is_alone, self.picked, model.spread)
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
        self.by_run = [(run, self._known[run.run_id][1]) for run in runs]
        return True

    @property
    def is_every_line(self) -> bool:
        """True if all lines of the plot's only run are drawn, in different colours."""
        return (
            self.is_alone
            and len(self.spec.lines) > 1
            and self.picked in (ALL, "" if self.spec.group == "tasks" else ALL)
        )

    def shown_lines(self) -> list[tuple[int, str, str]]:
        """Return (index, metric, name) of each of the plot's lines that is drawn; usually one."""
        every = [(place, *line) for place, line in enumerate(self.spec.lines)]
        if self.is_every_line:
            return every
        chosen = (line for line in every if line[1] == self.picked)
        measured = (line for line in every if any(run.table.has(line[1]) for run in self.runs))
        return [next(itertools.chain(chosen, measured, every))]

    def edges(self) -> tuple[str, str, str] | None:
        """Return (lower metric, upper metric, text) of the band around the plot's first line; None without one."""
        if not self.is_alone or self.shown_lines()[0][0] or self.is_every_line:
            return None
        names = [metric for metric, _ in self.spec.lines]
        for (lower, upper), words in BANDS.items():
            ends = [next((name for name in names if name.endswith(end)), "") for end in (lower, upper)]
            if all(ends):
                return ends[0], ends[1], words
        return None

    def _lines_of(self, run: Entry, index: int, low: float, high: float, columns: int) -> list[Line]:
        layers = (SMOOTH, REST) if isinstance(run, SeedGroup) else (SMOOTH,)
        if layers == (SMOOTH,) and self.is_alone and self.model.smoothing > 0 and not self.is_every_line:
            layers = (RAW, SMOOTH)
        return [
            self._line(run, metric, layer, index, line, (low, high), columns)
            for line, metric, _ in self.shown_lines()
            for layer in layers
        ]

    def raw_line(self, run_id: str, columns: int) -> Line | None:
        """Return the line of a run as it was measured, to be drawn while the pointer is at the run."""
        index = next((place for place, run in enumerate(self.runs) if run.run_id == run_id), None)
        if index is None or self.model.smoothing == 0 or isinstance(self.runs[index], SeedGroup):
            return None
        low, high = self._view[2:4] if isinstance(self._view, tuple) else (0.0, 1.0)
        line, metric, _ = self.shown_lines()[0]
        return self._line(self.runs[index], metric, RAW, index, line, (low, high), columns)

    def _line(
        self, run: Entry, metric: str, layer: str, index: int, line: int, x_range: tuple[float, float], columns: int
    ) -> Line:
        self.computed += 1
        axis, kind = self.model.x_axis, self.model.smoothing_kind
        weight = 0.0 if layer == RAW else self.model.smoothing
        if layer == REST and isinstance(run, SeedGroup):
            x, y = run.rest(metric, axis, weight, kind)
            run_id, band = run.longest(metric, axis).run_id, None
        else:
            x, y = run.curve(metric, axis, weight, kind)
            run_id, band = run.run_id, self._band(run, metric, weight) if layer == SMOOTH else None
        x, y = decimate(x, y, *x_range, columns)
        low, high = (float(y.min()), float(y.max())) if len(y) else (math.inf, -math.inf)
        if band is not None:
            band = decimate_band(*band, *x_range, columns)
            if len(band[0]):
                low, high = min(low, float(band[1].min())), max(high, float(band[2].max()))
        return Line(run_id, metric, layer, index, line, x, y, low, high, band)

    def _band(self, run: Entry, metric: str, weight: float) -> tuple[Array, Array, Array] | None:
        axis, kind = self.model.x_axis, self.model.smoothing_kind
        if isinstance(run, SeedGroup):
            return run.band(metric, axis, weight, kind)
        if (edges := self.edges()) is None:
            return None
        (x, low), (also, high) = (run.curve(name, axis, weight, kind) for name in edges[:2])
        return (x, low, high) if len(x) and np.array_equal(x, also) else None

    # -- ranges -----------------------------------------------------------------------------

    def first_x(self, runs: list[Entry]) -> float:
        """Return the lower end of the x axis: zero, or the first place above it where zero has no place."""
        if self.model.x_axis != CLOCK and not self.model.log_x:
            return 0.0
        columns = [run.table.column(self.model.x_axis) for run in runs]
        return min([float(x[x > 0][0]) for x in columns if len(x) and x[-1] > 0], default=0.0)

    def last_x(self, runs: list[Entry]) -> float:
        """Return the greatest x of all records of `runs`."""
        columns = [run.table.column(self.model.x_axis) for run in runs]
        return max([float(x[-1]) for x in columns if len(x)], default=1.0)

    def y_range(self, further: list[Array], *, log: bool, rows: int) -> tuple[float, float]:
        """Return (low, high) of the y axis for all lines and the values in `further`, for about `rows` ticks.

        `log` for a logarithmic axis.
        """
        lines = [line for _, lines in self.by_run for line in lines]
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
        if self.spec.is_share and (high > SMALL_SHARE or self.spec.is_fixed):
            return 0.0, 1.0
        if self.spec.is_share or 0 <= low < 0.5 * high:
            low = 0.0  # an axis that begins at zero tells how large the values are
        if high - low < 1e-3 * abs(high) or high == low:  # nearly constant: all ticks would read the same
            room = 0.1 * abs(high) or 1.0
            low, high = low - room, high + room
        return rounded(low, high, rows)

    # -- values -----------------------------------------------------------------------------

    def pointed(self) -> PlotLine:
        """Return the plot's first line, for the crosshair."""
        return PlotLine(self.spec.title, self.shown_lines()[0][1], self.spec.is_fixed)

    def nearest_record(self, x: float) -> float:
        """Return the place of the record of the first run that is nearest to x; x itself beyond the run's end."""
        places = self.runs[0].table.column(self.model.x_axis) if self.runs else np.empty(0)
        return float(places[nearest(places, x)]) if len(places) and places[0] <= x <= places[-1] else x


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


def settled(old: tuple[float, float] | None, new: tuple[float, float]) -> tuple[float, float]:
    """Return the previous axis range `old` while `new` still fits into it well: a changed range redraws the plot."""
    if old is None:
        return new
    fits = old[0] <= new[0] and new[1] <= old[1]
    return old if fits and new[1] - new[0] >= 0.6 * (old[1] - old[0]) else new


def turned_online(run: Entry, x_axis: str) -> float | None:
    """Return the place on `x_axis` of the last record of a run's offline phase; None before the online one."""
    table = _one(run).table
    online = np.flatnonzero(table.raw(PHASE) == 1)
    return float(table.raw(x_axis)[online[0] - 1]) if len(online) and online[0] else None


def phases(run: Entry, metric: str) -> tuple[Array, Array]:
    """Return a metric's measurements f64[points] of a run's offline and of its online phase."""
    table = _one(run).table
    values, phase = table.raw(metric), table.raw(PHASE)
    known = ~np.isnan(values)
    return values[known & (phase == 0)], values[known & (phase == 1)]


def _one(run: Entry) -> RunTelemetry:
    """Return the run, or the first of a group of seeds."""
    return run.members[0] if isinstance(run, SeedGroup) else run


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
