"""Inside: walls, floor, and furniture. Light falls from the upper left.

Every thing is (picture, solid): `solid` has one row of '#' and '.' for each row of squares.
"""

from __future__ import annotations

from kit.canvas import Canvas

Thing = tuple[Canvas, list[str]]


def floor() -> Canvas:
    """Pale planks: seams, one joint, a little grain."""
    square = Canvas(16, 16, 0)
    square.hline(0, 15, 7, 1)
    square.hline(0, 15, 15, 1)
    square.vline(4, 8, 15, 1)
    square.dots(1, (10, 3), (11, 3), (12, 4), (13, 4), (8, 11), (9, 11), (13, 12))
    return square


def kitchen_floor() -> Canvas:
    """Checked tiles."""
    square = Canvas(16, 16, 0)
    square.rect(0, 0, 7, 7, 0)
    square.checker(8, 0, 15, 7, 1)
    square.checker(0, 8, 7, 15, 1)
    return square


def wall(columns: int) -> Thing:
    """Wallpaper, two squares high, with rail and skirting board."""
    picture = Canvas(16 * columns, 32, 0)
    for x in range(0, 16 * columns, 8):
        picture.rect(x + 2, 3, x + 5, 25, 1)
        picture.dots(0, *((x + 3, y) for y in range(6, 26, 8)))
        picture.dots(1, *((x, y) for y in range(10, 26, 8)))
    picture.hline(0, picture.width, 0, 3)
    picture.hline(0, picture.width, 1, 2)
    picture.hline(0, picture.width, 2, 3)
    picture.rect(0, 25, picture.width, 25, 3)
    picture.rect(0, 26, picture.width, 26, 0)
    picture.rect(0, 27, picture.width, 30, 2)
    picture.hline(0, picture.width, 31, 3)
    return picture, ["#" * columns] * 2


def window() -> Thing:
    """A window with curtains, two squares wide, for the wall."""
    picture = Canvas(32, 32)
    picture.box(2, 5, 29, 23, 3, 0)
    picture.box(4, 7, 27, 20, 3, 0)
    picture.rect(15, 7, 16, 20, 3)
    picture.hline(4, 27, 13, 3)
    for x0, y0 in ((5, 8), (17, 8), (5, 14), (17, 14)):
        for i in range(6):
            picture.dots(1, (x0 + 4 + i - 2, y0 + 5 - i), (x0 + 5 + i - 2, y0 + 5 - i))
        picture.rect(x0 + 10, y0, x0 + 10, y0 + 5, 3 if x0 == 17 else 0)
    picture.rect(3, 21, 28, 22, 1)
    for left, step in ((2, 1), (29, -1)):
        for i, depth in enumerate((9, 9, 8, 7, 7, 6, 5, 5, 5, 5, 5, 5, 5, 5, 5)):
            for k in range(depth):
                shade = 3 if k == depth - 1 or i == 14 else (2 if k % 3 == 2 else 1)
                picture.dot(left + step * k, 5 + i, shade)
        picture.vline(left, 4, 20, 3)
    picture.rect(1, 3, 30, 5, 3)
    picture.hline(2, 29, 4, 1)
    picture.rect(1, 23, 30, 24, 3)
    picture.hline(2, 29, 23, 0)
    return picture, ["##", "##"]


def bookshelf() -> Thing:
    picture = Canvas(16, 32)
    picture.box(0, 0, 15, 30, 3, 2)
    picture.box(0, 0, 15, 3, 3, 0)
    picture.hline(1, 14, 2, 1)
    books = ((2, 0, 1, 2, 0, 1), (0, 1, 1, 2, 0, 0), (1, 2, 0, 0, 2, 1))
    for shelf, shades in enumerate(books):
        top = 4 + 9 * shelf
        picture.box(1, top, 14, top + 8, 3, 3)
        x = 2
        for i, shade in enumerate(shades):
            height = (6, 5, 6, 4, 6, 5)[(i + shelf) % 6]
            picture.rect(x, top + 7 - height, x + 1 - (i == 3 and shelf == 1), top + 6, shade)
            picture.dot(x, top + 8 - height, 1 if shade == 0 else 0)
            x += 2
        picture.hline(1, 14, top + 8, 1)
    picture.hline(0, 15, 31, 3)
    return picture, ["#", "#"]


