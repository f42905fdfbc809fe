"""A worker that has loaded before Start is pressed, while somebody is at the form.

It is owned like any other: it ends with the app, when the form is left, and when nobody touched
the form for a while. Settings turn it off.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer

from gui.bridge import Bridge
from gui.controllers.training import TrainingController
from gui.models.session import Mode, Operation, Session
from gui.settings import Settings
from gui.words import tr

SETTING = "training/start_ahead"
IDLE_MS = 10 * 60 * 1000
"""So long it waits for a person who does nothing more."""


class StartAhead(QObject):
    def __init__(
        self, bridge: Bridge, session: Session, training: TrainingController, settings: Settings
    ) -> None:
        super().__init__()
        self._bridge, self._session, self._training = bridge, session, training
        self._settings = settings
        self._idle = QTimer(self, singleShot=True, interval=IDLE_MS)
        self._idle.timeout.connect(self.end)
        training.draft.changed.connect(lambda name: self.prepare())
        training.checks_changed.connect(self.prepare)
        training.ready_changed.connect(self.prepare)
        session.mode_changed.connect(lambda mode: self._follow())
        session.operation_changed.connect(lambda operation: self._follow())

    def is_wanted(self) -> bool:
        """Whether somebody is at the form of a run that could start at once."""
        at_form = self._session.mode is Mode.AGENT and self._session.operation is Operation.TRAIN
        idle = self._training.record is None or self._training.state.is_end
        allowed = self._settings.flag(SETTING, True) and not self._bridge.closing
        return at_form and idle and allowed and not self._training.starting

    def prepare(self) -> None:
        """Have a worker load for the plan on show."""
        plan = self._training.plan
        if plan is not None and self.is_wanted():
            self._idle.start()
            self._bridge.spawn(self._bridge.service.ahead.prepare(plan), title=tr("Worker"))

    def end(self) -> None:
        self._idle.stop()
        self._bridge.spawn(self._bridge.service.ahead.end(), title=tr("Worker"))

    def on_setting(self) -> None:
        """It was allowed, or no longer."""
        if self.is_wanted():
            self.prepare()
        else:
            self.end()

    def _follow(self) -> None:
        if not self.is_wanted():
            self.end()
