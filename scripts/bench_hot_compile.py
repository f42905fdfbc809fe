"""Measure what compiling a ROM's hot code takes: processor time, without a GPU.

python scripts/bench_hot_compile.py GAME.gb ...

Finds the pieces (ADR 17), or takes those in the user's cache, and compiles their module for one
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
from emulator.hot_code.adopt import plain_instructions
from emulator.hot_code.background_search import load_hot_code
from emulator.hot_code.compile_gpu import gpu_hot_code
from emulator.hot_code.search import find_hot_code
from emulator.launch.launch_shapes import ALONE
from emulator.rom.idle_loops import marked_words


def measure(path: Path, arch: int) -> str:
    """Return one ROM's line."""
    cartridge = Cartridge.from_file(path)
    words = marked_words(cartridge.rom, ends=True)
    plain = plain_instructions(words, on_gpu=True)
    hot = load_hot_code(cartridge, words, plain, on_gpu=True) or find_hot_code(cartridge, True)
    module = gpu_hot_code([cartridge.rom], [words], [hot.pieces]).frames.module
    module.options["block_dim"] = ALONE.block
    with tempfile.TemporaryDirectory() as folder:
        begun = os.times()
        wp.compile_aot_module(module, device=None, arch=arch, module_dir=folder, use_ptx=False)
        ended = os.times()
    seconds = ended.user - begun.user + ended.system - begun.system
    instructions = sum(map(len, hot.pieces))
    return f"{path.stem}: {len(hot.pieces)} pieces, {instructions} instructions, {seconds:.1f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("roms", nargs="+", type=Path, metavar="GAME.gb")
    parser.add_argument("--arch", type=int, default=90, help="90 for an H100 or H200")
    options = parser.parse_args()
    for path in options.roms:
        print(measure(path, options.arch), flush=True)


if __name__ == "__main__":
    main()
