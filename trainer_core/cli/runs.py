"""`dmglab runs`: every run of the data folder, the newest last; `--disk`: the disk space of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from trainer_core.cli.options import Home, home_paths, parse
from trainer_core.cli.output import Result, say, table
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.disk_use import disk_use
from trainer_core.runs.index import RunRegistry
from trainer_core.wire.errors import ConfigError, shortened, shown
from trainer_core.wire.fields import limits
from trainer_core.wire.run_record import STORAGE_TAG, RunRecord, RunState

HEAD = ("name", "run", "state", "task", "device", "env steps", "best", "leaving", "reason")
DISK_HEAD = ("name", "run", "kept", "MiB", "checkpoints", "logs", "other")
EMPTY = "No runs. `dmglab train` starts one."


@dataclass(frozen=True)
class Options:
    home: Home = None
    state: str = ""
    """Only runs in this state."""
    filter: str = ""
    """Only runs with all of these words in id, name, state, task, algorithm or device."""
    limit: int = field(default=0, metadata=limits(0))
    """Number of runs, the newest ones; 0 = all."""
    disk: bool = False
    """Show the disk space of each run, the largest last."""


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "runs", argv)
    home = home_paths(options.home)
    registry = RunRegistry(home)
    records = chosen(registry.reconcile().values(), options)
    if registry.problem:
        say(f"{registry.problem}: runs are listed from their folders")
    if options.disk:
        return _disk(home, records)
    rows = (
        (
            shown(run.name),
            run.run_id,
            run.state.value,
            shown(run.task),
            shown(run.device),
            run.env_steps,
            f"{run.best_success_rate:.3f}",
            f"{run.best_leaving_rate:.3f}",
            shortened(run.reason),
        )
        for run in records
    )
    found = {"ok": True, "runs": [msgspec.to_builtins(record) for record in records]}
    return Result(found, table(HEAD, rows, EMPTY))


def _disk(home: HomePaths, records: Iterable[RunRecord]) -> Result:
    known = {record.run_id: record for record in records}
    uses = sorted((disk_use(home, run_id) for run_id in known), key=lambda use: use.total)
    total = sum(use.total for use in uses)
    sizes = [
        (run.name, run.run_id, run.tags.get(STORAGE_TAG, ""), use.total, use.checkpoints, use.logs, use.other)
        for use, run in ((use, known[use.run_id]) for use in uses)
    ]
    rows = [(shown(name), run_id, shown(kept), *map(_mib, parts)) for name, run_id, kept, *parts in sizes]
    if rows:
        rows.append(("all", "", "", _mib(total), "", "", ""))
    keys = ("name", "run_id", "kept", "bytes", "checkpoints", "logs", "other")
    found = {"ok": True, "bytes": total, "runs": [dict(zip(keys, each, strict=True)) for each in sizes]}
    return Result(found, table(DISK_HEAD, rows, EMPTY))


def _mib(size: int) -> str:
    return f"{size / (1 << 20):,.1f}"


def chosen(records: Iterable[RunRecord], options: Options) -> list[RunRecord]:
    """Return the runs that the options select. Raises ConfigError for an unknown state."""
    if options.state and options.state not in set(RunState):
        raise ConfigError(f"no state '{shown(options.state)}'; one of {', '.join(RunState)}")
    words = options.filter.lower().split()
    found = [record for record in records if options.state in ("", record.state) and (not words or _has(record, words))]
    return found[-options.limit :] if options.limit else found


def _has(run: RunRecord, words: list[str]) -> bool:
    text = f"{run.run_id} {run.name} {run.state} {run.task} {run.algo} {run.device}".lower()
    return all(word in text for word in words)
