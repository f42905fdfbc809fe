"""Start Warp without its greeting, and without its complaint about a GPU that is not there."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import warp as wp

DRIVER_FILES = ("/proc/driver/nvidia/version", "/usr/lib/wsl/lib/libcuda.so.1")


def start_warp() -> None:
    """Idempotent. Warp's banner would land on standard output, where results belong."""
    wp.config.log_level = max(wp.config.log_level, wp.LOG_WARNING)
    with contextlib.nullcontext() if has_driver() else _silent_stderr():
        wp.init()


def has_driver() -> bool:
    """Whether an NVIDIA driver is installed; anything Warp says about CUDA then matters."""
    return not sys.platform.startswith("linux") or any(map(os.path.exists, DRIVER_FILES))


@contextlib.contextmanager
def _silent_stderr() -> Iterator[None]:
    """The native library writes to file descriptor 2 itself and knows no switch for it."""
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
