"""Who executes instructions: the module of kernels, chosen by device and batch (ADR 8, ADR 16)."""

from __future__ import annotations

import importlib
from typing import Any, Literal

import warp as wp

from emulator.launch.shapes import Shape
from emulator.rom.cartridge import EmulatorError

Executor = Literal["uniform", "native", "threaded"]
EXECUTORS = ("uniform", "native", "threaded")


def kernels_of(executor: Executor, is_cuda: bool = True) -> Any:
    """The module of an executor's kernels: the data path of a CPU is `alone`.

    Loaded when first asked for: Warp reads the text of every function, and a process needs those
    of one executor."""
    name = "alone" if executor == "uniform" and not is_cuda else executor
    return importlib.import_module(f"emulator.kernels.launch.{name}")


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
