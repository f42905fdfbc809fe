"""Parts of the console benchmarks: a game, a batch of it, random buttons, a clock."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil

from emulator import Cartridge, EmulatorError
from trainer_core.cli.options import Home, home_paths
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.roms import named_rom
from trainer_core.lab.tasks import BUILT_IN_TASKS, Episode, Goal, Rom, Starts, Task, TaskManifest, find_task
from trainer_core.wire.buttons import ACTION_MASKS
from trainer_core.wire.errors import ConfigError, LabError

if TYPE_CHECKING:
    import torch

    from emulator import Snapshot
    from trainer_core.envs.sharded_emulator import ShardedEmulator

BENCH_HORIZON = 1 << 30  # no episode of a bench ends by itself


@dataclass(frozen=True)
class Game:
    """A cartridge, the start state of its consoles, and the source of both."""

    cartridge: Cartridge
    start: Snapshot
    home: HomePaths
    rom: Path | None
    task: Task | None


@dataclass(frozen=True, kw_only=True)
class GameOptions:
    """Options of a benchmark of one game."""

    rom: Path | None = None
    """A ROM, by path or a name of `dmglab rom list`, started from power-on."""
    task: str = ""
    """A task instead of a ROM: its ROM and its first start state."""
    device: str = "cpu"
    home: Home = None


@dataclass(frozen=True, kw_only=True)
class BatchOptions(GameOptions):
    """Options of a benchmark of one batch of a game."""

    threads: int = 0
    """Threads on a cpu, one slice of the batch each; 0 = one per core."""
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class LoggedOptions(BatchOptions):
    """Options of a benchmark whose records are collected in a file."""

    observations: bool = True
    """Draw and downsample the picture of every env after each step."""
    jsonl: Path | None = None
    """Also append the record to this file."""

    def keep(self, record: dict[str, Any]) -> None:
        """Append `record` to `jsonl`, if there is one."""
        if self.jsonl is not None:
            with self.jsonl.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")


def check_at_least(options: Any, **least: int) -> None:
    """Check the least values of options. Raises ConfigError naming the first option below its own."""
    for name, value in least.items():
        if getattr(options, name) < value:
            raise ConfigError(f"{name}={getattr(options, name)}: give at least {value}")


def load_game(options: GameOptions) -> Game:
    """Return a ROM at power-on, or a task's ROM at its first start state; the options must name exactly one."""
    from emulator import Emulator
    from trainer_core.envs.start_states import load_starts
    from trainer_core.envs.task_files import load_rom

    rom, task = options.rom, options.task
    if (rom is None) == (task == ""):
        raise ConfigError("give a ROM with --rom or a task with --task")
    paths = home_paths(options.home)
    if task in BUILT_IN_TASKS:
        raise ConfigError(f"{task} runs without a Game Boy: name another task, or a ROM with --rom")
    if rom is None:
        found = find_task(task, paths)
        cartridge = load_rom(found, paths)
        return Game(cartridge, load_starts(found, cartridge)[0], paths, None, found)
    try:
        rom = named_rom(str(rom), paths)
        cartridge = Cartridge.from_file(rom)
    except EmulatorError as error:
        raise LabError(str(error)) from error
    start = Emulator(cartridge, 1, "cpu" if cpu_works() else options.device).snapshot()
    return Game(cartridge, start, paths, rom, None)


def bench_task(game: Game, folder: Path) -> Task:
    """Return the game's task, or for a ROM a task made in `folder` whose goal no screen ever shows."""
    from emulator.state.snapshot import save_snapshots
    from trainer_core.envs.task_files import SHAPE, save_goal

    if game.task is not None:
        return game.task
    starts, goal = folder / "starts.npz", folder / "goal.npz"
    save_snapshots(starts, [game.start])
    save_goal(goal, (3 * (np.indices(SHAPE).sum(0) % 2))[None].astype(np.uint8))
    assert game.rom is not None
    rom = Rom(name=game.rom.name, sha256=game.cartridge.sha256, path=str(game.rom.resolve()))
    return Task(
        folder,
        TaskManifest(
            schema=1,
            id="bench",
            title=game.rom.name,
            rom=rom,
            starts=Starts(file=starts.name, count=1, sha256=_sha256(starts)),
            goal=Goal(file=goal.name, sha256=_sha256(goal), tau=1e-6),
            episode=Episode(horizon=BENCH_HORIZON),
        ),
    )


