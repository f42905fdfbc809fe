"""Launches prepared once: on a CPU, Warp's preparation costs more than the call itself."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import operator
import threading
from collections.abc import Callable
from typing import Any

import warp as wp

# A kernel's first launch loads its module. Two threads that do so at once load it twice, and the second load frees
# the code that the first thread is about to run.
preparing = threading.Lock()


class RecordedLaunches:
    """Faster replacement of `wp.launch` for one object that launches the same kernels again and again.

    A launch is recorded at its first call; later calls pass on only the inputs that differ from the last ones. A struct
    must not be changed after its first launch.
    """

    def __init__(self) -> None:
        self._prepared: dict[Any, _Prepared] = {}

    def forget(self) -> None:
        """Discard the recorded launches, because a struct among their inputs has changed."""
        self._prepared.clear()

    def launch(self, kernel: wp.Kernel, dim: Any, inputs: list[Any], device: Any) -> None:
        """Launch `kernel` as `wp.launch` would, from its recording if there is one."""
        prepared = self._prepared.get(kernel)
        if prepared is None:
            with preparing:
                command: Any = wp.launch(kernel, dim=dim, inputs=inputs, device=device, record_cmd=True)
            prepared = self._prepared[kernel] = _Prepared(command, list(inputs))
        prepared.launch(inputs)


class _Prepared:
    """Recorded launch that keeps its arguments packed.

    Warp would pack them anew every time, which takes four times as long as the call. Where Warp's internals differ, or
    for a launch in blocks, it uses Warp's own method.
    """

    def __init__(self, command: Any, inputs: list[Any]) -> None:
        self._command = command
        self._inputs = inputs
        self._call: Callable[[], Any] | None = None
        with contextlib.suppress(AttributeError):
            if command.block_dim == 1:
                self._pack()

    def launch(self, inputs: list[Any]) -> None:
        """Run the recorded launch with these inputs."""
        before = self._inputs
        same = all(map(operator.is_, inputs, before))
        for i, value in () if same else enumerate(inputs):
            if value is not before[i] and (not isinstance(value, int) or value != before[i]):
                self._command.set_param_at_index(i, value)
                before[i] = value
                if self._call:
                    setattr(self._arguments, f"argument{i}", self._command.params[i + 1])
        if self._call:
            self._call()
        else:
            self._command.launch()

    def _pack(self) -> None:
        bounds, *packed = self._command.params
        fields = [(f"argument{i}", type(value)) for i, value in enumerate(packed)]
        layout = type("Arguments", (ctypes.Structure,), {"_fields_": fields})
        self._arguments = layout(*packed)
        places = ctypes.byref(bounds), ctypes.byref(self._arguments)
        self._call = functools.partial(self._command.hooks.forward, *places)
