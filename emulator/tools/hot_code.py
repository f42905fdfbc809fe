"""Find what a ROM spends its time in: some consoles play it with random buttons on the CPU."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from emulator.emulator import Emulator
from emulator.kernels.sm83.superblocks import reads_status
from emulator.kernels.sm83.threaded_code import own_numbers
from emulator.launch.hot_pieces import load_pieces, store_pieces
from emulator.launch.shapes import ALONE
from emulator.rom import hot_code
from emulator.rom.cartridge import Cartridge
from emulator.rom.idle_loops import marked_words

CONSOLES = 32
LAUNCHES, FRAMES, RELEASE_AFTER = 48, 24, 8


def find_pieces(cartridge: Cartridge) -> list[tuple[int, ...]]:
    """Return a ROM's hot pieces (`hot_code.pieces`); always the same ones. Takes 2 to 9 s."""
    emulator = Emulator(cartridge, CONSOLES, "cpu", executor="uniform")
    words = marked_words(cartridge.rom, ends=True)
    random = np.random.default_rng(5)
    counts = emulator.count_places()
    for _ in range(LAUNCHES):
        buttons = (1 << random.integers(0, 8, CONSOLES)).astype(np.uint8)
        emulator.run(buttons, FRAMES, RELEASE_AFTER)
    seen = hot_code.Counts(*counts.numpy())
    return hot_code.pieces(seen, words, own_numbers(words) != 0, reads_status(words))


def compile_hot_code(
    cartridges: Sequence[Cartridge], device: str, running: int = ALONE.running
) -> dict[str, object]:
    """Find the pieces of ROMs that run in one batch, unless the cache has them, and compile them
    for `device` into Warp's cache. `running`: consoles a block of the launch shape."""
    begun = time.perf_counter()
    found = []
    for cartridge in cartridges:
        words = marked_words(cartridge.rom, ends=True)
        pieces = load_pieces(cartridge, words, own_numbers(words) != 0)
        if pieces is None:
            pieces = find_pieces(cartridge)
            store_pieces(cartridge, pieces)
        found.append(pieces)
    searched = time.perf_counter()
    shape = ALONE._replace(running=running)
    Emulator(cartridges, len(cartridges), device, shape=shape, executor="threaded").adopt(found)
    return {
        "pieces": [len(pieces) for pieces in found],
        "instructions": [sum(map(len, pieces)) for pieces in found],
        "search_s": round(searched - begun, 1),
        "compile_s": round(time.perf_counter() - searched, 1),
    }
