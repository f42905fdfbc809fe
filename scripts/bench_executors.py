"""Time the data path of a GPU alone, with threaded code for the last consoles of a launch, and with hot code:
the same frames from power-on, and the same states.

    python scripts/bench_executors.py --rom A.gb --rom B.gb --device cuda:0 --num-envs 256,1024 --base 1,8,4

A line for each ROM, batch size and number of consoles that are left to threaded code (0: none): frames a
second in the first ten launches of 24 frames with observations, the title in most games, and in the others;
cycles of the GPU for an instruction of the longest console; whether the states of 64 consoles are those of
the first line. `chosen` is what a batch does by itself. Ends with status 1 if any state differs. Last, the
geometric mean of each line's gain over the first. `--base`: another shape of the data path for the first line.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import warp as wp

from emulator import Cartridge, Emulator
from emulator.hot_code.search import known_pieces
from emulator.launch.launch_shapes import Shape, built_in
from emulator.launch.tail_choice import tails

FRAMES, RELEASE_AFTER = 24, 8
TITLE, MEASURED = 10, 50
LOOKED_AT = 64


def compared(num_envs: int, device: str, base: Shape) -> dict[str, tuple[Shape | None, bool]]:
    """Return the shape of each line, None for the one that is chosen while it runs, and whether it has hot code."""
    lines: dict[str, tuple[Shape | None, bool]] = {"data path": (base, False)}
    for hot in (False, True):
        for tail in tails(num_envs, device):
            lines[f"{'hot ' * hot}{tail}"] = (built_in(num_envs)._replace(tail=tail), hot)
        lines[f"{'hot ' * hot}chosen"] = (None, hot)
    return lines


def measure(
    cartridge: Cartridge, num_envs: int, device: str, shape: Shape | None, hot: bool
) -> tuple[float, float, float, list[str]]:
    """Return seconds of the titles and of the other launches, seconds an instruction of the longest, and hashes."""
    emulator = Emulator(cartridge, num_envs, device, shape=shape)
    if hot:
        emulator.adopt([known_pieces(cartridge, on_gpu=True)])
    emulator.wait_for_kernels()
    random = np.random.default_rng(1)
    taken, apiece = [], []
    for _ in range(TITLE + MEASURED):
        held = wp.array((1 << random.integers(0, 8, num_envs)).astype(np.uint8), device=device)
        wp.synchronize_device(device)
        began = time.perf_counter()
        emulator.run(held, FRAMES, RELEASE_AFTER)
        wp.synchronize_device(device)
        ran = time.perf_counter() - began
        emulator.observations()
        wp.synchronize_device(device)
        taken.append(time.perf_counter() - began)
        apiece.append(ran / max(1, int(emulator.work().max())))
    hashes = emulator.state_hash()[:: max(1, num_envs // LOOKED_AT)]
    # The first launch loads modules.
    return sum(taken[1:TITLE]) * TITLE / (TITLE - 1), sum(taken[TITLE:]), statistics.median(apiece), hashes


def main() -> int:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description="Threaded code and hot code against the data path")
    parser.add_argument("--rom", action="append", required=True, type=Path)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--num-envs", default="256,1024,4096")
    parser.add_argument("--base", default="", help="lanes, running and serving warps of the first line")
    parser.add_argument("--clock", type=float, default=1.98, help="GHz, for the cycles")
    options = parser.parse_args()
    equal = True
    for num_envs in map(int, options.num_envs.split(",")):
        base = Shape(*map(int, options.base.split(","))) if options.base else built_in(num_envs)
        gains: dict[str, list[float]] = {}
        for path in options.rom:
            cartridge = Cartridge.from_bytes(path.read_bytes(), path.name)
            first: tuple[float, list[str]] | None = None
            for name, (shape, hot) in compared(num_envs, options.device, base).items():
                title, rest, apiece, hashes = measure(cartridge, num_envs, options.device, shape, hot)
                first = first or (title + rest, hashes)
                equal &= hashes == first[1]
                gains.setdefault(name, []).append(math.log(first[0] / (title + rest)))
                rates = [num_envs * FRAMES * n / s / 1e6 for n, s in ((TITLE, title), (MEASURED, rest))]
                print(
                    f"{num_envs:5d} {path.stem:16s} {name:10s} {rates[0]:6.2f} {rates[1]:6.2f} M frames/s"
                    f" {apiece * options.clock * 1e9:5.0f} cycles {'equal' if hashes == first[1] else 'DIFFERENT'}",
                    flush=True,
                )
        for name, logs in gains.items():
            print(f"{num_envs:5d} geometric mean   {name:10s} {math.exp(statistics.mean(logs)):.2f} times")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
