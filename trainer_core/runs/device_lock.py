"""One run a device, whoever starts it: a lock file that the kernel frees with its last holder.

The child that trains inherits the descriptor, so that a device stays taken until the training
itself is gone. A lock is of one home: two homes on one computer do not know of each other.
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
    """cuda is cuda:0."""
    return "cuda:0" if device == "cuda" else device


def same_device(one: str, other: str) -> bool:
    return full_name(one) == full_name(other)


class DeviceLock:
    """The right to train on one device, from `take` until `release`."""

    def __init__(self, device: str, descriptor: int) -> None:
        self.device, self.descriptor = device, descriptor

    @classmethod
    def take(cls, home: HomePaths, device: str, run_id: str) -> DeviceLock | None:
        """None while another run has the device.

        Raises ConfigError for what is no device's name, which becomes a file's, and DiskError where
        no lock can be written.
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
        """Of the first one of `devices` that is free."""
        for device in devices:
            if (lock := cls.take(home, device, run_id)) is not None:
                return lock
        return None

    def release(self) -> None:
        """Give up our share; a second call does nothing."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def run_on(home: HomePaths, device: str) -> str:
    """The run that took a device last; "" when none ever did."""
    path = home.devices / f"{full_name(device).replace(':', '-')}.lock"
    try:
        return visible(read_regular(path).decode().strip()[:200])
    except (OSError, ValueError):
        return ""
