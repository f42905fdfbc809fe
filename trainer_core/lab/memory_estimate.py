"""Estimate of a run's memory, and the check that it fits, before anything is allocated."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import psutil

from trainer_core.lab.paths import HomePaths
from trainer_core.lab.ram_reward import set_places
from trainer_core.lab.roms import rom_path
from trainer_core.lab.task_lists import game_tasks
from trainer_core.lab.tasks import Task
from trainer_core.wire.checks import Check, Found, size
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import LabError, TaskError
from trainer_core.wire.regular_files import open_regular

SHARE = 0.9
"""Share of the free memory that a run may use."""
CONSOLE_BYTES = 53 << 10
"""Bytes of one console with its pictures and reset state, measured; includes up to 8 KiB of cartridge RAM."""
INCLUDED_RAM_BYTES = 8 << 10
CARTRIDGE_RAM_BYTES = {2: 8 << 10, 3: 32 << 10, 4: 128 << 10, 5: 64 << 10}
"""RAM size by the header's byte 0149 (Pan Docs: The Cartridge Header)."""
WORKER_BYTES = 700 << 20
"""Resident size of a worker that has loaded torch and warp and trains nothing."""
WIDTH = 80
OBSERVATION_BYTES = 72 * WIDTH
SAMPLE_BYTES = 160
"""Bytes of a rollout's sample besides its picture, including copies made in an epoch."""
REMEMBERED_BYTES = 256 * (16 + 9)
"""Bytes of the press history of a console with marked observations, and of its comparison with a picture."""
ACTING_BYTES = {"small": (25_760, 11_520), "nature": (136_064, 41_344)}
"""Bytes per picture of a forward pass by matrix products, by network: a fixed part, and one for each stacked plane."""
LEARNING_BYTES = {"small": 22_432, "nature": 90_960}
"""Bytes per picture of the gradients in a backward pass by matrix products, by network."""
ACTING_CHUNK = 8192
"""Greatest number of pictures in one forward pass while acting: more take memory and save no time."""


def check_memory(
    config: RunConfig, available: int | None, home: HomePaths, tasks: Iterable[Task] | None = None
) -> Check:
    """Check that the run's estimated memory fits into `available` bytes of its device, None = unknown.

    `tasks` are the run's tasks; None = find them.
    """
    if tasks is None:
        tasks = []
        with contextlib.suppress(TaskError):  # the check of the tasks reports it
            tasks = game_tasks(config.task, home).values()
    tasks = list(tasks)
    ram = max((cartridge_ram(task, home) + set_bytes(task) for task in tasks), default=0)
    rows = max((task.manifest.ram.rows for task in tasks if task.manifest.ram), default=0)
    need = memory_estimate(config, ram, rows=rows)
    if available is None:
        return Check(name="Memory", status="warn", detail=f"{size(need)} needed, GPU unknown")
    budget = SHARE * available
    detail = f"about {size(need)} of {size(available)}, rollout {size(rollout_bytes(config, rows=rows))}"
    if need <= budget:
        return Check(name="Memory", status="ok", detail=detail)
    fits = config.num_envs
    while fits > 1 and memory_estimate(config, ram, fits, rows) > budget:
        fits //= 2
    detail = f"needs {detail} on {config.device}"
    if memory_estimate(config, ram, fits, rows) > budget:
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
    """Return a GPU's memory in bytes as probed, free main memory for the CPU, None if there is no such GPU."""
    if device == "cpu":
        return psutil.virtual_memory().available
    gpus, number = found.get("gpus", []), device_number(device)
    return gpus[number]["bytes"] if number < len(gpus) else None


def device_number(device: str) -> int:
    """Return the number of a device's name: 1 for cuda:1, 0 for cuda."""
    digits = device.partition(":")[2]
    return int(digits) if digits.isdigit() else 0


def cartridge_ram(task: Task, home: HomePaths) -> int:
    """Return the bytes of RAM in a task's cartridge; 0 for a ROM that cannot be read, which another check reports."""
    try:
        with open_regular(rom_path(task, home)) as rom:
            header = rom.read(0x150)
    except (LabError, OSError):
        return 0
    return CARTRIDGE_RAM_BYTES.get(header[0x149], 0) if len(header) == 0x150 else 0


def set_bytes(task: Task) -> int:
    """Return the bytes of the sets in which a task's `new` terms remember the places of an episode, per console."""
    program = task.manifest.ram.program() if task.manifest.ram else None
    return 4 * program.sets * set_places(task.manifest.episode.horizon) if program else 0


def memory_estimate(config: RunConfig, ram: int = 0, num_envs: int | None = None, rows: int = 0) -> int:
    """Return the estimated bytes of consoles, rollout and one minibatch's activations.

    `ram` is the RAM of each cartridge in bytes; `num_envs` replaces that of `config`; `rows` are the rows of
    pixels below the picture that show memory.
    """
    envs = config.num_envs if num_envs is None else num_envs
    console = CONSOLE_BYTES + max(0, ram - INCLUDED_RAM_BYTES)
    picture = config.stack_k * (OBSERVATION_BYTES + rows * WIDTH)
    minibatch = envs * config.num_steps // max(1, config.num_minibatches)
    if config.obs_source == "marked":
        console += REMEMBERED_BYTES + 2 * picture
    return WORKER_BYTES + envs * console + rollout_bytes(config, envs, rows) + network_bytes(config, envs, minibatch)


def rollout_bytes(config: RunConfig, num_envs: int | None = None, rows: int = 0) -> int:
    """Return the bytes of a rollout: T + 1 steps of N pictures of a byte per pixel, and their samples."""
    envs = config.num_envs if num_envs is None else num_envs
    picture = config.stack_k * (OBSERVATION_BYTES + rows * WIDTH)
    return envs * (config.num_steps + 1) * (picture + SAMPLE_BYTES)


def network_bytes(config: RunConfig, envs: int, minibatch: int) -> int:
    """Return the estimated bytes of the network's passes: forward for `envs` consoles, both ways for `minibatch`
    pictures."""
    kind = "nature" if config.policy == "auto" else config.policy
    if config.device == "cpu" or config.algo != "ppo" or kind not in ACTING_BYTES:
        # A Nature CNN keeps about 12 float32 activations per input pixel for its backward pass.
        return min(minibatch, 32768) * OBSERVATION_BYTES * 12
    fixed, per_plane = ACTING_BYTES[kind]
    acting = max(minibatch, min(envs, ACTING_CHUNK)) * (fixed + per_plane * config.stack_k)
    return acting + minibatch * LEARNING_BYTES[kind]
