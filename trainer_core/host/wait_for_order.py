"""The waiting half of `service.preload`: load what will be needed, then wait for the order.

Imports only the standard library until it loads: it runs first thing in a worker or player.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable
from typing import Any

AHEAD = "DMGLAB_AHEAD"
"""Environment variable with the descriptor of the socket on which the order comes."""
FOR_PERSON = "DMGLAB_FOR_PERSON"
"""Set where a person is to play: a policy is not loaded ahead."""
MOST_BYTES, MOST_DESCRIPTORS = 1 << 20, 8


def wait_for_order(load: Callable[[], None], descriptor: int) -> dict[str, str]:
    """Call `load`, then block until the order comes; variables of the environment that it brings.

    Descriptors that come with it are told by their numbers here. Leaves the process when the
    socket ends without an order.
    """
    try:
        load()
    except Exception as error:  # it fails again, with its reason told, when it is asked for
        print(f"loading ahead: {type(error).__name__}: {error}", file=sys.stderr)
    with socket.socket(fileno=descriptor) as order:
        message, descriptors, *_ = socket.recv_fds(order, MOST_BYTES, MOST_DESCRIPTORS)
    if not message:
        os._exit(0)
    for received in descriptors:
        os.set_inheritable(received, False)
    told: dict[str, Any] = json.loads(message)
    names = {str(theirs): str(ours) for theirs, ours in zip(told["descriptors"], descriptors, strict=True)}
    variables: dict[str, str] = told["env"]
    return {name: names.get(value, value) for name, value in variables.items()}
