"""`dmglab plot LOG... --out PNG`: curves of one or more runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from trainer_core.cli.options import parse
from trainer_core.protocol.errors import LabError


@dataclass(frozen=True)
class Options:
    logs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """train_log.jsonl files or run directories."""
    out: Path = Path("train.png")
    """The PNG to write."""
    smoothing: float = 0.0
    """Weight of the past in a moving average, 0 to 1."""


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "plot", argv)
    if not options.logs:
        raise LabError("name at least one train_log.jsonl or run directory")
    from trainer_core.plotting import plot_logs

    return plot_logs(list(options.logs), options.out, options.smoothing)
