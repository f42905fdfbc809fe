"""Results of a sweep: its settings, ranked by their results over all seeds."""

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
                "name": record.name if record else sweep.title(trial),
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


def cells(rows: list[dict[str, Any]], mode: str) -> list[tuple[object, ...]]:
    """Return the ranking for a person: a row of HEADS for each setting."""
    best = max if mode == "max" else min
    found: list[tuple[object, ...]] = []
    for row in rows:
        trials = row["trials"]
        values = [trial["value"] for trial in trials if trial["value"] is not None]
        found.append(
            (
                " ".join(f"{name}={value}" for name, value in row["values"].items()) or "(as given)",
                len(trials),
                sum(trial["done"] for trial in trials),
                sum(bool(trial["ended_early"]) for trial in trials),
                f"{row['median']:.4g}" if values else "",
                f"{best(values):.4g}" if values else "",
                int(row["env_steps"]),
            )
        )
    return found
