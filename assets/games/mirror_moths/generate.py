"""Write build/tables.c from art.py, levels.txt and songs.py. Standard library only."""

from __future__ import annotations

import sys
from pathlib import Path

import art
import levels
import songs
from kit import font
from kit.songs import song_tables
from kit.tables import TileSet, c_bytes, picture_map

FONT_BASE = 128
TEXTS = {
    "press_start": "PRESS START",
    "level": "LEVEL",
    "wick": "WICK",
    "bright": "BRIGHT!",
    "press_a": "PRESS A",
    "score": "SCORE",
    "best": "BEST",
    "over": "THE CANDLES ARE OUT",
    "again": "START: TRY AGAIN",
    "won": "EVERY LAMP IS LIT!",
    "thanks": "GOOD NIGHT, MOTHS.",
}
KINDS = ".#x~OpgGoL"  # in the order of the square_ names of game.h
SPARE_WICK = 12  # moves beyond three times the fewest


def square_table(tiles: TileSet) -> str:
    """Four tile numbers of each kind: in the open, left of the mirror, right of it."""
    data: list[int] = []
    for x in (0, 4, 5):
        for kind in KINDS:
            square = art.mirrored(art.SQUARES[kind], x)
            corners = ((0, 0), (8, 0), (0, 8), (8, 8))
            data += [tiles.number(square.tile_bytes(dx, dy)) for dx, dy in corners]
    return c_bytes("square_tiles", data, static=False)


def level_tables() -> str:
    """Of each level: wick, places of the moths, then its squares by kind."""
    data: list[int] = []
    found = levels.load()
    for level in found:
        data.append(3 * len(level.solution()) + SPARE_WICK)
        for x, y in level.start[:2]:
            data += [x, y]
        for row in level.rows:
            data += [KINDS.index("." if mark == "m" else mark) for mark in row]
    return c_bytes("levels", data, static=False) + f"const uint8_t level_count = {len(found)};\n"


def title_table(tiles: TileSet, common: TileSet) -> str:
    grid = picture_map(art.title(), tiles, common)
    return c_bytes("title_map", grid, static=False)


def main() -> int:
    common = TileSet("common", FONT_BASE, limit=256)
    codes = {mark: common.number(t.tile_bytes(0, 0)) for mark, t in font.letters().items()}
    out = ['#include "game.h"\n', song_tables(songs.SONGS), songs.effect_tables()]
    for name, text in TEXTS.items():
        out.append(c_bytes(f"text_{name}", [codes[mark] for mark in text] + [0], static=False))
    out.append(f"const uint8_t tile_space = {codes[' ']}, tile_zero = {codes['0']};\n")
    for name, tile in art.hud().items():
        out.append(f"const uint8_t tile_{name} = {common.number(tile.tile_bytes(0, 0))};\n")
    board, title = TileSet("board", limit=256), TileSet("title", limit=256)
    out += [square_table(board), level_tables(), title_table(title, common)]
    for tiles in (board, title):
        if len(tiles.tiles) > 128:
            raise ValueError(f"{tiles.name}: {len(tiles.tiles)} tiles, block 9000 holds 128")
        out.append(c_bytes(f"{tiles.name}_tiles", tiles.data(), static=False))
        out.append(f"const uint8_t {tiles.name}_tile_count = {len(tiles.tiles)};\n")
        print(f"  {tiles.name}: {len(tiles.tiles)} tiles")
    out.append(c_bytes("common_tiles", common.data(), static=False))
    out.append(f"const uint8_t common_tile_count = {len(common.tiles)};\n")
    sprites = art.moths()
    out.append(c_bytes("sprite_tiles", sprites, static=False))
    out.append(f"const uint8_t sprite_tile_count = {len(sprites) // 16};\n")
    (Path(sys.argv[1]) / "tables.c").write_text("".join(out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