def open_machines(game: Game, num_envs: int, device: torch.device, threads: int = 0) -> ShardedEmulator:
    """Return a batch of consoles in the game's start state; `threads` 0 = one per core of a CPU."""
    from trainer_core.envs.sharded_emulator import MIN_SHARD, ShardedEmulator

    wanted = threads or os.cpu_count() or 1
    shards = 1 if device.type == "cuda" else max(1, min(wanted, num_envs // MIN_SHARD))
    machines = ShardedEmulator(game.cartridge, num_envs, device, shards)
    machines.wait_for_kernels()
    machines.set_starts([game.start])
    machines.mask.fill_(1)
    machines.reset()
    return machines


class Buttons:
    """Uniformly random actions, drawn on the device."""

    def __init__(self, num_envs: int, device: torch.device, seed: int) -> None:
        import torch

        self._torch, self._shape, self.device = torch, (num_envs,), device
        self._draw = torch.Generator(device=device).manual_seed(seed)
        self._masks = torch.tensor(ACTION_MASKS, dtype=torch.uint8, device=device)

    def actions(self) -> torch.Tensor:
        """Draw random actions i64[N], 0 to 6."""
        return self._torch.randint(7, self._shape, generator=self._draw, device=self.device)

    def masks(self) -> torch.Tensor:
        """Draw the joypad masks of random actions, u8[N]."""
        return self._masks[self.actions()]

    def picked(self, one_in: int) -> torch.Tensor:
        """Draw bool[N], true with probability 1 / `one_in`."""
        drawn = self._torch.randint(one_in, self._shape, generator=self._draw, device=self.device)
        return drawn == 0


def torch_device(name: str) -> torch.device:
    """Return a device. Raises ConfigError for one that does not exist."""
    import torch

    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError(f"device {name!r}: give cpu or cuda:0") from None
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ConfigError(f"device {name!r}: torch finds {torch.cuda.device_count()} CUDA devices")
    if device.type == "cpu" and not cpu_works():
        raise ConfigError("device 'cpu': this build of Warp has no CPU back end; give cuda:0")
    return device


def cpu_works() -> bool:
    """Return True if this Warp can run kernels on the cpu (a CUDA-only build cannot)."""
    import warp as wp

    from emulator.launch.warp_start import start_warp

    start_warp()
    return any(not device.is_cuda for device in wp.get_devices()) and wp.is_cpu_available()


NO_CPU = "this build of Warp has no CPU back end: the rows of a CPU are left out"


def facts(device: torch.device, game: Game) -> dict[str, Any]:
    """Return the fields of a record that describe the machine, the versions and the game."""
    from trainer_core.host.provenance import device_name, git_sha, versions

    return {
        "git_sha": git_sha(),
        "versions": versions(),
        "device": str(device),
        "device_name": device_name(device),
        "rom_sha256": game.cartridge.sha256,
    }


def timed(step: Callable[[], None], steps: int, device: torch.device) -> list[float]:
    """Return the milliseconds of each step; on a GPU from CUDA events, and the host waits only at the end."""
    import torch

    if device.type != "cuda":
        times = []
        for _ in range(steps):
            began = time.perf_counter()
            step()
            times.append(1000 * (time.perf_counter() - began))
        return times
    torch.cuda.synchronize(device)
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(steps + 1)]
    marks[0].record()
    for mark in marks[1:]:
        step()
        mark.record()
    torch.cuda.synchronize(device)
    return [a.elapsed_time(b) for a, b in itertools.pairwise(marks)]


def memory_used(device: torch.device) -> int:
    """Return the used bytes of the device, of all processes; on a CPU the memory of this process."""
    if device.type != "cuda":
        return resident_bytes()
    import torch

    torch.cuda.synchronize(device)
    free, total = torch.cuda.mem_get_info(device)
    return total - free


def resident_bytes() -> int:
    return psutil.Process().memory_info().rss


ALLOCATOR = {
    "device_allocations": "num_device_alloc",
    "retries": "num_alloc_retries",
    "tensors": "allocation.all.allocated",
}
"""Counters of torch: allocations by the driver, allocations that had to free memory first, tensors."""


def allocator_counts(device: torch.device) -> dict[str, int]:
    """Return the counters of torch's CUDA allocator so far; empty on a CPU."""
    if device.type != "cuda":
        return {}
    import torch

    found = torch.cuda.memory_stats(device)
    return {name: int(found.get(key, 0)) for name, key in ALLOCATOR.items()}


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
