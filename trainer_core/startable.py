"""Can this run start here? Asked before anything is written: a typo leaves no half a run."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from trainer_core.envs.build import task_facts
from trainer_core.envs.roms import load_rom
from trainer_core.memory import check_memory
from trainer_core.protocol import checkpoints
from trainer_core.protocol.config import RunConfig
from trainer_core.protocol.errors import ConfigError
from trainer_core.protocol.paths import HomePaths
from trainer_core.protocol.tasks import find_task, verify_file


def check_startable(config: RunConfig, home: HomePaths) -> None:
    """Raises LabError naming what is in the way: device, memory, task, ROM, warm start."""
    find_device(config.device)
    check_memory(config)
    if task_facts(config.task, home).rom_sha256:
        task = find_task(config.task, home)
        manifest = task.manifest
        verify_file(task.starts_path, manifest.starts.sha256, "file of start states")
        verify_file(task.goal_path, manifest.goal.sha256, "goal template")
        load_rom(task, home)
    if config.warm_start:
        checkpoints.verify(Path(config.warm_start), (checkpoints.POLICY,))


def find_device(name: str) -> torch.device:
    """The torch device of that name. Raises ConfigError when this machine has none such."""
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError(f"device must be cpu or cuda:N, got {name!r}") from None
    if device.type == "cpu":
        return device
    if device.type != "cuda":
        raise ConfigError(f"device must be cpu or cuda:N, got {name!r}")
    if not torch.cuda.is_available():
        raise ConfigError(f"{name}: torch finds no CUDA device; use --device cpu")
    # Under torchrun every rank gets its own GPU later; here the name must only be possible.
    if (device.index or 0) >= torch.cuda.device_count() and "LOCAL_RANK" not in os.environ:
        there = ", ".join(f"cuda:{index}" for index in range(torch.cuda.device_count()))
        raise ConfigError(f"{name}: no such device; this machine has {there}")
    return device
