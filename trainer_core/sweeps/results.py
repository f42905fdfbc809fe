"""Results of a sweep: its settings, best first, over their seeds."""

from __future__ import annotations

import statistics
from typing import Any

from trainer_core.lab.paths import HomePaths
from trainer_core.sweeps.conductor import is_finished
from trainer_core.sweeps.following import Following
from trainer_core.sweeps.sweep import Sweep, load_ended
from trainer_core.wire.run_record import RunRecord, RunState

HEADS = ("setting", "trials", "done", "ended early", "median", "best", "env steps")


def ranking(home: HomePaths, sweep: Sweep, known: dict[str, RunRecord]) -> list[dict[str, Any]]:
    """Return one row per setting, from the logs: greatest median over its seeds first, then fewest environment steps.

    `value` is each trial's best; None without a measurement.
    """
    following, ended = Following(home, sweep), load_ended(home, sweep.sweep_id)
    sign = 1 if sweep.early_stop.mode == "max" else -1
    rows: dict[int, dict[str, Any]] = {}
    for trial in sweep.trials:
        following.read(trial)
        curve = following.curves[trial.number]
        record = known.get(trial.run_id)
        row = rows.setdefault(trial.setting, {"values": trial.values, "trials": []})
        row["trials"].append(
            {
                "trial": trial.number,
                "seed": trial.seed,
                "run_id": trial.run_id,
                "state": record.state.value if record else RunState.IDLE.value,
                "done": trial.number in ended or is_finished(record),
                "ended_early": ended.get(trial.number, ""),
                "reason": record.reason if record else "",
                "env_steps": record.env_steps if record else 0,
                "value": sign * max(value for _, value in curve) if curve else None,
            }
        )
    for row in rows.values():
        values = [trial["value"] for trial in row["trials"] if trial["value"] is not None]
        row["median"] = statistics.median(values) if values else None
        row["env_steps"] = statistics.median(trial["env_steps"] for trial in row["trials"])

    def merit(row: dict[str, Any]) -> tuple[bool, float, float]:
        return row["median"] is None, -sign * (row["median"] or 0.0), row["env_steps"]

    return sorted(rows.values(), key=merit)


def table(rows: list[dict[str, Any]], mode: str) -> list[str]:
    """Return the ranking as lines of text."""
    best = max if mode == "max" else min
    cells: list[tuple[str, ...]] = [HEADS]
    for row in rows:
        trials = row["trials"]
        values = [trial["value"] for trial in trials if trial["value"] is not None]
        cells.append(
            (
                " ".join(f"{name}={value}" for name, value in row["values"].items()) or "(as given)",
                str(len(trials)),
                str(sum(trial["done"] for trial in trials)),
                str(sum(bool(trial["ended_early"]) for trial in trials)),
                f"{row['median']:.4g}" if values else "-",
                f"{best(values):.4g}" if values else "-",
                f"{row['env_steps']:,.0f}",
            )
        )
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADS))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]
