"""Outside: grass, paths, water, trees, fences, houses. Light falls from the upper left."""

from __future__ import annotations

from collections.abc import Callable

from kit.canvas import Canvas

Thing = tuple[Canvas, list[str]]


def grass() -> Canvas:
    """Short grass: mostly white, a few blades."""
    square = Canvas(16, 16, 0)
    for x, y in ((3, 4), (11, 2), (7, 11), (14, 13)):
        square.dots(1, (x, y), (x + 1, y - 1), (x - 1, y - 1))
    return square


def flower(frame: int = 0) -> Canvas:
    """An 8x8 tulip that sways: frames 0 and 2 stand, 1 and 3 lean."""
    tile = Canvas(8, 8, 0)
    tile.art(
        (1, 2, 1, 0)[frame],
        0,
        """
#.#.#
#:.:#
#::+#
 ###
""",
    )
    tile.art(
        1,
        4,
        """
  +
+ + +
#+++#
 ###
""",
    )
    return tile


def water(frame: int = 0) -> Canvas:
    """An 8x8 piece of a pond, its waves drifting."""
    tile = Canvas(8, 8, 1)
    for y, start in ((1, 0), (5, 4)):
        for k in range(4):
            x = (start + k + 2 * frame) % 8
            tile.dot(x, y + (k in (1, 2)), 2)
            tile.dot(x, y - 1 + (k in (1, 2)), 0)
    return tile


ANIMATIONS: dict[str, Callable[[], list[Canvas]]] = {
    "flower": lambda: [flower(k) for k in range(4)],
    "water": lambda: [water(k) for k in range(4)],
}


def flowers() -> Thing:
    """Two swaying flowers on grass."""
    picture = grass()
    picture.blit(flower(), 0, 0)
    picture.blit(flower(), 8, 8)
    return picture, ["."]


def tuft() -> Thing:
    """Tall grass."""
    picture = Canvas(16, 16, 1)
    for x0, y0 in ((0, 0), (8, 0), (0, 8), (8, 8)):
        picture.art(
            x0,
            y0,
            """
::#::.#.
.#+#:#+#
:#++#++#
#+++#++#
#+.+#.+#
:#:+++:+
::+::+::
.:::::::
""",
        )
    return picture, ["."]


def tree() -> Thing:
    """A round tree: one square of trunk and shade, the crown reaches one above."""
    picture = Canvas(16, 24)
    picture.art(
        0,
        0,
        """
     ######
   ##::..::##
  #:......:::#
 #:..:..:.::+:#
 #:.....::.::+#
#::.:.:.::::+++#
#:.....:.::+:++#
#::.:.:::.:+:++#
#:::.:::::+:+++#
#:+::::+:+:++++#
#++:+:::+++++++#
 #++:+:+:+++++#
 #++++:+++++++#
  #++++++++++#
   ##+#++#+##
    ##########
   ::#+:++#::::
  :::#+:++#:::::
  :::#+:++#::::
   ::#++++#:::
    ########
""",
    )
    return picture, ["#"]


def bush() -> Thing:
    picture = Canvas(16, 16)
    picture.art(
        0,
        1,
        """
    ###  ###
  ##..:##.:+##
 #..:.:#.:.:++#
#..:.:::.:::+++#
#.:.::.:.:.:+:+#
#::.:.:::::+:++#
#:+::.:.:+:++++#
#++:+:::+:++:++#
#+:+++:+:+++++##
 #++++++:+++++#
  ##+##+++##+##
 :::###+##:###::
  ::::::::::::
""",
    )
    return picture, ["#"]


def fence() -> Thing:
    """Pickets with two rails; they join sideways."""
    picture = Canvas(16, 16)
    for y in (6, 10):
        picture.rect(0, y - 1, 15, y + 1, 3)
        picture.hline(0, 15, y, 0)
    for x in (2, 10):
        picture.round_box(x - 1, 2, x + 3, 14, 3, 0)
        picture.vline(x + 2, 4, 13, 1)
        picture.dots(3, (x, 3), (x + 2, 3))
        picture.dots(None, (x, 2), (x + 2, 2))
    picture.dots(1, *((x, 15) for x in (3, 4, 5, 6, 11, 12, 13, 14)))
    return picture, ["#"]


