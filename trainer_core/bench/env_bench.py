"""`dmglab bench env`: what the machines do per second, with pictures, frame stack and resets.

Random buttons, drawn on the device; nothing waits for the device between the first and the last
step.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from trainer_core.cli.options import home_paths, parse
from trainer_core.protocol.errors import ConfigError, LabError
from trainer_core.protocol.tasks import find_task

if TYPE_CHECKING:
    import torch

    from emulator import Cartridge, Snapshot

RESET_SHARE = 16  # with `--resets some`, one machine in this many


@dataclass(frozen=True)
class Options:
    rom: Path | None = None
    """A ROM file, started from power-on."""
    task: str = ""
    """A task instead of a ROM: its ROM and its first start state."""
    device: str = "cpu"
    num_envs: int = 1
    frames_per_step: int = 24
    release_after: int = 8
    stack_k: int = 1
    warmup: int = 15
    """Steps before the clock starts."""
    steps: int = 10
    resets: Literal["none", "some", "all"] = "none"
    """Machines put back into their start after every step: none, a random sixteenth, or all."""
    observations: bool = True
    """Draw and downsample the picture of every machine after each step."""
    threads: int = 0
    """Threads on a cpu, one slice of the machines each; 0 = one per core."""
    seed: int = 0
    jsonl: Path | None = None
    """Append the record to this file as well."""
    max_mem_delta: int = -1
    """Fail when device memory grows by more bytes than this after warm-up; -1 = only report."""
    min_sps: float = 0.0
    """Fail below this many environment steps per second."""
    home: Path | None = None
    """Where tasks lie; default DMGLAB_HOME or var/ of the checkout."""


def run(argv: list[str]) -> dict[str, Any]:
    """Measure, append to `--jsonl`, and say in `ok` whether the limits hold."""
    options = parse(Options, "bench env", argv)
    _check(options)
    record = measure(options)
    failures = []
    if options.max_mem_delta >= 0 and record["memory_delta_bytes"] > options.max_mem_delta:
        failures.append(f"device memory grew by {record['memory_delta_bytes']} bytes")
    if record["env_steps_per_sec"] < options.min_sps:
        failures.append(
            f"{record['env_steps_per_sec']:.0f} env steps/s are fewer than {options.min_sps:g}"
        )
    record = {"ok": not failures, **({"error": "; ".join(failures)} if failures else {}), **record}
    if options.jsonl is not None:
        with options.jsonl.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
    return record


def _check(options: Options) -> None:
    if (options.rom is None) == (options.task == ""):
        raise ConfigError("give a ROM with --rom or a task with --task")
    for name, least in (("num_envs", 1), ("frames_per_step", 1), ("stack_k", 1), ("steps", 1),
                        ("warmup", 0), ("release_after", 0), ("threads", 0)):  # fmt: skip
        if getattr(options, name) < least:
            raise ConfigError(f"{name}={getattr(options, name)}: give at least {least}")


def _load(options: Options) -> tuple[Cartridge, Snapshot]:
    """The cartridge and the state that resets lead back to."""
    from emulator import Cartridge, Emulator, EmulatorError
    from trainer_core.envs.roms import load_rom
    from trainer_core.envs.start_states import load_starts

    if options.task:
        home = home_paths(options.home)
        task = find_task(options.task, home)
        cartridge = load_rom(task, home)
        return cartridge, load_starts(task, cartridge)[0]
    assert options.rom is not None
    try:
        cartridge = Cartridge.from_file(options.rom)
    except EmulatorError as error:
        raise LabError(str(error)) from error
    return cartridge, Emulator(cartridge, 1, "cpu" if _cpu() else options.device).snapshot()


def _cpu() -> bool:
    """Whether this Warp can run kernels on the cpu (a CUDA-only build cannot)."""
    import warp as wp

    return any(not device.is_cuda for device in wp.get_devices()) and wp.is_cpu_available()


def measure(options: Options) -> dict[str, Any]:
    """One record: config, versions, speed, load and memory."""
    import torch

    from emulator.warp_start import start_warp
    from trainer_core.envs.frame_stack import FrameStack
    from trainer_core.envs.game_env import MIN_SHARD, Machines
    from trainer_core.protocol.buttons import ACTION_MASKS
    from trainer_core.provenance import device_name, git_sha, versions

    device = _device(options.device)
    start_warp()
    cartridge, start = _load(options)
    began = time.perf_counter()
    n = options.num_envs
    threads = options.threads or os.cpu_count() or 1
    shards = 1 if device.type == "cuda" else max(1, min(threads, n // MIN_SHARD))
    machines = Machines(cartridge, n, device, shards)
    machines.set_starts([start])
    machines.mask.fill_(1)
    machines.reset()
    stack = FrameStack(n, options.stack_k, 72, 80, device)
    draw = torch.Generator(device=device).manual_seed(options.seed)
    masks = torch.tensor(ACTION_MASKS, dtype=torch.uint8, device=device)
    nobody = torch.zeros(n, dtype=torch.bool, device=device)
    everyone = torch.arange(n, device=device)

    def step() -> None:
        machines.buttons.copy_(masks[torch.randint(7, (n,), generator=draw, device=device)])
        machines.run(options.frames_per_step, options.release_after)
        if options.observations:
            stack.push(machines.observe(), nobody, machines.pictures, everyone)
        if options.resets != "none":
            if options.resets == "some":
                picked = torch.randint(RESET_SHARE, (n,), generator=draw, device=device) == 0
                machines.mask.copy_(picked)
            machines.reset()

    try:
        step()
        ready = time.perf_counter() - began
        for _ in range(options.warmup):
            step()
        milliseconds, before, after = _timed(step, options.steps, device)
        machines.run(options.frames_per_step, options.release_after)  # a reset forgets the count
        work = [int(v) for emulator in machines.emulators for v in emulator.work()]
    finally:
        machines.close()
    seconds = sum(milliseconds) / 1000
    frames = options.steps * n * options.frames_per_step
    return {
        "what": "env", "git_sha": git_sha(), "versions": versions(),
        "device": str(device), "device_name": device_name(device), "threads": shards,
        "rom_sha256": cartridge.sha256, "start_s": ready,
        "ms_per_step": sorted(milliseconds)[len(milliseconds) // 2],
        "env_steps_per_sec": options.steps * n / seconds, "frames_per_sec": frames / seconds,
        "instructions_per_frame": sum(work) / n / options.frames_per_step,
        "instructions_per_frame_max": max(work) / options.frames_per_step,
        "frames_rendered_share": float(options.observations) / options.frames_per_step,
        "memory_before_bytes": before, "memory_after_bytes": after,
        "memory_delta_bytes": after - before,
        "config": {
            name: str(value) if isinstance(value, Path) else value
            for name, value in dataclasses.asdict(options).items()
            if name not in ("jsonl", "home")
        },
    }  # fmt: skip


def _device(name: str) -> torch.device:
    import torch

    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError(f"device {name!r}: give cpu or cuda:0") from None
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ConfigError(f"device {name!r}: torch finds {torch.cuda.device_count()} CUDA devices")
    return device


def _timed(step: Any, steps: int, device: torch.device) -> tuple[list[float], int, int]:
    """Milliseconds of each step (CUDA events on a GPU), device memory in use before and after."""
    import torch

    if device.type != "cuda":
        before, times = _resident(), []
        for _ in range(steps):
            began = time.perf_counter()
            step()
            times.append(1000 * (time.perf_counter() - began))
        return times, before, _resident()
    torch.cuda.synchronize(device)
    before = _used(device)
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(steps + 1)]
    marks[0].record()
    for mark in marks[1:]:
        step()
        mark.record()
    torch.cuda.synchronize(device)
    times = [a.elapsed_time(b) for a, b in itertools.pairwise(marks)]
    return times, before, _used(device)


def _used(device: torch.device) -> int:
    """Bytes in use on the device, whoever allocated them."""
    import torch

    free, total = torch.cuda.mem_get_info(device)
    return total - free


def _resident() -> int:
    import psutil

    return psutil.Process().memory_info().rss
