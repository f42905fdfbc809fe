"""View of a Game Boy's memory, written to a file that the parent process maps.

The file has the format of frames.bin with another shape: 128 rows of 256 bytes are the addresses 8000 to FFFF, as the
processor would read them, without side effects.
"""

from __future__ import annotations

import time
from pathlib import Path

from trainer_core.envs.single_game import ConsoleGame, Game
from trainer_core.wire import frames
from trainer_core.wire.errors import LabError
from trainer_core.wire.frames import BASE, MEMORY_FILE, MEMORY_SHAPE

INTERVAL_S = 0.1
"""Seconds between two updates while the game runs; one takes as long as two to four frames."""


class MemoryView:
    def __init__(self, directory: Path, game: Game) -> None:
        """Create the file; raises LabError for a game that is not a Game Boy's."""
        if not isinstance(game, ConsoleGame):
            raise LabError(f"{game.task}: no Game Boy, so there is no memory to look at")
        self._game = game
        self._writer = frames.FrameWriter(directory / MEMORY_FILE, MEMORY_SHAPE)
        self._next = 0.0

    def show(self, frame: int) -> None:
        """Publish the current memory; `frame` is the number of frames played."""
        self._next = time.monotonic() + INTERVAL_S
        found = self._game.memory(BASE, MEMORY_SHAPE.picture_bytes)
        self._writer.publish(found.tobytes(), frames.FrameInfo(frame=frame))

    def show_if_due(self, frame: int) -> None:
        if time.monotonic() >= self._next:
            self.show(frame)

    def close(self) -> None:
        self._writer.close()
