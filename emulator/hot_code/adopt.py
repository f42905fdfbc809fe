"""Adoption of hot code between two launches, once a search has found and compiled it.

`RomCode` is the code of one batch's ROMs for threaded or native execution: the code table, and superblocks if
there are any. It is made on first use: most launches never come to threaded code.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import warp as wp

from emulator.hot_code.background_search import Search, load_hot_code, shared_search
from emulator.hot_code.cpp_superblocks import native_plain
from emulator.hot_code.piece_finder import HotCode
from emulator.kernels.sm83.ptx_threaded_code import code_table, own_numbers
from emulator.rom.cartridge import Cartridge
from emulator.rom.idle_loops import marked_words

if TYPE_CHECKING:  # reads the text of native code, which a GPU does not need
    from emulator.hot_code.compile_cpu import CpuHotCode

NOTHING_FOUND = HotCode([], 0.0)


class RomCode:
    """Code that executes `cartridges`, whose ROMs lie one after another on `device`."""

    def __init__(self, cartridges: Sequence[Cartridge], device: str, native: bool = False) -> None:
        """Start without superblocks. `native`: superblocks will be C++ for a CPU, else PTX for threaded code."""
        self.hot: wp.Kernel | None = None
        """Threaded kernel with superblocks, which replaces the one without; None before there are any."""
        self.cpu_hot: CpuHotCode | None = None
        """Tables of the superblocks for the native executor; None before there are any."""
        self.fetches_much = False
        """True once a search has found `HotCode.fetches_much` of one of the ROMs."""
        self._cartridges = cartridges
        self._device = device
        self._native = native
        self._table: wp.array | None = None
        self._search: Search | None = None
        self._begin: float | None = None
        """Time at which to start the scheduled search, None if there is none; the next two are its arguments."""
        self._running = 0
        self._many = False

    @property
    def frames(self) -> tuple[wp.Kernel, ...]:
        """Kernel with superblocks to pass to a launch, as a tuple of one; empty while the plain kernel is used."""
        return (self.hot,) if self.hot else ()

    def table(self) -> wp.array:
        """Return the code table of threaded code on the device, uint32[bytes of all ROMs, 2] (`code_table`)."""
        if self._table is None:
            roms = [cartridge.rom for cartridge in self._cartridges]
            tables = [code_table(rom, marked_words(rom, ends=True)) for rom in roms]
            self._table = wp.array(np.concatenate(tables), dtype=wp.uint32, device=self._device)
        return self._table

    @property
    def is_searching(self) -> bool:
        """True from the request of a search until `adopt_found` has noticed its end."""
        return self._search is not None or self._begin is not None

    def search(self, running: int, after: float = 0.0, many: bool = False) -> None:
        """Schedule a search for superblocks by another process in `after` seconds.

        The process compiles the superblocks for `running` consoles a block of threads; `adopt_found` starts it and
        adopts its results. `many`: also compile the data path, if one of the ROMs `fetches_much`.
        """
        self._begin = time.monotonic() + after
        self._running, self._many = running, many

    def adopt(self, pieces: Sequence[Sequence[tuple[int, ...]]], block: int) -> None:
        """Compile the pieces of each ROM into superblocks and use them from the next launch on.

        Nothing is compiled if Warp's cache has them. `block`: threads of a block on a GPU.
        """
        roms = [cartridge.rom for cartridge in self._cartridges]
        words = [marked_words(rom, ends=True) for rom in roms]
        if self._native:
            from emulator.hot_code.compile_cpu import cpu_hot_code

            self.cpu_hot = cpu_hot_code(words, pieces)
            return
        from emulator.hot_code.compile_gpu import gpu_hot_code

        frames, table = gpu_hot_code(roms, words, pieces)
        device = wp.get_device(self._device)
        frames.module.load(device, block if device.is_cuda else 1)
        self._table = wp.array(table, dtype=wp.uint32, device=self._device)
        self.hot = frames

    def adopt_found(self, block: int) -> None:
        """Start the scheduled search when its time has come, and adopt the pieces of a search that has ended.

        A ROM for which no pieces were stored keeps its plain code.
        """
        if self._begin is not None and time.monotonic() >= self._begin:
            with contextlib.suppress(OSError):  # without a search, launches go on as before
                self._search = shared_search(self._cartridges, self._device, self._running, self._many)
            self._begin = None
        if self._search is None or not self._search.ended():
            return
        ended, self._search = self._search, None
        if not ended.went_well():  # a launch would have to wait for a compiler
            return
        found = []
        for cartridge in self._cartridges:
            words = marked_words(cartridge.rom, ends=True)
            plain = plain_instructions(words, not self._native)
            found.append(load_hot_code(cartridge, words, plain, not self._native) or NOTHING_FOUND)
        self.fetches_much = any(hot.fetches_much for hot in found)
        if any(hot.pieces for hot in found):
            self.adopt([hot.pieces for hot in found], block)


def plain_instructions(words: np.ndarray, on_gpu: bool) -> np.ndarray:
    """Return for each ROM byte whether its instruction may be in a superblock, bool.

    `words`: as `marked_words(rom, ends=True)` returns them.
    """
    if on_gpu:
        return own_numbers(words) != 0
    return native_plain(words)
