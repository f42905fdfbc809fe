"""What one plot shows of the runs on show: decimated curves, and values at a place on the x axis.

Pure numbers. What was computed for a run is kept until that run or the view changes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from gui.models.metric_series import Array, decimate, nearest
from gui.models.plot_specs import PlotSpec
from gui.models.run_telemetry import RunTelemetry, TelemetryModel

SMALL_SHARE = 0.25
"""A share of steps that never exceeds this would be a flat line on an axis up to 1."""
RAW, SMOOTH = "raw", "smooth"


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """A curve ready to draw. `run` and `line` count from 0 within the plot."""

    run_id: str
    metric: str
    layer: str
    run: int
    line: int
    kind: object
    x: Array
    y: Array


class PlotLines:
    """The lines of one plot, computed piece by piece so that no turn takes long."""

    def __init__(self, spec: PlotSpec, model: TelemetryModel) -> None:
        self.spec, self.model = spec, model
        self._known: dict[tuple[str, str, str], tuple[object, Line]] = {}
        self.lines: list[Line] = []
        self.runs: list[RunTelemetry] = []
        """Those that `find_runs` found last."""
        self.computed = 0
        """Lines that were computed so far; a test counts them."""
        self._view: object = None
        self._next = 0
        """Run with which the next call goes on; those before it were brought up to date."""

    def find_runs(self) -> list[RunTelemetry]:
        """Look for the runs on show that have a point of any of the lines, the focus first."""
        wanted = [metric for metric, _ in self.spec.lines]
        known = self.model.runs
        found = (known.get(name) for name in self.model.shown())
        self.runs = [run for run in found if run is not None and any(map(run.table.has, wanted))]
        return self.runs

    def compute(
        self, runs: list[RunTelemetry], low: float, high: float, columns: int, deadline: float
    ) -> bool:
        """Bring `lines` up to date for this range of x. False when time ran out before."""
        view = (self.model.x_axis, self.model.smoothing, low, high, columns, len(runs))
        first = self._next if view == self._view else 0
        self._view, self._next = view, 0
        lines, kept, is_over = [], {}, False
        for index, run in enumerate(runs[first:], first):
            for line, (metric, _) in enumerate(self.spec.lines):
                for layer in self._layers(index):
                    key = (run.run_id, metric, layer)
                    state = (
                        run.table.version, run.table.rewinds, self.model.x_axis,
                        self._weight(layer), low, high, columns, index, line,
                    )  # fmt: skip
                    known = self._known.get(key)
                    if known is None or known[0] != state:
                        if is_over:
                            self._known.update(kept)
                            self._next = index
                            return False
                        is_over = time.perf_counter() > deadline  # one more, so that it ends
                        known = (state, self._line(run, key, index, line, low, high, columns))
                    kept[key] = known
                    lines.append(known[1])
        if first:  # once more through all: one of those before may have grown meanwhile
            self._known.update(kept)
            return self.compute(runs, low, high, columns, deadline)
        self._known, self.lines = kept, lines
        return True

    def _layers(self, index: int) -> tuple[str, ...]:
        """The curve as measured lies behind the smoothed one, of the focus and a single line."""
        if self.model.smoothing > 0 and index == 0 and len(self.spec.lines) == 1:
            return RAW, SMOOTH
        return (SMOOTH,)

    def _weight(self, layer: str) -> float:
        return 0.0 if layer == RAW else self.model.smoothing

    def _line(
        self, run: RunTelemetry, key: tuple[str, str, str], index: int, line: int,
        low: float, high: float, columns: int,
    ) -> Line:  # fmt: skip
        self.computed += 1
        _, metric, layer = key
        weight = self._weight(layer)
        x, y = run.curve(metric, self.model.x_axis, weight)
        x, y = decimate(x, y, low, high, columns)
        kind = (self.model.x_axis, weight, run.table.rewinds, index, line)
        return Line(run.run_id, metric, layer, index, line, kind, x, y)

    # -- ranges -----------------------------------------------------------------------------

    def last_x(self, runs: list[RunTelemetry]) -> float:
        columns = [run.table.column(self.model.x_axis) for run in runs]
        return max((float(x[-1]) for x in columns if len(x)), default=1.0)

    def y_range(self, further: list[Array], *, log: bool) -> tuple[float, float]:
        """Room for every line and for `further` values."""
        found = [y for y in (*(line.y for line in self.lines), *further) if len(y)]
        if log:
            found = [y[y > 0] for y in found]
            found = [y for y in found if len(y)]
        if not found:
            return (0.1, 1.0) if log else (0.0, 1.0)
        low, high = min(float(y.min()) for y in found), max(float(y.max()) for y in found)
        if log:
            return low / 1.25, high * 1.25
        if self.spec.is_share:
            is_small = high <= SMALL_SHARE and not self.spec.is_fixed
            return padded(0.0, max(high, 1e-6) if is_small else 1.0)
        return padded(low, high)

    # -- values -----------------------------------------------------------------------------

    def value_at(self, run: RunTelemetry, metric: str, x: float | None) -> float | None:
        """The measurement nearest to x, the newest for None; None where the run was not there.

        Past a run's end, or before its first record, nothing was measured.
        """
        places, values = run.curve(metric, self.model.x_axis)
        if not len(values):
            return None
        if x is None:
            return float(values[-1])
        if x > places[-1] or x < places[0] - float(places[0]) * 0.5:
            return None
        return float(values[nearest(places, x)])

    def rows_at(self, x: float) -> list[tuple[int, int, str, float]]:
        """(run, line, name, value) of every line that was measured there, the highest first."""
        found = []
        runs = self.runs
        for index, run in enumerate(runs):
            for line, (metric, words) in enumerate(self.spec.lines):
                value = self.value_at(run, metric, x)
                if value is not None:
                    name = self.model.label(run.run_id) if len(runs) > 1 else words
                    if len(runs) > 1 and len(self.spec.lines) > 1:
                        name = f"{name} {words}"
                    found.append((index, line, name, value))
        return sorted(found, key=lambda row: -row[3])

    def to_csv(self) -> str:
        """Every point of every run on show, not only what is drawn."""
        names = [metric for metric, _ in self.spec.lines]
        rows = ["run," + self.model.x_axis + "," + ",".join(names)]
        shown = (self.model.runs.get(name) for name in self.model.shown())
        for run in (run for run in shown if run is not None):
            columns = [run.table.raw(name) for name in (self.model.x_axis, *names)]
            rows += [
                ",".join([run.run_id, *(_cell(value) for value in values)])
                for values in zip(*columns, strict=True)
            ]
        return "\n".join(rows) + "\n"


def _cell(value: float) -> str:
    """A number in a CSV file; nothing where it was not measured."""
    return "" if np.isnan(value) else f"{value:.10g}"


def padded(low: float, high: float) -> tuple[float, float]:
    room = (high - low) * 0.08
    if high - low < 1e-3 * abs(high):  # as good as constant: ticks would all read the same
        room = abs(high) * 0.1
    room = room or 1e-6
    return low - room, high + room


def settled(old: tuple[float, float] | None, new: tuple[float, float]) -> tuple[float, float]:
    """The old range while the new one fits well: a plot that breathes must be drawn anew."""
    if old is None:
        return new
    fits = old[0] <= new[0] and new[1] <= old[1]
    return old if fits and new[1] - new[0] >= 0.6 * (old[1] - old[0]) else new
