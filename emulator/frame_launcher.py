"""Launcher of a batch's frames: its executor, the spread over the device, order of the consoles (ADR 30, 31)."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any, Literal

import warp as wp

from emulator.hot_code.adopt import RomCode
from emulator.launch.compile_beside import compiled_beside
from emulator.launch.launch_shapes import TAIL_BLOCK, Shape, checked_shape, find_shape
from emulator.launch.recorded_launches import RecordedLaunches
from emulator.launch.tail_choice import GpuClock, TailChoice, tails
from emulator.launch.work_order import WorkOrder
from emulator.rom.cartridge import Cartridge, EmulatorError

Executor = Literal["uniform", "native"]
EXECUTORS = ("uniform", "native")


@functools.cache  # a launch of one console would take a tenth of its time to look it up
def kernels_of(executor: str, is_cuda: bool = True) -> Any:
    """Return the module of an executor's kernels: `uniform_cpu` for `uniform` on a CPU.

    It is imported on first use: Warp reads the text of every kernel, and a process needs one executor's only.
    """
    name = "uniform_cpu" if executor == "uniform" and not is_cuda else executor
    return importlib.import_module(f"emulator.launch.{name}")


def threaded_module() -> wp.Module:
    """Return the Warp module of threaded code, so that it can be compiled before its first launch."""
    module: wp.Module = kernels_of("threaded").run_frames_threaded.module
    return module


def chosen_executor(device: str, wanted: Executor | None) -> Executor:
    """Return `wanted`, or if None the faster executor for this device.

    Raises EmulatorError if `wanted` cannot run on the device.
    """
    is_cuda = wp.get_device(device).is_cuda
    if wanted not in (None, *EXECUTORS) or (is_cuda and wanted == "native"):
        raise EmulatorError(f"executor={wanted!r} on {device}: give uniform, or native on a cpu")
    return wanted or ("uniform" if is_cuda else "native")


class FrameLauncher:
    """Launcher of frames for `batch`, whose consoles run `cartridges`.

    `shape` (None: the measured one of this device, with a tail chosen by the times of the launches) and the other
    public attributes may change between launches.
    """

    def __init__(
        self,
        batch: Any,
        num_envs: int,
        cartridges: Sequence[Cartridge],
        device: str,
        executor: Executor,
        *,
        shape: Shape | None,
        idle_skip: bool,
    ) -> None:
        is_cuda = wp.get_device(device).is_cuda
        self.shape = find_shape(num_envs, device) if shape is None else checked_shape(shape)
        """Spread of launches over the device's warps."""
        self.code = RomCode(cartridges, device, executor == "native")
        self.counts: wp.array | None = None
        """Array of execution counts that the data path on a CPU fills (`Emulator.count_places`); None: not counted."""
        self._recorded = RecordedLaunches()
        self.launch: Callable[..., Any] = wp.launch if is_cuda else self._recorded.launch
        self._batch, self._num_envs, self._device = batch, num_envs, device
        self._executor, self.idle_skip, self._is_cuda = executor, idle_skip, is_cuda
        self._choice: TailChoice | None = None
        if is_cuda and shape is None:
            self._choice = TailChoice(tails(num_envs, device), GpuClock(device))
            self.shape = self.shape._replace(tail=self._choice.best)
        self._order = WorkOrder(device)
        self._last_frames = 0

    def run(self, held: wp.array, frames: int, release_after: int) -> None:
        """Run every console for `frames` frames with the joypad masks `held`, uint8[N] on the device.

        The buttons are released after `release_after` frames (0: held to the end).
        """
        if self.code.is_searching and self.code.adopt_found():
            self._try_tails()
        if self._executor == "native":
            how = (held, frames, release_after, self.idle_skip, self.launch)
            kernels_of("native").launch(self._batch, *how, self.code.cpu_hot)
            return
        # A single CPU thread runs the consoles in turn: their order does not matter.
        if self._is_cuda and self.shape.lanes > 1 and frames > 1 and self._last_frames:
            self._order.sort(self._batch, self._last_frames)
        self._last_frames = frames
        how = (held, frames, release_after)
        if self._choice is None or not self._has_threaded_code() or wp.get_device(self._device).is_capturing:
            self._launch(*how)
            return
        with self._choice.launch(frames) as tail:
            self.shape = self.shape._replace(tail=tail)
            self._launch(*how)

    def _launch(self, held: wp.array, frames: int, release_after: int) -> None:
        most = min(self.shape.tail, self._num_envs)
        run_tail = functools.partial(self._run_tail, most) if most and self._has_threaded_code() else None
        how = (held, frames, release_after, self.shape._replace(tail=most), self.idle_skip, run_tail)
        counts = () if self._is_cuda else (self.counts,)
        kernels_of("uniform", self._is_cuda).launch(self._batch, *how, *counts)

    def forget_recorded(self) -> None:
        """Discard recorded launches, because the batch's arrays have new addresses."""
        self._recorded.forget()

    def use(self, shape: Shape) -> None:
        """Set the shape of all further launches; raise EmulatorError for one that cannot be."""
        self.shape = checked_shape(shape)
        self._choice = None

    def search_hot_code(self, after: float) -> None:
        """Schedule a search for hot code in `after` seconds, if the consoles run threaded or native code."""
        if self._executor == "native" or (self._is_cuda and self.shape.tail):
            self.code.search(after)

    def adopt(self, pieces: Sequence[Sequence[tuple[int, ...]]]) -> None:
        """Compile pieces of ROM code to native blocks and use them from the next launch on, as `Emulator.adopt`.

        Raises EmulatorError where neither threaded nor native code runs.
        """
        if self._executor != "native" and not self.shape.tail:
            raise EmulatorError(f"a shape without a tail has no superblocks: give one to executor {self._executor!r}")
        self.code.adopt(pieces)
        self._try_tails()

    def wait_for_kernels(self) -> None:
        """Block until every kernel that launches of this shape use is compiled (for measurements)."""
        if self.shape.tail and self._is_cuda:
            compiled_beside(threaded_module, self._device, TAIL_BLOCK).wait()

    def _try_tails(self) -> None:
        """Try the numbers of consoles that may be left to threaded code, since that code has changed."""
        if self._choice:
            self._choice.restart()

    def _has_threaded_code(self) -> bool:
        """Return whether a launch need not wait for the compiler of threaded code, which a GPU's first one starts."""
        if self.code.hot or not self._is_cuda:
            return True
        return compiled_beside(threaded_module, self._device, TAIL_BLOCK).usable()

    def _run_tail(self, most: int) -> None:
        """Run the consoles that the data path passed on to threaded code, at most `most`, to the end of the launch."""
        whole = most == self._num_envs
        kernels_of("threaded").launch(self._batch, self.code.table(), most, whole, self.idle_skip, *self.code.frames)
