"""Status line on the run on show: state, speed, time since the last record."""

from __future__ import annotations

import time

from PySide6.QtCore import QObject, QTimer, Signal

from gui.features.train.controller import TrainingController
from gui.kit.words import tr
from gui.state.run_words import WORDS, without_middle
from gui.state.telemetry import TelemetryModel
from trainer_core.wire.run_record import RunState

LONGEST = 40
"""Most characters of a run's name in the status line."""


class RunStatus(QObject):
    """Texts of the status bar, updated every second and at each change."""

    changed = Signal()

    def __init__(self, training: TrainingController, telemetry: TelemetryModel) -> None:
        super().__init__()
        self._training, self._telemetry = training, telemetry
        self.run = self.speed = self.age = ""
        self._clock = QTimer(self, interval=1000)
        self._clock.timeout.connect(self.renew)
        self._clock.start()
        training.badge_changed.connect(self.renew)
        training.ready_changed.connect(self.renew)
        self.renew()

    def elapsed_s(self) -> float:
        """Return the seconds that the run on show has trained in all its processes, without pauses between them."""
        run = self._training.record
        if run is None:
            return 0.0
        shown = self._telemetry.runs.get(run.run_id)
        last = shown.last_update if shown is not None else None
        if last is None:
            return (run.finished_at or time.time()) - run.created_at
        is_moving = self._training.state is RunState.RUNNING
        return last.wall_time_s + (max(0.0, time.time() - last.time) if is_moving else 0.0)

    def renew(self) -> None:
        run, state = self._training.record, self._training.state
        self.run = (
            tr(
                "Run {value} {lower}",
                value=without_middle(self._telemetry.label(run.run_id), LONGEST),
                lower=tr(WORDS[state]).lower(),
            )
            if run
            else tr("No run")
        )
        shown = self._telemetry.runs.get(self._training.run_id)
        last = shown.last_update if shown is not None and state is RunState.RUNNING else None
        self.speed = tr("{sps:,.0f} steps/s", sps=last.sps) if last else ""
        if missed := self._training.missed:
            self.speed += tr("  {missed:,} records from the log", missed=missed)
        self.age = (
            tr("last record {value:.0f} s ago", value=time.time() - last.time) if last else self._training.waiting_words
        )
        self.changed.emit()
