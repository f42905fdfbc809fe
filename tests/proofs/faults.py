"""A fault at a chosen moment: the k-th fsync, rename, unlink or write of this process.

`rename:3:KILL` ends the process before its third rename; `write:5:ENOSPC` lets the fifth write and
all later ones fail, as on a full disk. Only files count, not pipes.

    python -m tests.proofs.faults rename:3:KILL trainer_core.cli.main archive RUN

runs a module as `python -m` does, with that fault.
"""

from __future__ import annotations

import errno
import os
import runpy
import signal
import stat
import sys
from collections.abc import Callable
from typing import Any

CALLS = {
    "fsync": ("fsync",),
    "rename": ("rename", "replace"),
    "unlink": ("unlink", "remove", "rmdir"),
    "write": ("write",),
}
CALLED = dict.fromkeys(CALLS, 0)
"""How often each was called since `arm`."""


def arm(order: str) -> None:
    """Obey `CALL:K:EFFECT` from now on; EFFECT is a signal's name without SIG, or ENOSPC."""
    call, number, effect = order.split(":")
    for kind, names in CALLS.items():
        k = int(number) if kind == call else sys.maxsize
        for name in names:
            setattr(os, name, _faulty(getattr(os, name), kind, k, effect))


def _faulty(real: Callable[..., Any], kind: str, k: int, effect: str) -> Any:
    def call(*arguments: Any, **options: Any) -> Any:
        if kind in ("rename", "unlink") or _is_on_disk(arguments[0]):
            CALLED[kind] += 1
            if effect == "ENOSPC" and CALLED[kind] >= k:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if CALLED[kind] == k:
                os.kill(os.getpid(), getattr(signal, f"SIG{effect}"))
        return real(*arguments, **options)

    return call


def _is_on_disk(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


if __name__ == "__main__":
    order, module, *rest = sys.argv[1:]
    sys.argv = [module, *rest]
    arm(order)
    runpy.run_module(module, run_name="__main__", alter_sys=True)
