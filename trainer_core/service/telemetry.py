"""Records of a run for listeners: live with possible gaps, or complete from the log file.

A listener of `TrainerService.subscribe` is called for everything and must be quick. `LiveStream` is for slow listeners:
it keeps the newest records, drops the oldest and counts them, so that a slow listener cannot delay the run, the app or
the log. Dropped records are in train_log.jsonl.
"""

from __future__ import annotations

import asyncio
import sys
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Protocol

from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.runs.command_files import LOOK_S
from trainer_core.runs.log_reader import read_history
from trainer_core.service.job import run_job
from trainer_core.service.notices import EventReceived, Notice, RunChanged
from trainer_core.wire import records
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.metric_names import scalars
from trainer_core.wire.run_record import RunRecord

CAPACITY = 256
"""Number of unread records kept for a slow listener."""
TAIL_BYTES = 256 << 10
SLICE_BYTES = 1 << 20


class LiveStream:
    """Asynchronous iterator over a run's live records; it keeps the newest `capacity` unread ones.

        with service.telemetry.live(run_id) as stream:
            async for event in stream: ...

    Ends with the run. `dropped` counts the records that were discarded.
    """

    def __init__(
        self, subscribe: Callable[[Callable[[Notice], None]], Callable[[], None]], run_id: str, capacity: int = CAPACITY
    ) -> None:
        self._run_id = run_id
        self._waiting: deque[records.Event] = deque(maxlen=capacity)
        self._news = asyncio.Event()
        self._ended = False
        self.dropped = 0
        self._unsubscribe = subscribe(self._take)

    def __enter__(self) -> LiveStream:
        return self

    def __exit__(self, *_: object) -> None:
        self._unsubscribe()

    async def __aiter__(self) -> AsyncIterator[records.Event]:
        while True:
            while self._waiting:
                yield self._waiting.popleft()
            if self._ended:
                return
            self._news.clear()
            await self._news.wait()

    def _take(self, notice: Notice) -> None:
        if isinstance(notice, EventReceived) and notice.run_id == self._run_id:
            self.dropped += len(self._waiting) == self._waiting.maxlen
            self._waiting.append(notice.event)
        elif isinstance(notice, RunChanged) and notice.record.run_id == self._run_id:
            self._ended = notice.record.state.is_end
        self._news.set()


async def follow_log(log: Path, has_ended: Callable[[], bool], offset: int = 0) -> AsyncIterator[records.Event]:
    """Yield every record of a log from byte `offset` on, in order and without gaps, until the run ends."""
    while True:
        over = has_ended()  # before the read, which then includes everything written until the end
        past = await asyncio.to_thread(read_history, log, offset, SLICE_BYTES)
        for event in past.events:
            yield event
        if past.offset == offset:
            if over:
                return
            await asyncio.sleep(LOOK_S)
        offset = past.offset


def recent_metrics(run: RunPaths, count: int) -> list[dict[str, float]]:
    """Return the last `count` points of a run's curves, oldest first: every scalar by its name, and `seq`.

    Read from the log's end. A run without a log has no points. Raises OSError.
    """
    try:
        size = run.train_log.stat().st_size
    except FileNotFoundError:
        return []
    tail = TAIL_BYTES
    while True:
        events = read_history(run.train_log, max(0, size - tail), min(tail, size)).events
        found = [{"seq": event.seq, **values} for event in events if (values := scalars(event))]
        if len(found) >= count or tail >= size:
            return found[-count:] if count > 0 else []
        tail *= 4


class Source(Protocol):
    """Members of a TrainerService that this module uses."""

    home: HomePaths
    runs: dict[str, RunRecord]

    def subscribe(self, listener: Callable[[Notice], None]) -> Callable[[], None]: ...


class Telemetry:
    """Access to the records and curves of a service's runs. Raises ConfigError for unknown runs."""

    def __init__(self, source: Source) -> None:
        self._source = weakref.proxy(source)

    def live(self, run_id: str, capacity: int = CAPACITY) -> LiveStream:
        """Return a live stream for a possibly slow listener; it counts the records it drops."""
        self._paths(run_id)
        return LiveStream(self._source.subscribe, run_id, capacity)

    def follow(self, run_id: str, offset: int = 0) -> AsyncIterator[records.Event]:
        """Yield every record of the run's log from byte `offset` on, without gaps, until the run ends."""
        log, runs = self._paths(run_id).train_log, self._source.runs
        return follow_log(log, lambda: runs[run_id].state.is_end, offset)

    async def recent_metrics(self, run_id: str, count: int) -> list[dict[str, float]]:
        """Return the last `count` points of the run's curves, by metric name. Raises OSError."""
        return await asyncio.to_thread(recent_metrics, self._paths(run_id), count)

    async def export_to_tensorboard(self, run_id: str) -> Path:
        """Export the run's curves as event files; return their folder. Raises LabError."""
        return await export(self._paths(run_id), "tensorboard")

    async def export_to_wandb_history(self, run_id: str) -> Path:
        """Export the run's curves as JSON lines in W&B's history format; return their folder. Raises LabError."""
        return await export(self._paths(run_id), "wandb_history")

    def _paths(self, run_id: str) -> RunPaths:
        if run_id not in self._source.runs:
            raise ConfigError(f"no run {run_id!r} in {self._source.home.runs_index}")
        return self._source.home.run(run_id)


async def export(run: RunPaths, kind: str) -> Path:
    """Run the exporter `trainer_core.formats.<kind>` on a run in its own process; return the folder that it wrote.

    Raises LabError.
    """
    module = f"trainer_core.formats.{kind}"
    result = await run_job([sys.executable, "-m", module, str(run.root)])
    return Path(str(result["folder"]))
