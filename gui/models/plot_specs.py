"""Which plots there are: the table of metrics, page by page, and a plot for any other scalar."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from gui.words import tr
from trainer_core.wire.metric_names import METRICS, Metric, metric

PAGES = {"overview": "Overview", "policy": "Policy", "env": "Env", "perf": "Perf"}
"""Title of a page by the group of its metrics, in their order."""
TASKS = "Tasks"
"""The section of a run of several tasks: each metric's plot has a line per task."""
MORE = "More"
"""The page of scalars without a row in the table: another trainer's."""
WITH_EVALS = "success_rate"
"""The plot in which validation results are marked as points."""


@dataclass(frozen=True, slots=True)
class PlotSpec:
    """What one plot shows: the metric it is named after, and lines as (metric, short name)."""

    metric: str
    title: str
    lines: tuple[tuple[str, str], ...]
    help: str = ""
    evals: bool = False
    """Also mark validation results, as points."""
    is_share: bool = False
    """Values lie between 0 and 1."""
    is_fixed: bool = False
    """The axis is from 0 to 1 however small the values; shares of steps are always small."""
    group: str = "other"


def spec_of(row: Metric) -> PlotSpec:
    """The plot that is named after a metric, with those that are drawn beside it."""
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
    """The plots of a page, in the table's order."""
    return tuple(spec_of(row) for row in METRICS if row.group == group and not row.beside)


def every_spec() -> list[PlotSpec]:
    """The plots of all pages."""
    return [spec for group in PAGES for spec in page_specs(group)]


def spec_by_name(name: str, measured: Iterable[str] = ()) -> PlotSpec:
    """The plot that is named after a metric, or one of that metric alone; `measured` are all
    scalars there are, of which some plots have as many lines as there are tasks."""
    for spec in (*every_spec(), *further_specs(measured)):
        if spec.metric == name:
            return spec
    return spec_of(metric(name))


def further_specs(names: Iterable[str]) -> list[PlotSpec]:
    """Plots for those of `names` that no page has; what is told of each task in one plot."""
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
    """One metric of several tasks; tasks are called by the last part of their names if that tells
    them apart."""
    last = [found.label.rpartition("/")[2] for found in of_tasks]
    labels = last if len(set(last)) == len(last) else [found.label for found in of_tasks]
    lines = ((found.name, name) for found, name in zip(of_tasks, labels, strict=True))
    return replace(spec_of(row), metric=f"{row.name}_by_task", lines=tuple(lines), group="tasks", help=tr(row.help))
