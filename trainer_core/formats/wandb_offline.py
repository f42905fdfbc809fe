"""Export as an offline run of W&B: `python -m trainer_core.formats.wandb_offline RUN_DIR [OUT]`.

The `wandb` package writes its own format; no other file of ours imports it. No network is used: `wandb sync FOLDER`
uploads the result, if the user wants that.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

from trainer_core.formats.as_job import run_export
from trainer_core.formats.tensorboard import tags_of
from trainer_core.formats.wandb_history import history_row
from trainer_core.lab.paths import RunPaths
from trainer_core.runs.log_reader import read_history
from trainer_core.wire import records
from trainer_core.wire.environment import tell_libraries
from trainer_core.wire.errors import LabError

INSTALL = "pip install wandb"


def export(run: RunPaths, out: Path) -> Generator[float, None, Path]:
    """Log every record into a new offline run below `out`; yield the share done.

    Returns the folder for `wandb sync`. Raises LabError without the package, without a curve, or if the disk cannot be
    written.
    """
    events = read_history(run.train_log).events
    past = [event for event in events if tags_of(event)]
    if not past:
        raise LabError(f"{run.train_log}: no update records yet; wait for the first one")
    meta = next((event for event in events if isinstance(event, records.MetaRecord)), None)
    tell_libraries(WANDB_MODE="offline", WANDB_SILENT="true", WANDB_DIR=str(out))
    try:
        import wandb  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise LabError(f"W&B's client is not installed: {INSTALL}") from None
    out.mkdir(parents=True, exist_ok=True)
    told: dict[str, Any] = {
        "project": "dmglab",
        "name": run.run_id,
        "config": meta.config if meta else {},
        "dir": str(out),
        "mode": "offline",
    }
    try:
        logged = wandb.init(**told)
        for index, record in enumerate(past):
            row = history_row(record, past[0].time)
            values = {name: value for name, value in row.items() if not name.startswith("_")}
            logged.log({**values, "env_steps": row["_step"]}, step=row["_step"])
            if index % 500 == 0:
                yield index / len(past)
        folder = Path(logged.dir).parent
        logged.finish()
    except OSError as error:
        raise LabError(f"{out}: cannot be written: {error.strerror}") from None
    return folder


def main(argv: list[str]) -> int:
    return run_export(argv, "wandb_offline", export, ".")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
