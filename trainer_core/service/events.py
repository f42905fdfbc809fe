"""Events of the service's own runs: they update the runs' records and are passed to listeners."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping

from trainer_core.runs.log_writer import MovedError
from trainer_core.service.event_stream import BadLine
from trainer_core.service.hosted_run import HostedRun
from trainer_core.service.notices import BadLineSeen, EventReceived, Notice, RunChanged
from trainer_core.wire import records
from trainer_core.wire.errors import LabError
from trainer_core.wire.run_record import END_STATES, RunRecord, RunState


class EventReader:
    """Handler of events; `kept` has the hosted runs by id, and events of other runs are ignored."""

    def __init__(
        self,
        kept: Mapping[str, HostedRun],
        note: Callable[[RunRecord], None],
        missed: dict[str, int],
        tell: Callable[[Notice], None],
    ) -> None:
        """Set up; `missed` counts, by run, the records that were missing from its pipe and were read from its log."""
        self._kept, self._note, self._missed, self._tell = kept, note, missed, tell

    def on_event(self, run_id: str, event: records.Event) -> None:
        live = self._kept.get(run_id)
        if live is None:
            return
        if live.plan.runner.writes_log and event.run_id != run_id:
            self.on_bad_line(run_id, BadLine(f"a record of another run, {event.run_id!r}", ""))
            return
        missed = live.missed(event)
        self._missed[run_id] = self._missed.get(run_id, 0) + len(missed)
        for one in (*missed, event):
            self._take(run_id, live, one)

    def on_bad_line(self, run_id: str, line: BadLine) -> None:
        if (live := self._kept.get(run_id)) is not None:
            live.bad_line = line.reason
        self._tell(BadLineSeen(run_id, line))

    def _take(self, run_id: str, live: HostedRun, event: records.Event) -> None:
        live.said_anything = live.said_anything or isinstance(event, records.LogRecord)
        try:
            if live.guest_log is not None:
                event = live.guest_log.keep(event)
            worth_telling = live.life.fold(event)
        except MovedError as error:  # every later record would be lost too
            live.error = live.error or str(error)
            if live.child is not None:
                live.child.signal_group(signal.SIGTERM)
            return
        except LabError as error:  # an impossible next state, or a number or disk error
            self.on_bad_line(run_id, BadLine(str(error), ""))
            return
        self._note(live.life.record)
        if isinstance(event, records.ErrorRecord):
            live.error = event.message
        if isinstance(event, records.StateEvent):
            live.doing, live.told_at = event.detail, time.monotonic()
            if event.state in END_STATES:
                live.said_end = RunState(event.state)
                live.stop_reason = live.stop_reason or event.detail
            self._tell(RunChanged(live.life.record, event.detail, event.progress))
        elif worth_telling:
            self._tell(RunChanged(live.life.record))
        self._tell(EventReceived(run_id, event))
