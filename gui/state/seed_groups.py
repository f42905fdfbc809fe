"""Groups of runs that differ only in their seed, shown as one curve with mean and spread.

Plots use a group like a run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gui.kit.words import tr
from gui.state.metric_series import DECAYING, Array
from gui.state.run_history import Alert, RunTelemetry
from trainer_core.lab.task_lists import short_task
from trainer_core.wire import records

APART, RANGE, DEVIATION = "", "range", "deviation"
SPREADS = {APART: "Each run", RANGE: "Seeds: mean, min to max", DEVIATION: "Seeds: mean \u00b1 deviation"}
"""Text of each way to show runs of one configuration."""
NOT_COUNTED = {
    "seed",
    "name",
    "threads",
    "seconds",
    "target_success",
    "keep_checkpoints",
    "checkpoint_every",
    "log_every",
}
"""Configuration fields in which runs of a group may differ: identity, limits, saved files."""
MOST_PLACES = 4096
"""Most x values of a mean curve, more than a screen has pixels."""
MOST_WORDS, MOST_LETTERS = 3, 32
"""Most fields in a group's label, and the length up to which the label includes the fields' names."""


def flat(config: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Return a nested configuration as text by dotted field name."""
    found: dict[str, str] = {}
    for name, value in config.items():
        if isinstance(value, dict):
            found |= flat(value, f"{prefix}{name}.")
        else:
            found[prefix + name] = str(value)
    return found


def conditions(run: RunTelemetry) -> dict[str, str]:
    """Return a run's configuration without the fields NOT_COUNTED; empty before it is known."""
    if run.conditions is None and run.meta is not None and run.meta.config:
        told = {"runner": run.meta.runner, "task": run.meta.task, "algo": run.meta.algo}
        for key, text in sorted(flat(run.meta.config).items()):
            if key.rpartition(".")[2] not in NOT_COUNTED:
                told[key] = text
        run.conditions = told
    return run.conditions or {}


class SeedGroup:
    """At least two runs of one configuration; `label` names the differences from other groups."""

    def __init__(self, members: Sequence[RunTelemetry], spread: str, label: str) -> None:
        self.members, self.spread, self.label = list(members), spread, label
        self.run_id = f"seeds of {members[0].run_id}"
        self.table = _GroupTable(self.members)
        self._known: dict[object, tuple[object, tuple[Array, Array, Array, Array]]] = {}

    @property
    def evals(self) -> list[records.EvalRecord]:
        return [record for run in self.members for record in run.evals]

    @property
    def alerts(self) -> list[Alert]:
        return [alert for run in self.members for alert in run.alerts]

    @property
    def checkpoints(self) -> list[records.CheckpointRecord]:
        return []  # marks of several runs would cover the plot

    @property
    def resumes(self) -> list[records.ResumeRecord]:
        return []

    def curve(self, name: str, x_axis: str, weight: float = 0.0, kind: str = DECAYING) -> tuple[Array, Array]:
        """Return (x, mean of the runs' smoothed values) of a metric, f64[places] each."""
        return self._spread(name, x_axis, weight, kind)[:2]

    def band(self, name: str, x_axis: str, weight: float = 0.0, kind: str = DECAYING) -> tuple[Array, Array, Array]:
        """Return (x, lower edge, upper edge) of the spread of the runs, f64[places] each."""
        x, _, low, high = self._spread(name, x_axis, weight, kind)
        return x, low, high

    def longest(self, name: str, x_axis: str) -> RunTelemetry:
        """Return the run of the group whose measurements reach the greatest x."""

        def last(run: RunTelemetry) -> float:
            x, _ = run.curve(name, x_axis)
            return float(x[-1]) if len(x) else -np.inf

        return max(self.members, key=last)

    def rest(self, name: str, x_axis: str, weight: float = 0.0, kind: str = DECAYING) -> tuple[Array, Array]:
        """Return (x, smoothed values), f64[points] each, of the longest run beyond the end of the mean."""
        x, y = self.longest(name, x_axis).curve(name, x_axis, weight, kind)
        places = self._spread(name, x_axis, weight, kind)[0]
        first = int(x.searchsorted(places[-1], side="right")) if len(places) else 0
        return x[first:], y[first:]

    def _spread(self, name: str, x_axis: str, weight: float, kind: str) -> tuple[Array, Array, Array, Array]:
        key, state = (name, x_axis, weight, kind), (self.table.version, self.table.rewinds)
        known = self._known.get(key)
        if known is None or known[0] != state:
            curves = [run.curve(name, x_axis, weight, kind) for run in self.members]
            made = spread_of([curve for curve in curves if len(curve[0])], self.spread)
            known = self._known[key] = (state, made)
            if len(self._known) > 400:  # other smoothings, other axes
                self._known = {key: known}
        return known[1]


class _GroupTable:
    """The parts of MetricTable's interface that plots use, for the runs of a group."""

    def __init__(self, members: list[RunTelemetry]) -> None:
        self._tables = [run.table for run in members]

    @property
    def version(self) -> int:
        return sum(table.version for table in self._tables)

    @property
    def rewinds(self) -> int:
        return sum(table.rewinds for table in self._tables)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for table in self._tables for name in table.names))

    def has(self, name: str) -> bool:
        return any(table.has(name) for table in self._tables)

    def column(self, name: str) -> Array:
        """Return f64[points], the column of the run whose last value is the largest."""
        columns = [table.column(name) for table in self._tables]
        return max(columns, key=lambda found: found[-1] if len(found) else -np.inf)


