"""All records of one run in memory: curves, validations, checkpoints, and alerts on its records."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from msgspec import UnsetType

from gui.kit.words import tr
from gui.state.metric_series import CLOCK, DECAYING, Array, MetricTable, SmoothedColumn
from trainer_core.service import read_history
from trainer_core.wire import records
from trainer_core.wire.errors import LabError

COLLAPSED = 0.05
"""Share of the first entropy below which a policy is considered not to explore any more."""
LEARNED = 0.5
"""Success rate from which low entropy is no alert, and a later fall in success is one."""
READ_BYTES = 32 << 10
"""Bytes of a log that are read in one step, about 1 ms of work."""


@dataclass(frozen=True, slots=True)
class Alert:
    """Alert of the `kind` error, entropy or success, marked in plots at x = `env_steps`."""

    kind: str
    env_steps: int
    title: str
    text: str


@dataclass(slots=True)
class AlertWatch:
    """Rules that raise alerts from one run's records, in their order.

    A rule raises an alert when its condition becomes true, and again only after it was false. Entropy: below COLLAPSED
    of the first value, while no validation has reached LEARNED. Success: two greedy validations in a row below half of
    the best, if that was at least LEARNED. One alone tells little: greedy play that circles on a few pictures comes and
    goes between updates.
    """

    first_entropy: float = 0.0
    best: float = 0.0
    low: int = 0
    steps: int = 0
    told: set[str] = field(default_factory=set)

    def take(self, event: object) -> Alert | None:
        match event:
            case records.UpdateRecord():
                self.steps = event.env_steps
                return self._entropy(event)
            case records.EvalRecord(mode="greedy", is_part=False):
                return self._success(event)
            case records.ErrorRecord():
                return Alert("error", self.steps, tr("The run reported an error"), event.message)
            case records.ResumeRecord():
                self.told.clear()
        return None

    def _entropy(self, event: records.UpdateRecord) -> Alert | None:
        entropy = event.entropy_mean
        if isinstance(entropy, UnsetType):
            return None
        self.first_entropy = self.first_entropy or entropy
        is_low = entropy < COLLAPSED * self.first_entropy and self.best < LEARNED
        if not self._begins("entropy", is_low):
            return None
        text = tr(
            "entropy {entropy:.3f} after {first_entropy:.2f} at the start",
            entropy=entropy,
            first_entropy=self.first_entropy,
        )
        return Alert("entropy", event.env_steps, tr("Entropy collapsed"), text)

    def _success(self, event: records.EvalRecord) -> Alert | None:
        self.best = max(self.best, event.success_rate)
        is_low = self.best >= LEARNED and event.success_rate < self.best / 2
        self.low = self.low + 1 if is_low else 0
        if not self._begins("success", self.low >= 2):
            return None
        text = tr(
            "{success_rate:.0%} on held-out starts, after {best:.0%} before",
            success_rate=event.success_rate,
            best=self.best,
        )
        return Alert("success", event.env_steps, tr("Success dropped"), text)

    def _begins(self, kind: str, holds: bool) -> bool:
        """Return whether the condition of rule `kind` holds now and did not at the previous call."""
        if not holds:
            self.told.discard(kind)
            return False
        is_new = kind not in self.told
        self.told.add(kind)
        return is_new


@dataclass(slots=True)
class RunTelemetry:
    """All records of one run; `smoothed` caches the smoothed curve of each metric."""

    run_id: str
    table: MetricTable = field(default_factory=MetricTable)
    evals: list[records.EvalRecord] = field(default_factory=list)
    checkpoints: list[records.CheckpointRecord] = field(default_factory=list)
    resumes: list[records.ResumeRecord] = field(default_factory=list)
    meta: records.MetaRecord | None = None
    last_update: records.UpdateRecord | None = None
    error: records.ErrorRecord | None = None
    mind: records.BeliefsEvent | records.Mind | None = None
    """What the run's agent believed last, from its events or its log; None for an agent without beliefs."""
    next_seq: int = 0
    gaps: int = 0
    smoothed: dict[str, SmoothedColumn] = field(default_factory=dict)
    alerts: list[Alert] = field(default_factory=list)
    watch: AlertWatch = field(default_factory=AlertWatch)
    conditions: dict[str, str] | None = None
    """Cached result of `seed_groups.conditions`; None before the first call."""

    def column(self, name: str) -> SmoothedColumn:
        if name not in self.smoothed:
            self.smoothed[name] = SmoothedColumn(self.table, name)
        return self.smoothed[name]

    def curve(self, name: str, x_axis: str, weight: float = 0.0, kind: str = DECAYING) -> tuple[Array, Array]:
        """Return (x, smoothed values) of a metric, f64[points] each."""
        x, y = self.table.positions(name, x_axis), self.column(name).values(weight, kind)
        if x_axis == CLOCK or not self.table.is_sparse(x_axis):
            return x, y
        known = ~np.isnan(x)
        return (x, y) if known.all() else (x[known], y[known])

    def take(self, event: records.Event) -> bool:
        """Add one record. Return False for a record already known and for an event that is no log record."""
        if isinstance(event, records.BeliefsEvent):
            self.mind = event
        # Other events have the number of the next record, which they must not use up.
        if not isinstance(event, records.LogRecord) or event.seq < self.next_seq:
            return False
        self.gaps += event.seq > self.next_seq
        self.next_seq = event.seq + 1
        match event:
            case records.UpdateRecord():
                self.table.append(event)
                self.last_update = event
                if not isinstance(event.mind, UnsetType):
                    self.mind = event.mind
            case records.EvalRecord():
                self.evals.append(event)
            case records.CheckpointRecord():
                self.checkpoints.append(event)
            case records.ResumeRecord():
                self.table.rewind(event.env_steps)
                self.resumes.append(event)
            case records.MetaRecord():
                self.meta, self.conditions = event, None
            case records.ErrorRecord():
                self.error = event
        if (alert := self.watch.take(event)) is not None:
            self.alerts.append(alert)
        self.table.version += 1
        return True


def reading(
    run_id: str, log: Path, is_wanted: Callable[[], bool] = lambda: True
) -> Generator[None, None, RunTelemetry | None]:
    """Read a run's log in small steps; return the run, or None once `is_wanted()` is False.

    Run it by `bridge.in_slices` on the UI thread, not in a thread: a thread that holds the interpreter lock delays each
    of the hundreds of calls from Qt into Python that paint a table. Raises LabError.
    """
    run = RunTelemetry(run_id)
    offset = 0
    while is_wanted():
        try:
            past = read_history(log, offset, READ_BYTES)
        except OSError as error:
            raise LabError(f"{log}: {error.strerror}") from None
        if past.offset == offset:
            return run
        offset = past.offset
        for event in past.events:
            run.take(event)
        yield
    return None
