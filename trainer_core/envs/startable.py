"""Can this run of ours start here? Asked before anything is written: a typo leaves no half a run.

The light checks are preflight's own; only what torch and the emulator know is asked here.
"""

from __future__ import annotations

import psutil
import torch

from trainer_core.envs.scoring import task_rules
from trainer_core.envs.task_files import load_rom
from trainer_core.lab.memory_estimate import check_memory
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.task_checks import check_warm_start, find_checked_tasks
from trainer_core.lab.tasks import Task
from trainer_core.wire.checks import require
from trainer_core.wire.config import RunConfig
from trainer_core.wire.environment import rank_place
from trainer_core.wire.errors import ConfigError


def check_startable(config: RunConfig, home: HomePaths, *, begins: bool = True) -> dict[str, Task]:
    """Return the run's tasks, as `game_tasks` has them: what was checked is what it trains.

    Raises LabError naming what is in the way: device, task, memory, ROM, warm start. A run that does not begin but
    goes on has its weights: nobody asks for their donor.
    """
    device = find_device(config.device)
    check, tasks = find_checked_tasks(config.task, home, config.num_envs)
    require(check)
    require(check_memory(config, available_bytes(device), home, tasks.values()))
    for task in tasks.values():
        task_rules(task.manifest)  # an unknown success function is named before there is a run
        load_rom(task, home)
    if begins and config.warm_start:
        require(check_warm_start(config.warm_start))
    return tasks


def find_device(name: str) -> torch.device:
    """The torch device of that name. Raises ConfigError when this computer has none such."""
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError(f"device must be cpu or cuda:N, got {name!r}") from None
    if device.type == "cpu":
        return device
    if device.type != "cuda":
        raise ConfigError(f"device must be cpu or cuda:N, got {name!r}")
    if not torch.cuda.is_available():
        raise ConfigError(f"{name}: torch finds no CUDA device; use the device cpu")
    # Under torchrun every rank gets its own GPU later; here the name must only be possible.
    if (device.index or 0) >= torch.cuda.device_count() and rank_place().local_rank is None:
        there = ", ".join(f"cuda:{index}" for index in range(torch.cuda.device_count()))
        raise ConfigError(f"{name}: no such device; this computer has {there}")
    return device


def available_bytes(device: torch.device) -> int:
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return psutil.virtual_memory().available
