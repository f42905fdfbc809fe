"""Child's side of `service.preload`: a process loads its modules ahead, then waits for the order to work.

Imports only the standard library at first, since it runs first in a worker or player.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys
from collections.abc import Callable
from typing import Any

AHEAD = "DMGLAB_AHEAD"
"""Environment variable with the descriptor of the socket on which the order arrives."""
FOR_PERSON = "DMGLAB_FOR_PERSON"
"""Environment variable set when a person will play: no policy is then loaded ahead."""
MOST_BYTES, MOST_DESCRIPTORS = 1 << 20, 8


def wait_for_order(descriptor: int, *steps: Callable[[], None]) -> dict[str, str]:
    """Call `steps`, then block until the order arrives on the socket `descriptor`; return its environment variables.

    Steps that follow the order's arrival are left out: the work itself does now what they would do. File descriptors
    that come with the order get the numbers they have in the sender. Ends the process when the socket closes without
    an order.
    """
    try:
        for step in steps:
            if not select.select([descriptor], [], [], 0)[0]:
                step()
    except Exception as error:  # the same error is reported when the order is carried out
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
