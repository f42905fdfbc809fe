"""`dmglab disk`: what each run takes of the disk, the largest last."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer_core.cli.options import home_paths, parse
from trainer_core.cli.output import print_table
from trainer_core.runs.disk_use import disk_use
from trainer_core.runs.index import RunRegistry


@dataclass(frozen=True)
class Options:
    home: Path | None = None
    """Where runs lie; default DMGLAB_HOME or var/ of the checkout."""
    json: bool = False
    """One JSON object instead of a table."""


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "disk", argv)
    home = home_paths(options.home)
    uses = sorted((disk_use(home, run_id) for run_id in RunRegistry(home).reconcile()), key=lambda use: use.total)
    total = sum(use.total for use in uses)
    if options.json:
        rows = [
            {
                "run_id": use.run_id,
                "bytes": use.total,
                "checkpoints": use.checkpoints,
                "logs": use.logs,
                "other": use.other,
            }
            for use in uses
        ]
        return {"ok": True, "bytes": total, "runs": rows}
    table = [("run", "MiB", "checkpoints", "logs", "other")]
    table += [(use.run_id, _mib(use.total), _mib(use.checkpoints), _mib(use.logs), _mib(use.other)) for use in uses]
    print_table([*table, ("all", _mib(total), "", "", "")])
    return {}


def _mib(size: int) -> str:
    return f"{size / (1 << 20):,.1f}"
