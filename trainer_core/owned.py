"""Being owned: a process that was started for somebody ends with them, and takes its own along.

Whoever starts a child gives it `family()`: the parent's number, and a mark that everything which
the child starts inherits. The child calls `die_with_parent` first of all. Three things then hold.
The kernel sends SIGTERM when the parent dies; a parent that died before that was armed is noticed
by its number. A guard, a small process forked before anything heavy is loaded, waits for both:
it kills what is still there `GRACE_S` after the parent's end, even a child that is busy in C and
runs no Python, and what the child left behind at its own end. The mark finds grandchildren in
sessions of their own; one that wipes its environment is not found.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import io
import itertools
import os
import secrets
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, TextIO

if TYPE_CHECKING:
    from typing_extensions import Buffer

PARENT, FAMILY = "DMGLAB_PARENT", "DMGLAB_FAMILY"
GRACE_S = 10.0
"""To finish the update and save, once the parent is gone."""
_PR_SET_PDEATHSIG = 1
_EXCHANGE_S = 0.01
_LINUX = sys.platform.startswith("linux")


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

    A keeper that is stopped, or busy, so holds up no training; it reads the log for what it missed.
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


# -- the parent's side ----------------------------------------------------------------------


def family() -> dict[str, str]:
    """Environment of a child that this process owns, with a new mark."""
    return {PARENT: str(os.getpid()), FAMILY: secrets.token_hex(8)}


def end_family(mark: str) -> None:
    """SIGKILL every process that inherited `mark`, this one excepted.

    Until none is found twice in a row: one may have been starting another, and a process that is
    being exchanged for its program shows no environment for a moment.
    """
    wanted = f"{FAMILY}={mark}".encode()
    before = True
    for _ in range(10):
        found = [pid for pid in _processes() if wanted in _environment(pid)]
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if not found and not before:
            return
        before = bool(found)
        time.sleep(_EXCHANGE_S)


def _processes() -> list[int]:
    if not _LINUX:
        return []
    return [
        int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()
    ]


def _environment(pid: int) -> list[bytes]:
    """Empty for another user's process and for one that has ended."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


# -- the child's side -----------------------------------------------------------------------


def die_with_parent() -> None:
    """Linux: end with the process that started this one. Call it before anything is loaded."""
    parent = int(os.environ.pop(PARENT, "0")) or os.getppid()
    if not _LINUX:
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it died before the signal was armed
        end_group(1)
    _post_guard(parent)


def _post_guard(parent: int) -> None:
    """Fork the guard. `parent` is alive, so that its number cannot be another's."""
    try:
        watched = [os.pidfd_open(parent), os.pidfd_open(os.getpid())]
    except OSError:  # an older kernel: signal and standard input must do
        return
    charge = os.getpid()
    if os.fork():
        for descriptor in watched:
            os.close(descriptor)
        return
    try:
        _guard(charge, *watched)
    finally:
        os._exit(0)


def _guard(charge: int, parent_end: int, charge_end: int) -> None:
    """In the forked process: hold nothing open, wait, then leave nothing behind."""
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    for low, high in itertools.pairwise([-1, *sorted((parent_end, charge_end)), 1 << 16]):
        os.closerange(low + 1, high)
    ended = select.poll()
    ended.register(parent_end, select.POLLIN)
    ended.register(charge_end, select.POLLIN)
    if charge_end not in dict(ended.poll()):
        ended.unregister(parent_end)
        if not ended.poll(GRACE_S * 1000):
            kill_group(charge)
            with contextlib.suppress(OSError):
                os.kill(charge, signal.SIGKILL)
    kill_group(charge)
    if mark := os.environ.get(FAMILY):
        end_family(mark)


def kill_group(leader: int) -> None:
    """SIGKILL the process group that `leader` leads, or led."""
    with contextlib.suppress(OSError):
        os.killpg(leader, signal.SIGKILL)


def end_group(code: int) -> NoReturn:
    """Leave now, and take the own process group along when this process leads one.

    One by one: killpg would hit this process too, and its status would not be `code`.
    """
    if os.getpgrp() == os.getpid() and code:
        for pid in _processes():
            with contextlib.suppress(OSError):
                if os.getpgid(pid) == os.getpid():
                    os.kill(pid, signal.SIGKILL)
    os._exit(code)


def on_stop_signals(stop: Callable[[int], None]) -> None:
    """SIGTERM and a closed terminal (SIGHUP) call `stop`; under nohup SIGHUP stays ignored."""
    signal.signal(signal.SIGTERM, lambda number, _: stop(number))
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda number, _: stop(number))


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
    sys.stdout = sys.__stdout__ = io.TextIOWrapper(  # type: ignore[misc]
        io.BufferedWriter(_Stdout(closed)), encoding=old.encoding, errors=old.errors,
        line_buffering=os.isatty(1),
    )  # fmt: skip


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
        sys.stderr = SteadyStream(sys.stderr)  # type: ignore[assignment]
