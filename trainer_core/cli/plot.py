"""`dmglab plot RUN... --out PNG`: draw the curves of one or more runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro

from trainer_core.cli.options import Home, home_paths, parse
from trainer_core.cli.output import Result
from trainer_core.formats.plot import plot_logs
from trainer_core.runs.names import find_run
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.fields import limits

MAX_SMOOTHING = 0.9999


@dataclass(frozen=True)
class Options:
    logs: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Run names or ids, run folders, or train_log.jsonl files."""
    out: Path = Path("train.png")
    """The PNG to write."""
    smoothing: float = field(default=0.0, metadata=limits(0, MAX_SMOOTHING))
    """Weight of earlier values in a moving average, 0 to 1."""
    metrics: tuple[str, ...] = ()
    """Scalars to draw, by name, instead of the usual six panels."""
    home: Home = None


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "plot", argv)
    if not options.logs:
        raise ConfigError("name at least one run, or train_log.jsonl; `dmglab runs` lists the runs")
    home = home_paths(options.home)
    logs = [path if (path := Path(text)).exists() else find_run(text, home).root for text in options.logs]
    found = plot_logs(logs, options.out, options.smoothing, options.metrics)
    return Result(found, f"Wrote {options.out}: the curves of {len(options.logs)} runs.")
