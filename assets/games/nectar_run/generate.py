"""Write build/tables.c and the banks of the gardens from art.py and songs.py."""

from __future__ import annotations

import sys
from pathlib import Path

import art
import songs
from kit import font
from kit.songs import song_tables
from kit.tables import TileSet, c_bytes, picture_map

FONT_BASE = 128
TEXTS = {
    "press_start": "PRESS START",
    "best": "BEST",
    "score": "SCORE",
    "ready": "STAGE",
    "jar": "THE JAR IS FULL!",
    "hornet": "A HORNET COMES...",
    "clear": "GARDEN SAVED!",
    "over": "GAME OVER",
    "again": "START: FLY AGAIN",
    "won": "ALL IS IN BLOOM",
    "fly_on": "START: FLY ON",
    "honey": "HONEY",
}
STAGES = 3


def stage_file(number: int) -> str:
    """Tiles and map of one garden; map rows are 20 tiles, the last row first."""
    picture, tiles = art.garden(number), TileSet(f"stage_{number}", limit=256)
    grid: list[int] = []
    for y in range(0, picture.height, 8):
        grid += [tiles.number(picture.tile_bytes(x, y)) for x in range(0, 160, 8)]
    if len(tiles.tiles) > 128:
        raise ValueError(f"stage {number}: {len(tiles.tiles)} tiles, block 9000 holds 128")
    print(f"  stage {number}: {len(tiles.tiles)} tiles")
    return (
        '#include "game.h"\n'
        + c_bytes(f"stage_{number}_tiles", tiles.data(), static=False)
        + c_bytes(f"stage_{number}_map", grid, static=False)
    )


def picture_tables(common: TileSet) -> str:
    tiles = TileSet("title", limit=256)
    grid = picture_map(art.title(), tiles, common)
    if len(tiles.tiles) > 128:
        raise ValueError(f"title: {len(tiles.tiles)} tiles, block 9000 holds 128")
    print(f"  title: {len(tiles.tiles)} tiles")
    return (
        c_bytes("title_tiles", tiles.data(), static=False)
        + f"const uint8_t title_tile_count = {len(tiles.tiles)};\n"
        + c_bytes("title_map", grid, static=False)
    )


def main() -> int:
    target = Path(sys.argv[1])
    common = TileSet("common", FONT_BASE, limit=256)
    codes = {mark: common.number(t.tile_bytes(0, 0)) for mark, t in font.letters().items()}
    out = ['#include "game.h"\n', song_tables(songs.SONGS), songs.effect_tables()]
    for name, text in TEXTS.items():
        out.append(c_bytes(f"text_{name}", [codes[mark] for mark in text] + [0], static=False))
    out.append(f"const uint8_t tile_space = {codes[' ']}, tile_zero = {codes['0']};\n")
    for name, tile in art.hud().items():
        out.append(f"const uint8_t tile_{name} = {common.number(tile.tile_bytes(0, 0))};\n")
    out.append(picture_tables(common))
    data, first = art.sprites()
    out.append(c_bytes("sprite_tiles", data, static=False))
    out.append(f"const uint8_t sprite_tile_count = {len(data) // 16};\n")
    out += [f"const uint8_t sprite_{name} = {number};\n" for name, number in first.items()]
    out.append(c_bytes("common_tiles", common.data(), static=False))
    out.append(f"const uint8_t common_tile_count = {len(common.tiles)};\n")
    (target / "tables.c").write_text("".join(out))
    for number in range(STAGES):
        (target / f"stage_{number}.c").write_text(stage_file(number))
    print(f"  common: {len(common.tiles)} tiles, sprites: {len(data) // 16} tiles")
    return 0


if __name__ == "__main__":
    sys.exit(main())
