"""Writes a recording (see protocol.recording) as it happens; checks one by playing it again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trainer_core.protocol.errors import ProtocolError
from trainer_core.protocol.recording import (
    BUTTONS,
    MAX_FRAMES,
    PICTURE_BYTES,
    PICTURES,
    STEPS,
    RecordedStep,
    Recording,
    encode_step,
    pack_picture,
    read_recording,
    write_recording,
)
from trainer_core.protocol.regular_files import read_regular

if TYPE_CHECKING:
    from trainer_core.play.game import Game

STATE_FILE = "state.npz"
MAX_STATE_BYTES = 4 << 20
"""A console with 128 KiB of cartridge memory takes a tenth of it."""


class RecordingWriter:
    """Begins with the game's present state; `finish` makes the folder a recording."""

    def __init__(
        self, folder: Path, game: Game, *, mode: str, checkpoint: str, checkpoint_sha256: str
    ) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        game.save_state(folder / STATE_FILE)
        self._about = {
            "task": game.task, "rom_sha256": game.rom_sha256, "mode": mode,
            "checkpoint": checkpoint, "checkpoint_sha256": checkpoint_sha256,
            "created_at": time.time(),
        }  # fmt: skip
        self._frames_per_step = game.frames_per_step
        self._pictures = (folder / PICTURES).open("wb")
        self._buttons = (folder / BUTTONS).open("wb")
        self._steps = (folder / STEPS).open("wb")
        self.frames = 0
        self.success = False

    @property
    def is_full(self) -> bool:
        return self.frames >= MAX_FRAMES

    def add_frame(self, picture: np.ndarray, buttons: int) -> None:
        """One frame: its picture u8[144, 160] and the joypad mask that was held in it."""
        self._pictures.write(pack_picture(picture.tobytes()))
        self._buttons.write(bytes((buttons,)))
        self.frames += 1

    def add_step(
        self,
        *,
        step: int,
        action: int,
        reward: float,
        dist: float,
        success: bool = False,
        done: bool = False,
        trunc: bool = False,
    ) -> None:
        """One agent step, ended with the last frame added; `step` counts from 1."""
        self.success = self.success or success
        line = RecordedStep(
            step=step,
            # A step that had begun before the recording has fewer frames in it.
            first_frame=max(0, self.frames - self._frames_per_step),
            last_frame=self.frames - 1,
            action=action,
            reward=reward,
            dist=dist,
            success=success,
            done=done,
            trunc=trunc,
        )
        self._steps.write(encode_step(line))

    def finish(self) -> Path:
        """Close the files and write the manifest; a recording without a frame leaves nothing."""
        for file in (self._pictures, self._buttons, self._steps):
            file.close()
        if self.frames == 0:
            for path in self.folder.iterdir():
                path.unlink()
            self.folder.rmdir()
        else:
            write_recording(
                self.folder,
                Recording(
                    state=STATE_FILE, frames=self.frames, success=self.success, **self._about
                ),
            )
        return self.folder


def first_difference(folder: Path, game: Game) -> int:
    """Press a recording's buttons again; the first frame whose picture differs, or -1.

    Raises ProtocolError when the folder is no finished recording, or its state is none.
    """
    recording = read_recording(folder)
    frames = recording.frames
    try:
        pictures = read_regular(folder / PICTURES, frames * PICTURE_BYTES)
        buttons = read_regular(folder / BUTTONS, frames)
        read_regular(folder / recording.state, MAX_STATE_BYTES)
        game.load_state(folder / recording.state)
    except OSError as error:
        raise ProtocolError(f"{error.filename}: {error.strerror}") from None
    for frame, held in enumerate(buttons):
        game.frame(held)
        shown = pictures[frame * PICTURE_BYTES : (frame + 1) * PICTURE_BYTES]
        if pack_picture(game.picture().tobytes()) != shown:
            return frame
    return -1