def desk() -> Thing:
    """A desk with a computer, two squares wide, before the wall."""
    picture = Canvas(32, 32)
    picture.box(0, 16, 31, 22, 3, 0)
    picture.hline(1, 30, 21, 1)
    picture.box(0, 22, 31, 31, 3, 2)
    picture.box(3, 24, 12, 31, 3, 1)
    picture.box(19, 24, 28, 27, 3, 1)
    picture.box(19, 27, 28, 31, 3, 1)
    picture.dots(3, (23, 26), (24, 26), (23, 29), (24, 29), (11, 28))
    picture.round_box(3, 4, 18, 17, 3, 0)
    picture.hline(5, 17, 16, 1)
    picture.vline(17, 6, 16, 1)
    picture.box(5, 6, 15, 14, 3, 2)
    picture.dots(0, (7, 8), (8, 8), (9, 8), (7, 10), (8, 10), (9, 10), (10, 10), (11, 10), (7, 12))
    picture.box(7, 18, 14, 20, 3, 1)
    picture.box(22, 12, 28, 19, 3, 0)
    picture.dots(1, (24, 14), (25, 14), (26, 14), (24, 16), (25, 16), (26, 16), (27, 18))
    picture.rect(20, 19, 30, 20, 0)
    picture.hline(22, 28, 19, 3)
    return picture, ["##", "##"]


def television() -> Thing:
    """A set on a low cabinet with a game console, two squares wide."""
    picture = Canvas(32, 32)
    picture.box(0, 17, 31, 22, 3, 0)
    picture.hline(1, 30, 21, 1)
    picture.box(0, 22, 31, 31, 3, 2)
    picture.box(2, 24, 15, 31, 3, 1)
    picture.box(16, 24, 29, 31, 3, 1)
    picture.dots(3, (13, 27), (13, 28), (18, 27), (18, 28))
    picture.dots(3, (9, 0), (10, 1), (11, 2), (16, 0), (15, 1), (14, 2))
    picture.round_box(3, 3, 24, 19, 3, 1)
    picture.hline(5, 22, 4, 0)
    picture.round_box(5, 6, 17, 17, 3, 2)
    for i in range(5):
        picture.dots(0, (8 + i, 12 - i), (9 + i, 12 - i))
    picture.dots(1, (14, 14), (15, 13), (15, 14))
    picture.box(19, 7, 22, 10, 3, 0)
    picture.dots(3, (19, 13), (21, 13), (19, 15), (21, 15))
    picture.box(25, 14, 30, 19, 3, 0)
    picture.hline(26, 29, 18, 1)
    picture.dots(3, (27, 16), (28, 16))
    return picture, ["##", "##"]


def television_set() -> Thing:
    """The set in the open: it stands on one row of squares and reaches above it."""
    return television()[0], ["##"]


def bed() -> Thing:
    picture = Canvas(16, 32)
    picture.round_box(0, 0, 15, 31, 3, 0)
    picture.box(0, 1, 15, 6, 3, 2)
    picture.hline(1, 14, 2, 1)
    picture.vline(5, 3, 5, 3)
    picture.vline(10, 3, 5, 3)
    picture.vline(1, 7, 27, 1)
    picture.round_box(3, 8, 12, 14, 3, 0)
    picture.hline(5, 11, 13, 1)
    picture.dots(1, (11, 12), (11, 11))
    picture.rect(1, 16, 14, 27, 2)
    picture.hline(1, 14, 15, 3)
    picture.rect(1, 16, 14, 18, 0)
    picture.hline(1, 14, 18, 1)
    picture.hline(1, 14, 19, 3)
    for y in range(20, 28):
        for x in range(1, 15):
            if (x + y) % 4 == 0 or (x - y) % 4 == 0:
                picture.dot(x, y, 1)
    picture.dots(0, *((x, y) for x in (4, 8, 12) for y in (22, 26)))
    picture.box(0, 27, 15, 31, 3, 2)
    picture.hline(1, 14, 28, 1)
    return picture, ["#", "#"]


def nightstand() -> Thing:
    """A small chest with a lamp; the lamp reaches into the square above."""
    picture = Canvas(16, 24)
    picture.box(1, 10, 14, 15, 3, 0)
    picture.hline(2, 13, 14, 1)
    picture.box(1, 15, 14, 23, 3, 2)
    picture.box(3, 17, 12, 21, 3, 1)
    picture.dots(3, (7, 19), (8, 19))
    picture.art(
        3,
        0,
        """
   ####
  #..:+#
  #..:+#
 #...::+#
 #...::+#
 ########
    ##
    ##
   #++#
   ####
""",
    )
    return picture, ["#"]


