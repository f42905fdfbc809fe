"""Compilation of Warp modules beside the launches, into Warp's cache on the disk."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import warnings
from collections.abc import Callable
from typing import Any

import warp as wp

NICE = 10
"""Nice value of threads and processes that compile beside a run: all other work has priority."""


class CompiledBeside:
    """Thread of low priority that compiles one Warp module for one device and one number of threads a block.

    A GPU's first launch of a module compiles it, which takes seconds, once on each computer. Kernels that only make
    launches faster can be compiled meanwhile without stopping launches. The thread does not touch the device: it fills
    Warp's cache on disk, from which `usable` loads. What fails is told by one warning.
    """

    def __init__(self, find: Callable[[], Any], device: str, block: int) -> None:
        """Start the thread, on which `find` imports and returns the Warp module."""
        self._compiled: Any = None
        """Module that is in Warp's cache, but not loaded yet."""
        self._usable = False
        self._work = (find, device, block)
        self._thread = threading.Thread(target=self._compile, name="compile-beside")
        self._thread.start()

    def _compile(self) -> None:
        find, device, block = self._work
        with contextlib.suppress(OSError, AttributeError):  # a system whose threads have no priority of their own
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        try:
            module = find()
            fill_cache(module, device, block)
            self._compiled = module
        except Exception as error:
            warnings.warn(f"kernels not compiled, launches go without: {error}", RuntimeWarning, stacklevel=2)

    def usable(self) -> bool:
        """Return whether a launch of the kernels would neither compile nor fail; load them once they are compiled."""
        if self._compiled is not None:
            module, self._compiled = self._compiled, None
            _, device, block = self._work
            try:
                module.load(wp.get_device(device), block)
                self._usable = True
            except Exception as error:  # a damaged cache, or one of another driver
                text = f"kernels not loaded, launches go without: {error}; delete {wp.config.kernel_cache_dir}"
                warnings.warn(text, RuntimeWarning, stacklevel=2)
        return self._usable

    def wait(self) -> None:
        """Block until the compilation has ended."""
        self._thread.join()


@functools.cache
def compiled_beside(find: Callable[[], Any], device: str, block: int) -> CompiledBeside:
    """Return this process's `CompiledBeside` of a module; the first call starts its thread."""
    return CompiledBeside(find, device, block)


def fill_cache(module: Any, device: str, block: int) -> None:
    """Compile a module into Warp's cache as `wp.Module.load` does, without loading it."""
    folder, name = _place(module, device, block)
    known = wp.get_device(device)
    module._compile(known, folder, name, module._get_compile_arch(known), options=module.resolved_options[block])


def is_cached(module: Any, device: str, block: int) -> bool:
    """Return whether Warp's cache has a module, so that a launch need not wait for a compiler."""
    return os.path.exists(os.path.join(*_place(module, device, block)))


def _place(module: Any, device: str, block: int) -> tuple[str, str]:
    """Return the folder and the file name of a compiled module, which depend on the text of its functions."""
    module.get_module_hash(block)
    folder = os.path.join(str(wp.config.kernel_cache_dir), module.get_module_identifier(block))
    return folder, module._get_compile_output_name(wp.get_device(device), block_dim=block)
