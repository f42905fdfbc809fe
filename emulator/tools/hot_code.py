"""Find what a ROM spends its time in: some consoles play it with random buttons on the CPU."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import warp as wp

from emulator.emulator import Emulator
from emulator.kernels.sm83.superblocks import reads_status
from emulator.kernels.sm83.threaded_code import own_numbers
from emulator.launch.hot_pieces import load_hot_code, store_hot_code
from emulator.launch.shapes import ALONE, TWO_PHASES
from emulator.rom import hot_code
from emulator.rom.cartridge import Cartridge
from emulator.rom.idle_loops import marked_words

CONSOLES = 32
LAUNCHES, FRAMES, RELEASE_AFTER = 48, 24, 8


def find_hot_code(cartridge: Cartridge) -> hot_code.HotCode:
    """Search a ROM; always with the same result. Takes 2 to 9 s."""
    emulator = Emulator(cartridge, CONSOLES, "cpu", executor="uniform")
    words = marked_words(cartridge.rom, ends=True)
    random = np.random.default_rng(5)
    counts = emulator.count_places()
    for _ in range(LAUNCHES):
        buttons = (1 << random.integers(0, 8, CONSOLES)).astype(np.uint8)
        emulator.run(buttons, FRAMES, RELEASE_AFTER)
    seen = hot_code.Counts(*counts.numpy()[:, :-1])
    asks = int(counts.numpy()[0, -1]) / max(1, int(seen.executed.sum(dtype=np.int64)))
    pieces = hot_code.pieces(seen, words, own_numbers(words) != 0, reads_status(words))
    return hot_code.HotCode(pieces, asks)


def compile_hot_code(
    cartridges: Sequence[Cartridge],
    device: str,
    running: int = ALONE.running,
    many: bool = False,
) -> dict[str, object]:
    """Find the pieces of ROMs that run in one batch, unless the cache has them, and compile them
    for `device` into Warp's cache. `running`: consoles a block of the launch shape; `many`: for a
    ROM that fetches much the data path as well."""
    begun = time.perf_counter()
    found = []
    for cartridge in cartridges:
        words = marked_words(cartridge.rom, ends=True)
        hot = load_hot_code(cartridge, words, own_numbers(words) != 0)
        if hot is None:
            hot = find_hot_code(cartridge)
            store_hot_code(cartridge, hot)
        found.append(hot)
    pieces = [hot.pieces for hot in found]
    much = [hot.fetches_much for hot in found]
    searched = time.perf_counter()
    shape = ALONE._replace(running=running)
    executor = "threaded" if wp.get_device(device).is_cuda else "native"
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
