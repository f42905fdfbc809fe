"""Write build/tables.c (every table of game.h) from world.py and art/. Standard library only."""

from __future__ import annotations

import sys
from pathlib import Path

import world
from art import font, people, title
from art.canvas import Canvas

FONT_BASE = 128  # tile number of the first common tile: block 8800


class TileSet:
    """Distinct 8x8 tiles in order of first use."""

    def __init__(self, name: str, base: int = 0, taken: int = 0) -> None:
        self.name, self.base, self.taken = name, base, taken
        self.tiles: dict[bytes, int] = {}

    def number(self, tile: bytes) -> int:
        if tile not in self.tiles:
            number = self.base + len(self.tiles)
            if number >= FONT_BASE > self.base:
                number += self.taken  # a large set goes on behind the common tiles
            if number > 255:
                raise ValueError(f"tile set {self.name}: {number} is more than 255 tiles")
            self.tiles[tile] = number
        return self.tiles[tile]

    def data(self) -> bytes:
        return b"".join(self.tiles)


def paint(room: world.Room) -> tuple[Canvas, list[list[bool]]]:
    """The whole room as a picture, and which squares are solid."""
    picture = Canvas(16 * room.width, 16 * room.height, 0)
    solid = [[False] * room.width for _ in range(room.height)]
    room.ground(picture)
    for x, y, (thing, blocks) in room.things:
        picture.blit(thing, 16 * x, 16 * (y + len(blocks)) - thing.height)
        for dy, row in enumerate(blocks):
            for dx, mark in enumerate(row):
                if mark in "#.":
                    solid[y + dy][x + dx] = mark == "#"
    return picture, solid


