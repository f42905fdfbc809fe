"""Writes a recording (see protocol.recording) as it happens; checks one by playing it again."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from trainer_core.console import Console, pack_picture
from trainer_core.protocol.recording import (
    MAX_FRAMES,
    PICTURE_BYTES,
    Recording,
    read_recording,
    write_recording,
)

STATE_FILE = "state.npz"


class Recorder:
    """Begins with the machine's present state; `finish` makes the folder a recording."""

    def __init__(
        self, folder: Path, console: Console, *, mode: str, checkpoint: str, checkpoint_sha256: str
    ) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        console.save_state(folder / STATE_FILE)
        self._about = {
            "task": console.task, "rom_sha256": console.rom_sha256, "mode": mode,
            "checkpoint": checkpoint, "checkpoint_sha256": checkpoint_sha256,
            "created_at": time.time(),
        }  # fmt: skip
        self._pictures = (folder / "pictures.bin").open("wb")
        self._buttons = (folder / "buttons.bin").open("wb")
        self._steps = (folder / "steps.jsonl").open("w", encoding="utf-8")
        self.frames = 0
        self.success = False

    @property
    def is_full(self) -> bool:
        return self.frames >= MAX_FRAMES

    def add_frame(self, picture: np.ndarray, buttons: int) -> None:
        """One frame: its picture u8[144, 160] and the joypad mask that was held in it."""
        self._pictures.write(pack_picture(picture))
        self._buttons.write(bytes((buttons,)))
        self.frames += 1

    def add_step(self, success: bool, **fields: Any) -> None:
        """One agent step, ended with the last frame added."""
        self.success = self.success or success
        row = {"frame": self.frames, "success": success, **fields}
        self._steps.write(json.dumps(row) + "\n")

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


def first_difference(folder: Path, console: Console) -> int:
    """Press a recording's buttons again; the first frame whose picture differs, or -1.

    Raises ProtocolError when the folder is no finished recording.
    """
    recording = read_recording(folder)
    pictures = (folder / "pictures.bin").read_bytes()
    buttons = (folder / "buttons.bin").read_bytes()
    console.load_state(folder / recording.state)
    for frame, held in enumerate(buttons):
        console.frame(held)
        shown = pictures[frame * PICTURE_BYTES : (frame + 1) * PICTURE_BYTES]
        if pack_picture(console.picture()) != shown:
            return frame
    return -1