def grouped(
    runs: Sequence[RunTelemetry], spread: str, task_title: Callable[[str], str] = short_task
) -> list[RunTelemetry | SeedGroup]:
    """Return the runs with those of one configuration replaced by a group, at the place of the first of them.

    `spread` is a key of SPREADS; `task_title` returns the title of a task.
    """
    told = {run.run_id: conditions(run) for run in runs}
    by_key: dict[object, list[RunTelemetry]] = {}
    for run in runs:
        key = tuple(told[run.run_id].items()) or run.run_id
        by_key.setdefault(key, []).append(run)
    texts = _labels([told[members[0].run_id] for members in by_key.values()], task_title)
    return [
        SeedGroup(members, spread, f"{text} \u00d7{len(members)}") if len(members) > 1 else members[0]
        for members, text in zip(by_key.values(), texts, strict=True)
    ]


def _labels(told: list[dict[str, str]], task_title: Callable[[str], str]) -> list[str]:
    """Return a label for each configuration of `told`.

    The label has the task if there are several tasks, and the fields that differ from other configurations of the same
    task and trainer.
    """
    several = len({one.get("task") for one in told}) > 1
    found = []
    for one in told:
        peers = [other for other in told if _kind(other) == _kind(one)]
        differ = [name for name in one if len({other.get(name) for other in peers}) > 1]
        words = [task_title(one.get("task", ""))] if several or not differ else []
        if len({other.get("runner") for other in told if other.get("task") == one.get("task")}) > 1:
            words.append(one.get("runner", ""))
        fields = [(name.rpartition(".")[2], one[name]) for name in differ[:MOST_WORDS]]
        said = [f"{name} {value}" for name, value in fields]
        is_long = len(", ".join(words + said)) > MOST_LETTERS
        words += [value for _, value in fields] if is_long else said
        if len(differ) > MOST_WORDS:
            words.append(tr("and {value} more", value=len(differ) - MOST_WORDS))
        found.append(", ".join(word for word in words if word) or tr("Seeds"))
    return found


def _kind(one: dict[str, str]) -> tuple[str | None, str | None]:
    return one.get("task"), one.get("runner")


# -- the numbers ----------------------------------------------------------------------------


def spread_of(curves: Sequence[tuple[Array, Array]], spread: str) -> tuple[Array, Array, Array, Array]:
    """Return (x, mean, lower edge, upper edge) of several curves, f64[places] each.

    A curve counts between its first and its last point. There is no mean where fewer than half of the curves (or fewer
    than two) count, as the runs that lasted longest would look like progress. `spread` is RANGE (least and greatest
    value) or DEVIATION (sample standard deviation).
    """
    if not curves:
        none = np.empty(0, np.float64)
        return none, none, none, none
    grid = max((x for x, _ in curves), key=len)
    if not all(np.array_equal(x, grid[: len(x)]) for x, _ in curves):
        grid = np.unique(np.concatenate([x for x, _ in curves]))
    if len(grid) > MOST_PLACES:
        grid = np.linspace(grid[0], grid[-1], MOST_PLACES)
    placed = [_on_grid(x, y, grid) for x, y in curves]
    means = np.stack([mean for mean, _, _ in placed])
    known = ~np.isnan(means)
    count = known.sum(axis=0)
    enough = count >= min(len(curves), max(2, -(-len(curves) // 2)))
    total = means.sum(axis=0, where=known, initial=0.0)
    mean = np.divide(total, count, out=np.zeros(len(grid)), where=enough)
    if spread == DEVIATION:
        squares = np.square(means - mean).sum(axis=0, where=known, initial=0.0)
        off = np.sqrt(squares / np.maximum(count - 1, 1))
        low, high = mean - off, mean + off
    else:
        low = np.fmin.reduce([low for _, low, _ in placed], axis=0)
        high = np.fmax.reduce([high for _, _, high in placed], axis=0)
    if enough.all():
        return grid, mean, low, high
    return grid[enough], mean[enough], low[enough], high[enough]


def _on_grid(x: Array, y: Array, grid: Array) -> tuple[Array, Array, Array]:
    """Return a curve's mean, least and greatest value around each x of `grid`; NaN outside the curve."""
    if len(x) <= len(grid) and np.array_equal(x, grid[: len(x)]):  # recorded at the same steps
        mean = np.full(len(grid), np.nan)
        mean[: len(x)] = y
        return mean, mean, mean
    mean = np.interp(grid, x, y, left=np.nan, right=np.nan)
    low, high = mean, mean
    if len(x) > len(grid):  # several points a place: no spike may be lost between two of them
        edges = np.searchsorted(x, (grid[1:] + grid[:-1]) / 2)
        starts = np.concatenate([[0], edges])
        counts = np.diff(np.append(starts, len(x)))
        held = counts > 0
        mean, low, high = mean.copy(), mean.copy(), mean.copy()
        first = starts[held]
        mean[held] = np.add.reduceat(y, first) / counts[held]
        low[held] = np.minimum.reduceat(y, first)
        high[held] = np.maximum.reduceat(y, first)
    return mean, low, high
