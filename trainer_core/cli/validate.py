"""`dmglab validate RUN`: check a train_log.jsonl against the schema."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from trainer_core.cli.options import home_paths, parse
from trainer_core.cli.output import Result
from trainer_core.runs.log_check import check_log
from trainer_core.runs.names import find_run
from trainer_core.wire.errors import LabError


@dataclass(frozen=True)
class Options:
    log: Annotated[str, tyro.conf.Positional]
    """Run name or id, run folder, `latest`, or a train_log.jsonl."""
    home: Path | None = None
    """Data folder; default DMGLAB_HOME, or var/ of the checkout."""


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "validate", argv)
    path = Path(options.log)
    if path.name == options.log and not os.path.lexists(path):
        path = find_run(options.log, home_paths(options.home)).root
    path = path / "train_log.jsonl" if path.is_dir() else path
    try:
        report = check_log(path)
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}") from None
    found = report.to_dict()
    verdict = "valid" if found["ok"] else f"{len(report.errors)} errors"
    counts = ", ".join(f"{count:,} {kind}" for kind, count in report.records.items())
    problems = [*report.errors, *(f"warning: {text}" for text in report.warnings)]
    return Result({"log": str(path), **found}, "\n".join([f"{path}: {verdict} ({counts})", *problems]))
