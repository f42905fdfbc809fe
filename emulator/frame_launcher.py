"""Launcher of a batch's frames: executor (ADR 8, 16), spread over the device, order of the consoles, recordings."""

from __future__ import annotations

import functools
import importlib
import os
import threading
import warnings
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal

import warp as wp

from emulator.hot_code.adopt import RomCode
from emulator.kernels.executors.work_order import WorkOrder
from emulator.launch.cuda_graphs import Recorder
from emulator.launch.launch_shapes import ALONE, MANY_ALONE, SERVED, Shape, find_shape, with_hot_code
from emulator.launch.recorded_launches import RecordedLaunches
from emulator.rom.cartridge import Cartridge, EmulatorError

Executor = Literal["uniform", "native", "threaded"]
EXECUTORS = ("uniform", "native", "threaded")


@functools.cache  # a launch of one console would take a tenth of its time to look it up
def kernels_of(executor: Executor, is_cuda: bool = True) -> Any:
    """Return the module of an executor's kernels: `uniform_cpu` for `uniform` on a CPU.

    It is imported on first use: Warp reads the text of every kernel, and a process needs one executor's only.
    """
    name = "uniform_cpu" if executor == "uniform" and not is_cuda else executor
    return importlib.import_module(f"emulator.kernels.executors.{name}")


def threaded_module() -> wp.Module:
    """Return the Warp module of threaded code, so that it can be compiled before its first launch."""
    module: wp.Module = kernels_of("threaded").run_frames_threaded.module
    return module


def chosen_executor(device: str, wanted: Executor | None, shape: Shape) -> Executor:
    """Return `wanted`, or if None the fastest executor for this device and shape.

    Raises EmulatorError if `wanted` cannot run on the device.
    """
    is_cuda = wp.get_device(device).is_cuda
    if wanted not in (None, *EXECUTORS) or (is_cuda and wanted == "native"):
        raise EmulatorError(f"executor={wanted!r} on {device}: give uniform or threaded, or native on a cpu")
    return wanted or ("native" if not is_cuda else "uniform" if shape.serving else "threaded")


class CompiledBeside:
    """Thread that compiles one Warp module for one device and one number of threads a block.

    A GPU's first launch of a module compiles it, which takes seconds, once on each computer. Kernels that only make
    launches faster can be compiled meanwhile without stopping launches. The thread does not touch the device: it fills
    Warp's cache on disk, from which the next launch loads.
    """

    def __init__(self, find: Callable[[], Any], device: str, block: int) -> None:
        """Start the thread, on which `find` imports and returns the Warp module."""
        self.ready = False
        """True once the next launch of these kernels need not wait for a compiler."""
        self._work = (find, wp.get_device(device), block)
        self._thread = threading.Thread(target=self._compile, name="compile-beside")
        self._thread.start()

    def _compile(self) -> None:
        find, device, block = self._work
        try:
            _fill_cache(find(), device, block)
        except Exception as error:
            warnings.warn(f"kernels not compiled, launches go without: {error}", stacklevel=2)
        else:
            self.ready = True

    def wait(self) -> None:
        """Block until the compilation has ended."""
        self._thread.join()


@functools.cache
def compiled_beside(find: Callable[[], Any], device: str, block: int) -> CompiledBeside:
    """Return this process's `CompiledBeside` of a module; the first call starts its thread."""
    return CompiledBeside(find, device, block)


def _fill_cache(module: Any, device: wp.Device, block: int) -> None:
    """Compile a module into Warp's cache as `wp.Module.load` does, without loading it."""
    module.get_module_hash(block)
    folder = os.path.join(str(wp.config.kernel_cache_dir), module.get_module_identifier(block))
    name = module._get_compile_output_name(device, block_dim=block)
    arch = module._get_compile_arch(device)
    module._compile(device, folder, name, arch, options=module.resolved_options[block])


