"""`dmglab runs`: every run of a home, the newest last."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from trainer_core.cli.options import home_paths, parse
from trainer_core.cli.output import print_table, say
from trainer_core.runs.index import RunRegistry
from trainer_core.wire.errors import ConfigError, shortened, shown
from trainer_core.wire.fields import limits
from trainer_core.wire.run_record import RunRecord, RunState


@dataclass(frozen=True)
class Options:
    home: Path | None = None
    """Where runs lie; default DMGLAB_HOME or var/ of the checkout."""
    json: bool = False
    """One JSON object instead of a table."""
    state: str = ""
    """Only those in this state."""
    filter: str = ""
    """Only those with all of these words in id, name, state, task, algorithm or device."""
    limit: int = field(default=0, metadata=limits(0))
    """Only so many, the newest; 0 is all."""


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "runs", argv)
    registry = RunRegistry(home_paths(options.home))
    records = chosen(registry.reconcile().values(), options)
    if registry.problem:
        say(f"{registry.problem}: runs are listed from their folders")
    if options.json:
        return {"ok": True, "runs": [msgspec.to_builtins(record) for record in records]}
    rows = [("run", "state", "task", "device", "env steps", "best", "leaving", "reason")]
    rows += [
        (
            run.run_id,
            run.state.value,
            shown(run.task),
            shown(run.device),
            f"{run.env_steps:,}",
            f"{run.best_success_rate:.3f}",
            f"{run.best_leaving_rate:.3f}",
            shortened(run.reason),
        )
        for run in records
    ]
    print_table(rows)
    return {}


def chosen(records: Iterable[RunRecord], options: Options) -> list[RunRecord]:
    """Those that the options leave. Raises ConfigError for a state that there is not."""
    if options.state and options.state not in set(RunState):
        raise ConfigError(f"no state '{shown(options.state)}'; one of {', '.join(RunState)}")
    words = options.filter.lower().split()
    found = [record for record in records if options.state in ("", record.state) and (not words or _has(record, words))]
    return found[-options.limit :] if options.limit else found


def _has(run: RunRecord, words: list[str]) -> bool:
    text = f"{run.run_id} {run.name} {run.state} {run.task} {run.algo} {run.device}".lower()
    return all(word in text for word in words)
