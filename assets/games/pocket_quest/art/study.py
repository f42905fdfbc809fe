"""The elder's house: hearth, globe, telescope, heaps of books. Light falls from the upper left."""

from __future__ import annotations

import itertools

from kit.canvas import Canvas

Thing = tuple[Canvas, list[str]]


def hearth() -> Thing:
    """A fireplace of stone, two squares wide, before the wall."""
    picture = Canvas(32, 34)
    picture.box(6, 0, 25, 8, 3, 1)
    for y in (2, 5):
        picture.hline(7, 24, y, 2)
    picture.dots(2, (11, 1), (18, 1), (14, 3), (22, 3), (10, 6), (17, 6), (14, 4), (22, 4))
    picture.box(0, 8, 31, 12, 3, 0)
    picture.hline(1, 30, 11, 1)
    picture.box(2, 12, 29, 33, 3, 1)
    for row, y in enumerate(range(13, 33, 4)):
        picture.hline(3, 28, y + 3, 2)
        for x in range(3 + 3 * (row % 2), 29, 6):
            picture.vline(x, y, y + 3, 2)
    picture.box(8, 16, 23, 33, 3, 3)
    picture.art(
        9,
        18,
        """
      +
     ++
     +:+  +
  +  +:+ ++
 ++ +::+ +:+
 +:++:.:++:+
+::+:..:+::+
+:.::...::.+
+:.......:.+
 +:......:+
  +:....:+
++++++++++++
:+:++:+:++:+
""",
    )
    return picture, ["##", "##"]


def globe() -> Thing:
    picture = Canvas(16, 22)
    picture.art(
        1,
        0,
        """
     ####
   ##.::.##
  #..:+:...#
 #..:++++:..##
 #.::++++:...#
#..:+++::...:#
#...:++:..:.:#
#....:+..++::#
#.....:.:++:+#
 #....:.:+::##
 #.....::+:+##
  #......:+#
   ##:::+##
  # ####  #
   #    ##
    ####
     ##
    #..#
   #.::+#
  ########
""",
    )
    return picture, ["#"]


def telescope() -> Thing:
    """On three legs, looking out of the window; one square, reaching above it."""
    picture = Canvas(16, 28)
    picture.art(
        0,
        0,
        """
            ###
          ##.:#
        ##.::+#
       #..::+#
     ##.::++#
    #..::+##
   #.::++#
  ##:++##
 #..##+#
 #.:###
  ##  #
      ##
     #.#
     #.#
    ##:##
    #.#:#
   #.##:#
   #.# #:#
  #.## #:#
  #.#  ##:#
 #.##   #:#
 #.#    #:#
#.##    ##:#
#.#      #:#
###      ###
""",
    )
    return picture, ["#"]


def book_heap() -> Thing:
    """Books that found no shelf."""
    picture = Canvas(16, 20)
    picture.art(
        0,
        1,
        """
   #########
  #.........#
  #++++++++++#
  ############
 #..........#
 #::::::::::#
 ############
  #..........#
  #+++++++++++#
  ##############
 #............#
 #:::::::::::::#
 ###############
#..............#
#++#++#+++++++++#
#++#++#++++++++#
################
""",
    )
    return picture, ["#"]


def writing_table() -> Thing:
    """The elder's table, two squares wide: papers, ink, a candle."""
    picture = Canvas(32, 28)
    picture.box(0, 6, 31, 18, 3, 0)
    picture.hline(1, 30, 17, 1)
    picture.box(0, 18, 31, 27, 3, 2)
    picture.box(3, 20, 13, 26, 3, 1)
    picture.box(18, 20, 28, 26, 3, 1)
    picture.dots(3, (8, 23), (23, 23))
    picture.box(8, 8, 19, 15, 3, 0)
    for y in (10, 12):
        picture.hline(10, 17, y, 2)
    picture.hline(10, 14, 14, 2)
    picture.art(
        22,
        0,
        """
  #
 #.#
 #:#
  #
 ###
 #.#
 #.#
 #.#
#####
#..:#
#####
""",
    )
    picture.art(
        2,
        5,
        """
   #
  #:
 #:
#####
#++:#
#++:#
#####
""",
    )
    return picture, ["##"]


def armchair() -> Thing:
    picture = Canvas(16, 22)
    picture.art(
        0,
        0,
        """
   ##########
  #::::::::::#
 #::........:+#
 #:..:..:..::+#
 #:..........+#
 #:.:..:..:.:+#
##:..........+##
#.#::::::::::#.#
#.:##########:.#
#.:#........#:.#
#.:#.:....:.#:+#
#.:#........#:+#
#.:##########:+#
#::::::::::::++#
#+++++++++++++##
 ##############
 ##          ##
""",
    )
    return picture, ["#"]


def star_map() -> Thing:
    """A chart of the sky on the wall, two squares wide."""
    picture = Canvas(32, 24)
    picture.box(2, 4, 29, 22, 3, 0)
    picture.box(4, 6, 27, 20, 3, 3)
    stars = ((7, 9), (12, 8), (16, 12), (21, 10), (24, 15), (9, 16), (18, 17), (13, 14))
    for (ax, ay), (bx, by) in itertools.pairwise(stars[:5]):
        for k in range(1, 6):
            picture.dot(ax + (bx - ax) * k // 6, ay + (by - ay) * k // 6, 1)
    for x, y in stars:
        picture.dots(0, (x, y), (x + 1, y), (x, y + 1), (x - 1, y), (x, y - 1))
    return picture, ["##", "##"]
