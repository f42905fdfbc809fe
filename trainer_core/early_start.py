"""What a training process can do before and while it loads torch; docs/learning.md has seconds.

While Python imports the emulator's kernels, threads that need no Python map torch's libraries and,
where there is a GPU, open CUDA's context.

`import torch` imports much that training never asks for: what torch.compile and fake tensors know
about operators, export, quantization, distributions. Placeholders stand for these meanwhile;
whoever asks for one later gets the module itself. Nor does it look through every installed package
for makers of other devices. Versions of torch that nobody tried this with are imported whole.
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
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

REGISTERS = "torch._meta_registrations"
"""Is imported for what it does, not for a name in it."""
LATER = (
    REGISTERS, "torch.export", "torch.ao", "torch.nn.intrinsic", "torch.nn.qat",
    "torch.nn.quantizable", "torch.nn.quantized", "torch.quantization", "torch.distributions",
    "torch.masked",
)  # fmt: skip
"""What `import torch` gets a placeholder for."""
TRIED = ("2.11.", "2.13.")
"""Versions of torch that load with placeholders. Another is imported as it is: 2.15 orders its
imports in a way that fails with them."""
AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"
UNCACHED, CACHE = "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"
COMPILER = "torch._dynamo"
RTLD_NOW = 2
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""glibc's malloc.h."""
MMAP_THRESHOLD = 32 << 20
"""The most that glibc takes."""
GARBAGE_THRESHOLD = 50_000
"""New objects between two looks for garbage; Python's own is 700."""


class _Later(ModuleType):
    """Stands for a module until something is asked of it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__path__":  # that: for an import of what is in it
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


@contextlib.contextmanager
def _left_out() -> Iterator[None]:
    """Placeholders for LATER while torch is imported; the next import of each is a real one."""
    found = os.environ.get(AUTOLOAD)
    os.environ.setdefault(AUTOLOAD, "0")
    placeholders = {name: _Later(name) for name in LATER if name not in sys.modules}
    sys.modules.update(placeholders)
    try:
        yield
    finally:
        if found is None:
            del os.environ[AUTOLOAD]
        for name, placeholder in placeholders.items():
            if sys.modules.get(name) is placeholder:
                del sys.modules[name]


def look_for_garbage_seldom() -> None:
    """Imports and lists of runs make objects that stay: looking through them finds nothing."""
    gc.set_threshold(GARBAGE_THRESHOLD)


def keep_bytecode() -> None:
    """Have Python keep what it compiles where it was told not to write it beside the sources.

    Images of containers often say so; every start then compiles 1,100 files anew, for seconds. They
    go to a cache of ours instead, in this process and in those that it starts. Call it first.
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
        importlib.import_module(REGISTERS)  # torch does so before anybody can ask for the compiler
        return getattr(importlib.import_module(COMPILER), name)


def leave_compiler_out() -> None:
    """From here on torch's optimizers do without `torch._dynamo`; after `load_torch`."""
    if is_tried():
        sys.modules.setdefault(COMPILER, _NoCompiler(COMPILER))


def is_tried() -> bool:
    """Whether this torch is one of TRIED. Read from its file: to import it is what takes long."""
    found = importlib.util.find_spec("torch")
    places = found.submodule_search_locations if found else None
    try:
        text = Path(places[0], "version.py").read_text() if places else ""
    except OSError:
        return False
    return any(f"__version__ = '{version}" in text for version in TRIED)


def load_torch(device: str = "cpu") -> None:
    """Import torch, and open the GPU that `device` names; nothing where torch is loaded already."""
    if "torch" in sys.modules:
        return
    if sys.platform.startswith("linux"):
        if device.startswith("cuda"):
            index = os.environ.get("LOCAL_RANK") or device.partition(":")[2] or "0"
            _begin(lambda: _open_gpu(int(index)))
            importlib.import_module("warp")  # its own libraries would wait for torch's
        else:
            _keep_memory()
        _begin(_map_libraries)
    importlib.import_module("emulator.emulator")  # with its kernels, while the threads are at work
    if is_tried():
        _load_without_later()
    else:
        importlib.import_module("torch")


def _load_without_later() -> None:
    with _left_out():
        import torch
    for name in LATER:
        package, _, leaf = name.rpartition(".")
        if name != REGISTERS:  # `torch.ao.x` is found as ever, though nobody has imported torch.ao
            vars(sys.modules[package]).setdefault(leaf, _Later(name))
        elif isinstance(vars(torch).get(leaf), _Later):
            delattr(torch, leaf)
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
