"""Adoption of hot code between two launches, once a search has found and compiled it.

`RomCode` is the code of one batch's ROMs for threaded or native execution: the code table, and superblocks if
there are any. It is made on first use: most launches never come to threaded code.
"""

from __future__ import annotations

import itertools
import threading
import time
import warnings
import weakref
from collections.abc import Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import warp as wp

from emulator.hot_code.background_search import Search, load_pieces, shared_search
from emulator.hot_code.piece_finder import Pieces
from emulator.kernels.sm83.ptx_threaded_code import code_table
from emulator.launch.compile_beside import fill_cache, is_cached
from emulator.launch.launch_shapes import TAIL_BLOCK
from emulator.rom.cartridge import Cartridge
from emulator.rom.control_rows import SLOW_FETCH
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
        self._is_wanted = self._begins_anew = False
        """Whether there is to be a search, and whether what it has found is to be compiled for other hooks."""
        self._hooked: Sequence[Collection[int]] = [()] * len(cartridges)

    @property
    def frames(self) -> tuple[wp.Kernel, ...]:
        """Kernel with superblocks to pass to a launch, as a tuple of one; empty while the plain kernel is used."""
        return (self.hot,) if self.hot else ()

    def table(self) -> wp.array:
        """Return the code table of threaded code on the device, uint32[bytes of all ROMs, 2] (`code_table`)."""
        if self._table is None:
            each = zip(self._cartridges, self._hooked, strict=True)
            tables = [code_table(cartridge.rom, hooked_words(cartridge, hooked)) for cartridge, hooked in each]
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
        self._is_wanted = True
        self._begin = time.monotonic() + after
        self._preparing = self._prepare(None)

    def adopt(self, pieces: Sequence[Pieces]) -> None:
        """Compile the pieces of each ROM into superblocks and use them from the next launch on.

        Nothing is compiled if Warp's cache has them.
        """
        self._use(prepared(self._cartridges, pieces, self._native, self._hooked))

    def hook(self, hooked: Sequence[Collection[int]]) -> None:
        """Leave at these offsets of each ROM for the service from the next launch on, without superblocks.

        Those that a search has found are compiled anew, cut there; pieces must be given to `adopt` again.
        """
        self._hooked = hooked
        self._table = self.hot = self.cpu_hot = self._search = self._preparing = None
        self._stages = 0
        if self._is_wanted:
            self._begin, self._begins_anew = time.monotonic(), True

    def adopt_found(self) -> bool:
        """Take a search a step further without waiting for anything; return whether other code runs from now on.

        A ROM for which no pieces were stored keeps its plain code. A search that fails is told by one warning.
        """
        found = None
        if self._begins_anew:  # here, since several hooks may be made in a row
            self._begins_anew, self._preparing = False, self._prepare(None)
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
            self._preparing = self._prepare(stages[-1])
        elif ended:
            self._search = None
            if reason := search.failure():
                self._tell(reason)

    def _prepare(self, most: Sequence[int] | None) -> Future[Prepared | None]:
        return prepared_beside(self._cartridges, self._device, self._native, most, self._hooked)

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
    cartridges: Sequence[Cartridge],
    device: str,
    native: bool,
    most: Sequence[int] | None,
    hooked: Sequence[Collection[int]],
) -> Future[Prepared | None]:
    """Prepare the first `most` stored pieces of each ROM (None: all) by a thread; None if they are not compiled.

    With `hooked` offsets, which no search knows, the thread compiles them. The parts of a batch that have the same ROMs
    and hooks get the same one.
    """

    def prepare() -> Prepared | None:
        found = [load_pieces(cartridge, not native) for cartridge in cartridges]
        if most is None and None in found:
            return None
        pieces = [(some or [])[:limit] for some, limit in zip(found, most or [None] * len(found), strict=True)]
        if not any(pieces):
            return None
        made = prepared(cartridges, pieces, native, hooked)
        if any(hooked):
            fill_cache(made.kernel.module, device, block_of(device))
        elif not is_cached(made.kernel.module, device, block_of(device)):
            return None
        return made

    key = (
        *(cartridge.sha256 for cartridge in cartridges),
        device,
        native,
        most and tuple(most),
        *map(frozenset, hooked),
    )
    with _starting:
        future = _preparations.get(key)
        if future is None:
            thread = ThreadPoolExecutor(1, "hot-code")
            future = _preparations[key] = thread.submit(prepare)
            thread.shutdown(wait=False)
        return future


def hooked_words(cartridge: Cartridge, hooked: Collection[int]) -> np.ndarray:
    """Return the predecoded words of a ROM; at the `hooked` offsets code is to leave for the service."""
    words = marked_words(cartridge.rom, ends=True)
    at = list(hooked)
    words[at] = (words[at] & 511) | SLOW_FETCH
    return words


def prepared(
    cartridges: Sequence[Cartridge], pieces: Sequence[Pieces], native: bool, hooked: Sequence[Collection[int]] = ()
) -> Prepared:
    """Return the pieces of each ROM, cut at the `hooked` offsets, as a kernel that is not compiled yet."""
    hooked = hooked or [()] * len(cartridges)
    words = [hooked_words(*each) for each in zip(cartridges, hooked, strict=True)]
    pieces = [[part for piece in some for part in without(piece, at)] for some, at in zip(pieces, hooked, strict=True)]
    if native:
        from emulator.hot_code.compile_cpu import cpu_superblocks

        return Prepared(*cpu_superblocks(words, pieces))
    from emulator.hot_code.compile_gpu import gpu_hot_code

    return Prepared(*gpu_hot_code([cartridge.rom for cartridge in cartridges], words, pieces))


def without(piece: Sequence[int], hooked: Collection[int]) -> list[tuple[int, ...]]:
    """Return the parts of a piece between hooked instructions."""
    groups = itertools.groupby(piece, lambda at: at in hooked)
    return [tuple(part) for is_hooked, part in groups if not is_hooked]


def block_of(device: str) -> int:
    """Return the threads of a block of launches with superblocks."""
    return TAIL_BLOCK if device.startswith("cuda") else 1
