"""`dmglab validate LOG`: check a train_log.jsonl against the schema."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from trainer_core.cli.options import parse
from trainer_core.cli.output import Result
from trainer_core.runs.log_check import check_log
from trainer_core.wire.errors import LabError


@dataclass(frozen=True)
class Options:
    log: Annotated[Path, tyro.conf.Positional]
    """A train_log.jsonl, or the folder of its run."""


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "validate", argv)
    path = options.log / "train_log.jsonl" if options.log.is_dir() else options.log
    try:
        report = check_log(path)
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}") from None
    found = report.to_dict()
    verdict = "valid" if found["ok"] else f"{len(report.errors)} errors"
    counts = ", ".join(f"{count:,} {kind}" for kind, count in report.records.items())
    problems = [*report.errors, *(f"warning: {text}" for text in report.warnings)]
    return Result({"log": str(path), **found}, "\n".join([f"{path}: {verdict} ({counts})", *problems]))
