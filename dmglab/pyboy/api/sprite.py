"""Objects: `PyBoy.get_sprite`."""

from __future__ import annotations

from typing import Any

from dmglab.pyboy.api.constants import COLS, OAM_OFFSET, ROWS, SPRITES, VRAM_OFFSET
from dmglab.pyboy.api.tile import Tile
from dmglab.pyboy.utils import PyBoyOutOfBoundsException
from emulator import constants as k


class Sprite:
    """Object 0 to 39 as it is now; `x`, `y` on the screen, (-8, -16) while it is unused."""

    def __init__(self, pyboy: Any, sprite_index: int) -> None:
        if not 0 <= sprite_index < SPRITES:
            raise PyBoyOutOfBoundsException(f"object {sprite_index}: give 0 to {SPRITES - 1}")
        row = pyboy.machine.row
        at = OAM_OFFSET - VRAM_OFFSET + 4 * sprite_index
        y, x, tile, attributes = row[at : at + 4].tolist()
        height = 16 if row[k.LCDC - k.ROW_ORIGIN] & k.LCDC_OBJ_SIZE else 8
        self._sprite_index = sprite_index
        self.x, self.y, self.tile_identifier = x - 8, y - 16, tile
        self.attr_obj_bg_priority = attributes >> 7 & 1
        self.attr_y_flip = attributes >> 6 & 1
        self.attr_x_flip = attributes >> 5 & 1
        self.attr_palette_number = attributes >> 4 & 1
        self.attr_cgb_bank_number = 0
        self.shape = (8, height)
        self.tiles = [Tile(pyboy, number) for number in range(tile, tile + height // 8)]
        self.on_screen = -height < self.y < ROWS and -8 < self.x < COLS

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sprite) and self._sprite_index == other._sprite_index

    def __hash__(self) -> int:
        return self._sprite_index

    def __repr__(self) -> str:
        return f"Sprite [{self._sprite_index}]: ({self.x}, {self.y}), tiles {self.tiles}, on screen: {self.on_screen}"
