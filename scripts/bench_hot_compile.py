"""Measure what compiling a ROM's hot code takes: processor time, without a GPU.

python scripts/bench_hot_compile.py GAME.gb ...

Finds the pieces (ADR 30), or takes those in the user's cache, and compiles their module for one
architecture as a GPU's first launch would, up to machine code. Times of a busy machine differ by 2;
`perf stat -e instructions:u` in front of the command counts what does not.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import warp as wp

from emulator import Cartridge
from emulator.hot_code.adopt import prepared
from emulator.hot_code.search import HOTTEST, known_pieces
from emulator.launch.launch_shapes import TAIL_BLOCK


def measure(path: Path, arch: int, most: int | None) -> str:
    """Return the line of one ROM and its first `most` pieces, None: all."""
    cartridge = Cartridge.from_file(path)
    pieces = known_pieces(cartridge, on_gpu=True)[:most]
    module = prepared([cartridge], [pieces], native=False).kernel.module
    module.options["block_dim"] = TAIL_BLOCK
    with tempfile.TemporaryDirectory() as folder:
        begun = os.times()
        wp.compile_aot_module(module, device=None, arch=arch, module_dir=folder, use_ptx=False)
        ended = os.times()
    seconds = ended.user - begun.user + ended.system - begun.system
    instructions = sum(map(len, pieces))
    return f"{path.stem}: {len(pieces)} pieces, {instructions} instructions, {seconds:.1f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("roms", nargs="+", type=Path, metavar="GAME.gb")
    parser.add_argument("--arch", type=int, default=90, help="90 for an H100 or H200")
    options = parser.parse_args()
    for path in options.roms:
        for most in (HOTTEST, None):
            print(measure(path, options.arch, most), flush=True)


if __name__ == "__main__":
    main()
