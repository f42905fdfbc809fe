"""Load of this computer, for update records; sizes of folders. Nothing here imports torch."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import time
from functools import cache
from pathlib import Path

import psutil

LOAD_S = 1.0
"""Seconds for which a reading of the machine's load stands: records may come faster."""
psutil.cpu_percent()  # a reading is the mean since the one before
_read_at, _load = 0.0, dict[str, float]()


def machine_load(folder: Path) -> dict[str, float]:
    """Return shares, 0 to 1, of the whole machine that all its processes use.

    `cpu`, `memory`, `disk` (that of `folder`), `gpu`, `gpu_memory`; `own_memory` is this process' share of the memory.
    Those of GPUs are means, and missing where there is none.
    """
    global _read_at, _load
    now = time.monotonic()
    if now - _read_at >= LOAD_S:
        _read_at = now
        memory, own = psutil.virtual_memory(), psutil.Process().memory_info().rss
        _load = {"cpu": psutil.cpu_percent() / 100, "memory": memory.percent / 100, "own_memory": own / memory.total}
        with contextlib.suppress(OSError):  # the folder may be out of reach
            disk = shutil.disk_usage(folder)
            _load["disk"] = disk.used / disk.total
        if gpus := _gpus():
            _load["gpu"] = sum(busy for busy, _ in gpus) / len(gpus)
            _load["gpu_memory"] = sum(memory.used / memory.total for _, memory in gpus) / len(gpus)
    return _load


def folder_bytes(folder: Path) -> int:
    """Return the bytes of the files below `folder`; 0 when it is gone. Reads folders: call it in a thread."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_size
            except OSError:  # retention removed it meanwhile
                continue
    return total


class _Utilization(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class _Memory(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_ulonglong) for name in ("total", "free", "used"))


@cache
def _nvml() -> ctypes.CDLL | None:
    """Return NVIDIA's management library, None without a driver."""
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    return library if library.nvmlInit_v2() == 0 else None


def _gpus() -> list[tuple[float, _Memory]]:
    """Return the share of time in which each NVIDIA GPU was busy, and its memory."""
    library, count = _nvml(), ctypes.c_uint()
    if library is None or library.nvmlDeviceGetCount_v2(ctypes.byref(count)):
        return []
    found = []
    for number in range(count.value):
        device, busy, memory = ctypes.c_void_p(), _Utilization(), _Memory()
        if (
            library.nvmlDeviceGetHandleByIndex_v2(number, ctypes.byref(device)) == 0
            and library.nvmlDeviceGetUtilizationRates(device, ctypes.byref(busy)) == 0
            and library.nvmlDeviceGetMemoryInfo(device, ctypes.byref(memory)) == 0
        ):
            found.append((busy.gpu / 100, memory))
    return found
