"""Start of a home's detached host, and the lock by which a home has at most one.

The process is `python -m trainer_core.service.detached_host HOME`; it writes to `training/keeper.log`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
import time

from trainer_core.lab.durable_files import open_log
from trainer_core.lab.paths import HomePaths, child_folder
from trainer_core.runs.log_writer import disk_error
from trainer_core.runs.run_lock import INHERITED
from trainer_core.wire.environment import child_environment
from trainer_core.wire.errors import visible
from trainer_core.wire.process_guard import FAMILY, PARENT
from trainer_core.wire.regular_files import read_regular

PATIENCE_S = 2.0
"""Seconds to wait for another detached host that is ending."""


def start_detached_host(home: HomePaths) -> int:
    """Start a detached host and return its process id; it ends at once if another one runs.

    Call it after a run was put into the queue. Raises LabError when it cannot be started.
    """
    environment = child_environment(without=(PARENT, FAMILY, INHERITED))
    try:
        home.detached_log.parent.mkdir(parents=True, exist_ok=True)
        with open_log(home.detached_log) as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "trainer_core.service.detached_host", str(home.root)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=child_folder(),
                env=environment,
                start_new_session=True,
            )
    except OSError as error:
        raise disk_error(home.detached_log, error) from None
    return process.pid


class DetachedLock:
    """Lock that allows one detached host per home."""

    def __init__(self, home: HomePaths) -> None:
        self._path = home.detached_lock
        self._descriptor = -1

    def take(self, patience_s: float = PATIENCE_S) -> bool:
        """Take the lock if it is free within `patience_s` seconds; return whether this process holds it.

        Raises DiskError.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise disk_error(self._path, error) from None
        deadline = time.monotonic() + patience_s
        while True:
            with contextlib.suppress(OSError):
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                with contextlib.suppress(OSError):  # a full disk does not matter: the lock is held
                    os.pwrite(self._descriptor, b"%-19d\n" % os.getpid(), 0)
                return True
            if time.monotonic() >= deadline:
                os.close(self._descriptor)
                return False
            time.sleep(0.05)

    def holder(self) -> str:
        """Return the process id of the last holder, as written in the lock file."""
        try:
            return visible(read_regular(self._path).decode("ascii").strip()[:20])
        except (OSError, ValueError):
            return "?"

    def release(self) -> None:
        os.close(self._descriptor)
