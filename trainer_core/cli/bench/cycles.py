"""`dmglab bench cycles`: open and close an environment many times; the memory must not grow.

A cycle makes a GameEnv, resets it, steps it and closes it. The first tenth of the cycles is
warm-up: kernels, caches and the allocators' pools fill. Growth is the lowest reading of the last
third of the others less the lowest of their first third: single readings vary,
because allocators return pages at arbitrary times, but a leak raises the lowest ones.
"""

from __future__ import annotations

import dataclasses
import gc
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer_core.cli.bench import rig
from trainer_core.cli.options import parse

READINGS = 100
DEFAULT_TASK = "pocket_quest/leave_bedroom"


@dataclass(frozen=True, kw_only=True)
class Options(rig.GameOptions):
    count: int = 1000
    """Number of cycles; a tenth of them come before the first reading."""
    num_envs: int = 16
    steps: int = 2
    """Steps of each environment."""
    max_growth: int = 16 << 20
    """Fail if the memory grows by more bytes than this; -1 = no limit."""


def run(argv: list[str]) -> dict[str, Any]:
    """Measure; return one record with the growth per cycle of the process and of the device."""
    options = parse(Options, "bench cycles", argv)
    rig.check_at_least(options, count=20, num_envs=1, steps=0)
    record = measure(options)
    grown = max(row["growth_bytes"] for row in record["memory"].values())
    if 0 <= options.max_growth < grown:
        return {"ok": False, "error": f"memory grew by {grown} bytes", **record}
    return {"ok": True, **record}


def measure(options: Options) -> dict[str, Any]:
    """Run the cycles and read memory READINGS times."""
    device = rig.torch_device(options.device)
    if options.rom is None and not options.task:
        options = dataclasses.replace(options, task=DEFAULT_TASK)
    game = rig.load_game(options)
    warm_up = options.count // 10
    every = max(1, (options.count - warm_up) // READINGS)
    process: list[int] = []
    on_device: list[int] = []
    with tempfile.TemporaryDirectory() as folder:
        task = rig.bench_task(game, Path(folder))
        began = time.perf_counter()
        for cycle in range(options.count):
            _cycle(task, game, options)
            if cycle >= warm_up and (cycle - warm_up) % every == 0:
                gc.collect()
                process.append(rig.resident_bytes())
                if device.type == "cuda":
                    on_device.append(rig.memory_used(device))
        seconds = time.perf_counter() - began
    readings = {"process": process} | ({"device": on_device} if on_device else {})
    return {
        "what": "cycles",
        **rig.facts(device, game),
        "count": options.count,
        "warm_up": warm_up,
        "ms_per_cycle": 1000 * seconds / options.count,
        "memory": {name: growth(found) for name, found in readings.items()},
        "config": {"num_envs": options.num_envs, "steps": options.steps, "max_growth": options.max_growth},
    }


def _cycle(task: Any, game: rig.Game, options: Options) -> None:
    import torch

    from trainer_core.envs.game_env import GameEnv, GameOptions

    env = GameEnv.open(task, game.home, GameOptions(num_envs=options.num_envs, device=options.device))
    env.reset(seed=1)
    actions = torch.zeros(options.num_envs, dtype=torch.int64, device=options.device)
    for _ in range(options.steps):
        env.step(actions)
    env.close()


def growth(readings: list[int]) -> dict[str, int]:
    """Return the first, last and largest reading and the growth (see the module), in bytes."""
    third = max(1, len(readings) // 3)
    return {
        "first_bytes": readings[0],
        "last_bytes": readings[-1],
        "most_bytes": max(readings),
        "growth_bytes": min(readings[-third:]) - min(readings[:third]),
    }
