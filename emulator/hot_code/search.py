"""Search for a ROM's hot code, and its compilation: the work of the background process.

Some consoles play the ROM with random buttons on the CPU, and every instruction is counted.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import warp as wp

from emulator.emulator import Emulator
from emulator.hot_code import piece_finder
from emulator.hot_code.adopt import plain_instructions
from emulator.hot_code.background_search import load_hot_code, store_hot_code
from emulator.hot_code.ptx_superblocks import reads_status
from emulator.launch.launch_shapes import ALONE, TWO_PHASES
from emulator.rom.cartridge import Cartridge
from emulator.rom.idle_loops import marked_words

CONSOLES, LAUNCHES = {True: 32, False: 8}, {True: 48, False: 192}
"""Consoles and launches of a search for code of a GPU (True) or a CPU (False), which uses fewer consoles for longer.

With the CPU's numbers 96 % of a game's instructions in 150 s were in superblocks, with the GPU's 90 % (deseo).
"""
FRAMES, RELEASE_AFTER = 24, 8


def find_hot_code(cartridge: Cartridge, on_gpu: bool) -> piece_finder.HotCode:
    """Play a ROM on the CPU with random buttons from a fixed seed and return its hot code; takes 2 to 9 s."""
    consoles = CONSOLES[on_gpu]
    emulator = Emulator(cartridge, consoles, "cpu", executor="uniform")
    words = marked_words(cartridge.rom, ends=True)
    random = np.random.default_rng(5)
    counts = emulator.count_places()
    for _ in range(LAUNCHES[on_gpu]):
        buttons = (1 << random.integers(0, 8, consoles)).astype(np.uint8)
        emulator.run(buttons, FRAMES, RELEASE_AFTER)
    seen = piece_finder.Counts(*counts.numpy()[:, :-1])
    asks = int(counts.numpy()[0, -1]) / max(1, int(seen.executed.sum(dtype=np.int64)))
    last = reads_status(words) if on_gpu else None
    pieces = piece_finder.pieces(seen, words, plain_instructions(words, on_gpu), last)
    return piece_finder.HotCode(pieces, asks)


def compile_hot_code(
    cartridges: Sequence[Cartridge], device: str, running: int = ALONE.running, many: bool = False
) -> dict[str, object]:
    """Compile the hot code of ROMs that run in one batch on `device` into Warp's cache; return a record of the work.

    A ROM whose pieces are not stored is searched first. `running`: consoles a block of the launch shape; `many`: also
    compile the data path for a ROM that `fetches_much`.
    """
    begun = time.perf_counter()
    on_gpu = wp.get_device(device).is_cuda
    found = []
    for cartridge in cartridges:
        words = marked_words(cartridge.rom, ends=True)
        hot = load_hot_code(cartridge, words, plain_instructions(words, on_gpu), on_gpu)
        if hot is None:
            hot = find_hot_code(cartridge, on_gpu)
            store_hot_code(cartridge, hot, on_gpu)
        found.append(hot)
    pieces = [hot.pieces for hot in found]
    much = [hot.fetches_much for hot in found]
    searched = time.perf_counter()
    shape = ALONE._replace(running=running)
    executor = "threaded" if on_gpu else "native"
    Emulator(cartridges, len(cartridges), device, shape=shape, executor=executor).adopt(pieces)
    if many and any(much):
        data_path = Emulator(cartridges, len(cartridges), device, shape=TWO_PHASES)
        data_path.wait_for_kernels()
        data_path.run(frames=2)
    return {
        "fetches_much": much,
        "pieces": list(map(len, pieces)),
        "instructions": [sum(map(len, places)) for places in pieces],
        "search_s": round(searched - begun, 1),
        "compile_s": round(time.perf_counter() - searched, 1),
    }
