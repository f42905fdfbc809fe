"""Start of a player process before the user presses Deploy: when a checkpoint or list of games is looked at.

The process ends with the app, and after a while without input. A setting turns this off.
"""

from __future__ import annotations

from PySide6.QtCore import QObject

from gui.features.play.controller import PlayController
from gui.kit.boxes import later
from gui.kit.settings import Settings
from gui.kit.words import tr
from gui.state.bridge import Bridge
from gui.state.checkpoints import CheckpointList

PLAYER_AHEAD = "play/start_ahead"
DELAY_MS = 300
"""Milliseconds from the selection of a checkpoint to the start of a player: after the click has been painted."""
IDLE_MS = 10 * 60 * 1000
"""Milliseconds without input after which the unused player ends."""


class PlayAhead(QObject):
    def __init__(
        self, bridge: Bridge, checkpoints: CheckpointList, playing: PlayController, settings: Settings
    ) -> None:
        super().__init__()
        self._bridge, self._checkpoints, self._settings = bridge, checkpoints, settings
        self._player = playing.player
        self._soon = later(self, self._prepare, DELAY_MS)
        self._idle = later(self, self.end, IDLE_MS)
        checkpoints.selection_changed.connect(self._prepare_soon)
        playing.started.connect(self._prepare_soon)

    def _prepare_soon(self) -> None:
        """Start the timer of DELAY_MS unless it runs: a selection that changes every second must not restart it."""
        if not self._soon.isActive():
            self._soon.start()

    def prepare_for_person(self) -> None:
        """Start a player process in advance for a user who is choosing a game."""
        if self._settings.flag(PLAYER_AHEAD, True) and not self._bridge.closing:
            self._idle.start()
            work = self._player.prepare(for_person=True)
            self._bridge.spawn(work, title=tr("The player"))

    def is_wanted(self) -> bool:
        """Return whether a checkpoint is selected that can play."""
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
        """Start or end the waiting player after the setting changed."""
        self._prepare() if self.is_wanted() else self.end()
