"""`dmglab bench peers`: DMG Lab and PyBoy on the same ROM with the same buttons, in one run.

PyBoy runs in one process, then in one process per core; a step is `frames_per_step` frames with
the picture of the last one drawn, no sound. DMG Lab runs one console on one core, a batch on all
cores, and, with `--device cuda:0`, a batch on the GPU; without a CPU back end in Warp only the last.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from trainer_core.cli.bench import env_bench, rig
from trainer_core.cli.options import home_paths, parse
from trainer_core.lab.roms import named_rom
from trainer_core.wire.buttons import ACTIONS
from trainer_core.wire.errors import ConfigError, LabError


@dataclass(frozen=True)
class Options:
    rom: Path
    """ROM file; both start it from power-on."""
    device: str = "cpu"
    num_envs: int = 16_384
    """Consoles of the batch on a GPU."""
    frames_per_step: int = 24
    release_after: int = 8
    warmup: int = 15
    steps: int = 25
    processes: int = 0
    """PyBoy processes of the second round; 0 = one per core."""
    seed: int = 0


def run(argv: list[str]) -> dict[str, Any]:
    """Measure; return one record with frames per second of each run, and their ratios to PyBoy."""
    options = parse(Options, "bench peers", argv)
    rig.check_at_least(options, num_envs=1, frames_per_step=1, steps=1)
    options = replace(options, rom=named_rom(str(options.rom), home_paths(None)))
    try:
        version = metadata.version("pyboy")
    except metadata.PackageNotFoundError:
        raise LabError("PyBoy is not installed: pip install 'dmglab[peers]'") from None
    on_cpu = rig.cpu_works()
    if not on_cpu and options.device == "cpu":
        raise ConfigError("this build of Warp has no CPU back end: give --device cuda:0")
    cores = options.processes or os.cpu_count() or 1
    speeds: dict[str, float] = {}
    ratios: dict[str, float] = {}
    speeds["pyboy_1"] = _pyboys(options, 1)
    if on_cpu:
        speeds["ours_1"] = _ours(options, "cpu", 1, 1)
        ratios["one_core"] = speeds["ours_1"] / speeds["pyboy_1"]
    speeds["pyboy_cores"] = _pyboys(options, cores)
    if on_cpu:
        speeds["ours_cores"] = _ours(options, "cpu", 32 * cores, cores)
        ratios["all_cores"] = speeds["ours_cores"] / speeds["pyboy_cores"]
    if options.device != "cpu":
        speeds["ours_gpu"] = _ours(options, options.device, options.num_envs, 1)
        ratios["gpu_to_all_cores"] = speeds["ours_gpu"] / speeds["pyboy_cores"]
    return {
        "ok": True,
        "what": "peers",
        "pyboy": version,
        "cores": cores,
        "frames_per_sec": speeds,
        "ratios": ratios,
        "note": "" if on_cpu else rig.NO_CPU,
        "config": {
            "frames_per_step": options.frames_per_step,
            "steps": options.steps,
            "release_after": options.release_after,
            "num_envs": options.num_envs,
        },
    }


def _ours(options: Options, device: str, num_envs: int, threads: int) -> float:
    record = env_bench.measure(
        env_bench.Options(
            rom=options.rom,
            device=device,
            num_envs=num_envs,
            threads=threads,
            frames_per_step=options.frames_per_step,
            release_after=options.release_after,
            warmup=options.warmup,
            steps=options.steps,
            seed=options.seed,
        )
    )
    return record["frames_per_sec"]


def _pyboys(options: Options, processes: int) -> float:
    """Return the frames per second of `processes` PyBoys together, timed from a common start."""
    context = multiprocessing.get_context("spawn")
    gate = context.Barrier(processes + 1)
    done = context.Queue()
    workers = [
        context.Process(target=_pyboy, args=(options, options.seed + k, gate, done), daemon=True)
        for k in range(processes)
    ]
    for worker in workers:
        worker.start()
    try:
        gate.wait(timeout=120)
        began = time.perf_counter()
        for _ in workers:
            done.get(timeout=600)
        elapsed = time.perf_counter() - began
    except Exception as error:
        raise LabError(f"PyBoy did not run {options.rom} ({type(error).__name__})") from error
    finally:
        for worker in workers:
            worker.join(timeout=5)
            worker.kill()
    return processes * options.steps * options.frames_per_step / elapsed


def _pyboy(options: Options, seed: int, gate: Any, done: Any) -> None:
    """Start and warm up one PyBoy, wait for the others at `gate`, then play."""
    import pyboy

    machine = pyboy.PyBoy(str(options.rom), window="null", sound_emulated=False, log_level="ERROR")
    machine.set_emulation_speed(0)
    choose = random.Random(seed)

    def step() -> None:
        name = choose.choice(ACTIONS).lower()
        held = min(options.release_after or options.frames_per_step, options.frames_per_step)
        machine.button_press(name)
        machine.tick(held, False)
        machine.button_release(name)
        if options.frames_per_step > held:
            machine.tick(options.frames_per_step - held, True)

    for _ in range(options.warmup):
        step()
    gate.wait(timeout=120)
    for _ in range(options.steps):
        step()
    done.put(seed)
    machine.stop(save=False)