def signpost() -> Thing:
    picture = Canvas(16, 16)
    picture.art(
        0,
        1,
        """
 ##############
#..............#
#.++.+++.++.+.:#
#.............:#
#.+++.++.+++..:#
#:::::::::::::+#
 ##############
     #.:#
     #.:#
     #.:#
     #.:#
   ::#.:#:
  :::####:::
""",
    )
    return picture, ["#"]


def mailbox() -> Thing:
    picture = Canvas(16, 16)
    picture.art(
        2,
        0,
        """
  ########
 #....:::+#
#......::+##
#.####.::+#.#
#.####.::+#:#
#......::+##
###########
    #.:#
    #.:#
    #.:#
    #.:#
   :#.:#:
  ::####::
""",
    )
    return picture, ["#"]


def rock() -> Thing:
    picture = Canvas(16, 16)
    picture.art(
        0,
        3,
        """
     ######
   ##...:::##
  #....:..::+#
 #...:...::++#
 #..:...::::++#
#:...::.:::+++#
#::.::::::++++#
#+::::+::+++++#
 #++:+++++++##
  ###########
  :::::::::::
""",
    )
    return picture, ["#"]


def well() -> Thing:
    """The village well under its small roof: one square wide, two high."""
    picture = Canvas(16, 32)
    picture.art(
        0,
        2,
        """
     ######
   ##.:.:.:##
  #.:.:.:.:+:#
 #.:.:.:.:+:+:#
#.:.:.:.:+:+:++#
################
  #.#      #:#
  #.#      #:#
  #.#  ##  #:#
  #.#  ##  #:#
  #.#  ##  #:#
  #.# #..# #:#
  #.# #::# #:#
 ##############
#..............#
#.############:#
#.#++++++++++#:#
 ##############
 #..#...#..#::#
 #####.#########
 #..:#..:#.::++#
 ###########.###
 #.:#.::#.:+#++#
 #####:####+####
 #.::#::+#:++#+#
  #############
  ::::::::::::
""",
    )
    return picture, ["#", "#"]


def terrain(picture: Canvas, cells: set[tuple[int, int]], kind: str) -> None:
    """Paint path or water over the squares `cells`, each 8x8 quarter by its neighbours."""
    for x, y in sorted(cells):
        for qx in (0, 1):
            for qy in (0, 1):
                side = (x + 2 * qx - 1, y) in cells
                above = (x, y + 2 * qy - 1) in cells
                corner = (x + 2 * qx - 1, y + 2 * qy - 1) in cells
                quarter = QUARTERS[kind](side, above, corner, qx, qy)
                picture.blit(quarter, 16 * x + 8 * qx, 16 * y + 8 * qy)


def _path_quarter(side: bool, above: bool, corner: bool, qx: int, qy: int) -> Canvas:
    """Trodden earth with a broken edge."""
    tile = Canvas(8, 8, 1)
    if qx == qy:
        tile.dots(0, (2, 5), (3, 5), (5, 2) if qx else (6, 3))
        tile.dots(2, (2, 6), (3, 6), (6, 3) if qx else (5, 1))
    if side and above and corner:
        return tile
    for y in range(8):
        for x in range(8):
            from_side = x if qx == 0 else 7 - x
            from_top = y if qy == 0 else 7 - y
            if side and above:
                depth = max(from_side, from_top)
            elif side:
                depth = from_top
            elif above:
                depth = from_side
            else:
                depth = min(from_side, from_top, (from_side + from_top) - 2)
            wave = (x + 1 if side and not above else y + 1) // 2 % 2
            if depth < 1:
                tile.dot(x, y, 0)
            elif depth == 1:
                tile.dot(x, y, 2 if wave else 0)
            elif depth == 2:
                tile.dot(x, y, 1 if wave else 2)
    return tile