def plant() -> Thing:
    """A potted plant: one square, the leaves overlap the one above."""
    picture = Canvas(16, 30)
    picture.art(
        0,
        0,
        """
      ##
     #:.#  ##
  ## #:.# #.:#
 #.:##::##.::#
 #..:#::#.::#
  #..:#:#.:#
 ###.:###:#####
#.::#:#+#:::..:#
#:...::+::..:::#
 ##:::++++:::##
   #+:+++:+##
  #::+#++#+::#
 #:.:#+++##:.:#
 #..#+#+#+#:..#
 #:# ##+## #.:#
  #   #+#   ##
""",
    )
    picture.art(
        3,
        15,
        """
##########
#........#
#::::::::#
##########
 #.:::::#
 #.::::+#
 #.::::+#
 #.::::+#
 #.:::++#
  #::++#
  ######
""",
    )
    picture.checker(4, 26, 13, 27, 2)
    return picture.crop(0, 0, 16, 26), ["#"]


def toy_box() -> Thing:
    """A chest with a ball on top of the rest."""
    picture = Canvas(16, 20)
    picture.box(0, 8, 15, 12, 3, 1)
    picture.round_box(3, 1, 10, 8, 3, 0)
    picture.dots(2, (8, 3), (9, 4), (9, 5), (8, 6), (7, 7), (6, 7))
    picture.dots(3, (6, 4), (7, 4), (6, 5))
    picture.art(
        10,
        3,
        """
 ###
#:.#
 #:#
 ###
""",
    )
    picture.box(0, 9, 15, 19, 3, 2)
    picture.hline(1, 14, 10, 1)
    picture.vline(4, 10, 18, 3)
    picture.vline(11, 10, 18, 3)
    picture.rect(6, 12, 9, 15, 0)
    picture.dots(3, (7, 13), (8, 13))
    return picture, ["#"]


def rail(columns: int, left_end: bool = True, right_end: bool = True) -> Thing:
    """A low shelf that divides a room; its top is light, its front panelled."""
    picture = Canvas(16 * columns, 16)
    width = picture.width
    picture.box(0, 1, width - 1, 7, 3, 0)
    picture.hline(1, width - 2, 6, 1)
    picture.box(0, 7, width - 1, 15, 3, 2)
    for x in range(0, width, 16):
        picture.box(x + 1, 9, x + 7, 13, 3, 1)
        picture.box(x + 8, 9, x + 14, 13, 3, 1)
        picture.hline(x + 2, x + 6, 10, 0)
        picture.hline(x + 9, x + 13, 10, 0)
    if not left_end:
        picture.vline(0, 2, 6, 0)
        picture.dot(0, 6, 1)
    if not right_end:
        picture.vline(width - 1, 2, 6, 0)
        picture.dot(width - 1, 6, 1)
    return picture, ["#" * columns]


def rug(columns: int, rows: int) -> Thing:
    """A carpet with fringes and a diamond pattern."""
    picture = Canvas(16 * columns, 16 * rows)
    right, bottom = picture.width - 1, picture.height - 1
    picture.box(1, 2, right - 1, bottom - 2, 3, 1)
    for y in range(4, bottom - 2, 2):
        picture.dots(3, (0, y), (right, y))
    picture.box(3, 4, right - 3, bottom - 4, 2, 1)
    for y in range(6, bottom - 5):
        for x in range(5, right - 4):
            distance = abs((x % 16) - 8) + abs((y % 16) - 8)
            if distance in (6, 7):
                picture.dot(x, y, 2)
            elif distance < 3 or distance > 12:
                picture.dot(x, y, 0)
    return picture, ["." * columns] * rows


def stairs_down() -> Thing:
    """A stairwell, steps sinking away from the light, with a banister behind it."""
    picture = Canvas(16, 27)
    picture.box(0, 9, 15, 26, 3, 3)
    for i, (shade, inset) in enumerate(((0, 0), (1, 0), (2, 1), (2, 2))):
        bottom = 25 - 4 * i
        picture.rect(1 + inset, bottom - 2, 14 - inset, bottom, shade)
    picture.checker(1, 19, 14, 21, 0, 1)
    picture.checker(3, 11, 12, 13, 3)
    picture.round_box(0, 0, 15, 4, 3, 0)
    picture.hline(2, 14, 3, 1)
    for x in (0, 6, 12):
        picture.rect(x, 4, x + 3, 10, 3)
        picture.rect(x + 1, 4, x + 2, 9, 0)
        picture.vline(x + 2, 5, 9, 1)
    return picture, ["."]


