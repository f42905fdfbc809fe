"""The memory of the game that plays, asked for while somebody looks at it."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QObject, QTimer, Signal

from gui.bridge import Bridge
from gui.controllers.playing import PlayController
from gui.models.memory_search import MemorySearch
from gui.models.memory_watches import MemoryWatches
from gui.widgets.screen import FrameSource
from gui.words import tr
from trainer_core.wire import commands, records
from trainer_core.wire.frames import MEMORY_FILE, MEMORY_SHAPE

LOOK_MS = 100


class MemoryController(QObject):
    """Nobody looking, a player tells nothing."""

    changed = Signal()
    """Another look at the memory, or none any more."""

    def __init__(self, bridge: Bridge, playing: PlayController) -> None:
        super().__init__()
        self._bridge, self._playing = bridge, playing
        self.search, self.watches = MemorySearch(), MemoryWatches(bridge.home)
        self.memory: np.ndarray | None = None
        """u8[32768], the addresses from 8000 on; None while there is nothing to see."""
        self.frame = 0
        """The one that it is the memory of."""
        self._source = FrameSource()
        self._is_watched = self._is_told = False
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self._look)
        playing.started.connect(self._on_started)
        playing.changed.connect(self._on_player)

    def watch(self, on: bool) -> None:
        """Whether somebody looks."""
        if on == self._is_watched:
            return
        self._is_watched = on
        if on:
            self._ask()
        elif self._is_told:
            self._is_told = False
            self._playing.player.send(commands.ShowMemory, on=False)
        self._timer.start() if on else self._timer.stop()

    def refusal(self) -> str:
        """Why there is nothing to see; empty when there is."""
        if self.memory is not None:
            return ""
        if self._playing.refusal():
            return tr("Nothing plays")
        if self._playing.is_versus:
            return tr("Two policies play side by side")
        return tr("This game tells nothing of its memory")

    def _ask(self) -> None:
        """Games that are no Game Boy's refuse, and no banner says so: nothing was clicked."""
        if self._playing.is_active and not self._playing.is_versus:
            work = self._playing.player.request(commands.ShowMemory, on=True)
            self._bridge.spawn(work, then=self._on_told, failed=lambda reason: None)

    def _on_told(self, ack: records.AckEvent) -> None:
        directory = self._playing.player.directory
        if not ack.ok or directory is None:
            return
        self._is_told = True
        self._source.open(directory / MEMORY_FILE)
        self.watches.turn_to(ack.detail)
        self._look()

    def _on_started(self) -> None:
        self._forget()
        self.search.restart()
        if self._is_watched:
            self._ask()

    def _on_player(self) -> None:
        if not self._playing.is_active and self.memory is not None:
            self._forget()

    def _forget(self) -> None:
        self._source.open(None)
        self._is_told, self.memory = False, None
        self.changed.emit()

    def _look(self) -> None:
        found = self._source.latest() if self._is_told else None
        if found is not None and found[1].size == MEMORY_SHAPE.picture_bytes:
            self.frame, self.memory = found[0].frame, found[1].reshape(-1)
            self.changed.emit()
