"""What a player records: one recording at a time, which ends by itself when there is reason to."""

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
    """Of `game`, into folders below `directory`. While nothing is recorded, nothing is written.

    When the disk takes no more, the recording up to then is kept and `tell` says so: the game goes
    on without it.
    """

    def __init__(self, directory: Path, game: Game, tell: Tell) -> None:
        self.last = ""
        """The folder of the newest recording, ended or not; empty without one."""
        self.until_episode = False
        """Whether it ends with the episode."""
        self.writer: RecordingWriter | None = None
        self._directory, self._game, self._tell = directory, game, tell

    @property
    def frames(self) -> int:
        """Recorded so far, of the recording that is under way."""
        return self.writer.frames if self.writer else 0

    def begin(self, frame: int, **about: Any) -> None:
        """Record from now on; `frame` counts the player's, `about` is the writer's."""
        stamp = time.strftime("%Y%m%d-%H%M%S") + f"-{frame:07d}"
        self.writer = RecordingWriter(self._directory / stamp, self._game, **about)
        self.last = str(self.writer.folder)

    def add_frame(self, picture: np.ndarray, buttons: int) -> None:
        """A frame: its picture u8[H, W] and the joypad mask that was held."""
        if self.writer is not None:
            self._write(self.writer.add_frame, picture, buttons)

    def add_step(self, **fields: Any) -> None:
        """The step that ended with the last frame, see RecordingWriter."""
        if self.writer is not None:
            self._write(self.writer.add_step, **fields)

    def jump(self) -> None:
        """The game was put into its present state."""
        if self.writer is not None:
            self._write(self.writer.jump, self._game)

    def take_back(self, was_frame: bool) -> None:
        """Forget the newest frame, or the jump in its place."""
        if self.writer is not None:
            self._write(self.writer.take_back, self._game, was_frame)

    def end_if_over(self, episode_ended: bool) -> None:
        """End a recording that is full, or that was asked for until the episode ends."""
        if self.writer and (self.writer.is_full or (episode_ended and self.until_episode)):
            self.end()

    def end(self) -> None:
        """Make what was recorded a recording; does nothing while nothing is recorded."""
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
            self.end()  # may take off some frames more
            reason = f"the recording ends after {writer.frames} frames: {error.strerror}"
            self._tell(records.ErrorRecord, kind="recording", message=reason)