def stairs_up() -> Thing:
    """Stairs that climb away from the viewer between two cheeks, two squares high."""
    picture = Canvas(16, 32)
    picture.rect(0, 0, 15, 31, 3)
    for i in range(8):
        bottom = 30 - 4 * i
        shade = (0, 0, 0, 1, 1, 2, 2, 2)[i]
        picture.rect(3, bottom - 2, 12, bottom, shade)
        picture.hline(3, 12, bottom, (1, 1, 1, 2, 2, 3, 3, 3)[i])
    picture.checker(3, 0, 12, 6, 3)
    for x in (1, 14):
        picture.vline(x, 1, 30, 0 if x == 1 else 1)
        picture.checker(x, 1, x, 8, 2)
    picture.hline(0, 15, 31, 3)
    return picture, ["#", "."]


def mat() -> Thing:
    """The door mat of a way out, two squares wide."""
    picture = Canvas(32, 16)
    picture.round_box(0, 1, 31, 14, 3, 2)
    picture.checker(2, 3, 29, 12, 1)
    picture.rect(2, 3, 29, 3, 0)
    picture.rect(2, 12, 29, 12, 0)
    for x in (6, 18):
        picture.art(
            x,
            5,
            """
   ..
   ..
 ......
  ....
   ..
""",
        )
    return picture, [".."]


def table(columns: int, rows: int = 2) -> Thing:
    """A dining table with a cloth, tea pot and cups."""
    picture = Canvas(16 * columns, 16 * rows)
    right, bottom = picture.width - 1, picture.height - 1
    picture.rect(3, bottom - 6, 6, bottom, 3)
    picture.rect(right - 6, bottom - 6, right - 3, bottom, 3)
    picture.rect(4, bottom - 6, 5, bottom - 1, 2)
    picture.rect(right - 5, bottom - 6, right - 4, bottom - 1, 2)
    picture.round_box(0, 1, right, bottom - 9, 3, 0)
    picture.box(0, bottom - 10, right, bottom - 6, 3, 2)
    picture.hline(1, right - 1, bottom - 9, 1)
    picture.box(7, 1, right - 7, bottom - 7, 1, 0)
    for x in range(8, right - 7, 2):
        picture.dot(x, bottom - 7, 0)
        picture.dot(x, bottom - 6, 3)
    picture.art(
        right // 2 - 5,
        5,
        """
   ##
  #++#  ##
 #:..:##.#
#:....:##
#:....:#
 #::::#
  ####
""",
    )
    for x in (3, right - 7):
        picture.art(
            x,
            5,
            """
#####
#..##
#:.##
 ##
""",
        )
    return picture, ["#" * columns] * rows


def low_table() -> Thing:
    """A low table with a comic book, two cups and a cushion's edge; one row of squares."""
    picture = Canvas(32, 18)
    picture.rect(2, 12, 5, 17, 3)
    picture.rect(26, 12, 29, 17, 3)
    picture.rect(3, 12, 4, 16, 2)
    picture.rect(27, 12, 28, 16, 2)
    picture.checker(6, 15, 25, 16, 2)
    picture.round_box(0, 0, 31, 11, 3, 0)
    picture.hline(2, 30, 10, 1)
    picture.vline(30, 2, 9, 1)
    picture.rect(1, 11, 30, 13, 3)
    picture.hline(2, 29, 12, 2)
    picture.art(
        4,
        2,
        """
#######
#..#..#
#++#::#
#..#.:#
#:.#++#
#######
""",
    )
    picture.art(
        15,
        3,
        """
 ###
#..##
#::#.#
#::##
 ##
""",
    )
    picture.art(
        23,
        2,
        """
 ###
#:::#
#.+.#
 ###
""",
    )
    return picture, ["##"]


def stool() -> Thing:
    picture = Canvas(16, 16)
    picture.round_box(2, 3, 13, 11, 3, 1)
    picture.round_box(4, 4, 11, 9, 2, 0)
    picture.box(3, 11, 5, 15, 3, 2)
    picture.box(10, 11, 12, 15, 3, 2)
    return picture, ["."]


