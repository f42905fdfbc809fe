"""Write build/tables.c (every table of game.h) from world.py, art/ and songs.py.

Standard library only.
"""

from __future__ import annotations

import sys
from pathlib import Path

import songs
import world
from art import ending, people, title
from kit import font
from kit.canvas import Canvas
from kit.songs import song_tables
from kit.tables import TileSet, c_bytes, c_table, picture_map

FONT_BASE = 128  # tile number of the first common tile: block 8800


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


class TilePool:
    """Every background tile once; a set is runs of it."""

    def __init__(self) -> None:
        self.tiles: dict[bytes, int] = {}

    def runs(self, tiles: TileSet) -> list[int]:
        """(first low, first high, count) for each run, flattened."""
        runs: list[list[int]] = []
        for tile in tiles.tiles:
            number = self.tiles.setdefault(tile, len(self.tiles))
            if runs and number == sum(runs[-1]) and runs[-1][1] < 255:
                runs[-1][1] += 1
            else:
                runs.append([number, 1])
        return [value for first, count in runs for value in (first & 255, first >> 8, count)]


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
    if len(data) > 128 * 16:
        raise ValueError(f"{len(data) // 16} sprite tiles, block 8000 holds 128")
    return data, first


def room_tables(out: list[str], texts: Texts, sprites: dict[str, int], taken: int) -> tuple[list[str], list[TileSet]]:
    """Write what each room points to; its row of `rooms`, and the tile sets in use."""
    set_names = list(dict.fromkeys(room.tileset for room in world.ROOMS))
    tile_sets = {name: TileSet(name, taken=taken) for name in set_names}
    square_sets = {name: SquareSet(name) for name in set_names}
    rows = []
    for number, room in enumerate(world.ROOMS):
        tiles = tile_sets[room.tileset]
        out.append(square_table(number, room, tiles, square_sets[room.tileset]))
        out.append(thing_tables(number, room, sprites))
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
            f"{len(room.people)}, {animations}, name_{number}, &song_{room.song}}}"
        )
    for key, name in enumerate(set_names):
        squares = square_sets[name].squares
        for plane in range(5):
            out.append(c_bytes(f"plane_{key}_{plane}", [square[plane] for square in squares]))
        print(f"  {name}: {len(tile_sets[name].tiles)} tiles, {len(squares)} squares")
    return rows, list(tile_sets.values())


def square_table(number: int, room: world.Room, tiles: TileSet, squares: SquareSet) -> str:
    """The room's grid of squares, cut from its picture."""
    picture, solid = paint(room)
    corners = ((0, 0), (8, 0), (0, 8), (8, 8))
    grid = []
    for y in range(room.height):
        for x in range(room.width):
            a, b, c, d = (tiles.number(picture.tile_bytes(16 * x + dx, 16 * y + dy)) for dx, dy in corners)
            grid.append(squares.number((a, b, c, d, int(solid[y][x]))))
    for warp in room.warps:
        if solid[warp.y][warp.x]:
            raise ValueError(f"{room.name}: warp at solid ({warp.x}, {warp.y})")
    return c_bytes(f"squares_{number}", grid)


def thing_tables(number: int, room: world.Room, sprites: dict[str, int]) -> str:
    """Warps, signs and people of one room."""
    names, talk_names = [room.name for room in world.ROOMS], list(world.TALKS)
    warps = [(w.x, w.y, w.when, names.index(w.room), w.to_x, w.to_y, w.facing) for w in room.warps]
    signs = [(x, y, talk_names.index(talk)) for x, y, talk in room.signs]
    persons = [
        (p.x, p.y, p.facing, sprites[p.picture], p.palette << 4, p.behaviour, talk_names.index(p.talk))
        for p in room.people
    ]
    return (
        c_table("warp_t", f"warps_{number}", warps)
        + c_table("sign_t", f"signs_{number}", signs)
        + c_table("person_t", f"people_{number}", persons)
    )


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
    for name, text in world.TEXTS.items():
        out.append(c_bytes(f"text_{name}", texts.encode(text), static=False))


def item_tables(out: list[str], texts: Texts) -> None:
    """What the satchel holds at each stage of the story, three things at most."""
    rows = []
    for stage, things in enumerate(world.SATCHEL):
        entries = []
        for k, (name, text) in enumerate(things):
            out.append(c_bytes(f"item_name_{stage}_{k}", texts.encode(name)))
            out.append(c_bytes(f"item_text_{stage}_{k}", texts.encode(text)))
            entries.append(f"{{item_name_{stage}_{k}, item_text_{stage}_{k}}}")
        rows.append("{" + ", ".join(entries + ["{0, 0}"] * (3 - len(entries))) + "}")
    out.append(f"const item_t items[][3] = {{{', '.join(rows)}}};\n")


