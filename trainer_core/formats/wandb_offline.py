"""Export as an offline run of W&B: `python -m trainer_core.formats.wandb_offline RUN_DIR [OUT]`.

The `wandb` package writes its own format. No network is used: `wandb sync FOLDER` uploads the result, if the user wants
that; of a run that was sent before it completes the same run of W&B.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

from trainer_core.formats.as_job import run_export
from trainer_core.formats.tensorboard import tags_of
from trainer_core.lab.paths import RunPaths
from trainer_core.runs.log_reader import read_history
from trainer_core.runs.wandb_run import PROJECT, WandbRun, read_wandb
from trainer_core.wire import records
from trainer_core.wire.environment import tell_libraries
from trainer_core.wire.errors import LabError

INSTALL = "pip install 'dmglab[wandb]'"


def load_client(**variables: str) -> Any:
    """Return the module wandb, loaded with these environment variables. Raises LabError if it is not installed."""
    tell_libraries(**{"WANDB_SILENT": "true", "WANDB_ERROR_REPORTING": "false", **variables})
    try:
        import wandb  # pyright: ignore[reportMissingImports]

        _ = wandb.init  # a folder of that name would load, too
    except (ImportError, AttributeError):
        raise LabError(f"W&B's client is not installed: {INSTALL}") from None
    return wandb


def begin(wandb: Any, run: RunPaths, told: WandbRun, folder: Path, mode: str) -> Any:
    """Return W&B's run of ours, new or the one that was begun before, whose files lie below `folder`.

    Neither source code nor descriptions of the computer are added to it. The axis of all curves is `env_steps`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    logged = wandb.init(
        project=told.project,
        name=told.name,
        id=run.run_id,
        resume="allow" if mode == "online" else None,
        mode=mode,
        dir=str(folder),
        settings=wandb.Settings(
            silent=True,
            console="off",
            disable_git=True,
            save_code=False,
            host="",
            init_timeout=20,
            x_disable_stats=True,
            x_disable_meta=True,
            x_disable_machine_info=True,
            x_save_requirements=False,
        ),
    )
    logged.define_metric("*", step_metric="env_steps")
    return logged


def send(logged: Any, event: records.Event) -> bool:
    """Log the curves of one record, or the settings in the first one; return whether it had curves.

    W&B's step is the record's number in our log: `env_steps` goes back where a resume began at an older checkpoint.
    """
    if isinstance(event, records.MetaRecord):
        logged.config.update(event.config, allow_val_change=True)
    values = tags_of(event)
    if values:
        logged.log({**values, "env_steps": getattr(event, "env_steps", 0)}, step=event.seq)
    return bool(values)


def export(run: RunPaths, out: Path) -> Generator[float, None, Path]:
    """Log every record into a new offline run below `out`; yield the share done.

    Returns the folder for `wandb sync`. Raises LabError without the package, without a curve, or if the disk cannot be
    written.
    """
    events = read_history(run.train_log).events
    if not any(map(tags_of, events)):
        raise LabError(f"{run.train_log}: no update records yet; wait for the first one")
    wandb = load_client(WANDB_MODE="offline", WANDB_DIR=str(out))
    try:
        logged = begin(wandb, run, read_wandb(run) or WandbRun(project=PROJECT, name=run.run_id), out, "offline")
        for index, event in enumerate(events):
            send(logged, event)
            if index % 500 == 0:
                yield index / len(events)
        folder = Path(logged.dir).parent.resolve()
        logged.finish()
    except OSError as error:
        raise LabError(f"{out}: cannot be written: {error.strerror}") from None
    return folder


def main(argv: list[str]) -> int:
    return run_export(argv, "wandb_offline", export, ".")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
