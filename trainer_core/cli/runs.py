"""`dmglab runs`: every run of a home, the newest last."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from trainer_core.cli.options import home_paths, parse
from trainer_core.cli.tables import print_table
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
    print_table(rows)
    return {}
