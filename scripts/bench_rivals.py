r"""Time DMG Lab, PyBoy and NeSLE one after another in one call on one machine, and say exactly what each ran.

    python scripts/bench_rivals.py A.gb B.gb --device cuda:0 --num-envs 4096,65536 \
        --nesle ../NeSLE --nes-rom GAME.nes --json OUT.json

Random buttons for all. DMG Lab and PyBoy (`dmglab bench peers`) play the given ROMs; PyBoy in one process a core. NeSLE
(https://github.com/hbofz/NeSLE, which you build yourself) emulates another console, so it plays another game: its
figures and ours are orders of magnitude, not a ratio. It steps on the device without an automatic reset; with pictures
it draws them on the device as well. A line of the result says game, console, frames a step and picture.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp

POWER_ON_FRAMES = 600
"""Frames that each plays before it is timed."""
HERE = Path(__file__).resolve().parents[1]


def peers(rom: Path, num_envs: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the rows of DMG Lab on the GPU and PyBoy on all cores for one ROM."""
    frames = options.frames
    command = [sys.executable, "-m", "trainer_core.cli.main", "bench", "peers", "--rom", str(rom.resolve())]
    command += ["--device", options.device, "--num-envs", str(num_envs), "--frames-per-step", str(frames)]
    command += ["--release-after", str(min(8, frames // 2)), "--warmup", str(-(-POWER_ON_FRAMES // frames))]
    asked = subprocess.run(
        [*command, "--steps", str(options.steps)], capture_output=True, text=True, cwd=HERE, check=False
    )
    if asked.returncode:
        sys.exit(f"{rom}: dmglab bench peers: {(asked.stderr or asked.stdout).strip().splitlines()[-1]}")
    record = json.loads(asked.stdout.strip().splitlines()[-1])
    common = {"game": rom.stem, "console": "Game Boy", "frames_per_step": frames}
    speeds = record["frames_per_sec"]
    found = [
        {"who": "DMG Lab", **common, "num_envs": num_envs, "picture": "80x72 of each console and step, drawn"},
        {"who": f"PyBoy {record['pyboy']}", **common, "num_envs": record["cores"], "picture": "160x144, drawn"},
    ]
    names = ("ours_gpu", "pyboy_cores")
    return [row | {"frames_per_sec": speeds[name]} for row, name in zip(found, names, strict=True)]


def nesle(options: argparse.Namespace, num_envs: int) -> list[dict[str, Any]]:
    """Return NeSLE's rows for one size, without and with pictures; it is imported from the checkout `options.nesle`."""
    sys.path.insert(0, str(options.nesle.resolve() / "src"))
    from nesle._cuda_core import CudaBatch  # pyright: ignore[reportMissingImports]

    random = np.random.default_rng(1)
    batch = CudaBatch(num_envs, options.frames, options.nes_rom.read_bytes())
    batch.reset()
    found = []
    for drawn in (False, True):
        taken = []
        warm_up = 0 if drawn else -(-POWER_ON_FRAMES // options.frames)
        for step in range(warm_up + options.steps):
            held = wp.array((1 << random.integers(0, 8, num_envs)).astype(np.uint8), device=options.device)
            wp.synchronize_device(options.device)
            began = time.perf_counter()
            batch.step_device(held, auto_reset=False)
            if drawn:
                batch.render_device()
            wp.synchronize_device(options.device)
            if step >= warm_up:
                taken.append(time.perf_counter() - began)
        row = {"who": "NeSLE", "game": options.nes_rom.stem, "console": "NES", "num_envs": num_envs}
        row |= {"frames_per_step": options.frames, "picture": "256x240 RGB, drawn" if drawn else "none"}
        found.append(row | {"frames_per_sec": num_envs * options.frames / statistics.median(taken)})
    return found


def main() -> int:
    """Run all measurements; print a line of each and write the result."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rom", nargs="+", type=Path)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--num-envs", default="4096,65536", help="sizes of the batch, with commas")
    parser.add_argument("--frames", type=int, default=4, help="frames a step")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--nesle", type=Path, help="a checkout of NeSLE with its extension built")
    parser.add_argument("--nes-rom", type=Path, help="what NeSLE plays: a game of mapper 0")
    parser.add_argument("--json", type=Path, help="file to write the result to")
    options = parser.parse_args()
    if (options.nesle is None) != (options.nes_rom is None):
        parser.error("give --nesle and --nes-rom together, or neither")
    if options.frames < 2 or options.device == "cpu":
        parser.error("give a GPU, and at least 2 frames: PyBoy's button is let go before the frame that it draws")
    rows = []
    for num_envs in map(int, options.num_envs.split(",")):
        parts = [peers(rom, num_envs, options) for rom in options.rom]
        if options.nesle:
            parts.append(nesle(options, num_envs))
        for row in (row for part in parts for row in part):
            rows.append(row)
            print(
                f"{row['who']:14s} {row['game'][:20]:20s} {row['num_envs']:6d} x {row['frames_per_step']} frames,"
                f" picture: {row['picture']}: {row['frames_per_sec'] / 1e6:.3f} M frames/s",
                flush=True,
            )
    if options.json:
        result = {
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "command": " ".join(["python scripts/bench_rivals.py", *sys.argv[1:]]),
            "buttons": "random, a new one each step",
            "after_frames": POWER_ON_FRAMES,
            "rows": rows,
        }
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
