"""Plots of train_log.jsonl files by matplotlib without a display."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import Any

from trainer_core.wire import records
from trainer_core.wire.errors import LabError, ProtocolError
from trainer_core.wire.metric_names import metric, scalars, unmeasured
from trainer_core.wire.regular_files import check_target, open_regular
from trainer_core.wire.run_names import run_name

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
Panel = tuple[str, tuple[str, ...]]
"""Title of a panel, and the names of the scalars that are drawn in it."""
COLUMNS = 3
PANELS: tuple[Panel, ...] = (
    ("reward per step", ("reward_mean",)),
    ("done and trunc rate", ("done_rate", "trunc_rate")),
    ("goal distance", ("dist_p50", "dist_p10", "dist_p90")),
    ("entropy", ("entropy_mean",)),
    ("value", ("value_mean",)),
    ("validation success", ("eval",)),
)


@dataclass
class Series:
    """Curves read from one log."""

    name: str
    """Folder of the log, which is the run's id; without one, the name of the file."""
    title: str
    """Name in the legend."""
    steps: list[int] = field(default_factory=list)
    values: dict[str, list[float]] = field(default_factory=dict)
    resumes: list[int] = field(default_factory=list)
    evals: list[tuple[int, float]] = field(default_factory=list)


def read_series(path: Path) -> Series:
    """Return the curves of a log; unknown and torn lines are skipped.

    Raises LabError when it cannot be read or holds no update record.
    """
    path = path / "train_log.jsonl" if path.is_dir() else path
    name = path.parent.name or path.stem
    series = Series(name, run_name(name) if path.with_name("config.json").exists() else name)
    try:
        with BufferedReader(open_regular(path)) as file:
            while line := file.readline(records.MAX_LINE_BYTES + 1):
                with contextlib.suppress(ProtocolError):  # torn, or of a newer version
                    _take(series, records.decode(line.rstrip()))
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}") from None
    if not series.steps:
        raise LabError(f"{path}: holds no update record to draw")
    return series


def _take(series: Series, record: records.Event) -> None:
    match record:
        case records.ResumeRecord():
            series.resumes.append(record.env_steps)
            while series.steps and series.steps[-1] > record.env_steps:  # the resumed run repeats this part
                series.steps.pop()
                for values in series.values.values():
                    values.pop()
        case records.EvalRecord(mode="greedy", is_part=False):
            series.evals.append((record.env_steps, record.success_rate))
        case records.UpdateRecord():
            found = scalars(record)
            for name in found.keys() & unmeasured(record):
                found[name] = math.nan
            for name in found.keys() - series.values.keys():
                series.values[name] = [math.nan] * len(series.steps)
            series.steps.append(record.env_steps)
            for name, values in series.values.items():
                values.append(found.get(name, math.nan))


def smooth(values: list[float], weight: float) -> list[float]:
    """Return the exponential moving average of `values`, unbiased at the start; weight 0 returns `values` unchanged."""
    found, total, norm = [], 0.0, 0.0
    for value in values:
        if value != value:  # NaN is a gap and stays one
            found.append(value)
            continue
        total = weight * total + (1 - weight) * value
        norm = weight * norm + (1 - weight)
        found.append(total / norm)
    return found


def plot_logs(logs: list[Path], out: Path, smoothing: float = 0.0, metrics: Sequence[str] = ()) -> dict[str, Any]:
    """Draw PANELS, or one panel for each of `metrics`; return a report with the panels without data.

    Raises LabError for a log without updates and for a metric that no log holds.
    """
    if not 0 <= smoothing < 1:
        raise LabError(f"smoothing must lie in 0 to 1 (1 excluded), got {smoothing:g}")
    check_target(out)
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot, ticker

    runs = [read_series(path) for path in logs]
    panels = _panels(runs, metrics) if metrics else PANELS
    rows = -(-len(panels) // COLUMNS)
    figure, axes = pyplot.subplots(rows, COLUMNS, figsize=(14, 3.5 * rows), constrained_layout=True, squeeze=False)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    missing = []
    for axis, (title, names) in zip(axes.flat, panels, strict=False):
        drawn = [
            _draw(axis, run, names, smoothing, OKABE_ITO[index % len(OKABE_ITO)], len(runs) > 1)
            for index, run in enumerate(runs)
        ]
        axis.set_title(title)
        axis.set_xlabel("environment steps")
        axis.xaxis.set_major_formatter(ticker.EngFormatter(sep=""))
        axis.grid(alpha=0.25)
        if any(drawn):
            axis.legend(fontsize="small")
        else:
            missing.append(title)
            axis.text(0.5, 0.5, "no data in the log", ha="center", transform=axis.transAxes)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        partial = out.with_name(f".{out.name}.tmp")
        figure.savefig(partial, dpi=110, format="png")
        partial.replace(out)
    except OSError as error:
        raise LabError(f"{out}: {error.strerror}") from None
    finally:
        pyplot.close(figure)
    return {
        "ok": True,
        "out": str(out),
        "runs": [run.name for run in runs],
        "updates": [len(run.steps) for run in runs],
        "resumes": sum(len(run.resumes) for run in runs),
        "missing_panels": missing,
    }


def _panels(runs: list[Series], names: Sequence[str]) -> tuple[Panel, ...]:
    known = set().union(*(run.values for run in runs))
    unknown = [name for name in names if name not in known]
    if unknown:
        raise LabError(f"no log holds {', '.join(unknown)}; there is {', '.join(sorted(known))}")
    return tuple((metric(name).title, (name,)) for name in names)


def _draw(axis: Any, run: Series, names: tuple[str, ...], smoothing: float, colour: str, several: bool) -> bool:
    """Draw the scalars `names` of one run into the panel `axis`; return False when the run has no values of them."""
    for steps in run.resumes:
        axis.axvline(steps, color=colour, alpha=0.4, linestyle=":", linewidth=1)
    label = f"{run.title} " if several else ""
    if names == ("eval",):
        if run.evals:
            steps, rates = zip(*run.evals, strict=True)
            axis.plot(steps, rates, color=colour, marker="o", markersize=3, label=f"{label}greedy")
        return bool(run.evals)
    found = {name: run.values.get(name, []) for name in names}
    if not any(value == value for value in found[names[0]]):
        return False
    if names[0] == "dist_p50" and len(names) == 3:
        low, high = (smooth(found[name], smoothing) for name in names[1:])
        axis.fill_between(run.steps, low, high, color=colour, alpha=0.15, linewidth=0)
        names = names[:1]
    for name, style in zip(names, ("-", "--"), strict=False):
        values = smooth(found[name], smoothing)
        told = [at for at in zip(run.steps, values, strict=True) if at[1] == at[1]]
        x, y = [step for step, _ in told], [value for _, value in told]
        axis.plot(x, y, style, color=colour, linewidth=1.3, label=label + name)
    return True
