"""Recorder of a player: one recording at a time, which ends when full or on request."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from trainer_core.envs.recording_writer import RecordingWriter
from trainer_core.envs.single_game import Game
from trainer_core.play.thoughts import Tell
from trainer_core.wire import records


class Recorder:
    """Recorder of `game` that writes folders below `directory`; it does nothing while not recording.

    When the disk is full, the recording up to then is kept and `tell` reports it: the game continues without recording.
    """

    def __init__(self, directory: Path, game: Game, tell: Tell) -> None:
        self.last = ""
        """Folder of the newest recording, finished or not; "" without one."""
        self.until_episode = False
        """True if the recording ends with the episode."""
        self.writer: RecordingWriter | None = None
        self._directory, self._game, self._tell = directory, game, tell

    @property
    def frames(self) -> int:
        """Frames recorded so far in the current recording."""
        return self.writer.frames if self.writer else 0

    def begin(self, frame: int, **about: Any) -> None:
        """Start a recording; `frame` is the player's count, `about` goes to the writer."""
        stamp = time.strftime("%Y%m%d-%H%M%S") + f"-{frame:07d}"
        self.writer = RecordingWriter(self._directory / stamp, self._game, **about)
        self.last = str(self.writer.folder)

    def add_frame(self, picture: np.ndarray, buttons: int) -> None:
        """Add a frame: its picture u8[H, W] and the joypad mask held."""
        if self.writer is not None:
            self._write(self.writer.add_frame, picture, buttons)

    def add_step(self, **fields: Any) -> None:
        """Add the step that ended with the last frame, see RecordingWriter."""
        if self.writer is not None:
            self._write(self.writer.add_step, **fields)

    def jump(self) -> None:
        """Note that the game's state was loaded."""
        if self.writer is not None:
            self._write(self.writer.jump, self._game)

    def take_back(self, was_frame: bool) -> None:
        """Remove the newest frame from the recording, or the note of a loaded state if `was_frame` is false."""
        if self.writer is not None:
            self._write(self.writer.take_back, self._game, was_frame)

    def end_if_over(self, episode_ended: bool) -> None:
        """End a recording that is full, or that was to end with the episode."""
        if self.writer and (self.writer.is_full or (episode_ended and self.until_episode)):
            self.end()

    def end(self) -> None:
        """Finish the recording; do nothing while not recording."""
        if self.writer is None:
            return
        writer, self.writer = self.writer, None
        try:
            self.last = str(writer.finish())
        except OSError as error:
            self.last = ""
            self._tell(
                records.ErrorRecord,
                kind="recording",
                message=f"{writer.folder}: the recording is lost: {error.strerror}",
            )

    def _write(self, write: Callable[..., None], *what: Any, **fields: Any) -> None:
        try:
            write(*what, **fields)
        except OSError as error:
            assert self.writer is not None
            writer = self.writer
            self.end()  # it may drop some more frames
            reason = f"the recording ends after {writer.frames} frames: {error.strerror}"
            self._tell(records.ErrorRecord, kind="recording", message=reason)
