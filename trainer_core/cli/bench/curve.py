"""`dmglab bench curve`: throughput against the number of consoles and against frames a step.

All rows run in one process, so that every kernel compiles once per block size of the launch shapes;
the record lists the block sizes. Every row plays the same part of the game: a warm-up from the start
state, then `frames` frames.
"""

from __future__ import annotations

import gc
import itertools
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trainer_core.cli.bench import rig
from trainer_core.cli.options import parse
from trainer_core.wire.errors import ConfigError

if TYPE_CHECKING:
    import torch

    from trainer_core.envs.sharded_emulator import ShardedEmulator

WARM_UP, WARM_UP_FRAMES = 15, 24
KNEE_GAIN = 1.5


@dataclass(frozen=True, kw_only=True)
class Options(rig.LoggedOptions):
    num_envs: str = "1,16,64,256"
    """Numbers of consoles, ascending, separated by commas."""
    frames_per_step: str = "1,4,24"
    """Frames of a step, separated by commas; the buttons are held for a third of them."""
    frames: int = 240
    """Frames of each measurement, rounded to whole steps."""


def run(argv: list[str]) -> dict[str, Any]:
    """Measure; return one record with a row for each pair, and the knee of each frames_per_step."""
    options = parse(Options, "bench curve", argv)
    rig.check_at_least(options, frames=1)
    sizes, frames = (_numbers(options, name) for name in ("num_envs", "frames_per_step"))
    record = {"ok": True, **measure(options, sizes, frames)}
    options.keep(record)
    return record


def _numbers(options: Options, name: str) -> list[int]:
    text = getattr(options, name)
    try:
        found = sorted({int(part) for part in text.split(",") if part.strip()})
    except ValueError:
        found = []
    if not found or found[0] < 1:
        raise ConfigError(f"{name} {text!r}: give whole numbers like 1,64,1024")
    return found


def measure(options: Options, sizes: list[int], frames: list[int]) -> dict[str, Any]:
    device = rig.torch_device(options.device)
    game = rig.load_game(options)
    began = time.perf_counter()
    rows = [row for n in sizes for row in _measure_size(options, game, device, n, frames)]
    knees = {
        str(count): knee([(row["num_envs"], row["frames_per_sec"]) for row in rows if row["frames_per_step"] == count])
        for count in frames
    }
    return {
        "what": "curve",
        **rig.facts(device, game),
        "seconds": time.perf_counter() - began,
        "table": rows,
        "knee": knees,
        "knee_is": f"first N whose doubling gains less than {KNEE_GAIN}x; null: not reached",
        "blocks": sorted({row["shape"]["block"] for row in rows if row["shape"]}),
        "config": {
            "num_envs": sizes,
            "frames_per_step": frames,
            "observations": options.observations,
            "frames": options.frames,
            "seed": options.seed,
        },
    }


def knee(points: list[tuple[int, float]]) -> int | None:
    """Return the first N from which doubling N gains less than KNEE_GAIN; points (N, speed) ascending.

    A gap of several doublings counts as that many equal gains.
    """
    for (n, speed), (more, faster) in itertools.pairwise(points):
        if (faster / speed) ** (1 / math.log2(more / n)) < KNEE_GAIN:
            return n
    return None


def _measure_size(
    options: Options, game: rig.Game, device: torch.device, n: int, frames: list[int]
) -> list[dict[str, Any]]:
    """Return the rows of one number of consoles."""
    before = rig.memory_used(device)
    machines = rig.open_machines(game, n, device, options.threads)
    try:
        rows = [_row(options, machines, count) for count in frames]
        grown = rig.memory_used(device) - before
        size = {"bytes_per_env": machines.bytes_per_env, "process_bytes_per_env": grown / n}
        return [row | size for row in rows]
    finally:
        machines.close()
        del machines
        gc.collect()
        if device.type == "cuda":
            import torch

            torch.cuda.empty_cache()


def _row(options: Options, machines: ShardedEmulator, frames: int) -> dict[str, Any]:
    n, device = len(machines.buttons), machines.buttons.device
    buttons = rig.Buttons(n, device, options.seed)
    machines.mask.fill_(1)
    machines.reset()
    for _ in range(WARM_UP):
        _step(machines, buttons, WARM_UP_FRAMES, options.observations)

    def step() -> None:
        _step(machines, buttons, frames, options.observations)

    step()
    steps = max(1, options.frames // frames)
    milliseconds = sum(rig.timed(step, steps, device)) / steps
    shape = machines.emulators[0].shape if device.type == "cuda" else None
    return {
        "num_envs": n,
        "frames_per_step": frames,
        "steps": steps,
        "ms_per_step": milliseconds,
        "env_steps_per_sec": 1000 * n / milliseconds,
        "frames_per_sec": 1000 * n * frames / milliseconds,
        "shape": {**shape._asdict(), "block": shape.block} if shape else None,
    }


def _step(machines: ShardedEmulator, buttons: rig.Buttons, frames: int, observations: bool) -> None:
    machines.buttons.copy_(buttons.masks())
    machines.run(frames, frames // 3)
    if observations:
        machines.observe()
