r"""Time labelled frames in the device's memory, one frame a step: pictures, tile maps, sprites, registers, 16 bytes.

    python scripts/bench_frames.py A.gb B.gb --num-envs 16384 --device cuda:0

Each console presses random buttons from its own start (its first 600 frames differ). A step is one frame of every
console, its picture in bit planes and its watched bytes, written into a ring of eight steps.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import warp as wp

from emulator import Emulator
from trainer_core.play.labelled.frames import SCENE

RING, WARM = 8, 600


def measure(rom: str, num_envs: int, device: str, steps: int) -> None:
    """Print the frames/s of each kind of label."""
    rng = np.random.default_rng(1)
    with Emulator(rom, num_envs, device) as emulator:
        buttons = [wp.array((1 << rng.integers(0, 8, num_envs)).astype(np.uint8), device=device) for _ in range(64)]
        for step in range(WARM // 24):
            emulator.run(buttons[step % 64], 24, 8)
        pictures = [wp.zeros((num_envs, 144, 2, 20), wp.uint8, device=device) for _ in range(RING)]
        watch, labels = None, []
        for kind in ("frames alone", "with pictures", "with pictures and labels"):
            if kind.endswith("labels"):
                watch = emulator.watch(ram=(0xC000, 16), **{name: item for name, (item, _) in SCENE.items()})
                labels = [wp.zeros_like(watch.bytes) for _ in range(RING)]
            for part in (8, steps):
                wp.synchronize_device(device)
                began = time.perf_counter()
                for step in range(part):
                    emulator.run(buttons[step % 64], 1)
                    if kind != "frames alone":
                        emulator.packed_screens(pictures[step % RING])
                    if watch is not None:
                        wp.copy(labels[step % RING], watch.bytes)
                wp.synchronize_device(device)
            rate = steps * num_envs / (time.perf_counter() - began)
            print(f"{rom.rpartition('/')[2]:24} {num_envs:6} {kind:26} {rate / 1e6:8.3f} M frames/s", flush=True)


def main() -> None:
    """Measure every ROM with every number of consoles."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rom", nargs="+")
    parser.add_argument("--num-envs", default="16384", help="numbers of consoles, separated by commas")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=120)
    options = parser.parse_args()
    for rom in options.rom:
        for num_envs in map(int, options.num_envs.split(",")):
            measure(rom, num_envs, options.device, options.steps)


if __name__ == "__main__":
    main()