def picture_tables(out: list[str], name: str, picture: Canvas, common: TileSet) -> TileSet:
    """A picture that fills the screen: its tile set, and NAME_map."""
    tiles = TileSet(name, taken=len(common.tiles))
    grid = picture_map(picture, tiles, common)
    out.append(c_bytes(f"{name}_map", grid, static=False))
    print(f"  {name}: {len(tiles.tiles)} tiles")
    return tiles


def prompt_tables(out: list[str], texts: Texts) -> None:
    """PRESS START on the row of the title that is kept white."""
    prompt = texts.encode("PRESS START")[:-1]
    row, column = 16, 4
    out.append(f"const uint8_t press_start_row = {row}, press_start_column = {column};\n")
    out.append(f"const uint8_t press_start_length = {len(prompt)};\n")
    out.append(c_bytes("press_start_tiles", prompt, static=False))
    out.append(c_bytes("press_start_blank", [texts.codes[" "]] * len(prompt), static=False))


def box_tables(out: list[str], common: TileSet, space: int) -> None:
    part = {k: common.number(t.tile_bytes(0, 0)) for k, t in font.frame().items()}
    rows = [
        [part["top_left"], part["top"], part["top_right"]],
        [part["left"], space, part["right"]],
        [part["bottom_left"], part["bottom"], part["bottom_right"]],
    ]
    body = ", ".join("{" + ", ".join(map(str, row)) + "}" for row in rows)
    out.append(f"const uint8_t box_parts[3][3] = {{{body}}};\n")
    out.append(f"const uint8_t tile_space = {space}, tile_more = {part['more']};\n")
    out.append(f"const uint8_t tile_cursor = {part['cursor']};\n")


def tile_tables(out: list[str], sets: list[TileSet], common: TileSet, sprites: bytes) -> None:
    pool = TilePool()
    entries = []
    for tiles in sets:
        out.append(c_bytes(f"tiles_{tiles.name}", pool.runs(tiles)))
        entries.append(f"{{tiles_{tiles.name}, {len(tiles.tiles)}}}")
    out.append(f"const tileset_t tilesets[] = {{{', '.join(entries)}}};\n")
    out.append(c_bytes("tile_pool", b"".join(pool.tiles), static=False))
    out.append(c_bytes("common_tiles", common.data(), static=False))
    out.append(f"const uint8_t common_tile_count = {len(common.tiles)};\n")
    out.append(c_bytes("sprite_tiles", sprites, static=False))
    out.append(f"const uint8_t sprite_tile_count = {len(sprites) // 16};\n")
    distinct = len(pool.tiles) + len(common.tiles) + len(sprites) // 16
    print(f"  common: {len(common.tiles)} tiles, sprites: {len(sprites) // 16}, all: {distinct}")


def main() -> int:
    target = Path(sys.argv[1]) / "tables.c"
    common = TileSet("common", FONT_BASE)
    texts = Texts(common)
    out = ['#include "game.h"\n', song_tables(songs.SONGS), songs.effect_tables()]
    box_tables(out, common, texts.codes[" "])
    prompt_tables(out, texts)
    sprite_data, sprites = sprite_table()
    rows, tile_sets = room_tables(out, texts, sprites, len(common.tiles))
    talk_tables(out, texts)
    item_tables(out, texts)
    out.append("const room_t rooms[] = {\n  " + ",\n  ".join(rows) + "\n};\n")
    pictures = {"title": title.title(), "ending": ending.ending()}
    for name, picture in pictures.items():
        out.append(f"const uint8_t {name}_tileset = {len(tile_sets)};\n")
        tile_sets.append(picture_tables(out, name, picture, common))
    tile_tables(out, tile_sets, common, sprite_data)
    name, x, y, facing = world.START
    number = [room.name for room in world.ROOMS].index(name)
    out.append(f"const uint8_t start_room = {number}, start_x = {x}, start_y = {y};\n")
    out.append(f"const uint8_t start_facing = {facing};\n")
    out.append(f"const uint8_t player_picture = {sprites[world.PLAYER]};\n")
    out.append(f"const uint8_t parcel_picture = {sprites['parcel']};\n")
    target.write_text("".join(out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
