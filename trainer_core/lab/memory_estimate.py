"""Whether a run of ours fits, before anything of it is allocated."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import psutil

from trainer_core.lab.paths import HomePaths
from trainer_core.lab.roms import rom_path
from trainer_core.lab.task_lists import game_tasks
from trainer_core.lab.tasks import Task
from trainer_core.wire.checks import Check, Found, size
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import LabError, TaskError
from trainer_core.wire.regular_files import open_regular

SHARE = 0.9
"""Of what is free, at most this."""
CONSOLE_BYTES = 53 << 10
"""Of one console with its pictures and reset state, measured; up to 8 KiB of its cartridge's RAM
are in it."""
INCLUDED_RAM_BYTES = 8 << 10
CARTRIDGE_RAM_BYTES = {2: 8 << 10, 3: 32 << 10, 4: 128 << 10, 5: 64 << 10}
"""By the header's byte 0149 (Pan Docs: The Cartridge Header)."""
WORKER_BYTES = 700 << 20
"""Resident size of a worker that has loaded torch and warp and trains nothing."""
OBSERVATION_BYTES = 72 * 80
SAMPLE_BYTES = 160
"""Of a rollout's sample beside its picture, with what an epoch gathers of it."""
REMEMBERED_BYTES = 256 * (16 + 9)
"""Of a console whose policy sees marks: its newest presses, and their comparison with a picture."""
ACTING_BYTES = {"small": (25_760, 11_520), "nature": (136_064, 41_344)}
"""By matrix products: columns and values of a picture, and more for each plane of it."""
LEARNING_BYTES = {"small": 22_432, "nature": 90_960}
"""Their gradients."""
ACTING_CHUNK = 8192
"""Pictures that acting looks at in one pass: more take memory and save no time."""


def check_memory(
    config: RunConfig, available: int | None, home: HomePaths, tasks: Iterable[Task] | None = None
) -> Check:
    """Compare with `available` bytes on the run's device, None when nobody knows. `tasks` are the run's."""
    if tasks is None:
        tasks = []
        with contextlib.suppress(TaskError):  # the check of the tasks tells it
            tasks = game_tasks(config.task, home).values()
    ram = max((cartridge_ram(task, home) for task in tasks), default=0)
    need = memory_estimate(config, ram)
    if available is None:
        return Check(name="Memory", status="warn", detail=f"{size(need)} needed, GPU unknown")
    budget = SHARE * available
    detail = f"about {size(need)} of {size(available)}"
    if need <= budget:
        return Check(name="Memory", status="ok", detail=detail)
    fits = config.num_envs
    while fits > 1 and memory_estimate(config, ram, fits) > budget:
        fits //= 2
    detail = f"needs {detail} on {config.device}"
    if memory_estimate(config, ram, fits) > budget:
        return Check(
            name="Memory", status="fail", detail=f"{detail}; not even one Game Boy fits", fix="Free some memory"
        )
    return Check(
        name="Memory",
        status="fail",
        detail=detail,
        fix=f"Use num_envs={fits}, which would fit",
        remedy={"num_envs": fits},
    )


def available_for(device: str, found: Found) -> int | None:
    """Bytes that the probe found on a GPU, free main memory for the CPU, None for no such GPU."""
    if device == "cpu":
        return psutil.virtual_memory().available
    gpus, number = found.get("gpus", []), device_number(device)
    return gpus[number]["bytes"] if number < len(gpus) else None


def device_number(device: str) -> int:
    """1 of cuda:1, 0 of cuda."""
    digits = device.partition(":")[2]
    return int(digits) if digits.isdigit() else 0


def cartridge_ram(task: Task, home: HomePaths) -> int:
    """Return the bytes of RAM in the cartridge of a task; 0 for one that cannot be read, which others tell."""
    try:
        with open_regular(rom_path(task, home)) as rom:
            header = rom.read(0x150)
    except (LabError, OSError):
        return 0
    return CARTRIDGE_RAM_BYTES.get(header[0x149], 0) if len(header) == 0x150 else 0


def memory_estimate(config: RunConfig, ram: int = 0, num_envs: int | None = None) -> int:
    """Bytes of consoles, rollout and one minibatch's activations; a bound, not a promise.

    `ram` is what each cartridge has.
    """
    envs = config.num_envs if num_envs is None else num_envs
    console = CONSOLE_BYTES + max(0, ram - INCLUDED_RAM_BYTES)
    picture = config.stack_k * OBSERVATION_BYTES
    rollout = envs * (config.num_steps + 1) * (picture + SAMPLE_BYTES)
    minibatch = envs * config.num_steps // max(1, config.num_minibatches)
    if config.obs_source == "marked":
        console += REMEMBERED_BYTES + 2 * picture
    return WORKER_BYTES + envs * console + rollout + network_bytes(config, envs, minibatch)


def network_bytes(config: RunConfig, envs: int, minibatch: int) -> int:
    """Of one pass over the network, forward and back."""
    kind = "nature" if config.policy == "auto" else config.policy
    if config.device == "cpu" or config.algo != "ppo" or kind not in ACTING_BYTES:
        # A Nature CNN keeps about 12 float32 activations per input pixel for its backward pass.
        return min(minibatch, 32768) * OBSERVATION_BYTES * 12
    fixed, per_plane = ACTING_BYTES[kind]
    acting = max(minibatch, min(envs, ACTING_CHUNK)) * (fixed + per_plane * config.stack_k)
    return acting + minibatch * LEARNING_BYTES[kind]
