"""`dmglab plot LOG... --out PNG`: draw the curves of one or more runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro

from trainer_core.cli.options import parse
from trainer_core.cli.output import Result
from trainer_core.formats.plot import plot_logs
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.fields import limits

MAX_SMOOTHING = 0.9999


@dataclass(frozen=True)
class Options:
    logs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """train_log.jsonl files or run directories."""
    out: Path = Path("train.png")
    """The PNG to write."""
    smoothing: float = field(default=0.0, metadata=limits(0, MAX_SMOOTHING))
    """Weight of earlier values in a moving average, 0 to 1."""
    metrics: tuple[str, ...] = ()
    """Scalars to draw, by name, instead of the usual six panels."""


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "plot", argv)
    if not options.logs:
        raise ConfigError("name at least one train_log.jsonl or run directory")

    found = plot_logs(list(options.logs), options.out, options.smoothing, options.metrics)
    return Result(found, f"Wrote {options.out}: the curves of {len(options.logs)} runs.")
