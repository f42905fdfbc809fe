"""Kernels that a launch does without until they are compiled: on a thread, beside the work.

A GPU's first launch of a module compiles it, which takes seconds and once a machine. What only
makes launches faster can wait for that without stopping them. Nothing here touches the device: the
thread fills Warp's cache on disk, and the first launch after it loads from there.
"""

from __future__ import annotations

import functools
import os
import threading
import warnings
from collections.abc import Callable
from typing import Any

import warp as wp


class CompiledBeside:
    """Compiles one module for one device and one number of threads a block."""

    def __init__(self, find: Callable[[], Any], device: str, block: int) -> None:
        """`find` imports and returns the Warp module, on the thread as well."""
        self.ready = False
        """Whether the next launch of its kernels will not have to wait for a compiler."""
        self._work = (find, wp.get_device(device), block)
        self._thread = threading.Thread(target=self._compile, name="compile-beside")
        self._thread.start()

    def _compile(self) -> None:
        find, device, block = self._work
        try:
            _fill_cache(find(), device, block)
        except Exception as error:
            warnings.warn(f"kernels not compiled, launches go without: {error}", stacklevel=2)
        else:
            self.ready = True

    def wait(self) -> None:
        """Return when it has ended."""
        self._thread.join()


@functools.cache
def compiled_beside(find: Callable[[], Any], device: str, block: int) -> CompiledBeside:
    """The one of this process; the first call starts it."""
    return CompiledBeside(find, device, block)


def _fill_cache(module: Any, device: wp.Device, block: int) -> None:
    """Compile as `wp.Module.load` does, but load nothing."""
    module.get_module_hash(block)
    folder = os.path.join(str(wp.config.kernel_cache_dir), module.get_module_identifier(block))
    name = module._get_compile_output_name(device, block_dim=block)
    arch = module._get_compile_arch(device)
    module._compile(device, folder, name, arch, options=module.resolved_options[block])
