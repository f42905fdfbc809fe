"""Reports of a playing policy: probabilities, value, saliency, beliefs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np

from trainer_core.host.agent import StackedAgent
from trainer_core.wire import records
from trainer_core.wire.errors import LabError

EVENT_INTERVAL_S = 0.1
"""Least seconds between two reports of a player."""

Tell = Callable[..., None]
"""Function `tell(kind of record, **fields)` that sends an event to the parent."""


class Thoughts:
    """Sender of a policy's probabilities, value and beliefs, at most once per EVENT_INTERVAL_S."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._next = 0.0
        self._is_saliency_wanted = False
        self._work: threading.Thread | None = None

    def speak(self, agent: StackedAgent, episode: int, step: int, action: int) -> None:
        """Send `agent`'s probabilities, value and beliefs as it begins `step` (from 1) of `episode` with `action`."""
        now = time.monotonic()
        if now < self._next:
            return
        if agent.probabilities:
            self._next = now + EVENT_INTERVAL_S
            self._tell(
                records.PolicyEvent, step=step, action=action, probabilities=agent.probabilities, value=agent.value
            )
        if self._is_saliency_wanted and (found := agent.saliency()) is not None:
            self._next = now + EVENT_INTERVAL_S
            self._find(found, step)
        if mind := agent.mind:
            self._next = now + EVENT_INTERVAL_S
            self._tell(records.BeliefsEvent, episode=episode, step=step - 1, **mind)

    def show_saliency(self, agent: StackedAgent | None, on: bool, step: int) -> None:
        """Start or stop sending the saliency of `agent`. Raises LabError for an agent without it."""
        if on:
            found = agent.saliency() if agent is not None else None
            if found is None:
                raise LabError("what plays cannot tell what it looks at: PPO and A2C of DMG Lab do")
            self._find(found, step)
        self._is_saliency_wanted = on

    def _find(self, found: Callable[[], np.ndarray], step: int) -> None:
        """Compute the saliency of `step` in a thread and send it; do nothing while an earlier one is being computed."""
        if self._work is not None and self._work.is_alive():
            return

        def work() -> None:
            weights = found()
            rows, columns = weights.shape
            told = tuple(round(float(weight), 5) for weight in weights.flat)
            self._tell(records.SaliencyEvent, step=step, rows=rows, columns=columns, weights=told)

        self._work = threading.Thread(target=work, daemon=True)
        self._work.start()
