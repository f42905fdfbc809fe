"""Lock file of a run directory, for one trainer at a time, which the kernel releases with its last holder.

A child that inherits the descriptor also holds the lock until it ends, so that a run stays locked whichever of app and
trainer ends first.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time

from trainer_core.lab.paths import RunPaths
from trainer_core.runs.log_writer import disk_error
from trainer_core.wire.errors import LabError

INHERITED = "DMGLAB_RUN_LOCK"
"""Environment variable with the descriptor that a parent passed on."""


def is_locked(paths: RunPaths) -> bool:
    """Return whether a process trains in this directory now, on any computer that shares it."""
    try:
        descriptor = os.open(paths.lock, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # never locked, or not readable by this user
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def is_locked_here(paths: RunPaths) -> bool:
    """Return whether a process on this computer holds the run's lock, without opening the file.

    A changed clock changes the apparent creation time of a process; a lock is independent of it.
    """
    try:
        found = paths.lock.stat()
        with open("/proc/locks", encoding="ascii", errors="replace") as file:
            held = {line.split()[5] for line in file if " FLOCK " in line and "->" not in line}
    except (OSError, IndexError):
        return False
    device = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}"
    return f"{device}:{found.st_ino}" in held


def touched_s(paths: RunPaths) -> float:
    """Return the seconds since the last `RunLock.touch`, or since the lock was taken; 60 if there is no lock file."""
    try:
        return max(0.0, time.time() - paths.lock.stat().st_mtime)
    except OSError:
        return 60.0


class RunLock:
    """Exclusive right to write one run directory, from `take` or `inherit` until `release`."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    @classmethod
    def take(cls, paths: RunPaths) -> RunLock:
        """Take the lock of a run's directory. Raises LabError when another process holds it, DiskError if it cannot be
        written."""
        try:
            descriptor = os.open(paths.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise disk_error(paths.lock, error) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
            os.close(descriptor)
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise disk_error(paths.lock, error) from None
            raise LabError(f"run {paths.run_id} is being trained by process {holder}: stop it first") from None
        lock = cls(descriptor)
        lock.name_holder(os.getpid())
        return lock

    @classmethod
    def take_or_inherit(cls, paths: RunPaths, inherited: str) -> RunLock:
        """Return the lock of `paths` that a parent passed on as descriptor `inherited`, else a new one.

        A descriptor that is not this run's lock (a variable left over in a shell) is ignored.
        """
        with contextlib.suppress(ValueError, OSError):
            if os.path.samestat(os.fstat(int(inherited)), paths.lock.stat()):
                return cls.inherit(int(inherited))
        return cls.take(paths)

    @classmethod
    def inherit(cls, descriptor: int) -> RunLock:
        """Return the lock that a parent took and passed on as `descriptor`; children of this process do not inherit
        it."""
        os.set_inheritable(descriptor, False)
        return cls(descriptor)

    def name_holder(self, pid: int) -> None:
        """Write `pid` into the lock file, for the error message of a process that is refused.

        On a full disk the old one stays, or none.
        """
        with contextlib.suppress(OSError):
            os.pwrite(self.descriptor, b"%-19d\n" % pid, 0)

    def touch(self) -> None:
        """Set the lock file's time to now: processes that wait for the run's end see that it is still working."""
        with contextlib.suppress(OSError):
            os.utime(self.descriptor)

    def release(self) -> None:
        """Release the lock as far as this process holds it; a child that inherited it keeps it. A second call does
        nothing."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
