"""Launches that are prepared once: on a CPU, Warp's preparation costs more than the call itself."""

from __future__ import annotations

import threading
from typing import Any

import warp as wp

# A kernel's first launch loads its module. Two threads that do so at once load it twice, and the
# second load frees the code that the first thread is about to run.
_preparing = threading.Lock()


class RecordedLaunches:
    """Takes the place of `wp.launch` for kernels that one object launches again and again.

    A launch is recorded at its first call; later calls pass on only the inputs that are other
    objects or numbers than before. A struct must not be changed after its first launch.
    """

    def __init__(self) -> None:
        self._commands: dict[Any, tuple[Any, list[Any]]] = {}

    def launch(self, kernel: wp.Kernel, dim: Any, inputs: list[Any], device: Any) -> None:
        """Launch `kernel` as wp.launch would."""
        known = self._commands.get(kernel)
        if known is None:
            with _preparing:
                command: Any = wp.launch(
                    kernel, dim=dim, inputs=inputs, device=device, record_cmd=True
                )
            self._commands[kernel] = (command, list(inputs))
        else:
            command, before = known
            for i, value in enumerate(inputs):
                if value is not before[i] and (not isinstance(value, int) or value != before[i]):
                    command.set_param_at_index(i, value)
                    before[i] = value
        command.launch()
