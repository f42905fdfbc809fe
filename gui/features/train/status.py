"""Status line on the run on show: its last checkpoint and the time since its last record; its time of training."""

from __future__ import annotations

import time

from PySide6.QtCore import QObject, Signal

from gui.features.train.controller import TrainingController
from gui.kit.boxes import every
from gui.kit.words import tr
from gui.state.run_progress import since
from gui.state.telemetry import TelemetryModel
from trainer_core.wire.run_record import RunState


class RunStatus(QObject):
    """Texts of the status bar, updated every second and at each change."""

    changed = Signal()

    def __init__(self, training: TrainingController, telemetry: TelemetryModel) -> None:
        super().__init__()
        self._training, self._telemetry = training, telemetry
        self.run = self.speed = self.age = ""
        self._clock = every(self, 1000, self.renew)
        training.badge_changed.connect(self.renew)
        training.ready_changed.connect(self.renew)
        self.renew()

    def elapsed_s(self) -> float:
        """Return the seconds that the run on show has trained in all its processes, without the time between them."""
        run = self._training.record
        if run is None:
            return 0.0
        shown = self._telemetry.runs.get(run.run_id)
        last = shown.last_update if shown is not None else None
        if shown is None or last is None:
            return (run.finished_at or time.time()) - run.created_at
        moved = max(last.time, *(resumed.time for resumed in shown.resumes), 0.0)
        is_moving = self._training.state is RunState.RUNNING
        return last.wall_time_s + (max(0.0, time.time() - moved) if is_moving else 0.0)

    def renew(self) -> None:
        run, state = self._training.record, self._training.state
        shown = self._telemetry.runs.get(self._training.run_id)
        last = shown.last_update if shown is not None and state is RunState.RUNNING else None
        self.run = self._training.waiting_words or ("" if run is not None else tr("No run yet"))
        if shown is not None and shown.checkpoints and state is RunState.RUNNING:
            saved = shown.checkpoints[-1]
            self.run = tr("Checkpoint saved at {steps:,} steps, {ago}", steps=saved.env_steps, ago=since(saved.time))
        missed = self._training.missed
        self.speed = tr("{missed:,} records read from the log", missed=missed) if missed else ""
        self.age = ""
        if last is not None:
            age = time.time() - last.time
            self.age = tr("Last record now") if age < 1 else tr("Last record {ago}", ago=since(last.time))
        self.changed.emit()
