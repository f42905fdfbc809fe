"""`dmglab restore FILE...`: archived runs back into a home, every file compared with its hash."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from trainer_core.cli.options import home_paths, parse
from trainer_core.runs.archive import check, restore
from trainer_core.wire.errors import ConfigError


@dataclass(frozen=True)
class Options:
    files: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Archives that `dmglab archive` wrote."""
    check: bool = False
    """Only compare the hashes."""
    home: Path | None = None
    """Where runs lie; default DMGLAB_HOME or var/ of the checkout."""


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "restore", argv)
    if not options.files:
        raise ConfigError("name at least one archive; `dmglab archive` writes them")
    home = home_paths(options.home)
    if options.check:
        return {"ok": True, "whole": [check(file).run_id for file in options.files]}
    return {"ok": True, "restored": [restore(file, home).run_id for file in options.files]}
