"""Every picture of Nectar Run: sprites, gardens from above, the title."""

from __future__ import annotations

import math

from kit.canvas import Canvas
from kit.lettering import word

# Sprites: ' ' transparent, '.' white, ':' grey, '#' black. Symmetric ones are given as left halves.
BEE = [
    """
  ##   #
   ##  #
    ####
   #####
   #..##
   #..##
 #######
#:::....
#:......
 #:#####
  ######
   #....
   #....
   #####
    ####
      ##
""",
    """
   ##  #
    ## #
    ####
 # #####
#:##..##
#::#..##
#:::####
 #::....
  #.....
   #####
   #####
   #....
   #....
   #####
    ####
      ##
""",
]
PALE_BEE = [text.replace("#", ":") for text in BEE]
WASP = [
    """
     ##
    #..
   #:::
   ####
  #....
 ######
##:....
#..####
#...###
#....#:
 #...##
  ##.#.
   ###.
    ##.
     ##
      #
""",
    """
     ##
    #..
   #:::
   ####
  #....
  #####
   #...
 #######
#....##
#.....#:
#.....##
 #...##.
  ####.
    ##.
     ##
      #
""",
]
BEETLE = [
    """
   #  ##
    # #:
    ####
#  #:..:
 ##:::::
  #######
 #:.::::
##:.::::
 #::::::
 #:::##:
##::#..#
 #::#..#
 #:::##:
##::::::
# #:::::
   #####
""",
    """
  #   ##
   #  #:
    ####
   #:..:
 ##:::::
#  ######
 #:.::::
 #:.::::
##::::::
 #:::##:
 #::#..#
##::#..#
 #:::##:
 #::::::
##:::::
#  #####
""",
]
FLY = [
    """
##    #
#.#  #:
#..##::
 #..#::
 #...##
  #..#.
   ###.
##  #::
#.###::
#...#::
 #..###
  ###.
    #::
    ##:
     ##
      #
""",
    """
      #
     #:
    #::
    #::
    ###
 ####.
#...#.
#....##
 #...#:
  ####:
#####::
#...###
 ##.#.
   ##::
     ##
      #
""",
]
HORNET_HALF = """
            ##
     ##    #
    #..#  #
     ##:# #
       ######
      ##:::::::
     #:::::::::
    #::##::::::
    #:#..#:::::
    #:#.##:::##
     #:##::::#
      #::::####
 ###   ########
#...##  #.....#
#.....##.......
#.......#######
#.......#######
 #......#......
 #..:...#......
  #..::.########
   #...:########
    ##..#.......
      ##........
     #.#########
    #.:#########
    #..#........
     ##.#.......
         ########
          #######
           #....
            ###
             ##
"""
SHOT = """



   ##
  #..#
  #..#
 #....#
 #.::.#
 #....#
  #..#
   ##
"""
STING = """



    #
   ###
   ###
  #####
  ##.##
  #####
   ###
   ###
    #
"""
DROP = [
    """
       ##
       ##
      ####
      ####
     ######
    ########
    ########
   ##########
  ############
  ##..########
  ##..########
  ##..########
  ###..#######
   ##########
    ########
      ####
""",
    """
       ##
       ##
      ####
      ####
     ######
    ########
    ########
   ##########
  ############
  ############
  ########..##
  ########..##
  #######..###
   ##########
    ########
      ####
""",
]
BLAST = [
    """





     #
   #  #
    #.#
   ##..
     #.
    #.#
   #  #
     #
""",
    """

  #
   #  #
    # ##
  # #...
   #....
  #...::
##...:::
 #...:::
  #..::
   #...
  # ####
   #  #
  #

""",
    """
 #
       #
  ##
 #..#  #
  ##  #.
#      #
   #
  #.#
   #   ##
#     #..
  #    ##
 #.#
  #   #
     #.#
 #    #
""",
]
SHADE_OF = {" ": None, ".": 1, ":": 2, "#": 3}


