"""Keep a program alive, and honest, when its standard streams are closed, full or unread."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from typing_extensions import Buffer


class SteadyStream:
    """A text stream whose reader may go away: from then on what is written is lost, silently."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.flush()

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def fill_standard_streams() -> set[str]:
    """Give those that were closed (`>&-`) to the null device: else a file that is opened later gets
    the descriptor, and with it what is printed. Return their names."""
    closed = set()
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            closed.add(name)
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, number)
            if null != number:
                os.close(null)
        if getattr(sys, name) is None:
            made = open(number, "w" if number else "r", closefd=False)  # noqa: SIM115
            setattr(sys, name, made)
    return closed


class StdoutError(OSError):
    """Standard output cannot be written; `finish_stdout` says so."""


class _Stdout(io.RawIOBase):
    """Descriptor 1. Raises StdoutError once, then takes what the interpreter flushes at its end."""

    def __init__(self, closed: bool) -> None:
        self.fault = 0
        """Number of the error that it raised."""
        self._closed_before = closed

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1

    def isatty(self) -> bool:
        return os.isatty(1)

    def write(self, block: Buffer, /) -> int | None:
        if self.fault:
            return memoryview(block).nbytes
        try:
            if self._closed_before:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            return os.write(1, block)
        except BlockingIOError:
            return None
        except OSError as error:
            self.fault = error.errno or errno.EIO
            raise StdoutError(self.fault, error.strerror) from None


def watch_stdout(closed: bool) -> None:
    """Let what is printed from here on raise StdoutError where it cannot be written."""
    old = sys.stdout
    sys.stdout = sys.__stdout__ = io.TextIOWrapper(
        io.BufferedWriter(_Stdout(closed)), encoding=old.encoding, errors=old.errors, line_buffering=os.isatty(1)
    )


def finish_stdout(status: int) -> int:
    """Flush what was printed; `status`, or 1 where it could not be written, said in one line.

    A reader that has read enough (`| head`) is no error.
    """
    with contextlib.suppress(StdoutError, ValueError):
        sys.stdout.flush()
    raw = getattr(getattr(sys.__stdout__, "buffer", None), "raw", None)
    if not isinstance(raw, _Stdout) or raw.fault in (0, errno.EPIPE):
        return status
    words = "closed" if raw.fault == errno.EBADF else os.strerror(raw.fault)
    print(f"dmglab: standard output: {words}", file=sys.stderr)
    return 1


def outlive_reader_of_stderr() -> None:
    """Training goes on when the terminal or pipe that shows its messages is closed."""
    if not isinstance(sys.stderr, SteadyStream):
        sys.stderr = SteadyStream(sys.stderr)
