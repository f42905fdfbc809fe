"""`dmglab import PATH`: what another program or computer trained becomes a run of this home.

A `run-ID.wandb` of W&B, a `history.jsonl`, or event files of TensorBoard with all folders below
bring curves; a checkpoint's folder brings a policy.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from trainer_core.cli.options import home_paths, parse
from trainer_core.formats.import_curves import import_curves, is_logged
from trainer_core.runs.import_run import import_checkpoint
from trainer_core.wire.errors import ConfigError


@dataclass(frozen=True)
class Options:
    path: Annotated[Path, tyro.conf.Positional]
    """run-ID.wandb or history.jsonl of W&B, an event file of TensorBoard or a folder with such
    below it, or a checkpoint's folder; it stays as it is."""
    home: Path | None = None
    """Where runs lie; default DMGLAB_HOME or var/ of the checkout."""


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "import", argv)
    path, home = options.path, home_paths(options.home)
    if not path.exists():
        raise ConfigError(f"{path}: no such file or folder; name what W&B, TensorBoard or a run left")
    if path.is_dir() and not is_logged(path):
        record, folder = import_checkpoint(path, home)
        return {"ok": True, "run_id": record.run_id, "checkpoint": str(folder)}
    done = import_curves(path, home)
    first = done.runs[0]
    return {
        "ok": True,
        "run_id": first.run_id,
        "folder": str(home.run(first.run_id).root),
        "runs": [record.run_id for record in done.runs],
        "lost": "; ".join(done.lost),
    }
