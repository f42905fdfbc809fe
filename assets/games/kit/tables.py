"""C text of tables, and sets of distinct tiles."""

from __future__ import annotations

from collections.abc import Sequence

from .canvas import Canvas


class TileSet:
    """Distinct 8x8 tiles in order of first use.

    Numbers begin at `base`. From `limit` on they go on behind `taken` others: block 9000 holds
    tiles 0 to 127, block 8800 those from 128, where a font may lie first.
    """

    def __init__(self, name: str, base: int = 0, taken: int = 0, limit: int = 128) -> None:
        self.name, self.base, self.taken, self.limit = name, base, taken, limit
        self.tiles: dict[bytes, int] = {}

    def number(self, tile: bytes) -> int:
        if tile not in self.tiles:
            number = self.base + len(self.tiles)
            if number >= self.limit > self.base:
                number += self.taken
            if number > 255:
                raise ValueError(f"tile set {self.name}: {number} is more than 255 tiles")
            self.tiles[tile] = number
        return self.tiles[tile]

    def data(self) -> bytes:
        return b"".join(self.tiles)


def picture_map(picture: Canvas, tiles: TileSet, common: TileSet) -> list[int]:
    """Tile numbers of a picture, row by row; what `common` has is taken from there."""
    grid = []
    for y in range(0, picture.height, 8):
        for x in range(0, picture.width, 8):
            data = picture.tile_bytes(x, y)
            grid.append(common.tiles[data] if data in common.tiles else tiles.number(data))
    return grid


def c_bytes(name: str, data: bytes | Sequence[int], static: bool = True) -> str:
    rows = [", ".join(str(b) for b in data[i : i + 20]) for i in range(0, len(data), 20)]
    word = "static " if static else ""
    return f"{word}const uint8_t {name}[] = {{\n  " + ",\n  ".join(rows) + "\n};\n"


def c_table(kind: str, name: str, rows: Sequence[Sequence[object]]) -> str:
    body = ", ".join("{" + ", ".join(map(str, row)) + "}" for row in rows or [(0,)])
    return f"static const {kind} {name}[] = {{{body}}};\n"