def _water_quarter(side: bool, above: bool, corner: bool, qx: int, qy: int) -> Canvas:
    """Water with a bank of stones: dark where the bank stands over the water."""
    tile = water()
    if side and above and corner:
        return tile
    for y in range(8):
        for x in range(8):
            from_side = x if qx == 0 else 7 - x
            from_top = y if qy == 0 else 7 - y
            if side and above:
                depth = max(from_side, from_top, from_side + from_top - 1)
            elif side:
                depth = from_top
            elif above:
                depth = from_side
            else:
                depth = min(from_side, from_top, from_side + from_top - 3)
            upper = qy == 0 and not above
            if depth < 1:
                tile.dot(x, y, 0)
            elif depth == 1:
                tile.dot(x, y, 3)
            elif depth == 2:
                tile.dot(x, y, 0)
            elif depth == 3:
                tile.dot(x, y, 3)
            elif depth < 6 and upper and (x + y) % 2:
                tile.dot(x, y, 2)
    return tile


QUARTERS = {"path": _path_quarter, "water": _water_quarter}


def _roof_tiles(picture: Canvas, x0: int, y0: int, x1: int, y1: int, dark: bool) -> None:
    """Rows of overlapping shingles, lit at the left."""
    base, line = (2, 3) if dark else (1, 2)
    picture.rect(x0, y0, x1, y1, base)
    for row, y in enumerate(range(y0, y1 + 1, 4)):
        picture.hline(x0, x1, y + 3, line)
        for x in range(x0 + (row % 2) * 4, x1 + 1, 8):
            picture.vline(x, y, y + 3, line)
            picture.dots(base - 1, (x + 2, y), (x + 3, y), (x + 2, y + 1))


def house(columns: int, dark_roof: bool, door: int, chimney: bool = True) -> Thing:
    """A cottage `columns` squares wide: two rows of roof, one of upper wall, one with the door."""
    width = 16 * columns
    picture = Canvas(width, 68)
    _walls(picture, width)
    picture.box(0, 6, width - 1, 37, 3, 1)
    _roof_tiles(picture, 2, 8, width - 3, 35, dark_roof)
    picture.rect(0, 4, width - 1, 9, 3)
    picture.rect(1, 5, width - 2, 8, 0)
    picture.hline(1, width - 2, 8, 1)
    for x in (0, width - 4):
        picture.rect(x, 9, x + 3, 39, 3)
        picture.rect(x + 1, 9, x + 2, 38, 0 if x == 0 else 1)
    picture.rect(0, 36, width - 1, 39, 3)
    picture.rect(1, 37, width - 2, 38, 0)
    picture.hline(2, width - 3, 38, 1)
    picture.checker(3, 40, width - 4, 41, 2)
    if chimney:
        x = width - 24
        picture.box(x, 0, x + 9, 13, 3, 1)
        picture.box(x - 1, 0, x + 10, 4, 3, 0)
        picture.hline(x + 1, x + 8, 8, 2)
        picture.vline(x + 4, 5, 8, 2)
        picture.vline(x + 7, 9, 12, 2)
        picture.rect(x + 7, 5, x + 8, 12, 2)
    for column in range(columns):
        if column == door:
            _door(picture, 16 * column)
        elif column != door + 1 or columns > 4:
            _window(picture, 16 * column)
        else:
            _window(picture, 16 * column)
    solid = ["#" * columns] * 3
    return picture, [*solid, "#" * door + "." + "#" * (columns - door - 1)]


def _walls(picture: Canvas, width: int) -> None:
    """Boards and corner posts below the eaves."""
    picture.box(2, 38, width - 3, 67, 3, 0)
    for y in range(44, 64, 5):
        picture.hline(3, width - 4, y, 1)
    picture.vline(5, 40, 66, 3)
    picture.vline(width - 6, 40, 66, 3)
    picture.rect(width - 5, 40, width - 4, 66, 1)
    picture.box(2, 63, width - 3, 67, 3, 2)
    for x in range(4, width - 4, 6):
        picture.vline(x, 64, 66, 3)
        picture.dot(x + 1, 64, 1)


