"""Stop ladder: stop command, SIGTERM, SIGKILL of the process group; each step is shown and waited for."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from typing import Protocol

from trainer_core.service.hosted_run import HostedRun
from trainer_core.service.plan import StopLadder
from trainer_core.wire import commands, records
from trainer_core.wire.errors import ProtocolError
from trainer_core.wire.run_record import RunState

EARLY_S = 0.02
"""Seconds by which a timer may fire early; a wait that ended earlier was hurried by a second stop."""


class Move(Protocol):
    """Function that records and shows a run's state, a text, and the seconds until the next, harder step."""

    def __call__(self, live: HostedRun, state: RunState, detail: str, force_in_s: float = 0.0) -> None: ...


async def climb(live: HostedRun, ladder: StopLadder, move: Move) -> None:
    """Take the stop ladder's steps until the process has ended; setting `live.hurry` takes the next one at once.

    When the process reports that it finishes, validates or saves, the time of the step starts anew: ending it would
    lose what it is about to save.
    """
    child = live.child
    assert child is not None
    if live.plan.runner.capabilities.graceful_stop:
        hint = f"finishing the update; SIGTERM after {ladder.command_s:g} s"
        move(live, RunState.STOPPING, hint, ladder.command_s)
        with contextlib.suppress(ProtocolError):  # stdin is closed: the process is ending
            child.send(commands.Stop)
        if not await _hurried_at_work(live, ladder, move):
            return
        live.stop_reason = f"forced: no answer to stop within {ladder.command_s:g} s"
    hint = f"sent SIGTERM; SIGKILL after {ladder.terminate_s:g} s"
    move(live, RunState.STOPPING, hint, ladder.terminate_s)
    child.signal_group(signal.SIGTERM)
    if await _hurried(live, ladder.terminate_s):
        live.stop_reason = "forced: killed, it ignored stop and SIGTERM"
        move(live, RunState.STOPPING, "sent SIGKILL to the whole group")
        child.signal_group(signal.SIGKILL)
        await child.wait()


async def _hurried_at_work(live: HostedRun, ladder: StopLadder, move: Move) -> bool:
    """Wait for the exit after the stop command; return True if SIGTERM must follow.

    The wait is longer than `ladder.command_s` while the process reports that it works.
    """
    deadline = time.monotonic() + ladder.command_s
    while True:
        if not await _hurried(live, deadline - time.monotonic()):
            return False
        later = _works_until(live, ladder)
        if time.monotonic() < deadline - EARLY_S or later <= deadline:
            return True
        deadline = later
        move(live, RunState.STOPPING, f"{live.doing}; SIGTERM after that", deadline - time.monotonic())


def _works_until(live: HostedRun, ladder: StopLadder) -> float:
    """Return the time.monotonic() up to which the process's last message justifies waiting."""
    if live.doing.startswith(records.SAVING):
        return live.told_at + ladder.saving_s
    if live.doing.startswith((records.FINISHING, records.VALIDATING)):
        return live.told_at + ladder.command_s
    return 0.0


async def _hurried(live: HostedRun, timeout_s: float) -> bool:
    """Wait for the exit, at most `timeout_s` seconds; return True if the process still runs or `live.hurry` was set."""
    assert live.hurry is not None
    assert live.child is not None
    hurry = asyncio.create_task(live.hurry.wait())
    await asyncio.wait([live.child.exited, hurry], timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    hurry.cancel()
    live.hurry.clear()
    return not live.child.exited.done()
