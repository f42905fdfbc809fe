"""Curves from train_log.jsonl files, drawn by matplotlib without a display."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

import msgspec

from trainer_core.protocol.errors import LabError

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
PANELS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("reward per step", ("reward_mean",)),
    ("done and trunc rate", ("done_rate", "trunc_rate")),
    ("goal distance", ("dist_p50", "dist_p10", "dist_p90")),
    ("entropy", ("entropy_mean",)),
    ("value", ("value_mean",)),
    ("validation success", ("eval",)),
)


@dataclass
class Series:
    """What one log gives to draw; unknown and torn lines are passed over."""

    name: str
    steps: list[int] = field(default_factory=list)
    values: dict[str, list[float]] = field(default_factory=dict)
    resumes: list[int] = field(default_factory=list)
    evals: list[tuple[int, float]] = field(default_factory=list)


def read_series(path: Path) -> Series:
    """Raises LabError when the log cannot be read or holds nothing to draw."""
    path = path / "train_log.jsonl" if path.is_dir() else path
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}") from None
    series = Series(path.parent.name or path.stem)
    for line in data.splitlines():
        try:
            record = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        if isinstance(record, dict) and isinstance(record.get("env_steps"), int):
            _take(series, record)
    if not series.steps:
        raise LabError(f"{path}: holds no update record to draw")
    return series


def _take(series: Series, record: dict[str, Any]) -> None:
    steps = record["env_steps"]
    if record.get("type") == "resume":
        series.resumes.append(steps)
        while series.steps and series.steps[-1] > steps:  # the part that was done again
            series.steps.pop()
            for values in series.values.values():
                values.pop()
    elif record.get("type") == "eval" and record.get("mode") == "greedy":
        if _number(record.get("success_rate")):
            series.evals.append((steps, record["success_rate"]))
    elif record.get("type") == "update":
        series.steps.append(steps)
        for _, names in PANELS:
            for name in names:
                value = record.get(name)
                value = float(value) if _number(value) else float("nan")
                series.values.setdefault(name, []).append(value)


def _number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def smooth(values: list[float], weight: float) -> list[float]:
    """Exponential moving average, unbiased at the start; 0 leaves `values` as they are."""
    found, total, norm = [], 0.0, 0.0
    for value in values:
        if value != value:  # a gap stays a gap
            found.append(value)
            continue
        total = weight * total + (1 - weight) * value
        norm = weight * norm + (1 - weight)
        found.append(total / norm)
    return found


def plot_logs(logs: list[Path], out: Path, smoothing: float = 0.0) -> dict[str, Any]:
    """Draw one panel per row of PANELS; returns what was drawn and which panels had no data."""
    if not 0 <= smoothing < 1:
        raise LabError(f"smoothing must lie in 0 to 1 (1 excluded), got {smoothing:g}")
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    runs = [read_series(path) for path in logs]
    figure, axes = pyplot.subplots(2, 3, figsize=(14, 7), constrained_layout=True)
    missing = []
    for axis, (title, names) in zip(axes.flat, PANELS, strict=True):
        drawn = [
            _draw(axis, run, names, smoothing, OKABE_ITO[index % len(OKABE_ITO)], len(runs) > 1)
            for index, run in enumerate(runs)
        ]
        axis.set_title(title)
        axis.set_xlabel("environment steps")
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
        "ok": True, "out": str(out), "runs": [run.name for run in runs],
        "updates": [len(run.steps) for run in runs],
        "resumes": sum(len(run.resumes) for run in runs), "missing_panels": missing,
    }  # fmt: skip


def _draw(
    axis: Any, run: Series, names: tuple[str, ...], smoothing: float, colour: str, several: bool
) -> bool:
    """One run into one panel; False when it has nothing for it."""
    for steps in run.resumes:
        axis.axvline(steps, color=colour, alpha=0.4, linestyle=":", linewidth=1)
    label = f"{run.name} " if several else ""
    if names == ("eval",):
        if run.evals:
            steps, rates = zip(*run.evals, strict=True)
            axis.plot(steps, rates, color=colour, marker="o", markersize=3, label=f"{label}greedy")
        return bool(run.evals)
    found = {name: run.values.get(name, []) for name in names}
    if not any(value == value for value in found[names[0]]):
        return False
    if names[0] == "dist_p50":
        low, high = (smooth(found[name], smoothing) for name in names[1:])
        axis.fill_between(run.steps, low, high, color=colour, alpha=0.15, linewidth=0)
        names = names[:1]
    for name, style in zip(names, ("-", "--"), strict=False):
        values = smooth(found[name], smoothing)
        axis.plot(run.steps, values, style, color=colour, linewidth=1.3, label=label + name)
    return True
