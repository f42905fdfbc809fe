"""The shop: shelves of goods, counter, crates, barrels. Light falls from the upper left."""

from __future__ import annotations

from kit.canvas import Canvas

Thing = tuple[Canvas, list[str]]

# Goods, eight pixels wide and seven high, to stand on a board.
GOODS = {
    "jar": """
 ####
 #::#
######
#.:::#
#.:++#
#.:++#
######
""",
    "loaf": """


 #####
#.:.:+#
#:.:.:#
#++++:#
#######
""",
    "bottle": """
  ##
  ##
 #..#
#.:+#
#.##+#
#.:++#
######
""",
    "box": """

#######
#..#.:#
#..#.:#
#######
#..#.:#
#######
""",
    "book": """
##
#.###
#.#:###
#.#:#+#
#.#:#+#
#.#:#+#
#######
""",
    "pot": """
   #
 #####
#######
#.::+#
##.:+##
#.::++#
 #####
""",
    "rope": """

 #####
#.#.#.#
##.#.##
#.#.#:#
##.#:##
 #####
""",
    "fruit": """
    #
   #
 ##:##
#..::+#
#.:::+#
#:::++#
 #####
""",
}


def goods_shelf(top: str, bottom: str) -> Thing:
    """A shelf against the wall, one square wide: two boards of two goods each."""
    picture = Canvas(16, 32)
    picture.box(0, 3, 15, 31, 3, 1)
    picture.rect(1, 4, 14, 5, 0)
    for y, names in ((7, top), (18, bottom)):
        picture.rect(1, y - 1, 14, y + 6, 2)
        for x, name in zip((0, 8), names.split(), strict=True):
            picture.art(x + 1, y, GOODS[name])
        picture.hline(0, 15, y + 7, 3)
        picture.hline(1, 14, y + 8, 0)
        picture.hline(0, 15, y + 9, 3)
    picture.rect(1, 28, 14, 30, 2)
    return picture, ["#", "#"]


def counter(columns: int, till: int | None = None) -> Thing:
    """A counter seen from the front; on square `till` stands the till."""
    picture = Canvas(16 * columns, 24)
    right = picture.width - 1
    picture.box(0, 6, right, 14, 3, 0)
    picture.hline(1, right - 1, 13, 1)
    picture.box(0, 14, right, 23, 3, 2)
    for x in range(0, picture.width, 16):
        picture.box(x + 2, 16, x + 13, 22, 3, 1)
        picture.hline(x + 3, x + 12, 17, 0)
    if till is not None:
        picture.art(
            16 * till + 2,
            0,
            """
  #######
 #.#.#.:#
 #######+#
#.......:#
#.#.#.#.:#
#........#
#+++++++++#
###########
""",
        )
    return picture, ["#" * columns]


def counter_end(rows: int) -> Thing:
    """The counter going away from the viewer."""
    picture = Canvas(16, 16 * rows + 8)
    bottom = picture.height - 1
    picture.box(0, 0, 15, bottom, 3, 0)
    picture.vline(14, 1, bottom - 9, 1)
    picture.box(0, bottom - 9, 15, bottom, 3, 2)
    picture.box(2, bottom - 7, 13, bottom - 1, 3, 1)
    picture.hline(3, 12, bottom - 6, 0)
    return picture, ["#"] * rows


def crate() -> Thing:
    picture = Canvas(16, 18)
    picture.box(0, 1, 15, 17, 3, 1)
    picture.box(2, 3, 13, 6, 3, 0)
    for k in range(9):
        picture.dots(3, (3 + k, 8 + k), (4 + k, 8 + k))
        picture.dot(2 + k, 8 + k, 0)
    picture.vline(2, 7, 16, 3)
    picture.vline(13, 7, 16, 3)
    picture.hline(1, 14, 7, 3)
    picture.vline(1, 2, 16, 0)
    return picture, ["#"]


def barrel() -> Thing:
    picture = Canvas(16, 20)
    picture.art(
        1,
        0,
        """
   ########
 ##........##
#............#
#............#
##..........##
#.##########+#
#.:.:#:.:#:++#
##############
#.:.:#.:.#:++#
#.:.:#.:.#:++#
#.:.:#.:.#:++#
#.:.:#.:.#:++#
#.:.:#.:.#:++#
##############
#:.:.#:.:#:++#
 #.:.#.:.#:+#
  ##########
""",
    )
    return picture, ["#"]


def fruit_stand() -> Thing:
    """A sloping stand of fruit, two squares wide."""
    picture = Canvas(32, 24)
    picture.box(0, 2, 31, 16, 3, 1)
    picture.box(0, 16, 31, 23, 3, 2)
    picture.hline(1, 30, 17, 0)
    for row, y in enumerate((3, 7, 11)):
        for k in range(5 - row % 2):
            x = 2 + 6 * k + 3 * (row % 2)
            picture.round_box(x, y, x + 5, y + 4, 3, (0, 2, 1)[(k + row) % 3])
            picture.dot(x + 2, y + 1, 0)
    return picture, ["##"]


def sacks() -> Thing:
    """Two sacks of flour."""
    picture = Canvas(16, 18)
    picture.art(
        0,
        0,
        """
     ####
    #.:.:#
     ####
    #..:+#
   #..:::##
  #....::+#
 #...##.::+#
 ##.#..#::+##
#..####:::+:+#
#...::#:::+:+#
#....:##::+::+#
#..##..:#+#:++#
#.#..#.:+##:++#
#.#..#.:++#+++#
#..##.:+++#+++#
 #:::+++#+++#
  ############
""",
    )
    return picture, ["#"]


def bunting(columns: int) -> Thing:
    """Little flags under the ceiling."""
    picture = Canvas(16 * columns, 12)
    for x in range(0, picture.width, 8):
        picture.hline(x, x + 7, 4, 3)
        shade = (0, 2)[x // 8 % 2]
        for k in range(4):
            picture.hline(x + k, x + 6 - k, 5 + k, shade)
            picture.dots(3, (x + k, 5 + k), (x + 6 - k, 5 + k))
        picture.dot(x + 3, 9, 3)
    return picture, ["#" * columns]
