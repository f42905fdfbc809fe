"""Event pipe: a private copy of standard output, on which a process writes its events.

Other prints go to standard error instead.
"""

from __future__ import annotations

import os
import select


class Pipe:
    """Writer of events as lines to a pipe. A broken pipe is ignored: the end of standard input stops the process."""

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
    """Event pipe that drops events while nobody reads, if they are also in the log or soon out of date.

    So a reader that is stopped or busy does not delay training; it reads the log for the events it missed. All other
    events wait until they are read: a state, an answer, a checkpoint.
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
        """Write the pending bytes; return whether all are written. If the pipe is full, wait with `waits`, else return
        False."""
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
