"""`dmglab validate LOG`: exit 0 when a train_log.jsonl keeps the schema's promises."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from trainer_core.cli.options import parse
from trainer_core.runs.log_check import check_log
from trainer_core.wire.errors import LabError


@dataclass(frozen=True)
class Options:
    log: Annotated[Path, tyro.conf.Positional]
    """A train_log.jsonl or the run directory it lies in."""


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "validate", argv)
    path = options.log / "train_log.jsonl" if options.log.is_dir() else options.log
    try:
        report = check_log(path)
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}") from None
    return {"log": str(path), **report.to_dict()}
