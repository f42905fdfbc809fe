"""`dmglab resume RUN`: continue in the run's own directory, from its newest checkpoint."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from trainer_core.cli.options import find_run, home_paths, parse
from trainer_core.protocol.errors import LabError
from trainer_core.registry import RunRegistry, is_alive
from trainer_core.run_dir import read_config, read_run_config


@dataclass(frozen=True)
class Options:
    run: Annotated[str, tyro.conf.Positional] = "latest"
    """Run id, run folder, or `latest`."""
    home: Path | None = None
    """Where runs lie; default DMGLAB_HOME or var/ of the checkout."""
    seconds: float | None = None
    """Another time limit, counted from now."""
    total_env_steps: int | None = None
    """Another limit of environment steps, counted over the whole run."""
    target_success: float | None = None
    """Another success to stop at."""


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "resume", argv)
    home = home_paths(options.home)
    paths = find_run(options.run, home)
    record = RunRegistry(home).load().get(paths.run_id)
    if record is not None and not record.state.is_end and is_alive(record):
        raise LabError(f"run {paths.run_id} is running as process {record.pid}: stop it first")
    limits = {
        name: value
        for name in ("seconds", "total_env_steps", "target_success")
        if (value := getattr(options, name)) is not None
    }
    raw = read_config(paths)
    config = dataclasses.replace(read_run_config(paths), **limits)
    from trainer_core.cli.running import run_in_this_process

    return run_in_this_process(config, paths, home, name=str(raw.get("name", "")))
