"""`PyBoy.screen`: the picture as an array and as an image, which are views of one buffer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from dmglab.pyboy.api.constants import COLS, ROWS
from dmglab.pyboy.machine import Machine
from emulator import constants as k

GREY = (0xFFFFFF, 0x999999, 0x555555, 0x000000)


def packed(palette: Any) -> NDArray[np.uint32]:
    """Return RGB colours as RGBA pixels, uint32[n], opaque."""
    rgb = np.array([int(colour) for colour in palette], np.uint32)
    return ((rgb >> 16 & 0xFF) | (rgb & 0xFF00) | (rgb & 0xFF) << 16 | 0xFF000000).astype(np.uint32)


class Screen:
    """Picture of the last tick that rendered: `ndarray` u8[144, 160, 4], `image`, `raw_buffer`, of one memory.

    All three change with the next tick; copy what must stay. Before the first tick all is 0.
    """

    def __init__(self, machine: Machine, palette: Any) -> None:
        self._machine = machine
        self._pixels = np.zeros((ROWS, COLS), np.uint32)
        self.palette = packed(palette)
        """Colours of the four shades."""
        self.ndarray: NDArray[np.uint8] = self._pixels.view(np.uint8).reshape(ROWS, COLS, 4)
        self.raw_buffer = self._pixels.data
        self.raw_buffer_dims = (ROWS, COLS)
        self.raw_buffer_format = "RGBA"
        self.image: Any = None
        self.renew_image()

    def renew_image(self) -> None:
        """Make `image` a view of the buffer again where somebody has written to it."""
        if self.image is None or not self.image.readonly:
            self.image = Image.frombuffer("RGBA", (COLS, ROWS), self.ndarray, "raw", "RGBA", 0, 1)

    def render(self, blanks: bool = True) -> None:
        """Draw the last completed picture into the buffer.

        With `blanks`, a picture that the LCD did not show has the colour of shade 0.
        """
        machine = self._machine
        if blanks and machine.record["ppu_blank"][0]:
            self._pixels[:] = self.palette[int(machine.row[k.BGP - k.ROW_ORIGIN]) & 3]
            return
        machine.emulator.draw()
        first = k.ROW_SCREENS + int(machine.record["ppu_front"][0]) * k.SCREEN_BYTES
        planes = machine.row[first : first + k.SCREEN_BYTES].reshape(ROWS, 2, COLS // 8)
        low, high = np.unpackbits(planes, axis=2).transpose(1, 0, 2)
        np.take(self.palette, low | high << 1, out=self._pixels, mode="clip")

    def get_tilemap_position(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return ((SCX, SCY), (WX - 7, WY)) as they are now."""
        scx, scy, wx, wy = self._position()
        return (scx, scy), (wx, wy)

    @property
    def tilemap_position_list(self) -> list[list[int]]:
        """SCX, SCY, WX - 7 and WY for each line: those of now for all, 0 while the LCD is off."""
        position = self._position() if self._machine.lcd_on else [0, 0, 0, 0]
        return [list(position) for _ in range(ROWS)]

    def _position(self) -> list[int]:
        row = self._machine.row
        scy, scx, wy, wx = (int(row[at - k.ROW_ORIGIN]) for at in (k.SCY, k.SCX, k.WY, k.WX))
        return [scx, scy, wx - 7, wy]
