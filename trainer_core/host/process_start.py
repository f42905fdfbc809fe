"""First steps of our processes, before and while torch loads (ADR 25, docs/notebook/learning.md).

While Python imports the emulator's kernels, threads that need no Python map torch's libraries and, with a GPU, open
CUDA's context.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import importlib.util
import os
import sys
import threading
from collections.abc import Callable

import platformdirs

from trainer_core.wire.environment import rank_place

AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"
"""Environment variable; at "0" torch does not search the installed packages for device backends."""
UNCACHED, CACHE = "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"
RTLD_NOW = 2
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Parameter numbers in glibc's malloc.h."""
MMAP_THRESHOLD = 32 << 20
"""Largest threshold that glibc accepts."""
GARBAGE_THRESHOLD = 50_000
"""New objects between two garbage collections; Python's default is 700."""


def begin_process() -> None:
    """Set how torch's threads wait, garbage collection and the bytecode cache; call it before torch is loaded.

    Child processes inherit the first and the last.
    """
    # With `--threads 2` torch's threads then sleep while they wait for each other. Spinning threads are ten times
    # slower than one thread as soon as another process needs a core.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # Imports and lists of runs make long-lived objects: collecting among them frees nothing.
    gc.set_threshold(GARBAGE_THRESHOLD)
    keep_bytecode()


def keep_bytecode() -> None:
    """Keep compiled bytecode in the user's cache folder if the environment forbids writing it beside the sources.

    Container images often forbid it; every start would then compile 1,100 files, which takes seconds. The setting holds
    for this process and its children.
    """
    if not os.environ.get(UNCACHED) or os.environ.get(CACHE):
        return
    folder = platformdirs.user_cache_path("dmglab", appauthor=False) / "bytecode"
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        return
    del os.environ[UNCACHED]
    os.environ[CACHE] = sys.pycache_prefix = str(folder)
    sys.dont_write_bytecode = False


def load_torch(device: str = "cpu") -> None:
    """Import torch, and open the GPU that `device` names; do nothing if torch is loaded."""
    if "torch" in sys.modules:
        return
    if sys.platform.startswith("linux"):
        if device.startswith("cuda"):
            local, named = rank_place().local_rank, int(device.partition(":")[2] or 0)
            _begin(lambda: _open_gpu(named if local is None else local))
            importlib.import_module("warp")  # loading its libraries later would wait for torch's
        else:
            _keep_memory()
        _begin(_map_libraries)
    importlib.import_module("emulator.emulator")  # with its kernels, while the threads run
    found = os.environ.get(AUTOLOAD)
    os.environ.setdefault(AUTOLOAD, "0")
    try:
        importlib.import_module("torch")
    finally:
        if found is None:
            del os.environ[AUTOLOAD]


def _begin(work: Callable[[], None]) -> None:
    """Run `work` on a thread and ignore its errors: torch meets and reports the same error later."""

    def run() -> None:
        with contextlib.suppress(OSError, AttributeError):
            work()

    threading.Thread(target=run, daemon=True).start()


def _map_libraries() -> None:
    """Load libtorch.so and its dependencies with dlopen of the C library: Python's own holds the interpreter lock."""
    found = importlib.util.find_spec("torch")
    if found is None or not found.submodule_search_locations:
        return
    library = os.path.join(found.submodule_search_locations[0], "lib", "libtorch.so")
    ctypes.CDLL(None).dlopen(os.fsencode(library), RTLD_NOW)


def _open_gpu(index: int) -> None:
    """Retain the primary context of GPU `index`; torch and Warp then find it open."""
    driver = ctypes.CDLL("libcuda.so.1")
    device, context = ctypes.c_int(), ctypes.c_void_p()
    if driver.cuInit(0) == 0 and driver.cuDeviceGet(ctypes.byref(device), index) == 0:
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)


def _keep_memory() -> None:
    """Set malloc to keep freed memory instead of returning it to the kernel.

    Otherwise the tensors of each minibatch are mapped page by page, a fifth of an optimizer step on a CPU.
    """
    libc = ctypes.CDLL(None)
    libc.mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD)
    libc.mallopt(M_TRIM_THRESHOLD, 1 << 30)
