"""Stop ladder: command, SIGTERM, SIGKILL of the group, each step shown and waited for."""

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
"""Seconds by which a timer may be early; a hurried stop is earlier than that."""


class Move(Protocol):
    """Function that records and shows a state as text, with the seconds until the next, harder step."""

    def __call__(self, live: HostedRun, state: RunState, detail: str, force_in_s: float = 0.0) -> None: ...


async def climb(live: HostedRun, ladder: StopLadder, move: Move) -> None:
    """Climb the ladder until the process has ended. `live.hurry` takes the next step at once.

    A process that reports that it finishes, validates or saves gets its time anew from there: ending it would lose what
    it is about to save.
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
    """Wait like `_hurried` for the stop command's effect, longer while the process reports its work."""
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
    """Wait for the exit; return True when time ran out or someone asked to hurry."""
    assert live.hurry is not None
    assert live.child is not None
    hurry = asyncio.create_task(live.hurry.wait())
    await asyncio.wait([live.child.exited, hurry], timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    hurry.cancel()
    live.hurry.clear()
    return not live.child.exited.done()
