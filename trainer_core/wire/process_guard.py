"""End a process when its parent ends, together with all processes that it started.

The parent gives a child the variables of `family()`: the parent's process id, and a mark that all descendants inherit.
The child calls `die_with_parent` first of all. Then:
- The kernel sends SIGTERM when the parent dies; a parent that died before this was set is detected by its process id.
- A guard, a small process forked before anything heavy is loaded, waits for the end of parent and child. `GRACE_S`
  after the parent's end it kills the child, even if that is busy in C and runs no Python. At the child's own end it
  kills the processes that the child left.
- The mark finds descendants in sessions of their own; one that clears its environment is not found.

`python -m trainer_core.wire.process_guard COMMAND...` runs a tool that does not read its standard input in the same
way: the end of standard input ends the whole process group.
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
"""Seconds to finish the update and save, once the parent has ended."""
_PR_SET_PDEATHSIG = 1
_EXCHANGE_S = 0.01
_LINUX = sys.platform.startswith("linux")


# -- the parent's side ----------------------------------------------------------------------


def family() -> dict[str, str]:
    """Return the environment variables that make a child end with this process: its process id, and a new mark."""
    return {PARENT: str(os.getpid()), FAMILY: secrets.token_hex(8)}


def hear(child: subprocess.Popen[bytes], patience_s: float, who: str = "its process") -> IO[bytes]:
    """Wait until a child writes its first output or ends; return its standard output, still unread.

    If it does neither within `patience_s` seconds, it is killed, and a LabError that calls it `who` is raised.
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
    """Send SIGKILL to every process that inherited `mark`, except this one.

    Repeats until two searches in a row find none: a process may just start another, and during exec a process shows no
    environment for a moment.
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
    """Return the NAME=VALUE entries of a process's environment; none if it belongs to another user or has ended."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


# -- the child's side -----------------------------------------------------------------------


def die_with_parent() -> None:
    """End this process when its parent ends (Linux only). Call it before anything is loaded."""
    parent = int(os.environ.pop(PARENT, "0")) or os.getppid()
    if not _LINUX:
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # the parent died before the signal was set
        end_group(1)
    _post_guard(parent)


def _post_guard(parent: int) -> None:
    """Fork the guard of this process. The process id `parent` must be alive, so that it cannot have been reused."""
    try:
        watched = [os.pidfd_open(parent), os.pidfd_open(os.getpid())]
    except OSError:  # older kernel: only the signal and standard input end the child
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
    """Run the guard in the forked process: close all other files, wait for an end, then kill the processes that are
    left.

    `charge` is the process id of the guarded process; `parent_end` and `charge_end` are pidfds of its parent and of
    itself.
    """
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    # Standard output last: its end tells a reader that this process holds nothing else any more, such as a lock.
    for low, high in itertools.pairwise([2, *sorted((parent_end, charge_end)), 1 << 16]):
        os.closerange(low + 1, high)
    os.closerange(0, 3)
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
    """Send SIGKILL to the process group of `leader`, which may have ended."""
    with contextlib.suppress(OSError):
        os.killpg(leader, signal.SIGKILL)


def end_group(code: int) -> NoReturn:
    """Exit at once, and kill this process's group if this process leads one.

    The others are killed one by one: killpg would hit this process too, and its exit status would not be `code`.
    """
    if os.getpgrp() == os.getpid() and code:
        for pid in _processes():
            with contextlib.suppress(OSError):
                if os.getpgid(pid) == os.getpid():
                    os.kill(pid, signal.SIGKILL)
    os._exit(code)


def on_stop_signals(stop: Callable[[int], None]) -> None:
    """Install `stop` as the handler of SIGTERM and SIGHUP (closed terminal); under nohup SIGHUP stays ignored."""
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
        # Inherited descriptors belong to the tool: one may be a lock.
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
    os._exit(status)  # the watching thread blocks in read(0)
