"""Check that a run of our own trainer can start, before anything is written.

The cheap checks are preflight's; this module adds those that need torch and the emulator.
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
    """Check that a run with `config` can start; return its tasks as `game_tasks` does.

    Raises LabError naming the obstacle: device, task, memory, ROM, warm start. `begins` is false for a resumed run,
    which has weights and needs no warm start.
    """
    if config.on:
        raise ConfigError("on: only `dmglab train`, `dmglab resume` and the app train on another host")
    device = find_device(config.device)
    check, tasks = find_checked_tasks(config.task, home, config.num_envs)
    require(check)
    require(check_memory(config, available_bytes(device), home, tasks.values()))
    for task in tasks.values():
        task_rules(task.manifest)  # report an unknown success function before the run exists
        load_rom(task, home)
    if begins and config.warm_start:
        require(check_warm_start(config.warm_start))
    return tasks


def find_device(name: str) -> torch.device:
    """Return the torch device of that name. Raises ConfigError when this computer does not have it."""
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
    # Under torchrun every rank gets its own GPU later; here only the form of the name is checked.
    if (device.index or 0) >= torch.cuda.device_count() and rank_place().local_rank is None:
        there = ", ".join(f"cuda:{index}" for index in range(torch.cuda.device_count()))
        raise ConfigError(f"{name}: no such device; this computer has {there}")
    return device


def available_bytes(device: torch.device) -> int:
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return psutil.virtual_memory().available
