"""What a training process can do before and while it loads torch.

`import torch` ends by importing `torch._meta_registrations`: what torch.compile and fake tensors
know about operators, 0.5 to 0.7 s of processor time with what it imports in turn. A placeholder
stands for it while torch is loaded; whoever asks for it later gets the module itself. CUDA's driver
needs no Python: it opens its context on a thread of its own meanwhile.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import sys
import threading
from types import ModuleType
from typing import Any

LATER = "torch._meta_registrations"


class _Later(ModuleType):
    """Stands for a module until something is asked of it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # the import system asks for __path__ and the like
            raise AttributeError(name)
        del sys.modules[LATER]
        return getattr(importlib.import_module(LATER), name)


def load_torch(device: str = "cpu") -> None:
    """Import torch, and open the GPU that `device` names; nothing where torch is loaded already."""
    if "torch" in sys.modules:
        return
    if device.startswith("cuda"):
        index = os.environ.get("LOCAL_RANK") or device.partition(":")[2] or "0"
        threading.Thread(target=_open_gpu, args=(int(index),), daemon=True).start()
    sys.modules[LATER] = _Later(LATER)
    try:
        import torch
    finally:
        if isinstance(sys.modules.get(LATER), _Later):
            del sys.modules[LATER]  # the next import of it is a real one
    if isinstance(vars(torch).get("_meta_registrations"), _Later):
        del torch._meta_registrations
    if hasattr(torch._C, "_set_generator_metaclass"):
        # From torch 2.13 on no torch.Generator without it; torch._prims.rng_prims did it.
        base = importlib.import_module("torch._opaque_base")
        torch._C._set_generator_metaclass(base.OpaqueBaseMeta)


def _open_gpu(index: int) -> None:
    """Retain the primary context of GPU `index`, which torch and Warp then find open.

    Whatever fails here fails again, and is told, when torch asks.
    """
    with contextlib.suppress(OSError, AttributeError):
        driver = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        if driver.cuInit(0) == 0 and driver.cuDeviceGet(ctypes.byref(device), index) == 0:
            driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
