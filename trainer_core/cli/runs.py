"""`dmglab runs`: every run of a home, the newest last."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from trainer_core.cli.options import home_paths, parse
from trainer_core.runs.index import RunRegistry


@dataclass(frozen=True)
class Options:
    home: Path | None = None
    """Where runs lie; default DMGLAB_HOME or var/ of the checkout."""
    json: bool = False
    """One JSON object instead of a table."""


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "runs", argv)
    records = RunRegistry(home_paths(options.home)).reconcile()
    if options.json:
        return {"ok": True, "runs": [msgspec.to_builtins(record) for record in records.values()]}
    rows = [("run", "state", "task", "device", "env steps", "best", "reason")]
    rows += [
        (run.run_id, run.state.value, run.task, run.device, f"{run.env_steps:,}",
         f"{run.best_success_rate:.3f}", run.reason)
        for run in records.values()
    ]  # fmt: skip
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip(), file=sys.stdout)
    return {}
