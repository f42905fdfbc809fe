"""Compilation of Warp modules beside the launches, into Warp's cache on the disk."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import warp as wp

NICE = 10
"""Nice value of threads and processes that compile beside a run: all other work has priority."""


LATER_S = 20.0
"""Seconds after which a module that is not in Warp's cache is compiled: two compilers in one process take up to twice
as long each, and what is launched first must be compiled first.
"""


class CompiledBeside:
    """Thread of low priority that compiles one Warp module for one device and one number of threads a block.

    A GPU's first launch of a module compiles it, which takes seconds, once on each computer. Kernels that only make
    launches faster can be compiled meanwhile without stopping launches. The thread does not touch the device: it fills
    Warp's cache on disk, from which `usable` loads. What fails is told by one warning.
    """

    def __init__(self, find: Callable[[], Any], device: str, block: int) -> None:
        """Start the thread, on which `find` imports and returns the Warp module; it ends if that is not cached."""
        self._compiled: Any = None
        """Module that is in Warp's cache, but not loaded yet."""
        self._usable = False
        self._find, self._device, self._block = find, device, block
        self._begin: float | None = time.monotonic() + LATER_S
        """Time at which to compile; None once that has begun."""
        self._thread = self._started(is_cached)

    def usable(self) -> bool:
        """Return whether a launch of the kernels would neither compile nor fail; load them once they are compiled."""
        if self._compiled is not None:
            module, self._compiled, self._begin = self._compiled, None, None
            try:
                module.load(wp.get_device(self._device), self._block)
                self._usable = True
            except Exception as error:  # a damaged cache, or one of another driver
                _warn(f"kernels not loaded, launches go without: {error}; delete {wp.config.kernel_cache_dir}")
        elif self._begin is not None and time.monotonic() >= self._begin and not self._thread.is_alive():
            self._compile()
        return self._usable

    def wait(self) -> None:
        """Block until the kernels are compiled, if they can be."""
        self._thread.join()
        if self._compiled is None and self._begin is not None:
            self._compile()
            self._thread.join()

    def _compile(self) -> None:
        self._begin = None
        self._thread = self._started(fill_cache)

    def _started(self, work: Callable[[Any, str, int], bool]) -> threading.Thread:
        """Return a started thread; the module is compiled if `work`, given it, device and block, returns True."""

        def run() -> None:
            with contextlib.suppress(OSError, AttributeError):  # a system whose threads have no priority of their own
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
            try:
                module = self._find()
                if work(module, self._device, self._block):
                    self._compiled = module
            except Exception as error:
                self._begin = None
                _warn(f"kernels not compiled, launches go without: {error}")

        thread = threading.Thread(target=run, name="compile-beside")
        thread.start()
        return thread


def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=2)


@functools.cache
def compiled_beside(find: Callable[[], Any], device: str, block: int) -> CompiledBeside:
    """Return this process's `CompiledBeside` of a module; the first call starts its thread."""
    return CompiledBeside(find, device, block)


def fill_cache(module: Any, device: str, block: int) -> bool:
    """Compile a module into Warp's cache as `wp.Module.load` does, without loading it; return True."""
    folder, name = _place(module, device, block)
    known = wp.get_device(device)
    module._compile(known, folder, name, module._get_compile_arch(known), options=module.resolved_options[block])
    return True


def is_cached(module: Any, device: str, block: int) -> bool:
    """Return whether Warp's cache has a module, so that a launch need not wait for a compiler."""
    return os.path.exists(os.path.join(*_place(module, device, block)))


def _place(module: Any, device: str, block: int) -> tuple[str, str]:
    """Return the folder and the file name of a compiled module, which depend on the text of its functions."""
    module.get_module_hash(block)
    folder = os.path.join(str(wp.config.kernel_cache_dir), module.get_module_identifier(block))
    return folder, module._get_compile_output_name(wp.get_device(device), block_dim=block)
