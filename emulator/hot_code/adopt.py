"""Adoption of hot code between two launches, once a search has found and compiled it.

`RomCode` is the code of one batch's ROMs for threaded or native execution: the code table, and superblocks if
there are any. It is made on first use: most launches never come to threaded code.
"""

from __future__ import annotations

import threading
import time
import warnings
import weakref
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import warp as wp

from emulator.hot_code.background_search import Search, load_pieces, shared_search
from emulator.hot_code.piece_finder import Pieces
from emulator.kernels.sm83.ptx_threaded_code import code_table
from emulator.launch.compile_beside import is_cached
from emulator.launch.launch_shapes import TAIL_BLOCK
from emulator.rom.cartridge import Cartridge
from emulator.rom.idle_loops import marked_words

if TYPE_CHECKING:  # reads the text of native code, which a GPU does not need
    from emulator.hot_code.compile_cpu import CpuHotCode


class Prepared(NamedTuple):
    """Superblocks of all ROMs of a batch as a Warp kernel, and the words or the code table that lead to them."""

    kernel: wp.Kernel
    table: np.ndarray


class RomCode:
    """Code that executes `cartridges`, whose ROMs lie one after another on `device`."""

    def __init__(self, cartridges: Sequence[Cartridge], device: str, native: bool = False) -> None:
        """Start without superblocks. `native`: superblocks will be C++ for a CPU, else PTX for threaded code."""
        self.hot: wp.Kernel | None = None
        """Threaded kernel with superblocks, which replaces the one without; None before there are any."""
        self.cpu_hot: CpuHotCode | None = None
        """Tables of the superblocks for the native executor; None before there are any."""
        self._cartridges = cartridges
        self._device = device
        self._native = native
        self._block = block_of(device)
        self._table: wp.array | None = None
        self._begin: float | None = None
        """Time at which to start the scheduled search; None once it was started, or if there is none."""
        self._search: Search | None = None
        self._stages = 0
        """Stages of the search that have been taken in."""
        self._preparing: Future[Prepared | None] | None = None

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
        return not (self._search is None and self._begin is None and self._preparing is None)

    def search(self, after: float = 0.0) -> None:
        """Adopt what earlier searches left in the caches, or schedule a search by another process in `after` seconds.

        `adopt_found` starts it and adopts its results.
        """
        self._begin = time.monotonic() + after
        self._preparing = prepared_beside(self._cartridges, self._device, self._native, None)

    def adopt(self, pieces: Sequence[Pieces]) -> None:
        """Compile the pieces of each ROM into superblocks and use them from the next launch on.

        Nothing is compiled if Warp's cache has them.
        """
        self._use(prepared(self._cartridges, pieces, self._native))

    def adopt_found(self) -> bool:
        """Take a search a step further without waiting for anything; return whether other code runs from now on.

        A ROM for which no pieces were stored keeps its plain code. A search that fails is told by one warning.
        """
        found = None
        if self._preparing is not None:
            if not self._preparing.done():
                return False
            ready, self._preparing = self._preparing, None
            try:
                if found := ready.result():
                    self._begin = None
                    self._use(found)
            except Exception as error:  # a damaged cache, or one of another driver
                self._begin = self._search = found = None
                self._tell(f"{error}; delete {wp.config.kernel_cache_dir}")
        if found:
            return True
        if self._begin is not None and time.monotonic() >= self._begin:
            self._begin = None
            try:
                self._search = shared_search(self._cartridges, self._device)
            except OSError as error:
                self._tell(str(error))
        if self._search is not None:
            self._follow(self._search)
        return False

    def _follow(self, search: Search) -> None:
        """Prepare what the search has compiled since the last call; notice its end."""
        ended = search.ended()  # before its stages are read: none comes afterwards
        stages = search.stages()
        if len(stages) > self._stages:
            self._stages = len(stages)
            self._preparing = prepared_beside(self._cartridges, self._device, self._native, stages[-1])
        elif ended:
            self._search = None
            if reason := search.failure():
                self._tell(reason)

    def _use(self, found: Prepared) -> None:
        if self._native:
            from emulator.hot_code.compile_cpu import cpu_hot_code

            self.cpu_hot = cpu_hot_code(found.kernel, found.table)
            return
        found.kernel.module.load(wp.get_device(self._device), self._block)
        self._table = wp.array(found.table, dtype=wp.uint32, device=self._device)
        self.hot = found.kernel

    def _tell(self, reason: str) -> None:
        names = ", ".join(cartridge.name for cartridge in self._cartridges)
        warnings.warn(
            f"{names}: launches go on without hot code, or with some of it: {reason}", RuntimeWarning, stacklevel=2
        )


_preparations: weakref.WeakValueDictionary[tuple[object, ...], Future[Prepared | None]] = weakref.WeakValueDictionary()
_starting = threading.Lock()


def prepared_beside(
    cartridges: Sequence[Cartridge], device: str, native: bool, most: Sequence[int] | None
) -> Future[Prepared | None]:
    """Prepare the first `most` stored pieces of each ROM (None: all) by a thread; None if they are not compiled.

    The parts of a batch that have the same ROMs get the same one.
    """

    def prepare() -> Prepared | None:
        found = [load_pieces(cartridge, not native) for cartridge in cartridges]
        if most is None and None in found:
            return None
        pieces = [(some or [])[:limit] for some, limit in zip(found, most or [None] * len(found), strict=True)]
        if not any(pieces):
            return None
        made = prepared(cartridges, pieces, native)
        return made if is_cached(made.kernel.module, device, block_of(device)) else None

    key = (*(cartridge.sha256 for cartridge in cartridges), device, native, most and tuple(most))
    with _starting:
        future = _preparations.get(key)
        if future is None:
            thread = ThreadPoolExecutor(1, "hot-code")
            future = _preparations[key] = thread.submit(prepare)
            thread.shutdown(wait=False)
        return future


def prepared(cartridges: Sequence[Cartridge], pieces: Sequence[Pieces], native: bool) -> Prepared:
    """Return the pieces of each ROM as a kernel that is not compiled yet."""
    words = [marked_words(cartridge.rom, ends=True) for cartridge in cartridges]
    if native:
        from emulator.hot_code.compile_cpu import cpu_superblocks

        return Prepared(*cpu_superblocks(words, pieces))
    from emulator.hot_code.compile_gpu import gpu_hot_code

    return Prepared(*gpu_hot_code([cartridge.rom for cartridge in cartridges], words, pieces))


def block_of(device: str) -> int:
    """Return the threads of a block of launches with superblocks."""
    return TAIL_BLOCK if device.startswith("cuda") else 1
