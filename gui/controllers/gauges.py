"""How busy this computer is and what a run takes on the disk: asked while somebody looks."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal

from gui.bridge import Bridge, in_thread
from gui.controllers.training import TrainingController
from gui.models.run_telemetry import TelemetryModel
from trainer_core.service import Gauge, folder_bytes, read_gauges
from trainer_core.wire.records import CheckpointRecord

EVERY_MS = 2000


class GaugesController(QObject):
    gauges_read = Signal(object)
    """A list of Gauge."""
    disk_use_read = Signal(str, object)
    """Run id, and the bytes of its folder."""

    def __init__(self, bridge: Bridge, training: TrainingController, telemetry: TelemetryModel) -> None:
        super().__init__()
        self._bridge, self._training = bridge, training
        self.is_watched: Callable[[], bool] = lambda: False
        """Whether anybody sees the gauges; the view that draws them says so."""
        self._is_reading = False
        self._clock = QTimer(self, interval=EVERY_MS)
        self._clock.timeout.connect(self.read)
        self._clock.start()
        self._telemetry = telemetry
        telemetry.focus_changed.connect(self.read_disk_use)
        telemetry.event_taken.connect(self._on_event)

    def read(self) -> None:
        if self.is_watched() and not self._is_reading:
            run = self._training.record
            pid = run.pid if run is not None and not run.state.is_end else 0
            self._is_reading = True
            work = in_thread(read_gauges, self._bridge.home.root, pid)
            self._bridge.spawn(work, then=self._on_read, failed=lambda reason: self._on_read([]))

    def _on_read(self, found: list[Gauge]) -> None:
        self._is_reading = False
        self.gauges_read.emit(found)

    def _on_event(self, run_id: str, event: object) -> None:
        """Almost all that a run takes is checkpoints."""
        if isinstance(event, CheckpointRecord) and run_id == self._telemetry.focus:
            self.read_disk_use(run_id)

    def read_disk_use(self, run_id: str) -> None:
        if run_id:
            work = in_thread(folder_bytes, self._bridge.home.run(run_id).root)
            self._bridge.spawn(work, then=lambda size: self.disk_use_read.emit(run_id, size))
