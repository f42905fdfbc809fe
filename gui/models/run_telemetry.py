"""Everything known about the runs that are on show: curves, validation, marks, who is pinned."""

from __future__ import annotations

from dataclasses import dataclass, field

from PySide6.QtCore import QObject, Signal

from gui.models.metric_series import MetricTable, SmoothedColumn
from trainer_core.protocol import records

MAX_PINNED = 12


@dataclass(slots=True)
class RunTelemetry:
    """One run. `smoothed` remembers what was computed for each metric."""

    run_id: str
    table: MetricTable = field(default_factory=MetricTable)
    evals: list[records.EvalRecord] = field(default_factory=list)
    checkpoints: list[records.CheckpointRecord] = field(default_factory=list)
    resumes: list[records.ResumeRecord] = field(default_factory=list)
    episodes: list[records.EpisodeRecord] = field(default_factory=list)
    meta: records.MetaRecord | None = None
    last_update: records.UpdateRecord | None = None
    error: records.ErrorRecord | None = None
    next_seq: int = 0
    gaps: int = 0
    smoothed: dict[str, SmoothedColumn] = field(default_factory=dict)

    def column(self, name: str) -> SmoothedColumn:
        if name not in self.smoothed:
            self.smoothed[name] = SmoothedColumn(self.table, name)
        return self.smoothed[name]

    def take(self, event: records.Event) -> bool:
        """Add one log record. False when it is an old one or no log record at all."""
        if isinstance(event, records.StateEvent | records.HeartbeatEvent | records.AckEvent):
            return False
        if isinstance(event, records.PlayEvent) or event.seq < self.next_seq:
            return False
        self.gaps += event.seq > self.next_seq
        self.next_seq = event.seq + 1
        match event:
            case records.UpdateRecord():
                self.table.append(event)
                self.last_update = event
            case records.EvalRecord():
                self.evals.append(event)
            case records.CheckpointRecord():
                self.checkpoints.append(event)
            case records.ResumeRecord():
                self.table.rewind(event.env_steps)
                self.resumes.append(event)
            case records.EpisodeRecord():
                self.episodes.append(event)
            case records.MetaRecord():
                self.meta = event
            case records.ErrorRecord():
                self.error = event
        self.table.version += 1
        return True


class TelemetryModel(QObject):
    """Runs by id, the one in focus, the ones pinned beside it, and how curves are drawn."""

    focus_changed = Signal(str)
    pins_changed = Signal()
    view_changed = Signal()
    event_taken = Signal(str, object)

    def __init__(self) -> None:
        super().__init__()
        self.runs: dict[str, RunTelemetry] = {}
        self.focus = ""
        self.pinned: list[str] = []
        self.x_axis = "env_steps"
        self.smoothing = 0.6

    def run(self, run_id: str) -> RunTelemetry:
        return self.runs.setdefault(run_id, RunTelemetry(run_id))

    def take(self, run_id: str, event: records.Event) -> None:
        if self.run(run_id).take(event):
            self.event_taken.emit(run_id, event)

    def set_focus(self, run_id: str) -> None:
        if run_id != self.focus:
            self.focus = run_id
            self.focus_changed.emit(run_id)

    def toggle_pin(self, run_id: str) -> None:
        if run_id in self.pinned:
            self.pinned.remove(run_id)
        elif len(self.pinned) < MAX_PINNED:
            self.pinned.append(run_id)
        self.pins_changed.emit()

    def shown(self) -> list[str]:
        """The focus first, then the pinned ones."""
        rest = [run_id for run_id in self.pinned if run_id != self.focus]
        return [self.focus, *rest] if self.focus else rest

    def set_x_axis(self, name: str) -> None:
        self.x_axis = name
        self.view_changed.emit()

    def set_smoothing(self, weight: float) -> None:
        self.smoothing = min(max(weight, 0.0), 0.99)
        self.view_changed.emit()
