"""Time threaded code, with superblocks as well, against the data path for few consoles of a GPU: the
same frames from power-on. From 1,024 consoles on also the data path with superblocks in its tail.

    python scripts/bench_executors.py --rom A.gb --rom B.gb --device cuda:0 --num-envs 256,1024

A line for each ROM, batch size and executor: milliseconds a launch of 24 frames with observations,
frames a second, cycles of the GPU for an instruction of the longest console, and whether the states
of 64 consoles are those of the first executor. Ends with status 1 if any is not. The last mean is
of what a batch takes by itself once it has its hot code.
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
from emulator.hot_code.piece_finder import HotCode
from emulator.hot_code.search import find_hot_code
from emulator.launch.launch_shapes import ALONE, MANY_ALONE, SERVED, TWO_PHASES, Shape, built_in, with_hot_code

FRAMES, RELEASE_AFTER = 24, 8
WARM_UP, MEASURED = 10, 4
LOOKED_AT = 64
HOT = "hot"
"""Threaded code with superblocks."""
PHASES = "phases"
"""The data path, and that for the last of a launch."""


def shapes_for(num_envs: int) -> dict[str, Shape]:
    """Return what is compared: the data path in its built-in shape, and threaded code twice."""
    shape = built_in(num_envs)._replace(tail=0)
    compared = {"uniform": shape if shape.serving else SERVED, "threaded": ALONE, HOT: ALONE}
    return compared | ({PHASES: TWO_PHASES} if num_envs > MANY_ALONE else {})


def measure(
    cartridge: Cartridge, num_envs: int, device: str, shape: Shape, hot: HotCode | None = None
) -> tuple[float, float, list[str]]:
    """Return seconds a launch, seconds for an instruction of its longest console, and hashes."""
    emulator = Emulator(cartridge, num_envs, device, shape=shape)
    if hot and hot.pieces:
        emulator.adopt([hot.pieces])
    random = np.random.default_rng(1)
    taken, apiece = [], []
    for launch in range(WARM_UP + MEASURED):
        held = wp.array((1 << random.integers(0, 8, num_envs)).astype(np.uint8), device=device)
        wp.synchronize_device(device)
        began = time.perf_counter()
        emulator.run(held, FRAMES, RELEASE_AFTER)
        wp.synchronize_device(device)
        ran = time.perf_counter() - began
        emulator.observations()
        wp.synchronize_device(device)
        if launch >= WARM_UP:
            taken.append(time.perf_counter() - began)
            apiece.append(ran / emulator.work().max())
    hashes = emulator.state_hash()[:: max(1, num_envs // LOOKED_AT)]
    return statistics.median(taken), statistics.median(apiece), hashes


def main() -> int:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description="Threaded code against the data path")
    parser.add_argument("--rom", action="append", required=True, type=Path)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--num-envs", default="256,1024")
    parser.add_argument("--clock", type=float, default=1.98, help="GHz, for the cycles")
    options = parser.parse_args()
    equal = True
    hot: dict[Path, HotCode] = {}
    for num_envs in map(int, options.num_envs.split(",")):
        logs = []
        for path in options.rom:
            cartridge = Cartridge.from_bytes(path.read_bytes(), path.name)
            found = []
            for name, shape in shapes_for(num_envs).items():
                if name == HOT and path not in hot:
                    hot[path] = find_hot_code(cartridge, on_gpu=True)
                known = hot[path] if name in (HOT, PHASES) else None
                taken, apiece, hashes = measure(cartridge, num_envs, options.device, shape, known)
                found.append((taken, hashes))
                same = hashes == found[0][1]
                equal &= same
                print(
                    f"{num_envs:5d} {path.stem:16s} {name:8s} {1e3 * taken:7.2f} ms"
                    f" {num_envs * FRAMES / taken / 1e6:6.2f} M frames/s"
                    f" {apiece * options.clock * 1e9:5.0f} cycles"
                    f" {'equal' if same else 'DIFFERENT'}",
                    flush=True,
                )
            chosen = with_hot_code(ALONE, num_envs, hot[path].fetches_much) == TWO_PHASES
            found.append(found[-1 if chosen or len(found) == 3 else -2])
            logs.append([math.log(found[0][0] / taken) for taken, _ in found[1:]])
        means = [math.exp(statistics.mean(column)) for column in zip(*logs, strict=True)]
        print(f"{num_envs:5d} geometric means:", *(f"{mean:.2f}" for mean in means), "times")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
