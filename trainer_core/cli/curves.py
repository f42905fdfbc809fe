"""`dmglab curves RUN --to tensorboard|wandb_history`: a run's curves for other programs."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from trainer_core.cli.options import home_paths, parse
from trainer_core.runs.names import find_run


@dataclass(frozen=True)
class Options:
    run: Annotated[str, tyro.conf.Positional] = "latest"
    """Run id, run folder, or `latest`."""
    to: Literal["tensorboard", "wandb_history"] = "tensorboard"
    """Event files, or JSON lines in the form of W&B's history."""
    out: Path | None = None
    """Folder; default one of that name in the run's."""
    home: Path | None = None
    """Where runs lie; default DMGLAB_HOME or var/ of the checkout."""


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "curves", argv)
    paths = find_run(options.run, home_paths(options.home))
    out = options.out or paths.root / options.to
    for _ in importlib.import_module(f"trainer_core.formats.{options.to}").export(paths, out):
        pass
    return {"ok": True, "run_id": paths.run_id, "folder": str(out)}
