"""What a live run should be looked at for: one notification each, beside the mark on its curves."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer

from gui.controllers.training import TrainingController
from gui.models.alerts import Alert
from gui.models.navigation import Navigation, Place
from gui.models.notices import Notices
from gui.models.run_telemetry import TelemetryModel
from gui.words import tr

LOOK_MS = 2000
SILENCE = "silence"
"""Subject of the notice about a run that says nothing."""


class Alerts(QObject):
    def __init__(
        self, telemetry: TelemetryModel, training: TrainingController, navigation: Navigation, notices: Notices
    ) -> None:
        super().__init__()
        self._telemetry, self._training = telemetry, training
        self._navigation, self._notices = navigation, notices
        self._stalled = ""
        """The run whose silence was told."""
        telemetry.alerted.connect(self._on_alert)
        self._clock = QTimer(self, interval=LOOK_MS)
        self._clock.timeout.connect(self._look)
        self._clock.start()

    def _on_alert(self, run_id: str, alert: Alert) -> None:
        if alert.kind != "error":  # the journal tells how a run failed
            self._tell(f"{alert.title}: {self._telemetry.label(run_id)}", alert.text)

    def _look(self) -> None:
        """A run that fell silent is told once, until it speaks again."""
        silent, run_id = self._training.stalled_for(), self._training.run_id
        if silent and self._stalled != run_id:
            self._stalled = run_id
            self._tell(
                tr("No word from {label}", label=self._telemetry.label(run_id)),
                tr("for {silent:.0f} seconds", silent=silent),
                SILENCE,
            )
        elif not silent and self._stalled:  # it speaks again, ended, or is not looked at any more
            self._stalled = ""
            self._notices.withdraw(SILENCE)

    def _tell(self, title: str, text: str, subject: str = "") -> None:
        self._notices.tell(
            title,
            text,
            "warn",
            tr("Show curves"),
            lambda: self._navigation.show(Place.CURVES),
            is_news=True,
            subject=subject,
        )
