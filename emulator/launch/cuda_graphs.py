"""Launches captured once as a CUDA graph and replayed.

A step of few consoles or few frames ends sooner than Python can launch its ten kernels one by one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable

import warp as wp

MOST_GRAPHS = 32


class Recorder:
    """Recorder that turns repeated kernel launches into CUDA graphs.

    The first time, the kernels of a key are launched directly, which compiles and allocates what they need; the second
    time they are captured as a graph. A graph holds addresses, so `key` must name every array and number that the
    launches get; the arrays' contents may change.
    """

    def __init__(self, device: str) -> None:
        self.device = wp.get_device(device)
        self._graphs: dict[Hashable, wp.Graph | None] = {}
        # Torch's default stream cannot be captured; a stream of its own can.
        self._stream = wp.Stream(self.device) if self.device.is_cuda else None

    def play(self, key: Hashable, launch: Callable[[], None]) -> None:
        """Call `launch`, or replay the graph recorded for `key`.

        `launch` must neither allocate memory nor depend on the host's state.
        """
        if key not in self._graphs:
            if len(self._graphs) >= MOST_GRAPHS:
                self._graphs.clear()
            self._graphs[key] = None
            launch()
            return
        graph = self._graphs[key]
        if graph is None:
            graph = self._graphs[key] = self._capture(launch)
        wp.capture_launch(graph)

    def _capture(self, launch: Callable[[], None]) -> wp.Graph:
        with (
            wp.ScopedStream(self._stream) if self._stream else contextlib.nullcontext(),
            wp.ScopedCapture(self.device, self._stream, force_module_load=False) as capture,
        ):
            launch()
        assert capture.graph is not None
        return capture.graph
