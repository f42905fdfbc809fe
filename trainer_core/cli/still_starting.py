"""A line now and then while a start takes long: the first one compiles, and says nothing itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from trainer_core.protocol import records

EVERY_S = 10.0
"""Between two lines."""
LONGEST_S = 3600.0
"""Of a start that is told of."""


class StillStarting:
    """Says, from a thread, how long a start has taken, until anything else is heard of the run."""

    def __init__(self, say: Callable[[str], None], every_s: float = EVERY_S) -> None:
        self._say, self._every_s = say, every_s
        self._heard = threading.Event()

    def hear(self, event: object) -> None:
        """Begin with the event that a run starts, end with the next that tells something."""
        if isinstance(event, records.HeartbeatEvent):
            return
        self._heard.set()
        if isinstance(event, records.StateEvent) and event.state == "starting" and event.detail:
            self._heard = threading.Event()
            threading.Thread(target=self._tell, args=(self._heard,), daemon=True).start()

    def _tell(self, heard: threading.Event) -> None:
        began = time.monotonic()
        while not heard.wait(self._every_s) and time.monotonic() - began < LONGEST_S:
            self._say(
                f"still starting after {time.monotonic() - began:.0f} s: a game's first start "
                "compiles its kernels, the next takes them from the cache"
            )
