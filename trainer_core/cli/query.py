"""`dmglab query "SELECT ..."`: answer an SQL query over runs and records, read-only."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from typing import Annotated, Any

import tyro

from trainer_core.cli.options import Home, home_paths, parse
from trainer_core.cli.output import Result, say, standard_output, table
from trainer_core.runs.sql import ask
from trainer_core.wire.fields import limits


@dataclass(frozen=True)
class Options:
    question: Annotated[str, tyro.conf.Positional]
    """One SELECT over the tables runs, records, updates, evals, checkpoints, errors, scalars."""
    home: Home = None
    csv: bool = False
    """Print comma-separated values."""
    limit: int = field(default=10_000, metadata=limits(1, 10_000_000))
    """Largest number of rows."""
    seconds: float = field(default=60.0, metadata=limits(0.001, 3600))
    """Time limit of the answer."""


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "query", argv)
    found = ask(home_paths(options.home), options.question, limit=options.limit, seconds=options.seconds)
    if found.cut:
        say(f"more than {options.limit} rows: only the first ones are shown")
    if options.csv:
        writer = csv.writer(standard_output())
        writer.writerow(found.columns)
        writer.writerows(found.rows)
        return {}
    rows = [[_plain(value) for value in row] for row in found.rows]
    answer = {"ok": True, "columns": list(found.columns), "rows": rows, "cut": found.cut}
    return Result(answer, table(found.columns, ([_text(value) for value in row] for row in rows), "No rows."))


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(_plain(value))
