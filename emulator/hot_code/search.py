"""Search for a ROM's hot code, and its compilation: the work of the background process.

Some consoles play the ROM with random buttons on the CPU, and every instruction is counted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np
import warp as wp

from emulator.emulator import Emulator
from emulator.hot_code import piece_finder
from emulator.hot_code.adopt import block_of, prepared
from emulator.hot_code.background_search import load_pieces, plain_instructions, store_pieces
from emulator.hot_code.ptx_superblocks import reads_status
from emulator.launch.compile_beside import fill_cache
from emulator.rom.cartridge import Cartridge, EmulatorError
from emulator.rom.idle_loops import marked_words

CONSOLES, LAUNCHES = {True: 32, False: 8}, {True: 48, False: 192}
"""Consoles and launches of a search for code of a GPU (True) or a CPU (False), which uses fewer consoles for longer.

With the CPU's numbers 96 % of a game's instructions in 150 s were in superblocks, with the GPU's 90 % (deseo).
"""
FRAMES, RELEASE_AFTER = 24, 8
HOTTEST = 100
"""Pieces that a GPU's first stage compiles: in half of the time or less, for 65 to 95 % of what is executed."""


def find_pieces(cartridge: Cartridge, on_gpu: bool) -> list[tuple[int, ...]]:
    """Play a ROM on the CPU with random buttons from a fixed seed and return its pieces; takes 1 to 5 s."""
    if not wp.is_cpu_available():
        raise EmulatorError("a search for hot code plays on the CPU, for which this Warp has no compiler")
    consoles = CONSOLES[on_gpu]
    emulator = Emulator(cartridge, consoles, "cpu", executor="uniform")
    words = marked_words(cartridge.rom, ends=True)
    random = np.random.default_rng(5)
    counts = emulator.count_places()
    for _ in range(LAUNCHES[on_gpu]):
        buttons = (1 << random.integers(0, 8, consoles)).astype(np.uint8)
        emulator.run(buttons, FRAMES, RELEASE_AFTER)
    last = reads_status(words) if on_gpu else None
    seen = piece_finder.Counts(*counts.numpy())
    return piece_finder.pieces(seen, words, plain_instructions(words, on_gpu), last)


def known_pieces(cartridge: Cartridge, on_gpu: bool) -> list[tuple[int, ...]]:
    """Return the stored pieces of a ROM; search and store them if there are none."""
    pieces = load_pieces(cartridge, on_gpu)
    if pieces is None:
        pieces = find_pieces(cartridge, on_gpu)
        store_pieces(cartridge, pieces, on_gpu)
    return pieces


def compile_hot_code(cartridges: Sequence[Cartridge], device: str) -> Iterator[dict[str, object]]:
    """Compile the hot code of ROMs that run in one batch on `device` into Warp's cache; give a record of each stage.

    A ROM whose pieces are not stored is searched first. For a GPU the hottest pieces come first.
    """
    begun = time.perf_counter()
    on_gpu = wp.get_device(device).is_cuda
    found = [known_pieces(cartridge, on_gpu) for cartridge in cartridges]
    stages = [found]
    most = max(1, HOTTEST // len(found))
    if on_gpu and any(len(pieces) > most for pieces in found):
        stages = [[pieces[:most] for pieces in found], found]
    searched = time.perf_counter()
    for pieces in stages:
        fill_cache(prepared(cartridges, pieces, not on_gpu).kernel.module, device, block_of(device))
        yield {
            "pieces": list(map(len, pieces)),
            "instructions": [sum(map(len, places)) for places in pieces],
            "search_s": round(searched - begun, 1),
            "compile_s": round(time.perf_counter() - searched, 1),
        }
