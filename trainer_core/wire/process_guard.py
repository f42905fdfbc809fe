"""End a process together with the one that started it, and whatever it started itself.

Whoever starts a child gives it `family()`: the parent's number, and a mark that everything which
the child starts inherits. The child calls `die_with_parent` first of all. Three things then hold.
The kernel sends SIGTERM when the parent dies; a parent that died before that was armed is noticed
by its number. A guard, a small process forked before anything heavy is loaded, waits for both:
it kills what is still there `GRACE_S` after the parent's end, even a child that is busy in C and
runs no Python, and what the child left behind at its own end. The mark finds grandchildren in
sessions of their own; one that wipes its environment is not found.

`python -m trainer_core.wire.process_guard COMMAND...` runs a tool that does not read its standard
input under the same rule: the end of standard input ends the whole process group.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import secrets
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import IO, NoReturn

PARENT, FAMILY = "DMGLAB_PARENT", "DMGLAB_FAMILY"
GRACE_S = 10.0
"""To finish the update and save, once the parent is gone."""
_PR_SET_PDEATHSIG = 1
_EXCHANGE_S = 0.01
_LINUX = sys.platform.startswith("linux")


# -- the parent's side ----------------------------------------------------------------------


def family() -> dict[str, str]:
    """Environment of a child that this process owns, with a new mark."""
    return {PARENT: str(os.getpid()), FAMILY: secrets.token_hex(8)}


def hear(child: subprocess.Popen[bytes], patience_s: float, who: str = "its process") -> IO[bytes]:
    """Return the standard output of a child, to be read, once it writes or ends. Nothing of it may be read ahead.

    Kills one that does neither within the time, and raises LabError, which calls it `who`.
    """
    from trainer_core.wire.errors import FailureError  # a guard is forked before anything is loaded

    assert child.stdout is not None
    ready = select.poll()
    ready.register(child.stdout, select.POLLIN)
    if not ready.poll(patience_s * 1000):
        child.kill()
        raise FailureError(f"{who} said nothing for {patience_s:g} s and was ended")
    return child.stdout


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
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


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


def watch() -> None:
    while os.read(0, 4096):
        pass
    os.killpg(0, signal.SIGKILL)


def main(argv: list[str]) -> int:
    if not argv:
        print("usage: python -m trainer_core.wire.process_guard COMMAND...", file=sys.stderr)
        return 2
    die_with_parent()
    try:
        # Whatever descriptor was passed on is the tool's: it may be a lock.
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, close_fds=False)
    except OSError as error:
        print(f"{argv[0]} cannot be started: {error.strerror}", file=sys.stderr)
        return 1
    threading.Thread(target=watch, daemon=True).start()
    code = child.wait()
    return code if code >= 0 else 1


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(status)  # the watcher blocks in read(0)