def fridge() -> Thing:
    picture = Canvas(16, 32)
    picture.round_box(1, 0, 14, 31, 3, 0)
    picture.rect(11, 2, 13, 29, 1)
    picture.checker(10, 2, 10, 29, 1)
    picture.hline(1, 14, 11, 3)
    picture.hline(1, 14, 12, 1)
    picture.vline(3, 5, 9, 3)
    picture.vline(3, 14, 20, 3)
    picture.hline(1, 14, 30, 3)
    picture.box(6, 15, 9, 18, 2, 1)
    return picture, ["#", "#"]


def sink() -> Thing:
    """Counter with basin and tap."""
    picture = Canvas(16, 32)
    _counter(picture)
    picture.round_box(2, 14, 13, 19, 3, 2)
    picture.hline(3, 12, 18, 1)
    picture.art(
        6,
        8,
        """
 ###
#..#
#.##
#.#
#.#
#:#
""",
    )
    return picture, ["#", "#"]


def stove() -> Thing:
    picture = Canvas(16, 32)
    _counter(picture)
    picture.box(2, 23, 13, 30, 3, 1)
    picture.box(4, 25, 11, 28, 3, 3)
    picture.hline(5, 8, 26, 1)
    picture.art(
        3,
        7,
        """
   ####
  #....#
 ########
##.::++###
 #.::++#
 #.::++#
 #.::++#
  #####
""",
    )
    picture.round_box(2, 14, 13, 19, 3, None)
    picture.art(
        3,
        8,
        """
    ##
 #######
#..:::+#
#########
#..::++#
#..::++#
#..::++#
 ######
""",
    )
    return picture, ["#", "#"]


def cupboard() -> Thing:
    """Counter with doors, and a shelf of plates on the wall above."""
    picture = Canvas(16, 32)
    _counter(picture)
    picture.box(1, 2, 14, 10, 3, 2)
    picture.hline(2, 13, 3, 1)
    picture.round_box(2, 4, 7, 9, 3, 0)
    picture.round_box(8, 4, 13, 9, 3, 0)
    picture.dots(1, (5, 7), (4, 8), (5, 8), (11, 7), (10, 8), (11, 8))
    picture.art(
        8,
        13,
        """
 ###
#.:#
#::##
 ###
""",
    )
    return picture, ["#", "#"]


def _counter(picture: Canvas) -> None:
    picture.box(0, 12, 15, 20, 3, 0)
    picture.hline(0, 15, 19, 1)
    picture.vline(0, 13, 19, 0)
    picture.vline(15, 13, 19, 0)
    picture.rect(0, 20, 15, 31, 3)
    picture.rect(0, 21, 15, 30, 2)
    picture.box(1, 22, 7, 29, 3, 1)
    picture.box(8, 22, 14, 29, 3, 1)
    picture.dots(3, (6, 25), (9, 25), (6, 26), (9, 26))


def painting() -> Thing:
    """A landscape in a frame on the wall."""
    picture = Canvas(16, 18)
    picture.box(0, 4, 15, 17, 3, 1)
    picture.box(2, 6, 13, 15, 3, 0)
    picture.art(
        3,
        8,
        """
      +
  +  +++
 ++++++++
++++:+++++
::::::::::
:.:.:.:.:.
""",
    )
    return picture, ["#"]


def clock() -> Thing:
    picture = Canvas(16, 20)
    picture.round_box(3, 5, 13, 15, 3, 0)
    picture.dots(3, (8, 7), (8, 8), (8, 9), (8, 10), (9, 10), (10, 10), (4, 6), (12, 6))
    picture.dots(1, (5, 13), (6, 14), (11, 13), (10, 14), (12, 12), (8, 14))
    picture.dots(3, (4, 14), (12, 14))
    return picture, ["#"]


def sofa(columns: int) -> Thing:
    """A sofa seen from behind and above: a divider one can sit on."""
    picture = Canvas(16 * columns, 16)
    right = picture.width - 1
    picture.round_box(0, 0, right, 15, 3, 2)
    picture.rect(4, 3, right - 4, 8, 1)
    picture.hline(4, right - 4, 2, 3)
    picture.hline(4, right - 4, 8, 3)
    for x in range(16, right, 16):
        picture.vline(x, 3, 14, 3)
    picture.vline(3, 2, 8, 3)
    picture.vline(right - 3, 2, 8, 3)
    picture.hline(1, right - 1, 1, 1)
    picture.checker(2, 10, right - 2, 13, 3)
    return picture, ["#" * columns]
