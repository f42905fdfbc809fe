"""Preloading of a player while a checkpoint is selected or the user looks for a ROM, before Deploy is pressed.

The player ends with the app, and after a while without input. A setting turns preloading off.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer

from gui.features.play.controller import PlayController
from gui.kit.settings import Settings
from gui.kit.words import tr
from gui.state.bridge import Bridge
from gui.state.checkpoints import CheckpointList

PLAYER_AHEAD = "play/start_ahead"
DELAY_MS = 2000
"""Milliseconds from the first selection to the start of a player: the click itself comes first."""
IDLE_MS = 10 * 60 * 1000
"""Milliseconds without input after which the preloaded player ends."""


class PlayAhead(QObject):
    def __init__(
        self, bridge: Bridge, checkpoints: CheckpointList, playing: PlayController, settings: Settings
    ) -> None:
        super().__init__()
        self._bridge, self._checkpoints, self._settings = bridge, checkpoints, settings
        self._player = playing.player
        self._soon = QTimer(self, singleShot=True, interval=DELAY_MS)
        self._soon.timeout.connect(self._prepare)
        self._idle = QTimer(self, singleShot=True, interval=IDLE_MS)
        self._idle.timeout.connect(self.end)
        checkpoints.selection_changed.connect(self._prepare_soon)
        playing.started.connect(self._prepare_soon)

    def _prepare_soon(self) -> None:
        """Start the delay unless it runs already: a run that selects a checkpoint a second must not prolong it."""
        if not self._soon.isActive():
            self._soon.start()

    def prepare_for_person(self) -> None:
        """Preload a player for a user who looks for a game to play."""
        if self._settings.flag(PLAYER_AHEAD, True) and not self._bridge.closing:
            self._idle.start()
            work = self._player.prepare(for_person=True)
            self._bridge.spawn(work, title=tr("The player"))

    def is_wanted(self) -> bool:
        """Return whether a playable checkpoint is selected."""
        card = self._checkpoints.selected
        is_allowed = self._settings.flag(PLAYER_AHEAD, True) and not self._bridge.closing
        return card is not None and card.is_usable and is_allowed

    def _prepare(self) -> None:
        if self.is_wanted():
            self._idle.start()
            self._bridge.spawn(self._player.prepare(), title=tr("The player"))

    def end(self) -> None:
        self._idle.stop()
        self._bridge.spawn(self._player.ahead.end(), title=tr("The player"))

    def on_setting(self) -> None:
        """Apply a change of the setting."""
        self._prepare() if self.is_wanted() else self.end()
