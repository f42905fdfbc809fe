"""Resource usage of this computer, for update records and the app's gauges. Nothing here imports torch."""

from __future__ import annotations

import ctypes
import os
import shutil
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psutil


@dataclass(frozen=True, slots=True)
class Gauge:
    """One gauge: `share` of the total, 0 to 1, and the amount in figures."""

    name: str
    share: float
    words: str


GAUGE_S = 0.1
"""Seconds over which a gauge of the CPU is measured."""
LOAD_S = 1.0
"""Seconds for which a reading of the machine's load stands: records may come faster."""
psutil.cpu_percent()  # a reading is the mean since the one before
_read_at, _load = 0.0, dict[str, float]()


def machine_load() -> dict[str, float]:
    """Return shares, 0 to 1, of the whole machine that all its processes use: `cpu`, `memory`, `gpu`, `gpu_memory`.

    Those of GPUs are means, and missing where there is none.
    """
    global _read_at, _load
    now = time.monotonic()
    if now - _read_at >= LOAD_S:
        _read_at = now
        _load = {"cpu": psutil.cpu_percent() / 100, "memory": psutil.virtual_memory().percent / 100}
        if gpus := _gpus():
            _load["gpu"] = sum(busy for busy, _ in gpus) / len(gpus)
            _load["gpu_memory"] = sum(memory.used / memory.total for _, memory in gpus) / len(gpus)
    return _load


def read_gauges(folder: Path, pid: int = 0) -> list[Gauge]:
    """Return gauges: CPU, memory, disk of `folder`, GPUs, memory of process `pid` (0 = none).

    Blocks for GAUGE_S: call it in a thread. Skips what cannot be read.
    """
    memory, disk = psutil.virtual_memory(), shutil.disk_usage(_existing(folder))
    cpu = psutil.cpu_percent(GAUGE_S) / 100
    found = [
        Gauge("CPU", cpu, f"{cpu * 100:.0f} %"),
        Gauge("Memory", memory.percent / 100, _gib(memory.used, memory.total)),
        Gauge("Disk", disk.used / disk.total, _gib(disk.used, disk.total)),
    ]
    for number, (busy, held) in enumerate(_gpus()):
        found.append(Gauge(f"GPU {number}", busy, f"{busy * 100:.0f} %, {_gib(held.used, held.total)}"))
    if pid and (size := _family_bytes(pid)):
        found.append(Gauge("This run", size / memory.total, _gib(size, memory.total)))
    return found


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


def _existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.exists())


def _family_bytes(pid: int) -> int:
    try:
        process = psutil.Process(pid)
        return sum(one.memory_info().rss for one in (process, *process.children(recursive=True)))
    except psutil.Error:
        return 0


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


def _gib(part: int, whole: int) -> str:
    return f"{part / 2**30:.1f} / {whole / 2**30:.1f} GiB"
