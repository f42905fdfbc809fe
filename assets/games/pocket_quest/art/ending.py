"""The last picture: the great lantern burns over the village, the kid and the elder watch."""

from __future__ import annotations

import math

from kit.canvas import Canvas
from kit.lettering import word

from . import outdoor, people

STARS = ((10, 62), (28, 74), (44, 58), (60, 70), (96, 62), (150, 60), (140, 78), (12, 84), (78, 84))


def _night(picture: Canvas) -> None:
    """Dark above, a paler band towards the hills."""
    picture.rect(0, 0, 159, 103, 3)
    picture.checker(0, 80, 159, 91, 2)
    picture.rect(0, 92, 159, 103, 2)
    for k, (x, y) in enumerate(STARS):
        picture.dot(x, y, 0)
        if k % 3 == 0:
            picture.dots(1, (x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1))


def _rays(picture: Canvas, cx: int, cy: int) -> None:
    """Light around the lantern: rings of dither, and eight beams."""
    for y in range(cy - 30, cy + 31):
        for x in range(cx - 40, cx + 41):
            distance = math.hypot(x - cx, y - cy)
            angle = math.atan2(y - cy, x - cx)
            beam = math.cos(8 * angle) > 0.55
            if y >= 104 or distance > 30:
                continue
            if distance < 9:
                picture.dot(x, y, 0)
            elif distance < 15:
                picture.dot(x, y, 0 if beam else 1)
            elif beam and (x + y) % 2:
                picture.dot(x, y, 1)
            elif distance < 22 and (x + y) % 2:
                picture.dot(x, y, 2)


def _tower(picture: Canvas, cx: int, top: int) -> None:
    """The lantern on its tower of stone."""
    picture.art(
        cx - 9,
        top - 18,
        """
        ##
       #..#
      ######
    ##::::++##
   ############
   #..#..#..#+#
   #..#..#..#+#
   #..#..#..#+#
   #..#..#..#+#
   ############
  #............#
  ##############
""",
    )
    for y in range(top - 6, 112):
        half = 5 + (y - top + 6) // 9
        picture.hline(cx - half, cx + half, y, 1)
        picture.dots(3, (cx - half, y), (cx + half, y))
        picture.dots(2, *((x, y) for x in range(cx + 1, cx + half)))
        if y % 5 == 0:
            picture.hline(cx - half, cx + half, y, 3)
    picture.box(cx - 3, 100, cx + 3, 111, 3, 3)


def _hills(picture: Canvas) -> None:
    for x in range(160):
        top = 98 + round(4 * math.sin(x / 15) + 2 * math.sin(x / 6))
        picture.rect(x, top, x, 111, 3)
    picture.rect(0, 112, 159, 143, 0)
    picture.hline(0, 159, 111, 3)
    for x in range(0, 160, 16):
        picture.dots(1, (x + 3, 130), (x + 4, 129), (x + 2, 129), (x + 11, 117), (x + 12, 116))


def _figure(picture: Canvas, name: str, number: int, x: int, y: int) -> None:
    for dy, row in enumerate(people.pose(people.PEOPLE[name][number]).rows):
        for dx, colour in enumerate(row):
            if colour is not None:
                picture.dot(x + dx, y + dy, {1: 0, 2: 2, 3: 3}[colour])


def ending() -> Canvas:
    """160x144"""
    picture = Canvas(160, 144, 0)
    _night(picture)
    _rays(picture, 120, 72)
    _hills(picture)
    _tower(picture, 120, 84)
    tree, _ = outdoor.tree()
    for x in (0, 16, 144):
        picture.blit(tree, x, 104)
    for x in (40, 88, 136):
        picture.blit(outdoor.flower(), x, 120)
    _figure(picture, "kid", 2, 56, 112)
    _figure(picture, "elder", 1, 74, 112)
    word(picture, "THE", 3, 8, 24)
    word(picture, "END", 86, 8, 24)
    picture.hline(0, 159, 135, 3)
    picture.hline(0, 159, 137, 1)
    return picture
