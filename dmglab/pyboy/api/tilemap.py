"""Tile maps: `PyBoy.tilemap_background` and `PyBoy.tilemap_window`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmglab.pyboy.api.constants import HIGH_TILEMAP, LOW_TILEDATA_NTILES, LOW_TILEMAP, VRAM_OFFSET
from dmglab.pyboy.api.tile import Tile
from emulator import constants as k


class TileMap:
    """Numbers of the tiles of background or window, 32 by 32: `[8, 2]`, `[2:12, 17]`, `[:, :]`, column first."""

    def __init__(self, pyboy: Any, map_bit: int) -> None:
        self._pyboy, self._map_bit = pyboy, map_bit
        self._use_tile_objects = False
        self.shape = (32, 32)

    @property
    def signed_tile_data(self) -> bool:
        """True while numbers below 128 mean the tiles from 9000 on, which are 256 to 383."""
        return not self._lcdc & k.LCDC_TILE_DATA

    @property
    def map_offset(self) -> int:
        """Address of the map that is shown now."""
        return HIGH_TILEMAP if self._lcdc & self._map_bit else LOW_TILEMAP

    @property
    def _lcdc(self) -> int:
        return int(self._pyboy.machine.row[k.LCDC - k.ROW_ORIGIN])

    def identifiers(self) -> NDArray[np.uint32]:
        """Return the tile numbers of the whole map, uint32[32, 32], row first."""
        found = self._pyboy.machine.row[self.map_offset - VRAM_OFFSET :][:1024].reshape(32, 32)
        if self.signed_tile_data:
            return (found ^ 0x80).astype(np.uint32) + LOW_TILEDATA_NTILES - 0x80
        return found.astype(np.uint32)

    def tile_identifier(self, column: int, row: int) -> int:
        """Return the number of the tile at a place, 0 to 383. Raises IndexError outside the map."""
        if not (0 <= column < 32 and 0 <= row < 32):
            raise IndexError(f"column {column}, row {row}: give 0 to 31")
        return int(self.identifiers()[row, column])

    def tile(self, column: int, row: int) -> Tile:
        """Return the tile at a place. Raises IndexError outside the map."""
        return Tile(self._pyboy, self.tile_identifier(column, row))

    def use_tile_objects(self, switch: bool) -> None:
        """Let an index give `Tile` objects in place of numbers."""
        self._use_tile_objects = switch

    def search_for_identifiers(self, identifiers: Any) -> list[list[list[int]]]:
        """Return for each number the places [row, column] that show it."""
        return [np.argwhere(self.identifiers() == wanted).tolist() for wanted in identifiers]

    def __getitem__(self, xy: Any) -> Any:
        x, y = xy if isinstance(xy, tuple) else (xy, slice(None))
        for part in (x, y):
            if isinstance(part, slice) and (
                (part.step or 1) < 0 or (part.start or 0) > (32 if part.stop is None else part.stop)
            ):
                raise ValueError(f"[{part.start}:{part.stop}:{part.step}]: give a first place and an end behind it")
            if isinstance(part, int) and not 0 <= part < 32:
                raise IndexError(f"{part}: give 0 to 31")
        found = self.identifiers()[y, x]
        if not self._use_tile_objects:
            return found.tolist()
        make = np.frompyfunc(lambda number: Tile(self._pyboy, int(number)), 1, 1)(found)
        return make.tolist() if isinstance(make, np.ndarray) else make

    def __repr__(self) -> str:
        lines = "\n".join(" ".join(f"{number:3d}" for number in row) for row in self.identifiers())
        return f"Tile Map Address: {self.map_offset:#06x}, Signed Tile Data: {self.signed_tile_data}\n{lines}"