def _window(picture: Canvas, x: int) -> None:
    picture.box(x + 2, 44, x + 13, 58, 3, 0)
    picture.box(x + 3, 45, x + 12, 55, 3, 2)
    picture.rect(x + 4, 46, x + 11, 54, 2)
    picture.vline(x + 7, 45, 55, 0)
    picture.vline(x + 8, 45, 55, 3)
    picture.hline(x + 4, x + 11, 50, 0)
    for dx, dy in ((5, 48), (6, 47), (5, 53), (6, 52), (10, 48), (11, 47), (10, 53), (11, 52)):
        picture.dot(x + dx, dy, 1)
    picture.box(x + 1, 56, x + 14, 60, 3, 1)
    picture.dots(0, *((x + k, 57) for k in range(3, 13, 3)))
    picture.dots(2, *((x + k, 58) for k in range(2, 14, 2)))


def _door(picture: Canvas, x: int) -> None:
    picture.box(x, 43, x + 15, 67, 3, 0)
    picture.box(x + 2, 46, x + 13, 67, 3, 2)
    picture.rect(x + 3, 47, x + 4, 66, 1)
    picture.box(x + 5, 49, x + 10, 54, 3, 0)
    picture.hline(x + 6, x + 9, 53, 1)
    picture.box(x + 5, 57, x + 10, 64, 3, 1)
    picture.dots(0, (x + 11, 58), (x + 11, 57))
    picture.dots(3, (x + 12, 58), (x + 12, 57), (x + 11, 59))
    picture.hline(x + 2, x + 13, 67, 3)


def shop(columns: int, door: int) -> Thing:
    """The shop: a flat sign with letters and a striped awning instead of the eaves."""
    picture, solid = house(columns, dark_roof=True, door=door, chimney=False)
    width = picture.width
    picture.box(8, 14, 55, 30, 3, 0)
    picture.box(10, 16, 53, 28, 1, 0)
    letters = (
        "#### #..# #### ####",
        "#... #..# #..# #..#",
        "#### #..# #..# #..#",
        "...# #### #..# ####",
        "...# #..# #..# #...",
        "#### #..# #### #...",
    )
    for y, row in enumerate(letters):
        for x, mark in enumerate(row):
            if mark == "#":
                picture.rect(13 + 2 * x, 19 + y, 14 + 2 * x, 19 + y, 3)
    for x in range(2, width - 2):
        shade = 2 if (x // 4) % 2 else 0
        depth = 46 if (x // 4) % 2 else 45
        picture.vline(x, 38, depth, shade)
        picture.dot(x, depth + 1, 3)
    picture.hline(0, width - 1, 37, 3)
    picture.vline(1, 38, 46, 3)
    picture.vline(width - 2, 38, 46, 3)
    return picture, solid


def lantern_tower() -> Thing:
    """The great lantern, dark: two squares wide, four high."""
    picture = Canvas(32, 68)
    picture.art(
        8,
        0,
        """
       ##
      #..#
     ######
   ##.:::++##
  ############
  #+:#+:#+:#+#
  #:+#:+#:+#+#
  #+:#+:#+:#+#
  #:+#:+#:+#+#
  ############
 #............#
 ##############
""",
    )
    for y in range(12, 66):
        half = 5 + (y - 12) // 11
        picture.hline(16 - half, 15 + half, y, 0)
        picture.rect(16 + half // 3, y, 15 + half, y, 1)
        picture.rect(12 + half, y, 15 + half, y, 2)
        picture.dots(3, (16 - half, y), (15 + half, y))
        if y % 6 == 0:
            picture.hline(16 - half, 15 + half, y, 3)
        elif y % 6 == 3 and half > 5:
            picture.dots(2, (14, y), (18, y + 1), (11, y + 1))
    picture.box(12, 52, 19, 66, 3, 2)
    picture.vline(15, 54, 66, 3)
    picture.box(3, 64, 28, 67, 3, 1)
    picture.box(12, 52, 19, 67, 3, 2)
    picture.box(13, 24, 17, 30, 3, 2)
    return picture, ["##", "##", "##", "##"]
