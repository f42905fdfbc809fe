"""The world of Pocket Quest as data: rooms, warps, signs, people, what they say, and the story.

A later chapter adds rows here; the C code knows no room, person or text by name.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from art import interior as ins
from art import outdoor as out
from art.canvas import Canvas

ANY_STAGE = 255
ON_STEP = 255
DOWN, UP, LEFT, RIGHT = range(4)
STILL, TURNS, WANDERS = range(3)


@dataclass(frozen=True)
class Warp:
    """Standing at (x, y) and pressing `when` (or ON_STEP) leads to (to_x, to_y) of `room`."""

    x: int
    y: int
    when: int
    room: str
    to_x: int
    to_y: int
    facing: int


@dataclass(frozen=True)
class Person:
    x: int
    y: int
    facing: int
    picture: str
    palette: int
    behaviour: int
    talk: str


@dataclass(frozen=True)
class Room:
    """`ground` paints the floor; things are (x, y, (picture, solid rows)) in squares.

    A picture taller than its solid rows reaches upwards from the last of them.
    """

    name: str
    width: int
    height: int
    tileset: str
    ground: object
    things: list[tuple[int, int, tuple[Canvas, list[str]]]]
    warps: list[Warp] = field(default_factory=list)
    signs: list[tuple[int, int, str]] = field(default_factory=list)
    people: list[Person] = field(default_factory=list)
    animations: tuple[str, str] | None = None


def tiled(square: Canvas, wall: bool = True):
    """Ground that repeats one 16x16 square, shaded below the wall if there is one."""

    def paint(picture: Canvas) -> None:
        for y in range(0, picture.height, 16):
            for x in range(0, picture.width, 16):
                picture.blit(square, x, y)
        if wall:
            picture.hline(0, picture.width, 32, 3)
            picture.checker(0, 33, picture.width, 34, 1)

    return paint


BEDROOM = Room(
    "BEDROOM", 10, 9, "bedroom", tiled(ins.floor()),
    things=[
        (0, 0, ins.wall(10)),
        (0, 0, ins.bookshelf()), (1, 0, ins.bookshelf()),
        (2, 0, ins.window()),
        (4, 0, ins.desk()),
        (7, 0, ins.painting()), (8, 0, ins.clock()),
        (3, 2, ins.rug(4, 3)), (4, 3, ins.low_table()),
        (7, 2, ins.plant()),
        (0, 5, ins.rail(2)), (3, 5, ins.rail(7)),
        (0, 6, ins.bed()), (1, 6, ins.nightstand()),
        (4, 8, ins.toy_box()), (7, 7, ins.rug(2, 1)), (7, 6, ins.television_set()),
        (9, 2, ins.stairs_down()),
    ],
    warps=[Warp(9, 2, ON_STEP, "HOME", 8, 2, LEFT)],
    signs=[
        (0, 1, "books"), (1, 1, "books"), (2, 1, "window"), (3, 1, "window"),
        (4, 1, "computer"), (5, 1, "computer"), (0, 6, "bed"), (0, 7, "bed"),
        (4, 8, "toys"), (7, 2, "plant"), (4, 3, "comic"), (5, 3, "comic"),
        (1, 6, "lamp"), (7, 6, "game"), (8, 6, "game"), (7, 1, "painting"), (8, 1, "clock"),
    ],
)  # fmt: skip

HOUSE = Room(
    "HOME", 10, 9, "home", tiled(ins.floor()),
    things=[
        (0, 0, ins.wall(10)),
        (0, 0, ins.fridge()), (1, 0, ins.sink()), (2, 0, ins.stove()), (3, 0, ins.cupboard()),
        (4, 0, ins.window()), (6, 0, ins.television()),
        (9, 1, ins.stairs_up()),
        (0, 5, ins.rail(6)),
        (5, 3, ins.rug(3, 2)),
        (4, 6, ins.table(2)), (3, 7, ins.stool()), (6, 7, ins.stool()),
        (9, 5, ins.plant()), (0, 6, ins.plant()),
        (0, 8, ins.mat()),
    ],
    warps=[
        Warp(9, 2, ON_STEP, "BEDROOM", 8, 2, LEFT),
        Warp(1, 8, DOWN, "VILLAGE", 5, 8, DOWN),
        Warp(0, 8, DOWN, "VILLAGE", 5, 8, DOWN),
    ],
    signs=[(0, 1, "fridge"), (1, 1, "sink"), (2, 1, "stove"), (3, 1, "plates"),
           (6, 1, "television"), (7, 1, "television"), (4, 1, "window"), (5, 1, "window"),
           (9, 5, "plant"), (0, 6, "plant")],
    people=[Person(3, 3, DOWN, "mother", 1, TURNS, "mother")],
)  # fmt: skip

# T tree, # path, ~ water, f flowers, " tall grass, = fence, b bush, r rock, . grass
VILLAGE_MAP = """
TTTTTTTTTTTTTTTTTTTTTTTT
TTTTTTTTTTTTTTTTTTTTTTTT
TT......TT......TTT..TTT
T.......b.............fT
T.........""..........fT
T.......f.""...........T
T......................T
T==....===.....==#=====T
T.f..#..........f#f....T
T....#...f.......#..f..T
T....##############....T
T....##############..b.T
T..........##..........T
T..~~~~.b..##.....f....T
T.~~~~~~...##...... f..T
T.~~~~~~..f##......"".rT
T.~~~~~~...#######.""..T
T..~~~~....#######.....T
T.f.........f..........T
TTTTTTTTTTTTTTTTTTTTTTTT
""".replace(" ", ".")


def village_ground(picture: Canvas) -> None:
    rows = VILLAGE_MAP.strip().split("\n")
    tiled(out.grass(), wall=False)(picture)
    for kind, mark in (("path", "#"), ("water", "~")):
        cells = {(x, y) for y, row in enumerate(rows) for x, m in enumerate(row) if m == mark}
        out.terrain(picture, cells, kind)


def village_plants() -> list[tuple[int, int, tuple[Canvas, list[str]]]]:
    """What VILLAGE_MAP says grows or stands where, from the back to the front."""
    kinds = {
        "T": out.tree(), "f": out.flowers(), '"': out.tuft(), "=": out.fence(),
        "b": out.bush(), "r": out.rock(), "~": (Canvas(16, 16), ["#"]),
    }  # fmt: skip
    return [
        (x, y, kinds[mark])
        for y, row in enumerate(VILLAGE_MAP.strip().split("\n"))
        for x, mark in enumerate(row)
        if mark in kinds
    ]


VILLAGE = Room(
    "VILLAGE", 24, 20, "village", village_ground,
    things=[
        *village_plants(),
        (3, 4, out.house(4, dark_roof=False, door=2)),
        (15, 3, out.house(5, dark_roof=True, door=2)),
        (14, 12, out.shop(4, door=2)),
        (9, 12, out.well()),
        (3, 9, out.signpost()), (12, 9, out.signpost()), (18, 16, out.signpost()),
        (6, 8, out.mailbox()),
    ],
    warps=[Warp(5, 7, ON_STEP, "HOME", 1, 8, UP)],
    animations=("flower", "water"),
    signs=[(3, 9, "sign_home"), (12, 9, "sign_village"), (18, 16, "sign_shop"),
           (6, 8, "mailbox"), (9, 13, "well"), (16, 15, "shop_shut"), (17, 6, "elder_shut")],
    people=[Person(8, 9, DOWN, "girl", 1, WANDERS, "girl"),
            Person(12, 14, LEFT, "elder", 1, WANDERS, "elder"),
            Person(20, 9, LEFT, "farmer", 1, WANDERS, "neighbour")],
)  # fmt: skip

ROOMS = [BEDROOM, HOUSE, VILLAGE]
START = ("BEDROOM", 1, 7, DOWN)
PLAYER = "kid"

MORNING = "Good morning!\nThe sun is up.|Mum is waiting\ndownstairs."

# Each line: (story stage it belongs to, text, stage the story moves on to). '\n' is the second
# line of the box, '|' turns the page.
TALKS: dict[str, list[tuple[int, str, int]]] = {
    "books": [(ANY_STAGE, "Tales of knights\nand of dragons.", ANY_STAGE)],
    "window": [(ANY_STAGE, "What a fine day!", ANY_STAGE)],
    "computer": [(ANY_STAGE, "The cursor blinks.\nNo mail today.", ANY_STAGE)],
    "bed": [(ANY_STAGE, "Still warm. But it\nis time to get up!", ANY_STAGE)],
    "toys": [(ANY_STAGE, "A ball, a top and\na wooden sword.", ANY_STAGE)],
    "plant": [(ANY_STAGE, "It needs a little\nwater.", ANY_STAGE)],
    "comic": [(ANY_STAGE, "A comic book. The\nhero needs a nap.", ANY_STAGE)],
    "lamp": [(ANY_STAGE, "The lamp is off.", ANY_STAGE)],
    "painting": [(ANY_STAGE, "Mount Lumen, where\nthe wind is born.", ANY_STAGE)],
    "game": [(ANY_STAGE, "TIN HERO, level 7.\nNot now. Errands!", ANY_STAGE)],
    "clock": [(ANY_STAGE, "Five past eight!", ANY_STAGE)],
    "fridge": [(ANY_STAGE, "Milk, cheese and\nhalf a pie.", ANY_STAGE)],
    "sink": [(ANY_STAGE, "Drip... drip...", ANY_STAGE)],
    "stove": [(ANY_STAGE, "Soup! It smells\nof leek.", ANY_STAGE)],
    "plates": [(ANY_STAGE, "Grandma's plates.\nDo not touch!", ANY_STAGE)],
    "television": [(ANY_STAGE, "A film: two robots\nplay ball.", ANY_STAGE)],
    "sign_home": [(ANY_STAGE, "PIP'S HOME", ANY_STAGE)],
    "sign_village": [(ANY_STAGE, "LUMEN VILLAGE\nSmall but bright.", ANY_STAGE)],
    "sign_shop": [(ANY_STAGE, "SHOP: rope, bread,\nparcels and more.", ANY_STAGE)],
    "mailbox": [(ANY_STAGE, "The mailbox is\nempty.", ANY_STAGE)],
    "well": [(ANY_STAGE, "Deep and cool. You\nhear a frog.", ANY_STAGE)],
    "shop_shut": [(ANY_STAGE, "A note: Back soon!", ANY_STAGE)],
    "elder_shut": [(ANY_STAGE, "The door is shut.", ANY_STAGE)],
    "neighbour": [(ANY_STAGE, "The shop? Follow\nthe road south.", ANY_STAGE)],
    "girl": [(ANY_STAGE, "I count flowers.\nSo far: a lot!", ANY_STAGE)],
    "elder": [(ANY_STAGE, "Ho ho! A fine day\nfor a walk.", ANY_STAGE)],
    "mother": [(ANY_STAGE, "Good morning!\nSlept like a log?", ANY_STAGE)],
}
BAG = ["BAG: empty"]
