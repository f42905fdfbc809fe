"""Run that a TrainerService hosts, and the meaning of its process's exit status."""

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
    """Launch plan, index record and lock, device and process of a hosted run."""

    plan: LaunchPlan
    life: RunLife
    device: DeviceLock | None
    """Lock of its device; None for a run that trains beside another at the user's request."""
    waited: bool = False
    """True if it came from the queue, whose entry is removed once the process is started."""
    child: ChildProcess | None = None
    guest_log: GuestLog | None = None
    next_seq: int = -1
    """Sequence number of the next log record, by what came through the pipe; -1 before the first record."""
    said_anything: bool = False
    """True once a log record in a supported version has arrived."""
    said_end: RunState | None = None
    """Last end state that the process announced."""
    error: str = ""
    bad_line: str = ""
    """Reason why the last bad line could not be read."""
    stop_reason: str = ""
    stopping: asyncio.Task[None] | None = None
    hurry: asyncio.Event | None = None
    doing: str = ""
    """Detail text of the last state that the process reported."""
    told_at: float = 0.0
    """time.monotonic() of that report."""

    def missed(self, event: records.Event) -> list[records.Event]:
        """Return the log's records before `event` that the pipe lost because it was read too late."""
        if not self.plan.runner.writes_log:
            return []  # its records are numbered here
        first, self.next_seq = self.next_seq, event.seq + isinstance(event, records.LogRecord)
        if not 0 <= first < event.seq:
            return []
        return records_between(self.life.paths, first, event.seq)

    @property
    def mail(self) -> Mailbox:
        return Mailbox(self.life.paths)

    def release(self) -> None:
        """Release the run's lock and its device."""
        self.life.lock.release()
        if self.device is not None:
            self.device.release()


def end_of(code: int, kept: HostedRun) -> tuple[RunState, str]:
    """Return the end state, and a one-line reason, of a run whose process exited with `code`."""
    if kept.error:
        return RunState.FAILED, kept.error  # the process may have ended its own group, by signal
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
    """Return the end state and reason of a run whose process exited with status 0.

    It counts as finished only if the process reported something; our own worker must also have reported its end.
    """
    if kept.said_end is not None:
        return kept.said_end, kept.stop_reason
    if not kept.said_anything:
        cause = f": {kept.bad_line}" if kept.bad_line else ""
        return RunState.FAILED, f"the process ended without one record that can be read{cause}"
    if kept.plan.runner.id == NATIVE_ID:
        return RunState.FAILED, "the process left in the middle of the run, with status 0"
    return RunState.FINISHED, kept.stop_reason
