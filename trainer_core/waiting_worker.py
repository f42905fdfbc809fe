"""The waiting half of `service.ahead`: load what a run needs, then wait for its order.

Imports only the standard library until it loads: it runs first thing in a worker.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

AHEAD = "DMGLAB_AHEAD"
"""Environment variable with the descriptor of the socket on which the order comes."""
MOST_BYTES, MOST_DESCRIPTORS = 1 << 20, 8


def wait_for_order(run_dir: Path, descriptor: int) -> dict[str, str]:
    """Load, then block until the order comes; variables of the environment that it brings.

    Descriptors that come with it are told by their numbers here. Leaves the process when the
    socket ends without an order.
    """
    _load(run_dir)
    with socket.socket(fileno=descriptor) as order:
        message, descriptors, *_ = socket.recv_fds(order, MOST_BYTES, MOST_DESCRIPTORS)
    if not message:
        os._exit(0)
    for received in descriptors:
        os.set_inheritable(received, False)
    told: dict[str, Any] = json.loads(message)
    names = {
        str(theirs): str(ours)
        for theirs, ours in zip(told["descriptors"], descriptors, strict=True)
    }
    variables: dict[str, str] = told["env"]
    return {name: names.get(value, value) for name, value in variables.items()}


def _load(run_dir: Path) -> None:
    """What fails here fails again, with its reason told, when the run begins."""
    from trainer_core.protocol.paths import RunPaths, home_of

    try:
        from trainer_core.train.rehearsal import rehearse

        rehearse(home_of(RunPaths(run_dir)))
    except Exception as error:
        print(f"worker: loading ahead: {type(error).__name__}: {error}", file=sys.stderr)
