"""The demo: a minute of training from its first update on, then what came of it.

Compiling the Game Boy on a fresh computer takes longer than the demo itself, so its clock starts
when something was learned. A run that has not learned enough by then may have another minute.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer

from gui.bridge import Bridge
from gui.controllers.checkpoints import CheckpointsController
from gui.controllers.training import TrainingController
from gui.models.notices import END_OF_RUN, Notices
from gui.models.presets import DEMO, DEMO_S
from gui.words import tr
from trainer_core.service import RunChanged
from trainer_core.wire import records


class Demo(QObject):
    def __init__(
        self, bridge: Bridge, training: TrainingController, checkpoints: CheckpointsController, notices: Notices
    ) -> None:
        super().__init__()
        self._bridge, self._training = bridge, training
        self._checkpoints, self._notices = checkpoints, notices
        self.run_id = ""
        """The run that is a demo; empty when none is."""
        self.clock = QTimer(self, singleShot=True, interval=round(DEMO_S * 1000))
        self.clock.timeout.connect(self._on_time_up)
        self._again = ""
        self._is_over = False
        training.started.connect(self._on_started)
        training.queued.connect(self._on_started)
        bridge.event_received.connect(self._on_event)
        bridge.run_changed.connect(self._on_run_changed)

    def train_more(self) -> None:
        """Go on from the last checkpoint for another minute."""
        self._again = self.run_id
        self._training.resume(self.run_id)

    def _on_started(self, run_id: str) -> None:
        if run_id in (self._training.demo_run_id, self._again):
            self.run_id, self._again, self._is_over = run_id, "", False
            self.clock.stop()

    def _on_event(self, run_id: str, event: records.Event) -> None:
        is_first = isinstance(event, records.UpdateRecord) and not self._is_over
        if run_id == self.run_id and is_first and not self.clock.isActive():
            self.clock.start()

    def _on_time_up(self) -> None:
        self._is_over = True
        self._bridge.spawn(self._bridge.service.stop(self.run_id, "the demo's minute is over"), title=tr("Stop"))

    def _on_run_changed(self, notice: RunChanged) -> None:
        run = notice.record
        if run.run_id != self.run_id or not run.state.is_end:
            return
        self.clock.stop()
        if not self._is_over or self._bridge.closing:
            return
        if run.best_success_rate >= DEMO.fields["target_success"]:
            self._notices.tell(
                tr("It learned"),
                tr("{best_success_rate:.0%} success", best_success_rate=run.best_success_rate),
                "good",
                tr("Watch it play"),
                self._checkpoints.deploy_selected,
                subject=END_OF_RUN,
            )
        else:
            self._notices.tell(
                tr("Not yet"),
                tr(
                    "{best_success_rate:.0%} success after {demo_s:g} s of training",
                    best_success_rate=run.best_success_rate,
                    demo_s=DEMO_S,
                ),
                "warn",
                tr("Train {demo_s:g} s more", demo_s=DEMO_S),
                self.train_more,
                subject=END_OF_RUN,
            )
