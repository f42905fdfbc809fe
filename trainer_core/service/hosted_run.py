"""A run whose life a TrainerService keeps, and what its process's end means."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import dataclass

from trainer_core.runs.command_files import Mailbox
from trainer_core.runs.device_lock import DeviceLock
from trainer_core.runs.life import RunLife
from trainer_core.runs.log_reader import records_between
from trainer_core.service.child import ChildProcess
from trainer_core.service.guest_log import GuestLog
from trainer_core.service.plan import LaunchPlan
from trainer_core.wire import records
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import NATIVE_ID


@dataclass(slots=True)
class HostedRun:
    """Its order, its life, its device and, once it was started, its process."""

    plan: LaunchPlan
    life: RunLife
    device: DeviceLock | None
    """None for one that trains beside another, as who started it wished."""
    waited: bool = False
    """It came out of the queue, whose entry goes once the process is there."""
    child: ChildProcess | None = None
    guest_log: GuestLog | None = None
    next_seq: int = -1
    """Of the log's next record as the pipe has told it; -1 before anything came."""
    said_anything: bool = False
    """A record of the log came, in a version that is understood."""
    said_end: RunState | None = None
    """The last end state that the process announced."""
    error: str = ""
    bad_line: str = ""
    """Why the last line that could not be read could not."""
    stop_reason: str = ""
    stopping: asyncio.Task[None] | None = None
    hurry: asyncio.Event | None = None
    doing: str = ""
    """The detail of the last state that the process told."""
    told_at: float = 0.0
    """time.monotonic() of that."""

    def missed(self, event: records.Event) -> list[records.Event]:
        """Records of the log that the pipe left out before `event`, since nobody read it."""
        if not self.plan.runner.writes_log:
            return []  # its records get their numbers here
        first, self.next_seq = self.next_seq, event.seq + isinstance(event, records.LogRecord)
        if not 0 <= first < event.seq:
            return []
        return records_between(self.life.paths, first, event.seq)

    @property
    def mail(self) -> Mailbox:
        return Mailbox(self.life.paths)

    def release(self) -> None:
        """Nothing of this process holds the run or its device any more."""
        self.life.lock.release()
        if self.device is not None:
            self.device.release()


def end_of(code: int, kept: HostedRun) -> tuple[RunState, str]:
    """End state and one-line reason of a process that left with `code`."""
    if kept.error:
        return RunState.FAILED, kept.error  # it may have ended its own group, by signal
    if kept.stopping is not None:
        return RunState.STOPPED, kept.stop_reason
    if code == 0:
        return _good_end_of(kept)
    assert kept.child is not None
    cause = kept.child.last_words()
    if code == -signal.SIGKILL:
        reason = "killed by signal 9: the computer ran out of memory, or somebody ended the process"
        return RunState.FAILED, reason
    if code < 0:
        return RunState.FAILED, f"ended by {signal.Signals(-code).name}: {cause}".rstrip(": ")
    return RunState.FAILED, cause or f"the worker ended with status {code}"


def _good_end_of(kept: HostedRun) -> tuple[RunState, str]:
    """Status 0 is a success only of a process that said what it did.

    Ours says its end too; another runner's process may just leave.
    """
    if kept.said_end is not None:
        return kept.said_end, kept.stop_reason
    if not kept.said_anything:
        cause = f": {kept.bad_line}" if kept.bad_line else ""
        return RunState.FAILED, f"the process ended without one record that can be read{cause}"
    if kept.plan.runner.id == NATIVE_ID:
        return RunState.FAILED, "the process left in the middle of the run, with status 0"
    return RunState.FINISHED, kept.stop_reason
