"""Writer of recordings from given pictures instead of a running console (see lab.recording)."""

from __future__ import annotations

import os
import time
from array import array
from pathlib import Path
from typing import Any

import numpy as np

from trainer_core.lab.recording import (
    BUTTONS,
    MAX_FRAMES,
    MAX_SIDE,
    PICTURES,
    SHOWN,
    STEPS,
    RecordedStep,
    Recording,
    encode_step,
    pack_picture,
    write_recording,
)
from trainer_core.wire.errors import LabError

MAX_BYTES = 1 << 30


class ClipWriter:
    """Recording being written: call `show` for pictures in the order of their frames, then `finish`."""

    def __init__(self, folder: Path, width: int, height: int, is_color: bool) -> None:
        """Create the folder. Raises LabError for a size that is too large, or shades not in a multiple of 4 pixels."""
        if not 1 <= width <= MAX_SIDE or not 1 <= height <= MAX_SIDE:
            raise LabError(f"pictures of {width}x{height}: at most {MAX_SIDE} a side can be shown")
        if not is_color and width * height % 4:
            raise LabError(f"pictures of {width}x{height}: four shades need a multiple of 4 pixels")
        folder.mkdir(parents=True)
        self.folder, self._size, self._is_color = folder, (width, height), is_color
        self._pictures = (folder / PICTURES).open("wb")
        self._shown = array("I")
        self._last = b""

    def show(self, picture: np.ndarray, frame: int) -> None:
        """Show `picture`, shades u8[H, W] or colours u8[H, W, 3], from frame `frame` until the next picture."""
        data = picture.tobytes() if self._is_color else pack_picture(picture.tobytes())
        if self._shown and frame <= self._shown[-1]:
            self._pictures.seek(-len(data), os.SEEK_CUR)  # the last picture was on the screen for less than a frame
            self._shown.pop()
        elif data == self._last:
            return
        if (len(self._shown) + 1) * len(data) > MAX_BYTES:
            raise LabError(f"more than {MAX_BYTES >> 20} MiB of pictures: cut it shorter first")
        self._pictures.write(data)
        self._shown.append(0 if not self._shown else frame)
        self._last = data

    def finish(self, frames: int, buttons: bytes = b"", steps: list[RecordedStep] | None = None, **about: Any) -> Path:
        """Write the recording's manifest; `frames` is its length, `buttons` one joypad mask per frame, b"" for none.

        Returns the folder. Raises LabError.
        """
        self._pictures.close()
        if not 1 <= frames <= MAX_FRAMES:
            raise LabError(f"{frames} frames: a recording has 1 to {MAX_FRAMES}, ten minutes")
        shown = self._shown
        (self.folder / SHOWN).write_bytes(np.array(shown, "<u4").tobytes())
        (self.folder / BUTTONS).write_bytes(buttons or bytes(frames))
        (self.folder / STEPS).write_bytes(b"".join(map(encode_step, steps or [])))
        width, height = self._size
        write_recording(
            self.folder,
            Recording(
                **({"task": "", "rom_sha256": "", "state": "", "created_at": time.time()} | about),
                frames=frames,
                width=width,
                height=height,
                pictures=len(shown),
                format="rgb888" if self._is_color else "shades",
            ),
        )
        return self.folder
