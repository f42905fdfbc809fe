"""`dmglab train`: one run in this process; Ctrl-C finishes the update, saves and ends."""

from __future__ import annotations

import contextlib
import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from trainer_core.cli.launch_ranks import Nodes, spread
from trainer_core.cli.options import Home, home_paths, named, parse
from trainer_core.cli.ordering import Order
from trainer_core.cli.output import say
from trainer_core.cli.train_guest import absolute_folders, detach, follow
from trainer_core.cli.train_guest import train as train_guest
from trainer_core.host.process_start import load_torch
from trainer_core.host.validation_process import started
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.presets import DEFAULT_TARGET, PRESETS, preset_config, suggest_preset, wishes_of, with_limit
from trainer_core.lab.task_checks import check_algorithm, check_clips
from trainer_core.lab.task_lists import SEPARATOR, expand_tasks, is_list, split_tasks
from trainer_core.lab.tasks import find_task
from trainer_core.runners.catalog import find_runner
from trainer_core.service.wandb_sender import check_wandb
from trainer_core.wire.algorithms import ignored_fields
from trainer_core.wire.checks import require
from trainer_core.wire.config import RunConfig
from trainer_core.wire.environment import is_rank, rank_place
from trainer_core.wire.errors import ConfigError, TaskError
from trainer_core.wire.fields import limits
from trainer_core.wire.spec import NATIVE_ID, RunSpec

Chosen = TypeVar("Chosen", bound="Options")


@dataclass(frozen=True)
class Options:
    run: RunConfig = field(default_factory=RunConfig)
    home: Home = None
    runner: str = NATIVE_ID
    """Trainer; `dmglab train --runner ID --help` shows the options of another library."""
    preset: str = "auto"
    """Defaults of all other options: laptop, gpu, big_gpu, a2c, or m5, the PPO document's; auto chooses by device and
    algorithm."""
    name: str = ""
    """Name of the run in lists."""
    wandb: str = ""
    """Send the run to W&B, as PROJECT or PROJECT/NAME; without a value the project is dmglab."""
    gpus: int = field(default=1, metadata=limits(1, 64))
    """Number of processes on this computer, one for each GPU (or part of the CPU); num_envs is per process."""
    cluster: Nodes = field(default_factory=Nodes)
    detach: bool = False
    """Train in a background process that outlives this shell; it waits while the device is busy."""


def run(argv: list[str]) -> dict[str, Any]:
    runner = named(argv, "--runner")
    if runner and runner != NATIVE_ID:
        return train_guest(runner, argv)
    found = options("train", argv, Options)
    found.cluster.check()
    if found.detach:
        return detach(order_of(found))
    if found.wandb and not is_rank():
        require(check_wandb(found.wandb, found.name))
    if found.run.on:
        return follow(order_of(found))
    config, home = found.run, home_paths(found.home)
    if (found.gpus > 1 or found.cluster.nodes > 1) and not is_rank():
        from trainer_core.envs.startable import check_startable

        check_startable(config, home)  # here, for one error line instead of one per rank
        return spread(["train", *argv], found.gpus, found.cluster)
    beside = started(config)
    load_torch(config.device)
    from trainer_core.cli.local_run import train_new

    return train_new(_limited(config), home, name=found.name, beside=beside, wandb=found.wandb)


def options(command: str, argv: list[str], kind: type[Chosen]) -> Chosen:
    """Parse `argv` as a `kind`, with the defaults of the preset in it. Raises ConfigError."""
    argv = with_joined_tasks(argv)
    defaults = defaults_for(argv)
    found = parse(kind, command, argv, kind(run=defaults))
    if is_list(found.run.task):
        task = expand_tasks(found.run.task, home_paths(found.home))
        found = dataclasses.replace(found, run=dataclasses.replace(found.run, task=task))
    if not is_rank():
        _warn_of_rewards(found.run.task, home_paths(found.home))
    for name in sorted(ignored_fields(found.run.algo)):
        if getattr(found.run, name) != getattr(defaults, name) and not is_rank():
            say(f"warning: {found.run.algo} does not read {name}")
    if (caution := check_algorithm(found.run)) is not None and not is_rank():
        say(f"warning: {caution.detail}; {caution.fix.lower()}")
    if (caution := check_clips(found.run)) is not None and not found.run.on and not is_rank():
        say(f"warning: {caution.detail}")
    return found


def _warn_of_rewards(text: str, home: HomePaths) -> None:
    """Warn about tasks made before November 2026, whose reward pays for dawdling."""
    for task_id in split_tasks(text):
        with contextlib.suppress(TaskError):  # built in, an ARC game, or an error that a later check reports
            if dawdling := find_task(task_id, home).manifest.reward.dawdling:
                say(f"warning: {task_id}: {dawdling}; `dmglab task update {task_id}` gives it today's reward")


def with_joined_tasks(argv: list[str]) -> list[str]:
    """Join `--task a --task b` into `--task a,b`; the other words stay as they are."""
    tasks: list[str] = []
    rest: list[str] = []
    words = iter(argv)
    for word in words:
        option, equals, value = word.partition("=")
        if option != "--task":
            rest.append(word)
            continue
        named = value if equals else next(words, None)
        if named is None:
            return argv  # the parser says that a value is missing
        tasks.append(named)
    return [*rest, "--task", SEPARATOR.join(tasks)] if tasks else argv


def order_of(found: Options) -> Order:
    """Return the options as an order for the background process. Raises ConfigError."""
    if found.gpus > 1 or found.cluster.nodes > 1:
        raise ConfigError("a run of several processes trains in this shell: leave --gpus and --nodes away here")
    config = _limited(found.run, "`dmglab stop`")
    spec = RunSpec.of(dataclasses.replace(config, **absolute_folders(config)))
    return Order(find_runner(NATIVE_ID), spec, home_paths(found.home), found.name, found.wandb)


def _limited(config: RunConfig, how: str = "Ctrl-C") -> RunConfig:
    limited = with_limit(config)
    if limited is not config and rank_place().is_first:  # one line, not one per rank
        say(f"no limit given: training until greedy validation reaches {DEFAULT_TARGET:g}; {how} saves and ends")
    return limited


def defaults_for(argv: list[str]) -> RunConfig:
    """Return the defaults of a run with the options `argv`: the preset's, then the task's own."""
    preset = preset_config(preset_name(argv))
    told = dataclasses.replace(preset, warm_start=named(argv, "--warm-start"))
    home = home_paths(Path(named(argv, "--home")) if named(argv, "--home") else None)
    wishes = wishes_of(named(argv, "--task", preset.task), told, home)
    return dataclasses.replace(preset, **wishes)


def preset_name(argv: list[str]) -> str:
    """Return the preset in `argv`, which is needed before the other options get their defaults."""
    preset = named(argv, "--preset", "auto")
    if preset == "auto":
        return suggest_preset(named(argv, "--device", "cpu"), named(argv, "--algo"))
    if preset not in PRESETS:
        raise ConfigError(f"no preset {preset!r}; known presets: {', '.join(PRESETS)}")
    return preset
