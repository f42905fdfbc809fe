"""Who executes instructions: the module of kernels, chosen by device and batch (ADR 8, ADR 16)."""

from __future__ import annotations

from typing import Any, Literal

import warp as wp

from emulator.kernels.launch import alone, native, uniform
from emulator.launch.shapes import Shape
from emulator.rom.cartridge import EmulatorError

Executor = Literal["uniform", "native", "threaded"]
EXECUTORS = ("uniform", "native", "threaded")


def kernels_of(executor: Executor, is_cuda: bool = True) -> Any:
    """The module of an executor's kernels. Most processes never need threaded code."""
    if executor == "threaded":
        from emulator.kernels.launch import threaded

        return threaded
    if executor == "native":
        return native
    return uniform if is_cuda else alone


def threaded_module() -> wp.Module:
    """The Warp module of threaded code, to be compiled before it is needed."""
    module: wp.Module = kernels_of("threaded").run_frames_threaded.module
    return module


def chosen_executor(device: str, wanted: Executor | None, shape: Shape) -> Executor:
    """`wanted`, or the faster one on this device; EmulatorError if it cannot run there."""
    is_cuda = wp.get_device(device).is_cuda
    if wanted not in (None, *EXECUTORS) or (is_cuda and wanted == "native"):
        raise EmulatorError(
            f"executor={wanted!r} on {device}: give uniform or threaded, or native on a cpu"
        )
    return wanted or ("native" if not is_cuda else "uniform" if shape.serving else "threaded")
