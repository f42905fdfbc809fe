"""Threaded code with superblocks for the ROMs of one batch: a Warp module of its own for each set.

Its name and so Warp's kernel cache go by the text of the blocks, which the ROM's bytes are in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import warp as wp

from emulator.kernels.launch import threaded
from emulator.kernels.sm83.superblocks import Superblocks
from emulator.kernels.sm83.threaded_code import More, threads

OPTIMIZATION = 2
"""Of Warp's module: "--Ofast-compile=min", which compiles in 0.54 to 0.61 of the time. What a GPU
says of it: docs/performance_history.md, step 84."""
Pieces = Sequence[tuple[int, ...]]
"""Of one ROM, as `rom.hot_code.pieces` finds them."""


class HotThreads(NamedTuple):
    """What replaces plain threaded code."""

    frames: wp.Kernel
    table: np.ndarray
    """uint32[bytes of all ROMs, 2]"""


_made: dict[More, wp.Kernel] = {}


def hot_threads(
    roms: Sequence[np.ndarray], words: Sequence[np.ndarray], pieces: Sequence[Pieces]
) -> HotThreads:
    """The kernel and the table for ROMs that lie one after another. `words`: those of each,
    predecoded with `ends` and marked. What has no number left stays as it is."""
    blocks = Superblocks()
    tables = [
        threads(rom, decoded, blocks.add_rom(decoded, some))
        for rom, decoded, some in zip(roms, words, pieces, strict=True)
    ]
    more = blocks.more()
    if more not in _made:
        digest = hashlib.sha256("\n".join(more.lines).encode()).hexdigest()
        module = f"{threaded.__name__}_{digest[:12]}"
        frames = threaded.threads_with(more, module).frames
        frames.module.options["optimization_level"] = OPTIMIZATION
        _made[more] = frames
    return HotThreads(_made[more], np.concatenate(tables))
