"""Start of a training worker before the user presses Start: while the form is filled in or a task is named.

The waiting worker ends with the app, when the user leaves the form, and after a while without input. A setting turns
this off.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from gui.features.train.controller import TrainingController
from gui.kit.boxes import later
from gui.kit.settings import Settings
from gui.kit.words import tr
from gui.state.bridge import Bridge
from gui.state.session import Mode, Operation, Session

WORKER_AHEAD = "training/start_ahead"
IDLE_MS = 10 * 60 * 1000
"""Milliseconds without input after which the unused worker ends."""


class StartAhead(QObject):
    def __init__(self, bridge: Bridge, session: Session, training: TrainingController, settings: Settings) -> None:
        super().__init__()
        self._bridge, self._session, self._training = bridge, session, training
        self._settings = settings
        self.is_task_near: Callable[[], bool] = lambda: False
        """Function that returns whether a new task is nearly finished, so that training may follow soon."""
        self._idle = later(self, self.end, IDLE_MS)
        training.draft.changed.connect(lambda name: self.prepare())
        training.checks_changed.connect(self.prepare)
        training.ready_changed.connect(self.prepare)
        session.mode_changed.connect(lambda mode: self._follow())
        session.operation_changed.connect(lambda operation: self._follow())

    def is_wanted(self) -> bool:
        """Return whether a worker should be started in advance: the user is at the form, and no run is active."""
        at_form = self._session.mode is Mode.AGENT and self._session.operation is Operation.TRAIN
        at_form = at_form or self.is_task_near()
        idle = self._training.record is None or self._training.state.is_end
        allowed = self._settings.flag(WORKER_AHEAD, True) and not self._bridge.closing
        return at_form and idle and allowed and not self._training.starting

    def on_task(self) -> None:
        if self.is_task_near() and not self._bridge.service.ahead.is_waiting:
            self.prepare()

    def prepare(self) -> None:
        """Start a worker in advance for the configuration in the form."""
        plan = self._training.plan
        if plan is not None and self.is_wanted():
            self._idle.start()
            self._bridge.spawn(self._bridge.service.ahead.prepare(plan), title=tr("Worker"))

    def end(self) -> None:
        self._idle.stop()
        self._bridge.spawn(self._bridge.service.ahead.end(), title=tr("Worker"))

    def on_setting(self) -> None:
        """Start or end the waiting worker after the setting changed."""
        if self.is_wanted():
            self.prepare()
        else:
            self.end()

    def _follow(self) -> None:
        if not self.is_wanted():
            self.end()
