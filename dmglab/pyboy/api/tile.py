"""Tiles of video memory: `PyBoy.get_tile`, and those of tile maps and objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from dmglab.pyboy.api.constants import LOW_TILEDATA, TILES, VRAM_OFFSET
from dmglab.pyboy.utils import PyBoyOutOfBoundsException
from emulator import constants as k


class Tile:
    """Tile `tile_identifier`, 0 to 383, as it is now, in the colours of the background."""

    def __init__(self, pyboy: Any, identifier: int) -> None:
        if not 0 <= identifier < TILES:
            raise PyBoyOutOfBoundsException(f"tile {identifier}: give 0 to {TILES - 1}")
        self._pyboy = pyboy
        self.tile_identifier = int(identifier)
        self.data_address = LOW_TILEDATA + 16 * self.tile_identifier
        self.vram_bank = 0
        self.shape = (8, 8)
        self.raw_buffer_format = "RGBA"

    def ndarray(self) -> NDArray[np.uint8]:
        """Return the tile as colours, uint8[8, 8, 4]."""
        row = self._pyboy.machine.row
        data = row[self.data_address - VRAM_OFFSET :][:16].reshape(8, 2)
        low, high = np.unpackbits(data[:, 0]).reshape(8, 8), np.unpackbits(data[:, 1]).reshape(8, 8)
        shades = int(row[k.BGP - k.ROW_ORIGIN]) >> 2 * (low + 2 * high) & 3
        return self._pyboy.screen.palette[shades].view(np.uint8).reshape(8, 8, 4)

    def image(self) -> Image.Image:
        """Return the tile as an image."""
        return Image.fromarray(self.ndarray(), "RGBA")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tile) and self.data_address == other.data_address

    def __hash__(self) -> int:
        return self.data_address

    def __repr__(self) -> str:
        return f"Tile: {self.tile_identifier}"
