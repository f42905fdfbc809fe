"""Compilation of superblocks for a CPU: a Warp module for each set of ROMs, and the tables that lead to its
functions.

The module holds the superblocks only (hot_code/cpp_superblocks.py): the kernel of launch/native.py stays as it is
and calls them by its table. Its name, and so its place in Warp's kernel cache, is a hash of its text, which contains
the ROM's bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import warp as wp

from emulator.hot_code.cpp_superblocks import FIRST, MOST, NativeSuperblocks
from emulator.hot_code.piece_finder import Pieces
from emulator.kernels.sm83.cpp_instructions import TABLE_SIZE
from emulator.launch.native import CONSTANTS, CpuHotCode, NativeState, copy_table
from emulator.launch.recorded_launches import preparing
from emulator.rom import control_rows
from emulator.state.batch import Console

_kernels: dict[str, wp.Kernel] = {}
"""Kernels by module; never released, since their functions are called by address."""


def cpu_superblocks(words: Sequence[np.ndarray], pieces: Sequence[Pieces]) -> tuple[wp.Kernel, np.ndarray]:
    """Return the kernel with the superblocks of ROMs that lie one after another, and the words that lead to them.

    `words`: for each ROM, as `marked_words(rom, ends=True)` returns them; `pieces`: for each ROM. Nothing is compiled.
    """
    blocks = NativeSuperblocks()
    walked = [
        _with_numbers(decoded, blocks.add_rom(decoded, some)) for decoded, some in zip(words, pieces, strict=True)
    ]
    text = blocks.source(CONSTANTS)
    name = f"{__name__}_{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    with preparing:
        if name not in _kernels:
            _kernels[name] = _module(text, name)
    return _kernels[name], np.concatenate(walked)


def cpu_hot_code(kernel: wp.Kernel, words: np.ndarray) -> CpuHotCode:
    """Return the tables of the superblocks of `cpu_superblocks`, compiled unless Warp's cache has them."""
    table = wp.zeros(TABLE_SIZE, dtype=wp.uint64, device="cpu")
    console = wp.zeros(1, dtype=Console, device="cpu")
    with preparing:
        wp.launch(copy_table, 1, [console, table.ptr], device="cpu")
        wp.launch(kernel, 1, [console, table[FIRST : FIRST + MOST].ptr], device="cpu")
    return CpuHotCode(table, wp.array(words, dtype=wp.uint32, device="cpu"))


def _with_numbers(words: np.ndarray, numbers: dict[int, int]) -> np.ndarray:
    walked = np.where(words & control_rows.SLOW_FETCH, control_rows.SLOW_FETCH, words)
    walked[list(numbers)] = list(numbers.values())
    return walked.astype(np.uint32)


def _module(text: str, name: str) -> wp.Kernel:
    """Return a kernel that writes the addresses of the C++ functions of `text` to the array `out`."""

    @wp.func_native(text)
    def put_superblocks(h: wp.ref[NativeState], c: wp.ref[Console], out: wp.uint64) -> wp.uint32: ...

    @wp.kernel(enable_backward=False, module=name)
    def superblocks(console: wp.array[Console], out: wp.uint64):
        h = NativeState()
        put_superblocks(h, console[0], out)

    return superblocks
