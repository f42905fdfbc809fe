"""Launch shapes: the spread of a batch over a GPU's warps."""

from __future__ import annotations

from typing import NamedTuple

import warp as wp

from emulator.constants import MAX_BLOCK, TAIL_WARPS
from emulator.rom.cartridge import EmulatorError


class Shape(NamedTuple):
    """Layout of one launch on a GPU; it changes the time only, never the result."""

    lanes: int
    """Consoles per running warp of 32 threads."""
    running: int
    """Warps per block that run consoles."""
    serving: int
    """Warps per block that serve the running warps' rare requests."""
    tail: int = 0
    """Number of running consoles at which a launch changes from the data path to threaded code; 0: never.

    Each is then alone in its warp (launch_tail.py). A batch of no more consoles runs threaded code from the beginning.
    """

    @property
    def block(self) -> int:
        """Threads per block. Kernels are compiled anew for each number."""
        return 32 * (self.running + self.serving)


MOST_RUNNING = 16
MOST_SERVING = 8
"""Most warps that a block's board has room for (service_board.py): running ones, serving ones."""
TAIL_BLOCK = 32 * TAIL_WARPS
"""Threads of a block that runs threaded code."""


def checked_shape(shape: Shape) -> Shape:
    """Return `shape`; raise EmulatorError, with what to give, for one whose launch would never end."""
    lanes, running, serving, tail = whole = shape if isinstance(shape, Shape) else (0, 0, 0, 0)
    if not all(isinstance(number, int) for number in whole):
        reason = "give whole numbers"
    elif not 1 <= lanes <= 32:
        reason = "a warp has 1 to 32 lanes"
    elif not (1 <= running <= MOST_RUNNING and 1 <= serving <= MOST_SERVING):
        reason = f"give 1 to {MOST_RUNNING} running and 1 to {MOST_SERVING} serving warps"
    elif shape.block > MAX_BLOCK:
        reason = f"{shape.block} threads a block, {MAX_BLOCK} at most"
    elif tail < 0:
        reason = "a tail is a number of consoles, or 0"
    else:
        return shape
    raise EmulatorError(f"shape: {shape!r:.80}: {reason}")


FEW = Shape(1, 4, 2)
"""Shape for few consoles."""
BUILT_IN: tuple[tuple[int, Shape], ...] = (
    (512, FEW),
    (1024, Shape(2, 4, 2)),
    (2048, Shape(4, 4, 2)),
    (4096, Shape(8, 4, 2)),
    (8192, Shape(16, 4, 2)),
    (16384, Shape(32, 4, 2)),
    (32768, Shape(32, 8, 4)),
)
"""(most consoles, shape) for an H200: all blocks of a batch run at once, one or two on each SM.

Up to 16,384 consoles an SM has one block, whose running warps have a scheduler each: (2, 4, 2) makes 1.14 to 1.29 times
the frames of (1, 8, 4) at 1,024 consoles, (16, 4, 2) 1.17 times those of (8, 8, 4) at 8,192.
"""
BUILT_IN_LARGEST = Shape(32, 16, 4)

MEASURED_SMS = 132
"""SMs of the H200 for which the table holds. Another GPU gets the shape for as many consoles on each of its SMs."""


def find_shape(num_envs: int, device: str) -> Shape:
    """Return the shape for a batch on a device; a CPU runs one console after another, whatever the shape."""
    found = wp.get_device(device)
    return built_in(num_envs * MEASURED_SMS // found.sm_count) if found.is_cuda else FEW


def built_in(num_envs: int) -> Shape:
    """Return the shape for so many consoles on an H200."""
    return next((shape for most, shape in BUILT_IN if num_envs <= most), BUILT_IN_LARGEST)
