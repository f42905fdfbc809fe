"""`dmglab query "SELECT ..."`: runs and records of a home as tables, read-only."""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro

from trainer_core.cli.options import home_paths, parse
from trainer_core.cli.output import print_table
from trainer_core.runs.sql import ask
from trainer_core.wire.fields import limits


@dataclass(frozen=True)
class Options:
    question: Annotated[str, tyro.conf.Positional]
    """One SELECT over runs, records, updates, evals, checkpoints, errors, scalars."""
    home: Path | None = None
    """Where runs lie; default DMGLAB_HOME or var/ of the checkout."""
    json: bool = False
    """One JSON object instead of a table."""
    csv: bool = False
    """Comma-separated values instead of a table."""
    limit: int = field(default=10_000, metadata=limits(1, 10_000_000))
    """Rows at most."""
    seconds: float = field(default=60.0, metadata=limits(0.001, 3600))
    """For the answer."""


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "query", argv)
    found = ask(home_paths(options.home), options.question, limit=options.limit, seconds=options.seconds)
    if found.cut:
        print(f"more than {options.limit} rows: the first ones", file=sys.stderr)
    if options.json:
        rows = [[_plain(value) for value in row] for row in found.rows]
        return {"ok": True, "columns": list(found.columns), "rows": rows, "cut": found.cut}
    if options.csv:
        writer = csv.writer(sys.stdout)
        writer.writerow(found.columns)
        writer.writerows(found.rows)
    else:
        print_table([found.columns, *([_text(value) for value in row] for row in found.rows)])
    return {}


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(_plain(value))