class FrameLauncher:
    """Launcher of frames for `batch`, whose consoles run `cartridges`.

    `shape` (None: the measured one of this device) and the other public attributes may change between launches.
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
        cuda_graphs: bool,
    ) -> None:
        self.shape = shape
        self.code = RomCode(cartridges, device, executor == "native")
        is_cuda = wp.get_device(device).is_cuda
        self.recorder = Recorder(device) if cuda_graphs and is_cuda else None
        self.counts: wp.array | None = None
        """Array of execution counts that the data path on a CPU fills (`Emulator.count_places`); None: not counted."""
        self._recorded = RecordedLaunches()
        self.launch: Callable[..., Any] = wp.launch if is_cuda else self._recorded.launch
        self._batch, self._num_envs, self._device = batch, num_envs, device
        self._executor, self._idle_skip, self._is_cuda = executor, idle_skip, is_cuda
        self._is_free = shape is None
        self._order = WorkOrder(device)
        self._last_frames = 0

    def run(self, held: wp.array, frames: int, release_after: int) -> None:
        """Run every console for `frames` frames with the joypad masks `held`, uint8[N] on the device.

        The buttons are released after `release_after` frames (0: held to the end).
        """
        if self._executor == "native":
            if self.code.is_searching:
                self.code.adopt_found(block=1)
            how = (held, frames, release_after, self._idle_skip, self.launch)
            kernels_of("native").launch(self._batch, *how, self.code.cpu_hot)
            return
        shape = self.found_shape()
        if self.code.is_searching:
            self.code.adopt_found((self.threaded_shape() or shape).block)
        if self._is_free and self.code.hot:
            shape = with_hot_code(shape, self._num_envs, self.code.fetches_much)
        # A single CPU thread runs the consoles in turn: their order does not matter.
        sorts = self._is_cuda and shape.lanes > 1 and frames > 1
        sort_by = self._last_frames if sorts else 0
        has_tail = self._has_tail(shape)

        def launch() -> None:
            if sort_by:
                self._order.sort(self._batch, sort_by)
            how = (held, frames, release_after, shape, self._idle_skip)
            if shape.serving:
                most = min(shape.tail, self._num_envs)
                tail = functools.partial(self._run_tail, most) if has_tail else None
                if self._is_cuda:
                    kernels_of("uniform").launch(self._batch, *how, tail)
                else:
                    kernels_of("uniform", False).launch(self._batch, *how, tail, self.counts)
            else:
                code = self.code
                kernels_of("threaded").launch(self._batch, code.table(), *how, *code.frames)

        how = (held.ptr, frames, release_after, shape, sort_by, self._idle_skip, self.code.hot)
        self.play(("run", *how, has_tail), launch)
        self._last_frames = frames

    def play(self, key: Hashable, launch: Callable[[], None]) -> None:
        """Call `launch`, or replay the CUDA graph recorded for `key` (launch/cuda_graphs.py)."""
        if self.recorder is None:
            launch()
        else:
            self.recorder.play(key, launch)

    def forget_recorded(self) -> None:
        """Discard recorded launches, because the batch's arrays have new addresses."""
        self._recorded.forget()

    def found_shape(self) -> Shape:
        """Return how launches of this batch are spread over the device's warps; look it up on the first call."""
        if self.shape is None:
            self.shape = find_shape(self._num_envs, self._device)
            if (self.shape.serving == 0) != (self._executor == "threaded"):
                self.shape = ALONE if self._executor == "threaded" else SERVED
        return self.shape

    def use(self, shape: Shape) -> None:
        """Set the shape of all further launches."""
        self.shape = shape
        self._is_free = False

    def threaded_shape(self) -> Shape | None:
        """Return the shape of threaded launches, of all consoles or of the last ones; None without threaded code."""
        shape = self.found_shape()
        if shape.serving == 0:
            return shape
        return ALONE if shape.tail and self._is_cuda else None

    def search_hot_code(self, after: float) -> None:
        """Schedule a search for hot code in `after` seconds, if the consoles run threaded or native code."""
        shape = self.threaded_shape()
        if self._executor == "native":
            self.code.search(ALONE.running, after)
        elif shape:
            self.code.search(shape.running, after, self._is_free and self._num_envs > MANY_ALONE)

    def adopt(self, pieces: Sequence[Sequence[tuple[int, ...]]], soon: bool = False) -> None:
        """Compile pieces of ROM code to native blocks and use them from the next launch on, as `Emulator.adopt`.

        Raises EmulatorError where neither threaded nor native code runs.
        """
        shape = ALONE if self._executor == "native" else self.threaded_shape()
        if shape is None:
            raise EmulatorError(f"executor {self._executor!r} has no superblocks: give threaded")
        self.code.adopt(pieces, shape.block, soon)

    def wait_for_kernels(self) -> None:
        """Block until every kernel that launches of this shape use is compiled (for measurements)."""
        shape = self.found_shape()
        if shape.tail and self._is_cuda:
            compiled_beside(threaded_module, self._device, ALONE.block).wait()

    def _has_tail(self, shape: Shape) -> bool:
        """Return whether the last running consoles of a launch continue in threaded code.

        False on a GPU while that code is still being compiled.
        """
        if not shape.tail or not self._is_cuda:
            return bool(shape.tail)
        return compiled_beside(threaded_module, self._device, ALONE.block).ready

    def _run_tail(self, most: int) -> None:
        """Run the consoles that the data path passed on to threaded code, at most `most`, to the end of the launch."""
        how = (most, self._idle_skip, *self.code.frames)
        kernels_of("threaded").launch_tail(self._batch, self.code.table(), *how)
