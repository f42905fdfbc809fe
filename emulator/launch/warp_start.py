"""Start of Warp without its banner, and without its complaint about a missing GPU."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import warp as wp

from emulator.rom.cartridge import EmulatorError

DRIVER_FILES = ("/proc/driver/nvidia/version", "/usr/lib/wsl/lib/libcuda.so.1")


def start_warp() -> None:
    """Initialise Warp, once, without its banner: standard output is for results only."""
    wp.config.log_level = max(wp.config.log_level, wp.LOG_WARNING)
    with contextlib.nullcontext() if has_driver() else _silent_stderr():
        wp.init()


@contextlib.contextmanager
def explained(device: str, count: int, things: str = "consoles") -> Iterator[None]:
    """Raise EmulatorError, with the way out, for what Warp says where memory or kernels fail it."""
    try:
        yield
    except Exception as error:
        said, found = str(error), wp.get_device(device)
        if "allocate" in said:
            free = f": {found.free_memory >> 20} of {found.total_memory >> 20} MiB are free" if found.is_cuda else ""
            way = f"no room for {count} {things}{free}; give fewer, or end what else uses it"
        elif "build failed" in said or "Failed to load" in said:
            way = f"{said.splitlines()[0]}; delete {wp.config.kernel_cache_dir} and start again"
        else:
            raise
        raise EmulatorError(f"{device}: {way}") from error


def has_driver() -> bool:
    """Return whether an NVIDIA driver is installed; without one, Warp's messages about CUDA are suppressed."""
    return not sys.platform.startswith("linux") or any(map(os.path.exists, DRIVER_FILES))


@contextlib.contextmanager
def _silent_stderr() -> Iterator[None]:
    """Redirect file descriptor 2 to the null device: Warp's native library writes to it unconditionally."""
    sys.stderr.flush()
    kept = os.dup(2)
    null = os.open(Path(os.devnull), os.O_WRONLY)
    try:
        os.dup2(null, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(null)
