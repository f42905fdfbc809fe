"""What a training process can do before and while it loads torch; docs/learning.md has seconds.

While Python imports the emulator's kernels, a thread that needs no Python maps torch's libraries,
or where there is a GPU, opens CUDA's context.

`import torch` ends by importing `torch._meta_registrations`: what torch.compile and fake tensors
know about operators. A placeholder stands for it meanwhile; whoever asks for it later gets the
module itself.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.util
import os
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

LATER = "torch._meta_registrations"
COMPILER = "torch._dynamo"
RTLD_NOW = 2
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""glibc's malloc.h."""
MMAP_THRESHOLD = 32 << 20
"""The most that glibc takes."""


class _Later(ModuleType):
    """Stands for a module until something is asked of it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # the import system asks for __path__ and the like
            raise AttributeError(name)
        del sys.modules[LATER]
        return getattr(importlib.import_module(LATER), name)


class _NoCompiler(ModuleType):
    """What an optimizer of torch asks of the compiler where nothing is compiled.

    To make one imports the compiler, two to five seconds, and asks two things of it. Whoever asks
    for anything else gets the compiler itself.
    """

    @staticmethod
    def disable(fn: Any, recursive: bool = True, **_: Any) -> Any:
        return fn

    @staticmethod
    def graph_break(msg: str = "") -> None:
        """There is no graph."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__path__":  # that: for an import of what is in it
            raise AttributeError(name)
        if sys.modules.get(COMPILER) is self:
            del sys.modules[COMPILER]
        importlib.import_module(LATER)  # torch does so before anybody can ask for the compiler
        return getattr(importlib.import_module(COMPILER), name)


def leave_compiler_out() -> None:
    """From here on torch's optimizers do without `torch._dynamo`; after `load_torch`."""
    sys.modules.setdefault(COMPILER, _NoCompiler(COMPILER))


def load_torch(device: str = "cpu") -> None:
    """Import torch, and open the GPU that `device` names; nothing where torch is loaded already."""
    if "torch" in sys.modules:
        return
    if sys.platform.startswith("linux"):
        if device.startswith("cuda"):
            index = os.environ.get("LOCAL_RANK") or device.partition(":")[2] or "0"
            _begin(lambda: _open_gpu(int(index)))
        else:
            _begin(_map_libraries)  # beside CUDA's start it gained nothing that could be measured
            _keep_memory()
    importlib.import_module("emulator")
    sys.modules[LATER] = _Later(LATER)
    try:
        import torch
    finally:
        if isinstance(sys.modules.get(LATER), _Later):
            del sys.modules[LATER]  # the next import of it is a real one
    if isinstance(vars(torch).get("_meta_registrations"), _Later):
        delattr(torch, "_meta_registrations")
    if hasattr(torch._C, "_set_generator_metaclass"):
        # From torch 2.13 on no torch.Generator without it; torch._prims.rng_prims did it.
        base = importlib.import_module("torch._opaque_base")
        torch._C._set_generator_metaclass(base.OpaqueBaseMeta)


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
