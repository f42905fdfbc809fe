"""Pictures of any recording as images: a Game Boy's shades in a palette, or colours as they are."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path

import numpy as np
from PIL import Image

from trainer_core.exports.gif import PALETTES, shades_image
from trainer_core.protocol.recording import (
    PICTURES,
    Recording,
    read_recording,
    read_shown,
    unpack_picture,
)


class RecordedPictures:
    """Picture `frame` of the recording in `folder`. Raises ProtocolError when it is none."""

    def __init__(self, folder: Path) -> None:
        self.recording: Recording = read_recording(folder)
        self._shown = read_shown(folder, self.recording)
        count = self.recording.pictures or self.recording.frames
        size = self.recording.picture_bytes
        self._packed = np.memmap(folder / PICTURES, np.uint8, "r", shape=(count, size))

    def __len__(self) -> int:
        return self.recording.frames

    def picture(self, frame: int) -> np.ndarray:
        """u8[H, W] shades 0..3, or u8[H, W, 3] colours, on the screen in `frame`."""
        number = frame if self._shown is None else bisect_right(self._shown, frame) - 1
        packed, about = self._packed[number], self.recording
        if about.format == "rgb888":
            return packed.reshape(about.height, about.width, 3)
        shades = np.frombuffer(unpack_picture(packed.tobytes()), np.uint8)
        return shades.reshape(about.height, about.width)

    def image(self, frame: int, palette: str, scale: int) -> Image.Image:
        """The same to be saved, every pixel `scale` wide; colours do not follow `palette`."""
        picture = self.picture(frame)
        if picture.ndim == 2:
            return shades_image(picture, PALETTES[palette], scale)
        return Image.fromarray(picture.repeat(scale, 0).repeat(scale, 1))
