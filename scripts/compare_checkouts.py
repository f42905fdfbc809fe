"""Compare what two checkouts compute, and how fast: state hashes, pictures, frames/s, on a CPU instructions.

    python scripts/compare_checkouts.py OLD NEW --rom A.gb --rom B.gb --device cuda:0 \
        --num-envs 16384,65536 --rounds 2

Runs every checkout in a process of its own, in turns, on the same random buttons, and prints a
line a measurement and a table of ratios. Ends with status 1 when anything but the speed differs.
A measurement: 16 launches of 24 frames, then the median of 5 with an observation of every console.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp

FRAMES, HELD, WARM_UP, TIMED = 24, 8, 16, 5
SMALL = 48
"""Consoles of the batch whose states are hashed: hashing 65,536 rows would take minutes."""


def main() -> int:
    options = parse()
    if options.child:
        measure(options.checkouts[0], options)
        return 0
    found: dict[str, list[dict[str, Any]]] = {}
    for _ in range(options.rounds):
        for checkout in options.checkouts:
            for row in ask(checkout, options):
                print(f"{checkout:24} {json.dumps(row)}", flush=True)
                found.setdefault(checkout, []).append(row)
    old, new = (found[checkout] for checkout in options.checkouts)
    return compare(old, new, options.device)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkouts", nargs="+", help="the old one, then the new one")
    parser.add_argument("--rom", action="append", type=Path, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--num-envs", default="64", help="sizes of the batch, with commas")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.child and len(options.checkouts) != 2:
        parser.error("give two checkouts")
    return options


def ask(checkout: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    roms = [argument for rom in options.rom for argument in ("--rom", str(rom.resolve()))]
    child = subprocess.run(
        [sys.executable, str(Path(__file__).resolve()), checkout, "--child", *roms,
         "--device", options.device, "--num-envs", options.num_envs],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if child.returncode:
        raise SystemExit(f"{checkout}: {child.stderr.strip().splitlines()[-1]}")
    return [json.loads(line) for line in child.stdout.splitlines() if line.startswith("{")]


def measure(checkout: str, options: argparse.Namespace) -> None:
    sys.path.insert(0, str(Path(checkout).resolve()))
    from emulator import Cartridge, Emulator

    for num_envs in map(int, options.num_envs.split(",")):
        rng = np.random.default_rng(5)
        steps = WARM_UP + TIMED
        pressed = rng.integers(0, 256, (steps, num_envs)) * (rng.random((steps, num_envs)) > 0.3)
        buttons = [wp.array(row.astype(np.uint8), device=options.device) for row in pressed]
        for rom in options.rom:
            cartridge = Cartridge.from_file(rom)
            emulator = Emulator(cartridge, num_envs, options.device)
            emulator.wait_for_kernels()
            seconds = []
            for held in buttons:
                began = time.perf_counter()
                emulator.run(held, FRAMES, HELD)
                emulator.observations()
                wp.synchronize()
                seconds.append(time.perf_counter() - began)
            few = Emulator(cartridge, SMALL, options.device)
            for row in pressed[:6]:
                few.run(np.resize(row.astype(np.uint8), SMALL), FRAMES, HELD)
            row = {
                "rom": rom.stem,
                "num_envs": num_envs,
                "states": digest("".join(few.state_hash()).encode()),
                "pictures": digest(emulator.observations().numpy().tobytes()),
                "instructions": int(emulator.work().astype(np.int64).sum()),
                "frames_per_s": FRAMES * num_envs / sorted(seconds[WARM_UP:])[TIMED // 2],
            }
            print(json.dumps(row), flush=True)
            del emulator, few


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


def compare(old: list[dict[str, Any]], new: list[dict[str, Any]], device: str) -> int:
    # Of a GPU's waiting loops other turns are skipped by the data path than by threaded code.
    counted = ("instructions",) if device == "cpu" else ()
    equal = all(
        before[name] == after[name]
        for before, after in zip(old, new, strict=True)
        for name in ("rom", "num_envs", "states", "pictures", *counted)
    )
    for num_envs in sorted({row["num_envs"] for row in old}):
        means = [mean(row["frames_per_s"] for row in rows if row["num_envs"] == num_envs) for rows in (old, new)]
        print(
            f"{num_envs:>7} consoles: {means[0] / 1e6:.3f} -> {means[1] / 1e6:.3f} M frames/s, "
            f"{means[1] / means[0]:.3f} times"
        )
    print(f"{', '.join(('states', 'pictures', *counted))}: {'equal' if equal else 'DIFFERENT'}")
    return 0 if equal else 1


def mean(values: Any) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))


if __name__ == "__main__":
    sys.exit(main())
