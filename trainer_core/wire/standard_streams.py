"""Handling of standard streams that are closed, full or not read."""

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
    """Text stream that discards its output, without an error, once the reader is gone."""

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
    """Open the null device for closed standard streams (`>&-`), and return their names.

    Otherwise a file opened later would get the descriptor, and receive printed text.
    """
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
    """Failure to write standard output; `finish_stdout` reports it."""


class _Stdout(io.RawIOBase):
    """Raw stream on descriptor 1. A failing write raises StdoutError once; later writes, as at exit, are discarded."""

    def __init__(self, closed: bool) -> None:
        self.fault = 0
        """errno of the error that it raised."""
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
    """Replace `sys.stdout` so that a failing write raises StdoutError."""
    old = sys.stdout
    sys.stdout = sys.__stdout__ = io.TextIOWrapper(
        io.BufferedWriter(_Stdout(closed)), encoding=old.encoding, errors=old.errors, line_buffering=os.isatty(1)
    )


def finish_stdout(status: int) -> int:
    """Flush standard output; return `status`, or 1 after a one-line message if it could not be written.

    A closed reader (`| head`) is not an error.
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
    """Ignore errors of writing standard error: training continues when its terminal or pipe is closed."""
    if not isinstance(sys.stderr, SteadyStream):
        sys.stderr = SteadyStream(sys.stderr)
