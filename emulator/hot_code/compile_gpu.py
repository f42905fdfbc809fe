"""Threaded code with superblocks for the ROMs of one batch: a Warp module for each set.

Its name, and so its place in Warp's kernel cache, is a hash of the blocks' text, which contains the ROM's bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import warp as wp

from emulator.hot_code.piece_finder import Pieces
from emulator.hot_code.ptx_superblocks import Superblocks
from emulator.kernels.sm83.ptx_threaded_code import More, code_table
from emulator.launch import threaded
from emulator.launch.recorded_launches import preparing

LEVEL = 2
"""Optimisation level of a Warp module with superblocks, "--Ofast-compile=min".

It compiles in 0.54 to 0.77 of the time of Warp's usual level 3, which made the code of eight games 1 % faster
(docs/notebook/performance.md).
"""


_made: dict[More, wp.Kernel] = {}


def gpu_hot_code(
    roms: Sequence[np.ndarray], words: Sequence[np.ndarray], pieces: Sequence[Pieces]
) -> tuple[wp.Kernel, np.ndarray]:
    """Return the threaded kernel and the code table, uint32[bytes, 2], with superblocks of ROMs that lie in a row.

    `words`: for each ROM, as `marked_words(rom, ends=True)` returns them. Pieces for which no block number is left stay
    without a superblock.
    """
    blocks = Superblocks()
    tables = [
        code_table(rom, decoded, blocks.add_rom(decoded, some))
        for rom, decoded, some in zip(roms, words, pieces, strict=True)
    ]
    more = blocks.more()
    with preparing:  # Warp finds a new function by its name, which those of another thread have too
        if more not in _made:
            digest = hashlib.sha256("\n".join(more.lines).encode()).hexdigest()
            frames = threaded.make_kernels(more, f"{threaded.__name__}_{digest[:12]}").frames
            frames.module.options["optimization_level"] = LEVEL
            _made[more] = frames
    return _made[more], np.concatenate(tables)
