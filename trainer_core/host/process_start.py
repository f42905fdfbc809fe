"""What a process of ours does first, and while it loads torch (ADR 25, docs/notebook/learning.md).

While Python imports the emulator's kernels, threads that need no Python map torch's libraries and,
where there is a GPU, open CUDA's context.
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

from trainer_core.wire.environment import rank_place

AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"
"""At "0" torch looks for no makers of other devices among the installed packages."""
UNCACHED, CACHE = "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"
RTLD_NOW = 2
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""glibc's malloc.h."""
MMAP_THRESHOLD = 32 << 20
"""The most that glibc takes."""
GARBAGE_THRESHOLD = 50_000
"""New objects between two looks for garbage; Python's own is 700."""


def begin_process() -> None:
    """Set what holds for the whole process and for those that it starts; call it before torch is
    loaded."""
    # With `--threads 2` torch's threads then sleep while they wait for each other. Spinning, they
    # are ten times slower than one as soon as somebody else needs a core.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # Imports and lists of runs make objects that stay: looking through them finds nothing.
    gc.set_threshold(GARBAGE_THRESHOLD)
    keep_bytecode()


def keep_bytecode() -> None:
    """Have Python keep what it compiles where it was told not to write it beside the sources.

    Images of containers often say so; every start then compiles 1,100 files anew, for seconds. They
    go to a cache of ours instead, in this process and in those that it starts.
    """
    if not os.environ.get(UNCACHED) or os.environ.get(CACHE):
        return
    import platformdirs

    folder = platformdirs.user_cache_path("dmglab", appauthor=False) / "bytecode"
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        return
    del os.environ[UNCACHED]
    os.environ[CACHE] = sys.pycache_prefix = str(folder)
    sys.dont_write_bytecode = False


def load_torch(device: str = "cpu") -> None:
    """Import torch, and open the GPU that `device` names; nothing where torch is loaded already."""
    if "torch" in sys.modules:
        return
    if sys.platform.startswith("linux"):
        if device.startswith("cuda"):
            local, named = rank_place().local_rank, int(device.partition(":")[2] or 0)
            _begin(lambda: _open_gpu(named if local is None else local))
            importlib.import_module("warp")  # its own libraries would wait for torch's
        else:
            _keep_memory()
        _begin(_map_libraries)
    importlib.import_module("emulator.emulator")  # with its kernels, while the threads are at work
    found = os.environ.get(AUTOLOAD)
    os.environ.setdefault(AUTOLOAD, "0")
    try:
        importlib.import_module("torch")
    finally:
        if found is None:
            del os.environ[AUTOLOAD]


def _begin(work: Callable[[], None]) -> None:
    """On a thread. Whatever fails there fails again, and is told, when torch does it."""

    def run() -> None:
        with contextlib.suppress(OSError, AttributeError):
            work()

    threading.Thread(target=run, daemon=True).start()


def _map_libraries() -> None:
    """libtorch.so and all that it needs. By libc's own dlopen: Python's keeps its lock."""
    found = importlib.util.find_spec("torch")
    if found is None or not found.submodule_search_locations:
        return
    library = os.path.join(found.submodule_search_locations[0], "lib", "libtorch.so")
    ctypes.CDLL(None).dlopen(os.fsencode(library), RTLD_NOW)


def _open_gpu(index: int) -> None:
    """Retain the primary context of GPU `index`, which torch and Warp then find open."""
    driver = ctypes.CDLL("libcuda.so.1")
    device, context = ctypes.c_int(), ctypes.c_void_p()
    if driver.cuInit(0) == 0 and driver.cuDeviceGet(ctypes.byref(device), index) == 0:
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)


def _keep_memory() -> None:
    """Let malloc keep what is freed: a minibatch's tensors else come from the kernel at every step,
    page by page, which is a fifth of an optimizer step on a CPU."""
    libc = ctypes.CDLL(None)
    libc.mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD)
    libc.mallopt(M_TRIM_THRESHOLD, 1 << 30)
