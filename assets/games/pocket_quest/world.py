"""The world of Pocket Quest as data: rooms, warps, signs, people, what they say, and the story.

A later chapter adds rows here; the C code knows no room, person or text by name.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from art import interior as ins
from art import outdoor as out
from art import shop as store
from art import study
from kit.canvas import Canvas

ANY_STAGE = 255
BEGIN, PARCEL, END = range(3)  # how far the errand is
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
    song: str = "home"


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
        "T": out.tree(),
        "f": out.flowers(),
        '"': out.tuft(),
        "=": out.fence(),
        "b": out.bush(),
        "r": out.rock(),
        "~": (Canvas(16, 16), ["#"]),
    }
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
        (14, 8, out.signpost()), (11, 3, out.lantern_tower()),
        (6, 8, out.mailbox()),
    ],
    warps=[
        Warp(5, 7, ON_STEP, "HOME", 1, 8, UP),
        Warp(16, 15, ON_STEP, "SHOP", 4, 8, UP),
        Warp(17, 6, ON_STEP, "STUDY", 2, 9, UP),
    ],
    animations=("flower", "water"),
    signs=[(3, 9, "sign_home"), (12, 9, "sign_village"), (18, 16, "sign_shop"),
           (14, 8, "sign_elder"), (6, 8, "mailbox"), (9, 13, "well"),
           (11, 6, "lantern"), (12, 6, "lantern")],
    people=[Person(8, 9, DOWN, "girl", 1, WANDERS, "girl"),
            Person(12, 14, LEFT, "farmer", 1, WANDERS, "fisher"),
            Person(20, 10, LEFT, "farmer", 1, WANDERS, "neighbour"),
            Person(10, 16, LEFT, "granny", 1, TURNS, "granny")],
    song="village",
)  # fmt: skip

SHOP = Room(
    "SHOP", 10, 9, "shop", tiled(ins.kitchen_floor()),
    things=[
        (0, 0, ins.wall(10)),
        (0, 0, store.goods_shelf("jar jar", "loaf bottle")),
        (1, 0, store.goods_shelf("pot bottle", "fruit box")),
        (2, 0, store.goods_shelf("fruit jar", "book book")),
        (3, 0, ins.window()), (5, 0, store.bunting(1)), (5, 1, store.sacks()),
        (6, 0, store.goods_shelf("rope box", "pot jar")),
        (7, 0, store.goods_shelf("bottle pot", "jar jar")),
        (8, 0, store.goods_shelf("book fruit", "rope bottle")),
        (9, 0, store.goods_shelf("box box", "box pot")),
        (6, 2, store.counter_end(1)), (6, 3, store.counter(4, till=1)),
        (0, 2, store.barrel()), (1, 2, store.crate()),
        (2, 4, store.fruit_stand()), (4, 4, store.fruit_stand()),
        (0, 6, store.crate()), (1, 6, store.fruit_stand()), (3, 6, store.barrel()),
        (5, 6, store.crate()), (6, 6, store.fruit_stand()), (8, 6, store.barrel()),
        (0, 8, store.sacks()), (8, 8, store.crate()), (9, 8, store.barrel()),
        (4, 8, ins.mat()),
    ],
    warps=[Warp(x, 8, DOWN, "VILLAGE", 16, 16, DOWN) for x in (4, 5)],
    signs=[
        *((x, 1, "shelf") for x in (0, 1, 2, 6)), (3, 1, "window"), (4, 1, "window"),
        (5, 1, "flour"), (0, 8, "flour"), (0, 2, "barrel"), (9, 8, "barrel"), (3, 6, "barrel"),
        (8, 6, "barrel"), (2, 4, "fruit"), (3, 4, "fruit"), (4, 4, "fruit"), (5, 4, "fruit"),
        (1, 6, "fruit"), (2, 6, "fruit"), (6, 6, "fruit"), (7, 6, "fruit"), (1, 2, "crate"),
        (0, 6, "crate"), (5, 6, "crate"), (8, 8, "crate"), (7, 3, "till"),
        (8, 3, "clerk"), (6, 2, "clerk"),
    ],
    people=[Person(8, 2, DOWN, "clerk", 1, STILL, "clerk"),
            Person(2, 7, UP, "granny", 1, TURNS, "shopper")],
    song="shop",
)  # fmt: skip

# b heap of books, g globe, t table (two squares), a armchair, s telescope
STUDY_MAP = """
..............
..............
g...........s.
b.............
b.........tt.a
..............
bb.bbb.b.b...b
.............b
..........b...
b.......b.bb..
"""


def study_things() -> list[tuple[int, int, tuple[Canvas, list[str]]]]:
    kinds = {"b": study.book_heap(), "g": study.globe(), "s": study.telescope(), "a": study.armchair()}
    return [
        (x, y, kinds[mark])
        for y, row in enumerate(STUDY_MAP.strip().split("\n"))
        for x, mark in enumerate(row)
        if mark in kinds
    ]


STUDY = Room(
    "STUDY", 14, 10, "study", tiled(ins.floor()),
    things=[
        (0, 0, ins.wall(14)),
        *((x, 0, ins.bookshelf()) for x in (0, 1, 2, 5, 10, 11)),
        (3, 0, ins.window()), (6, 0, study.star_map()), (8, 0, study.hearth()),
        (12, 0, ins.window()),
        (4, 3, ins.rug(4, 3)),
        *study_things(),
        (10, 4, study.writing_table()),
        (2, 9, ins.mat()),
    ],
    warps=[Warp(x, 9, DOWN, "VILLAGE", 17, 7, DOWN) for x in (2, 3)],
    signs=[
        *((x, 1, "old_books") for x in (0, 1, 2, 5, 10, 11)), (3, 1, "window"), (4, 1, "window"),
        (12, 1, "window"), (13, 1, "window"), (6, 1, "stars"), (7, 1, "stars"),
        (8, 1, "hearth"), (9, 1, "hearth"), (0, 2, "globe"), (12, 2, "telescope"),
        (10, 4, "letter"), (11, 4, "letter"), (13, 4, "armchair"),
        *((x, y, "heap") for y, row in enumerate(STUDY_MAP.strip().split("\n"))
          for x, mark in enumerate(row) if mark == "b"),
    ],
    people=[Person(10, 3, DOWN, "elder", 1, TURNS, "elder")],
    song="study",
)  # fmt: skip

ROOMS = [BEDROOM, HOUSE, VILLAGE, SHOP, STUDY]
START = ("BEDROOM", 1, 7, DOWN)
PLAYER = "kid"

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
    "sign_elder": [(ANY_STAGE, "ELDER ROWAN\nPlease knock twice", ANY_STAGE)],
    "lantern": [
        (BEGIN, "The great lantern.\nDark since winter.", ANY_STAGE),
        (ANY_STAGE, "The great lantern.\nSoon it will burn!", ANY_STAGE),
    ],
    "neighbour": [
        (BEGIN, "The shop? Follow\nthe road south.", ANY_STAGE),
        (ANY_STAGE, "That looks heavy!\nElder? Dark roof.", ANY_STAGE),
    ],
    "girl": [
        (BEGIN, "I count flowers.\nSo far: a lot!", ANY_STAGE),
        (ANY_STAGE, "What is in there?\nFlowers? Frogs?", ANY_STAGE),
    ],
    "fisher": [(ANY_STAGE, "No bites today.\nThe fish read.", ANY_STAGE)],
    "granny": [
        (BEGIN, "When I was small\nthe lantern shone.", ANY_STAGE),
        (ANY_STAGE, "A parcel! At last!\nMind the pond.", ANY_STAGE),
    ],
    "shopper": [(ANY_STAGE, "Pears or plums?\nPlums or pears?", ANY_STAGE)],
    "mother": [
        (
            BEGIN,
            "Slept like a log?\nThen up you get!|The clerk has a\nparcel for Rowan.|"
            "Fetch it, please,\nand mind the pond.",
            ANY_STAGE,
        ),
        (ANY_STAGE, "You have it? Good!\nOff to the elder!", ANY_STAGE),
    ],
    "shelf": [(ANY_STAGE, "Jam, jam, string,\nand more jam.", ANY_STAGE)],
    "flour": [(ANY_STAGE, "Flour. Atchoo!", ANY_STAGE)],
    "barrel": [(ANY_STAGE, "Pickles, by the\nsmell of it.", ANY_STAGE)],
    "fruit": [(ANY_STAGE, "Plums and pears,\npolished daily.", ANY_STAGE)],
    "crate": [(ANY_STAGE, "It says: UP.\nIt lies on UP.", ANY_STAGE)],
    "till": [(ANY_STAGE, "Hands off,\nsays the till.", ANY_STAGE)],
    "clerk": [
        (
            BEGIN,
            "Ah, Pip! You want\nRowan's parcel?|Came by mule, over\nMount Lumen.|Here. Both hands!\nIt is heavy.",
            PARCEL,
        ),
        (ANY_STAGE, "To Rowan with it!\nDark roof, north.", ANY_STAGE),
    ],
    "old_books": [(ANY_STAGE, "On Lamps, part 4:\nWicks, a history.", ANY_STAGE)],
    "heap": [(ANY_STAGE, "Books on books on\nbooks.", ANY_STAGE)],
    "stars": [(ANY_STAGE, "The Kettle, Mule,\nand the Big Shoe.", ANY_STAGE)],
    "hearth": [(ANY_STAGE, "Warm! A kettle is\nhumming.", ANY_STAGE)],
    "globe": [(ANY_STAGE, "Here is Lumen: a\ndot of ink.", ANY_STAGE)],
    "telescope": [(ANY_STAGE, "You see... the\nshop's pickles!", ANY_STAGE)],
    "letter": [(ANY_STAGE, "Dear wick maker,\nthree winters...", ANY_STAGE)],
    "armchair": [(ANY_STAGE, "It knows the shape\nof the elder.", ANY_STAGE)],
    "elder": [
        (BEGIN, "Ho ho, young Pip!\nNo parcel yet?|The clerk should\nhave it by now.", ANY_STAGE),
        (
            ANY_STAGE,
            "Ho ho! My parcel!\nLet me see...|The wick of the\ngreat lantern!|Come, Pip. Tonight\nLumen is bright.",
            END,
        ),
    ],
}

# Other texts, by the name that C knows them by.
TEXTS = {
    "morning": "Good morning!\nThe sun is up.|Downstairs Mum has\nyour satchel.",
    "items": "ITEM",
    "save": "SAVE",
    "back": "BACK",
    "here": "HERE:",
    "satchel": "PIP'S SATCHEL",
    "diary": "PIP'S DIARY",
    "ask": "Write about today?",
    "yes": "YES",
    "no": "NO",
    "saved": "Dear diary, it was\na good day.",
    "continue": "OPEN THE DIARY",
    "new_game": "A NEW MORNING",
}

# The satchel at each stage of the story: three things at most.
APPLE = ("APPLE", "For the mule. Or\nfor a long walk.")
MAP = ("MAP", "Home west, shop\nsouth, elder east.")
SATCHEL = [[APPLE, MAP], [("PARCEL", "For Elder Rowan.\nIt smells of wax."), APPLE, MAP], [APPLE, MAP]]
