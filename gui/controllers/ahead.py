"""Processes that have loaded before they are asked for. Settings turn them off.

A worker, while somebody is at the form, or names a new task: before Start is pressed. A player,
while a checkpoint is selected, or a ROM is looked for: before Deploy is, before it is found. They
are owned like any other: they end with the app, and when nobody did anything for a while; the
worker also when the form is left.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer

from gui.bridge import Bridge
from gui.controllers.playing import PlayController
from gui.controllers.training import TrainingController
from gui.models.checkpoints import CheckpointList
from gui.models.session import Mode, Operation, Session
from gui.models.task_draft import DraftModel
from gui.settings import Settings
from gui.words import tr

SETTING = "training/start_ahead"
PLAY_SETTING = "play/start_ahead"
PLAY_DELAY_MS = 2000
"""From a first selection to the start of a player: the click itself comes first."""
IDLE_MS = 10 * 60 * 1000
"""So long it waits for a person who does nothing more."""


class StartAhead(QObject):
    def __init__(
        self, bridge: Bridge, session: Session, training: TrainingController, settings: Settings, task: DraftModel
    ) -> None:
        super().__init__()
        self._bridge, self._session, self._training = bridge, session, training
        self._settings, self._task = settings, task
        self._idle = QTimer(self, singleShot=True, interval=IDLE_MS)
        self._idle.timeout.connect(self.end)
        training.draft.changed.connect(lambda name: self.prepare())
        training.checks_changed.connect(self.prepare)
        training.ready_changed.connect(self.prepare)
        task.changed.connect(self._on_task)
        session.mode_changed.connect(lambda mode: self._follow())
        session.operation_changed.connect(lambda operation: self._follow())

    def is_wanted(self) -> bool:
        """Whether somebody is at the form of a run that could start at once, or about to be."""
        at_form = self._session.mode is Mode.AGENT and self._session.operation is Operation.TRAIN
        at_form = at_form or self._is_task_near()
        idle = self._training.record is None or self._training.state.is_end
        allowed = self._settings.flag(SETTING, True) and not self._bridge.closing
        return at_form and idle and allowed and not self._training.starting

    def _is_task_near(self) -> bool:
        """Whether a goal was captured and measured: its region and name leave time to load."""
        return self._task.goal is not None and self._task.probe is not None

    def _on_task(self) -> None:
        if self._is_task_near() and not self._bridge.service.ahead.is_waiting:
            self.prepare()

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


class PlayAhead(QObject):
    def __init__(
        self, bridge: Bridge, checkpoints: CheckpointList, playing: PlayController, settings: Settings
    ) -> None:
        super().__init__()
        self._bridge, self._checkpoints, self._settings = bridge, checkpoints, settings
        self._player = playing.player
        self._soon = QTimer(self, singleShot=True, interval=PLAY_DELAY_MS)
        self._soon.timeout.connect(self._prepare)
        self._idle = QTimer(self, singleShot=True, interval=IDLE_MS)
        self._idle.timeout.connect(self.end)
        checkpoints.selection_changed.connect(self._prepare_soon)
        playing.started.connect(self._prepare_soon)

    def _prepare_soon(self) -> None:
        """Wait for the delay once: a run that selects a checkpoint a second must not prolong it."""
        if not self._soon.isActive():
            self._soon.start()

    def prepare_for_person(self) -> None:
        """Somebody looks for a game to play."""
        if self._settings.flag(PLAY_SETTING, True) and not self._bridge.closing:
            self._idle.start()
            work = self._player.prepare(for_person=True)
            self._bridge.spawn(work, title=tr("The player"))

    def is_wanted(self) -> bool:
        """Whether a checkpoint is selected that could play."""
        card = self._checkpoints.selected
        is_allowed = self._settings.flag(PLAY_SETTING, True) and not self._bridge.closing
        return card is not None and card.is_usable and is_allowed

    def _prepare(self) -> None:
        if self.is_wanted():
            self._idle.start()
            self._bridge.spawn(self._player.prepare(), title=tr("The player"))

    def end(self) -> None:
        self._idle.stop()
        self._bridge.spawn(self._player.ahead.end(), title=tr("The player"))

    def on_setting(self) -> None:
        """It was allowed, or no longer."""
        self._prepare() if self.is_wanted() else self.end()
