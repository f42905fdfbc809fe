"""Runs whose first update waits for kernels that compile: on a fresh computer, once."""

from __future__ import annotations

import time
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from gui.bridge import Bridge
from gui.models.run_telemetry import TelemetryModel
from gui.words import tr
from trainer_core.service import RunChanged
from trainer_core.wire import records


@dataclass(slots=True)
class Compilation:
    """What a worker said last of what it compiles."""

    detail: str
    progress: float
    """0 to 1, by how long the parts take that are done; 0 or less while that is not known."""
    began: float
    """time.monotonic() of the first part."""


class Compiling(QObject):
    """From a run's first part on, until its first update or its end."""

    changed = Signal(str)
    """Id of the run."""

    def __init__(self, bridge: Bridge, telemetry: TelemetryModel) -> None:
        super().__init__()
        self._telemetry = telemetry
        self._runs: dict[str, Compilation] = {}
        bridge.event_received.connect(self._on_event)
        bridge.run_changed.connect(self._on_run_changed)

    def of(self, run_id: str) -> Compilation | None:
        return self._runs.get(run_id)

    def _on_event(self, run_id: str, event: records.Event) -> None:
        if isinstance(event, records.UpdateRecord):
            self._forget(run_id)
        elif isinstance(event, records.StateEvent) and event.detail.startswith(records.COMPILING):
            self._learn(run_id, event)

    def _learn(self, run_id: str, event: records.StateEvent) -> None:
        shown = self._telemetry.runs.get(run_id)
        if shown is not None and shown.last_update is not None:
            return  # it has curves: a part more does not keep anybody waiting
        known = self._runs.get(run_id)
        detail = event.detail.removeprefix(records.COMPILING).removeprefix(": ")
        self._runs[run_id] = Compilation(detail, event.progress, known.began if known else time.monotonic())
        self._telemetry.tell_wait(run_id, tr("Compiling the Game Boy, once"))
        self.changed.emit(run_id)

    def _on_run_changed(self, notice: RunChanged) -> None:
        if notice.record.state.is_end:
            self._forget(notice.record.run_id)

    def _forget(self, run_id: str) -> None:
        if self._runs.pop(run_id, None) is not None:
            self._telemetry.tell_wait(run_id)
            self.changed.emit(run_id)