class SquareSet:
    """Distinct squares: four tile numbers and the solid flag."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.squares: dict[tuple[int, int, int, int, int], int] = {}

    def number(self, square: tuple[int, int, int, int, int]) -> int:
        return self.squares.setdefault(square, len(self.squares))


def c_bytes(name: str, data: bytes | list[int], static: bool = True) -> str:
    rows = [", ".join(str(b) for b in data[i : i + 20]) for i in range(0, len(data), 20)]
    word = "static " if static else ""
    return f"{word}const uint8_t {name}[] = {{\n  " + ",\n  ".join(rows) + "\n};\n"


class Texts:
    """Strings as tile numbers of the font: 0 ends, 1 is the second line, 2 the next page."""

    def __init__(self, common: TileSet) -> None:
        self.codes = {mark: common.number(t.tile_bytes(0, 0)) for mark, t in font.letters().items()}

    def encode(self, text: str) -> list[int]:
        for page in text.split("|"):
            lines = page.split("\n")
            if len(lines) > 2 or max(map(len, lines)) > 18:
                raise ValueError(f"text does not fit 2 lines of 18: {page!r}")
        special = {"\n": 1, "|": 2}
        return [special.get(mark) or self.codes[mark] for mark in text] + [0]


def sprite_table() -> tuple[bytes, dict[str, int]]:
    """Tiles of all poses (two 8x16 columns each) and the first tile of each character."""
    data, first = b"", {}
    for name, poses in people.PEOPLE.items():
        first[name] = len(data) // 16
        for text in poses:
            pose = people.pose(text)
            for x in (0, 8):
                data += pose.tile_bytes(x, 0) + pose.tile_bytes(x, 8)
    return data, first


def room_tables(
    out: list[str], texts: Texts, sprites: dict[str, int], taken: int
) -> tuple[list[str], list[TileSet]]:
    names = [room.name for room in world.ROOMS]
    set_names = list(dict.fromkeys(room.tileset for room in world.ROOMS))
    tile_sets = {name: TileSet(name, taken=taken) for name in set_names}
    square_sets = {name: SquareSet(name) for name in set_names}
    talk_names = list(world.TALKS)
    rows = []
    for number, room in enumerate(world.ROOMS):
        tiles, squares = tile_sets[room.tileset], square_sets[room.tileset]
        picture, solid = paint(room)
        grid = []
        for y in range(room.height):
            for x in range(room.width):
                corners = ((0, 0), (8, 0), (0, 8), (8, 8))
                four = [
                    tiles.number(picture.tile_bytes(16 * x + a, 16 * y + b)) for a, b in corners
                ]
                grid.append(squares.number((*four, int(solid[y][x]))))
        out.append(c_bytes(f"squares_{number}", grid))
        for warp in room.warps:
            if solid[warp.y][warp.x]:
                raise ValueError(f"{room.name}: warp at solid ({warp.x}, {warp.y})")
        out.append(c_table("warp_t", f"warps_{number}", [
            (w.x, w.y, w.when, names.index(w.room), w.to_x, w.to_y, w.facing) for w in room.warps
        ]))  # fmt: skip
        out.append(c_table("sign_t", f"signs_{number}", [
            (x, y, talk_names.index(talk)) for x, y, talk in room.signs
        ]))  # fmt: skip
        out.append(c_table("person_t", f"people_{number}", [
            (p.x, p.y, p.facing, sprites[p.picture], p.palette << 4, p.behaviour,
             talk_names.index(p.talk)) for p in room.people
        ]))  # fmt: skip
        out.append(c_bytes(f"name_{number}", texts.encode(room.name)))
        animations = "0"
        if room.animations:
            animations = f"animations_{number}"
            out.append(animation_table(number, room.animations, tiles))
        key = set_names.index(room.tileset)
        planes = ", ".join(f"plane_{key}_{k}" for k in range(5))
        rows.append(
            f"{{{room.width}, {room.height}, {key}, squares_{number}, {planes}, warps_{number}, "
            f"signs_{number}, people_{number}, {len(room.warps)}, {len(room.signs)}, "
            f"{len(room.people)}, {animations}, name_{number}}}"
        )
    for key, name in enumerate(set_names):
        for plane in range(5):
            values = [square[plane] for square in square_sets[name].squares]
            out.append(c_bytes(f"plane_{key}_{plane}", values))
        print(f"  {name}: {len(tile_sets[name].tiles)} tiles, {len(values)} squares")
    return rows, list(tile_sets.values())


def animation_table(number: int, names: tuple[str, str], tiles: TileSet) -> str:
    """Two animated tiles: the first frame is found in the tile set, four frames each."""
    from art import outdoor

    text, entries = "", []
    for k, name in enumerate(names):
        frames = [frame.tile_bytes(0, 0) for frame in outdoor.ANIMATIONS[name]()]
        if frames[0] not in tiles.tiles:
            raise ValueError(f"animation {name}: its first frame is not in the room")
        text += c_bytes(f"frames_{number}_{k}", b"".join(frames))
        entries.append(f"{{{tiles.tiles[frames[0]]}, frames_{number}_{k}}}")
    return text + f"static const animation_t animations_{number}[] = {{{', '.join(entries)}}};\n"


def c_table(kind: str, name: str, rows: list[tuple[int, ...]]) -> str:
    body = ", ".join("{" + ", ".join(map(str, row)) + "}" for row in rows or [(0,)])
    return f"static const {kind} {name}[] = {{{body}}};\n"


def talk_tables(out: list[str], texts: Texts) -> None:
    for name, lines in world.TALKS.items():
        entries = []
        for k, (stage, text, following) in enumerate(lines):
            out.append(c_bytes(f"text_{name}_{k}", texts.encode(text)))
            entries.append(f"{{{stage}, text_{name}_{k}, {following}}}")
        if lines[-1][0] != world.ANY_STAGE:
            raise ValueError(f"talk {name}: the last line must be for any stage")
        out.append(f"static const line_t talk_{name}[] = {{{', '.join(entries)}}};\n")
    joined = ", ".join(f"talk_{name}" for name in world.TALKS)
    out.append(f"const line_t *const talks[] = {{{joined}}};\n")
    for k, text in enumerate(world.BAG):
        out.append(c_bytes(f"bag_{k}", texts.encode(text)))
    joined = ", ".join(f"bag_{k}" for k in range(len(world.BAG)))
    out.append(f"const uint8_t *const bag_texts[] = {{{joined}}};\n")
    out.append(c_bytes("text_morning", texts.encode(world.MORNING), static=False))


def title_tables(out: list[str], common: TileSet, texts: Texts) -> TileSet:
    tiles = TileSet("title", taken=len(common.tiles))
    picture = title.title()
    grid = []
    for y in range(0, 144, 8):
        for x in range(0, 160, 8):
            data = picture.tile_bytes(x, y)
            grid.append(common.tiles[data] if data in common.tiles else tiles.number(data))
    out.append(c_bytes("title_map", grid, static=False))
    prompt = texts.encode("PRESS START")[:-1]
    row, column = 16, 4
    behind = grid[20 * row + column : 20 * row + column + len(prompt)]
    out.append(f"const uint8_t press_start_row = {row}, press_start_column = {column};\n")
    out.append(f"const uint8_t press_start_length = {len(prompt)};\n")
    out.append(c_bytes("press_start_tiles", prompt, static=False))
    out.append(c_bytes("press_start_blank", behind, static=False))
    print(f"  title: {len(tiles.tiles)} tiles")
    return tiles


def box_tables(out: list[str], common: TileSet, space: int) -> None:
    part = {k: common.number(t.tile_bytes(0, 0)) for k, t in font.frame().items()}
    rows = [
        [part["top_left"]] + [part["top"]] * 18 + [part["top_right"]],
        [part["left"]] + [space] * 18 + [part["right"]],
        [part["bottom_left"]] + [part["bottom"]] * 18 + [part["bottom_right"]],
    ]
    body = ",\n  ".join("{" + ", ".join(map(str, row)) + "}" for row in rows)
    out.append(f"const uint8_t box_rows[3][20] = {{\n  {body}\n}};\n")
    out.append(f"const uint8_t tile_space = {space}, tile_more = {part['more']};\n")


def main() -> int:
    target = Path(sys.argv[1])
    common = TileSet("common", FONT_BASE)
    texts = Texts(common)
    out = ['#include "game.h"\n']
    box_tables(out, common, texts.codes[" "])
    title_set = title_tables(out, common, texts)
    sprite_data, sprites = sprite_table()
    rows, tile_sets = room_tables(out, texts, sprites, len(common.tiles))
    talk_tables(out, texts)
    out.append("const room_t rooms[] = {\n  " + ",\n  ".join(rows) + "\n};\n")
    entries = []
    for tiles in [*tile_sets, title_set]:
        out.append(c_bytes(f"tiles_{tiles.name}", tiles.data()))
        entries.append(f"{{tiles_{tiles.name}, {len(tiles.tiles)}}}")
    out.append(f"const tileset_t tilesets[] = {{{', '.join(entries)}}};\n")
    out.append(f"const uint8_t title_tileset = {len(tile_sets)};\n")
    out.append(c_bytes("common_tiles", common.data(), static=False))
    out.append(f"const uint8_t common_tile_count = {len(common.tiles)};\n")
    out.append(c_bytes("sprite_tiles", sprite_data, static=False))
    out.append(f"const uint8_t sprite_tile_count = {len(sprite_data) // 16};\n")
    name, x, y, facing = world.START
    number = [room.name for room in world.ROOMS].index(name)
    out.append(f"const uint8_t start_room = {number}, start_x = {x}, start_y = {y};\n")
    out.append(
        f"const uint8_t start_facing = {facing}, player_picture = {sprites[world.PLAYER]};\n"
    )
    target.write_text("".join(out))
    print(f"  common: {len(common.tiles)} tiles, sprites: {len(sprite_data) // 16} tiles")
    return 0


if __name__ == "__main__":
    sys.exit(main())
