"""Write events to the process that reads them: a private copy of standard output.

Stray prints go to standard error instead.
"""

from __future__ import annotations

import os
import select


class Pipe:
    """The event pipe; once it breaks, writing to it is silent: stdin's end tells the rest."""

    def __init__(self) -> None:
        self._descriptor = os.dup(1)
        os.dup2(2, 1)
        os.set_inheritable(self._descriptor, False)

    def write(self, line: bytes) -> None:
        view = memoryview(line)
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
        except OSError:
            pass


class LossyPipe(Pipe):
    """Leaves out what is in the log as well, or soon out of date, while nobody reads.

    A reader that is stopped, or busy, so holds up no training; it reads the log for what it missed.
    All else waits until it is taken: a state, an answer, a checkpoint.
    """

    LIVE = (b'{"type":"update"', b'{"type":"heartbeat"')

    def __init__(self) -> None:
        super().__init__()
        os.set_blocking(self._descriptor, False)
        self._rest = b""

    def write(self, line: bytes) -> None:
        waits = not line.startswith(self.LIVE)
        if self._push(waits):
            self._rest = line
            self._push(waits)

    def _push(self, waits: bool) -> bool:
        """Whether all of the line before is gone."""
        while self._rest:
            try:
                self._rest = self._rest[os.write(self._descriptor, self._rest) :]
            except BlockingIOError:
                if not waits:
                    return False
                ready = select.poll()
                ready.register(self._descriptor, select.POLLOUT)
                ready.poll()
            except OSError:
                self._rest = b""
        return True
