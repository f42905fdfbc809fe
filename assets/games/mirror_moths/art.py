"""Every picture of Mirror Moths: squares of the board, the moths, the title."""

from __future__ import annotations

from kit.canvas import Canvas
from kit.lettering import word

MOTH = [
    """
     #
      # #
 ###  ###
#..## #::
#...:##:.
#.#..:#::
#.##..#..
#..#.:#::
 #....#..
  #:::#::
  ##..#..
 #..:##::
 #.::# #.
  ###  #:
        #
""",
    """
      #
      # #
   ## ###
  #..##::
  #..:#:.
  #.#.#::
  #.#.#..
  #...#::
   #..#..
   #:.#::
    ##:#..
   #.:##::
   #.:# #.
    ##  #:
        #
""",
]
SHADE_OF = {" ": None, ".": 1, ":": 2, "#": 3}


def moths() -> bytes:
    """Two frames of 16x16 as 8x16 sprites; given as left halves."""
    data = b""
    for text in MOTH:
        picture = Canvas(16, 16)
        for y, row in enumerate(text[1:].rstrip("\n").split("\n")):
            for x, mark in enumerate(row[:8]):
                picture.dot(x, y, SHADE_OF[mark])
                picture.dot(15 - x, y, SHADE_OF[mark])
        for x in (0, 8):
            data += picture.tile_bytes(x, 0) + picture.tile_bytes(x, 8)
    return data


def floor() -> Canvas:
    """Glazed tiles of the greenhouse floor."""
    square = Canvas(16, 16, 0)
    square.hline(0, 15, 15, 1)
    square.vline(15, 0, 15, 1)
    square.dots(1, (3, 3), (4, 3), (3, 4), (11, 11))
    return square


def pot() -> Canvas:
    """A plant in a pot: nobody passes."""
    return floor().art(
        0,
        0,
        """
   ##  ##  ##
  #:.##.:##.:#
 #:..:#.:.#.:+#
 #:.:.:.:.:.:+#
##+:.::#:.::++##
#:.+::.#.::++.:#
#+::+:.:.:+:::+#
 ##++:::::++##
   ##########
  #..........#
  #::::::::++#
   ##########
   #..:::+++#
   #.::::+++#
    #:::+++#
    ########
""",
    )


def thorns() -> Canvas:
    return floor().art(
        0,
        0,
        """
   #   #    #
   #   ##  ##
 # ## #:# #:#
 ## #:#:##:#  #
  #:##:#:#:####
   #:#:#:#:#:#
 ###::#:#:#:#
    #:::::::# ##
  ##:#:#:#:###
 #  #:#:#:#:#
   #:##:#::#:#
  ##:# #:##:###
  #:#  ### #:#
  ##    #   ##
  #     #    #
""",
    )


def leaf() -> Canvas:
    """A big leaf that bears one visit."""
    square = hole()
    return square.art(
        0,
        0,
        """
     ########
   ##::::+:::##
  #::::::+::::+#
 #:::+:::+::+::+#
 #::::+::+:+:::+#
#::::::+:++::::+#
#:::::::++:::::+#
#:++++++++++++++#
#:::::::++:::::+#
#::::::+:++::::+#
 #::::+::+:+:::+#
 #:::+:::+::+::+#
  #::::::+::::+#
   ##::::+::+##
     ########
""",
    )


def hole() -> Canvas:
    """Dark water where a leaf was."""
    square = Canvas(16, 16, 3)
    square.hline(0, 15, 15, 1)
    square.vline(15, 0, 15, 1)
    for x, y in ((2, 3), (9, 5), (4, 9), (10, 12)):
        square.hline(x, x + 3, y, 2)
    return square


def plate() -> Canvas:
    square = floor()
    square.round_box(2, 3, 13, 13, 3, 1)
    square.round_box(4, 5, 11, 11, 3, 0)
    square.checker(5, 6, 10, 10, 1)
    return square


def gate(is_open: bool) -> Canvas:
    """Bars; when open, only their stumps."""
    square = floor()
    if is_open:
        for x in (1, 5, 9, 13):
            square.box(x - 1, 12, x + 1, 15, 3, 1)
        return square
    square.rect(0, 1, 15, 2, 3)
    square.rect(0, 13, 15, 14, 3)
    for x in (1, 5, 9, 13):
        square.box(x - 1, 0, x + 1, 15, 3, 0)
    return square


def lamp(is_lit: bool) -> Canvas:
    """A lamp with its globe; lit, it has rays."""
    square = floor()
    square.art(
        0,
        0,
        """
     ######
    #......#
   #..:::..+#
   #.:...:.+#
   #.:.#.:.+#
   #.:.#.:.+#
   #..:#:..+#
    #..#..+#
     ######
     #.:+#
     #.:+#
    ########
   #..::::++#
   ##########
""",
    )
    if is_lit:
        square.rect(5, 2, 10, 6, 0)
        square.dots(0, (4, 3), (4, 4), (4, 5), (11, 3), (11, 4), (11, 5))
        for x, y in ((1, 1), (0, 5), (1, 9), (14, 1), (15, 5), (14, 9), (2, 2), (13, 2)):
            square.dot(x, y, 3)
    else:
        square.checker(5, 2, 10, 7, 2)
    return square


SQUARES = {
    ".": floor(),
    "#": pot(),
    "x": thorns(),
    "~": leaf(),
    "O": hole(),
    "p": plate(),
    "g": gate(False),
    "G": gate(True),
    "o": lamp(False),
    "L": lamp(True),
}


def mirrored(square: Canvas, x: int) -> Canvas:
    """The mirror's frame runs between columns 4 and 5."""
    copy = square.crop(0, 0, 16, 16)
    if x == 4:
        copy.vline(14, 0, 15, 3)
        copy.vline(15, 0, 15, 2)
    elif x == 5:
        copy.vline(0, 0, 15, 2)
        copy.vline(1, 0, 15, 3)
    return copy


def title() -> Canvas:
    """160x144; row 15 of tiles is kept white for the prompt."""
    picture = Canvas(160, 144, 0)
    for y in range(72, 112, 16):
        for x in range(0, 160, 16):
            picture.blit(SQUARES["."], x, y)
    word(picture, "MIRROR", 8, 4, 24)
    word(picture, "MOTHS", 24, 36, 24)
    for x in (0, 16, 128, 144):
        picture.blit(SQUARES["#"], x, 72)
    for x in (48, 96):
        picture.blit(SQUARES["L"], x, 88)
    picture.rect(78, 72, 81, 111, 3)
    picture.rect(79, 72, 80, 111, 1)
    for k, x in enumerate((24, 120)):
        text = MOTH[k]
        for dy, row in enumerate(text[1:].rstrip("\n").split("\n")):
            for dx, mark in enumerate(row[:8]):
                if mark != " ":
                    shade = {".": 0, ":": 2 if k else 1, "#": 3}[mark]
                    picture.dots(shade, (x + dx, 88 + dy), (x + 15 - dx, 88 + dy))
    picture.hline(0, 159, 71, 3)
    picture.rect(0, 112, 159, 113, 3)
    picture.rect(0, 114, 159, 143, 0)
    picture.hline(0, 159, 141, 1)
    picture.hline(0, 159, 142, 3)
    return picture


def hud() -> dict[str, Canvas]:
    """A candle of the status row, burning and burnt."""
    candle = Canvas(8, 8, 0).art(2, 0, " #\n#+#\n ##\n###\n#.#\n#.#\n#.#\n###")
    burnt = Canvas(8, 8, 0).art(2, 0, "\n\n\n\n\n###\n#:#\n###")
    return {"candle": candle, "burnt": burnt}
