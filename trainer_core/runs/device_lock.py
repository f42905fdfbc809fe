"""Lock file of a device, for one run at a time, which the kernel releases with its last holder.

The training child inherits the descriptor, so that a device stays locked until the training itself has ended. A lock
belongs to one home: two homes on one computer do not exclude each other.
"""

from __future__ import annotations

import errno
import fcntl
import os

from trainer_core.lab.paths import HomePaths
from trainer_core.runs.log_writer import disk_error
from trainer_core.wire.errors import visible
from trainer_core.wire.fields import check_device
from trainer_core.wire.regular_files import read_regular


def full_name(device: str) -> str:
    """Return the name of a device with its number: cuda is cuda:0."""
    return "cuda:0" if device == "cuda" else device


def same_device(one: str, other: str) -> bool:
    return full_name(one) == full_name(other)


class DeviceLock:
    """Exclusive right to train on one device, from `take` until `release`."""

    def __init__(self, device: str, descriptor: int) -> None:
        self.device, self.descriptor = device, descriptor

    @classmethod
    def take(cls, home: HomePaths, device: str, run_id: str) -> DeviceLock | None:
        """Take the lock of a device for a run; return it, or None while another run holds it.

        Raises ConfigError for an invalid device name, which becomes a file name, and DiskError if the lock cannot be
        written.
        """
        check_device(device)
        path = home.devices / f"{full_name(device).replace(':', '-')}.lock"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise disk_error(path, error) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{run_id}\n".encode(), 0)
        except OSError as error:
            os.close(descriptor)
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                return None
            raise disk_error(path, error) from None
        return cls(device, descriptor)

    @classmethod
    def take_first(cls, home: HomePaths, devices: tuple[str, ...], run_id: str) -> DeviceLock | None:
        """Return the lock of the first free device of `devices`, or None."""
        for device in devices:
            if (lock := cls.take(home, device, run_id)) is not None:
                return lock
        return None

    def release(self) -> None:
        """Release the lock as far as this process holds it; a child that inherited it keeps it. A second call does
        nothing."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def run_on(home: HomePaths, device: str) -> str:
    """Return the id of the run that last took a device; "" if there was none."""
    path = home.devices / f"{full_name(device).replace(':', '-')}.lock"
    try:
        return visible(read_regular(path).decode().strip()[:200])
    except (OSError, ValueError):
        return ""