def sprite(text: str, width: int, height: int, mirror: bool = False) -> Canvas:
    """Text art as sprite colours; with `mirror` the text is the left half of `width`."""
    picture = Canvas(width, height)
    for y, row in enumerate(text[1:].rstrip("\n").split("\n")):
        for x, mark in enumerate(row[: width // 2 if mirror else width]):
            picture.dot(x, y, SHADE_OF[mark])
            if mirror:
                picture.dot(width - 1 - x, y, SHADE_OF[mark])
    return picture


def columns(picture: Canvas) -> bytes:
    """Tiles of 8x16 sprites: for each row of 16, columns from left to right."""
    return b"".join(
        picture.tile_bytes(x, y) + picture.tile_bytes(x, y + 8)
        for y in range(0, picture.height, 16)
        for x in range(0, picture.width, 8)
    )


def sprites() -> tuple[bytes, dict[str, int]]:
    """All sprite tiles and the first tile of each picture; frames follow one another."""
    data, first = b"", {}
    for name, frames in (
        ("bee", BEE),
        ("pale_bee", PALE_BEE),
        ("wasp", WASP),
        ("beetle", BEETLE),
        ("fly", FLY),
        ("blast", BLAST),
    ):
        first[name] = len(data) // 16
        for text in frames:
            data += columns(sprite(text, 16, 16, mirror=True))
    first["hornet"] = len(data) // 16
    data += columns(sprite(HORNET_HALF, 32, 32, mirror=True))
    for name, width, texts in (("shot", 8, [SHOT]), ("sting", 8, [STING]), ("drop", 16, DROP)):
        first[name] = len(data) // 16
        for text in texts:
            data += columns(sprite(text, width, 16))
    return data, first


def grass(picture: Canvas, shade: int) -> None:
    """A lawn seen from above: blades in tufts on a 16x16 raster."""
    picture.rect(0, 0, picture.width - 1, picture.height - 1, shade)
    for y in range(0, picture.height, 16):
        for x in range(0, picture.width, 16):
            for dx, dy in ((2, 4), (10, 1), (6, 10), (13, 13)):
                picture.dots(shade + 1, (x + dx, y + dy), (x + dx + 1, y + dy - 1))


def daisy(picture: Canvas, cx: int, cy: int, radius: float, petals: int) -> None:
    """A flower head from above with its shadow."""
    reach = int(radius) + 3
    for y in range(cy - reach, cy + reach):
        for x in range(cx - reach, cx + reach):
            for shadow, (px, py) in ((True, (x - 2, y - 2)), (False, (x, y))):
                distance = math.hypot(px - cx + 0.5, py - cy + 0.5)
                angle = math.atan2(py - cy + 0.5, px - cx + 0.5)
                edge = radius * (0.78 + 0.22 * math.cos(petals * angle))
                if distance < edge and shadow:
                    picture.dot(x, y, 2)
                elif distance < radius * 0.33:
                    picture.dot(x, y, 2 if (x + y) % 2 else 1)
                elif distance < radius * 0.33 + 1.1 or edge - 1.2 < distance < edge:
                    picture.dot(x, y, 3)
                elif distance < edge:
                    picture.dot(x, y, 0)


def leaf(picture: Canvas, cx: int, cy: int, reach: int, slope: int) -> None:
    """A broad leaf with a rib."""
    for k in range(-reach, reach + 1):
        half = round((reach**2 - k * k) ** 0.5 * 0.45)
        for d in range(-half, half + 1):
            shade = 3 if abs(d) == half else 1 if d < 0 else 2
            picture.dot(cx + k, cy + slope * k // 2 + d, shade if d else 3)


def pond(picture: Canvas, cx: int, cy: int, rx: int, ry: int) -> None:
    for y in range(cy - ry, cy + ry + 1):
        for x in range(cx - rx, cx + rx + 1):
            inside = ((x - cx) / rx) ** 2 + ((y - cy) / ry) ** 2
            if inside > 1:
                continue
            wave = (x + 3 * (y // 4 % 2)) % 8 in (1, 2) and y % 4 == 1
            picture.dot(x, y, 3 if inside > 0.86 else 0 if wave or inside > 0.76 else 1)


def path(picture: Canvas, x0: int, width: int) -> None:
    """Stepping stones from top to bottom."""
    for y in range(0, picture.height, 16):
        x = x0 + (4 if y // 16 % 2 else 0)
        picture.round_box(x, y + 1, x + width - 1, y + 13, 3, 0)
        picture.hline(x + 2, x + width - 3, y + 12, 1)
        picture.checker(x + 3, y + 6, x + width - 5, y + 9, 1)


def hedge(picture: Canvas, x0: int, x1: int) -> None:
    """A clipped hedge along the border."""
    for y in range(picture.height):
        for x in range(x0, x1 + 1):
            bump = (x * 5 + y * 3) % 8 in (0, 3) or (x + 2 * y) % 8 == 5
            picture.dot(x, y, 3 if x in (x0, x1) else 2 if not bump else 1)


STAGE_ROWS = 16  # squares; the picture repeats


def garden(number: int) -> Canvas:
    """The ground of a stage: 160 x 256, joining itself at the ends."""
    picture = Canvas(160, 16 * STAGE_ROWS, 0)
    if number == 0:
        grass(picture, 0)
        hedge(picture, 0, 7)
        hedge(picture, 152, 159)
        path(picture, 66, 26)
        for cx, cy in ((32, 32), (128, 80), (32, 160), (128, 208)):
            leaf(picture, cx - 8, cy + 14, 10, 1)
            daisy(picture, cx, cy, 13, 8)
        for cx, cy in ((120, 24), (40, 96), (120, 144), (40, 224)):
            daisy(picture, cx, cy, 7, 5)
        # Pale, so that whoever flies over it stands out, in pictures of half the size too.
        picture.rows = [[min(shade or 0, 1) for shade in row] for row in picture.rows]
    elif number == 1:
        grass(picture, 0)
        pond(picture, 48, 64, 40, 40)
        pond(picture, 112, 192, 40, 40)
        for cx, cy in ((40, 56), (60, 76), (104, 184), (124, 204)):
            daisy(picture, cx, cy, 7, 5)
        for cx, cy in ((128, 48), (32, 176), (128, 112), (24, 232)):
            leaf(picture, cx, cy, 14, 1)
            leaf(picture, cx, cy, 14, -1)
    else:
        grass(picture, 1)
        for y in range(0, 256, 64):
            for x in (24, 120):
                daisy(picture, x + (16 if y % 128 else 0), y + 32, 13, 6)
        path(picture, 66, 26)
        for cy in range(16, 256, 64):
            leaf(picture, 24, cy, 12, 1)
            leaf(picture, 136, cy, 12, -1)
    return picture


def title() -> Canvas:
    """160x144; rows 13 and 15 of tiles are kept plain for the prompt and the best score."""
    picture = Canvas(160, 144, 0)
    word(picture, "NECTAR", 8, 8, 24)
    word(picture, "RUN", 44, 40, 24)
    picture.rect(0, 74, 159, 75, 3)
    picture.rect(0, 76, 159, 99, 1)
    for x in range(16, 160, 32):
        daisy(picture, x, 86, 11, 8)
    for x in range(0, 160, 32):
        daisy(picture, x, 88, 6, 5)
    picture.rect(0, 100, 159, 143, 0)
    picture.rect(0, 98, 159, 99, 3)
    bee = sprite(BEE[0], 16, 16, mirror=True)
    for x, y in ((120, 48), (24, 48)):
        for dy, row in enumerate(bee.rows):
            for dx, colour in enumerate(row):
                if colour is not None:
                    picture.dot(x + dx, y + dy, (0, 0, 1, 3)[colour])
    picture.hline(0, 159, 141, 1)
    picture.hline(0, 159, 142, 3)
    return picture


def hud() -> dict[str, Canvas]:
    """Small signs of the status row: a life, a full and an empty cell of the jar."""
    life = Canvas(8, 8, 0).art(0, 1, " ## ##\n#++#++#\n#+++++#\n#+++++#\n #+++#\n  #+#\n   #")
    full = Canvas(8, 8, 0)
    full.box(0, 1, 7, 6, 3, 3)
    empty = Canvas(8, 8, 0)
    empty.box(0, 1, 7, 6, 3, 0)
    nectar = Canvas(8, 8, 0).art(0, 0, "   #\n   #\n  ###\n #####\n #+###\n #+###\n #####\n  ###")
    hornet = Canvas(8, 8, 0).art(0, 0, "#     #\n #   #\n #####\n #+#+#\n #####\n ##+##\n  ###\n   #")
    return {"life": life, "full": full, "empty": empty, "nectar": nectar, "hornet": hornet}
