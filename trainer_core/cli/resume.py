"""`dmglab resume RUN`: continue a run in its own directory, from its newest checkpoint.

A paused run continues in the process that trains it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Annotated, Any

import tyro

from trainer_core.cli.launch_ranks import Nodes, spread
from trainer_core.cli.options import Home, home_paths, parse
from trainer_core.cli.pause import reach
from trainer_core.cli.steering import find_live, steer
from trainer_core.cli.train_guest import resume
from trainer_core.host.process_start import load_torch
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.runners.catalog import AgentRunner, find_runner
from trainer_core.runners.guest.runner import GuestRunner
from trainer_core.runners.native import NativeRunner
from trainer_core.runs.config_file import read_run_config, read_spec
from trainer_core.runs.names import find_run
from trainer_core.runs.run_lock import RunLock
from trainer_core.service import TrainerService
from trainer_core.wire.environment import is_rank, rank_place
from trainer_core.wire.errors import ConfigError, LabError
from trainer_core.wire.fields import limits
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import NATIVE_ID, NEUTRAL


@dataclass(frozen=True)
class Options:
    run: Annotated[str, tyro.conf.Positional] = "latest"
    """Run name or id, the beginning of one, run folder, or `latest`."""
    home: Home = None
    seconds: float | None = None
    """New time limit in seconds, counted from now."""
    total_env_steps: int | None = None
    """New limit of environment steps, counted over the whole run."""
    max_episodes: int | None = None
    """New limit of ended training episodes, counted over the whole run."""
    target_success: float | None = None
    """New success rate that ends the run."""
    gpus: int = field(default=1, metadata=limits(1, 64))
    """Number of processes, as for `train`; an exact continuation needs the number of the run."""
    cluster: Nodes = field(default_factory=Nodes)


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "resume", argv)
    home = home_paths(options.home)
    if paused := paused_run(options.run, home):
        return steer("resume", [paused, "--home", str(home.root)], _go_on)
    paths = find_run(options.run, home)
    limits = {
        name: value
        for name in ("seconds", "total_env_steps", "max_episodes", "target_success")
        if (value := getattr(options, name)) is not None
    }
    options.cluster.check()
    runner = find_runner(read_spec(paths).runner)
    if runner.id != NATIVE_ID or read_spec(paths).is_remote:
        return _resume_guest(runner, paths, home, options, limits)
    if (options.gpus > 1 or options.cluster.nodes > 1) and not is_rank():
        return spread(["resume", *argv], options.gpus, options.cluster)
    read_run_config(paths)  # report an unusable run before torch is loaded
    # Locked while torch loads: a `stop` in these seconds waits for the run and then stops it.
    lock = RunLock.take(paths) if rank_place().is_first else None
    try:
        load_torch()
        from trainer_core.cli.local_run import resume_here

        return resume_here(paths, home, limits, lock)
    finally:
        if lock is not None:
            lock.release()


def _resume_guest(
    runner: AgentRunner, paths: RunPaths, home: HomePaths, options: Options, limits: dict[str, Any]
) -> dict[str, Any]:
    """Continue a run of another library, or on another host, in a child process.

    New limits reach DMG Lab's workers only: a foreign program reads config.json itself.
    """
    defaults, heard = Options(), dict[str, Any]()
    if isinstance(runner, NativeRunner):
        heard = limits
    elif isinstance(runner, GuestRunner):
        heard = {name: limits[name] for name in NEUTRAL if name in limits}
    changed = [
        f"--{field.name.replace('_', '-')}"
        for field in fields(Options)
        if field.name not in ("run", "home", *heard) and getattr(options, field.name) != getattr(defaults, field.name)
    ]
    if changed:
        raise ConfigError(f"a run of {runner.title} goes on as it began: leave {', '.join(changed)} away")
    return resume(runner, paths, home, heard)


def paused_run(text: str, home: HomePaths) -> str:
    """Return the id of the paused run that `text` names, "" for another run or none."""
    try:
        run = find_live(text, home)
    except LabError:
        return ""
    return run.run_id if run.state in (RunState.PAUSING, RunState.PAUSED) else ""


async def _go_on(service: TrainerService, run_id: str) -> None:
    await service.unpause(run_id)
    await reach(service, run_id, RunState.RUNNING)
