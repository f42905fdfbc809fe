"""The title picture: lettering drawn from strokes, a landscape made of the village's own pieces."""

from __future__ import annotations

from kit.canvas import Canvas
from kit.lettering import word

from . import outdoor, people


def _mountains(picture: Canvas) -> None:
    """A range that repeats every 80 pixels: white tops, lit left flanks, grey right flanks."""
    peaks = ((0, 87), (24, 76), (56, 83))
    for x in range(160):
        nearest = min(
            ((at + shift, top) for at, top in peaks for shift in (-80, 0, 80, 160)),
            key=lambda p: p[1] + abs(x - p[0]) * 3 // 4,
        )
        at, peak = nearest
        top = peak + abs(x - at) * 3 // 4
        for y in range(top, 112):
            if y <= top:
                shade = 3
            elif y < peak + 9 + (x - at) % 4:
                shade = 0 if x <= at else 1
            elif x > at:
                shade = 2 if y < 100 else 2 - (x + y) % 2
            else:
                shade = 1 if (x + y) % 2 or y < 96 else 0
            picture.dot(x, y, shade)


def _meadow(picture: Canvas) -> None:
    """A row of trees, the road, the kid on his way, flowers."""
    tree, _ = outdoor.tree()
    for x in range(0, 160, 16):
        if x not in (64, 80):
            picture.blit(tree, x, 88)
    picture.rect(0, 112, 159, 143, 0)
    for x in range(0, 160, 16):
        picture.dots(1, (x + 3, 114), (x + 4, 113), (x + 2, 113), (x + 11, 117), (x + 12, 116))
    for x in range(64, 96):
        for y in range(104, 112):
            picture.dot(x, y, 0 if y < 106 else 1 if (x + y) % 2 or y > 108 else 0)
    for x in (16, 40, 112, 136):
        picture.blit(outdoor.flower(), x, 112)
    pose = people.pose(people.KID[0])
    for y, row in enumerate(pose.rows):
        for x, colour in enumerate(row):
            if colour is not None:
                picture.dot(72 + x, 98 + y, {1: 0, 2: 2, 3: 3}[colour])


def title() -> Canvas:
    """160x144; row 16 of tiles is kept white for the prompt."""
    picture = Canvas(160, 144, 0)
    _mountains(picture)
    _meadow(picture)
    word(picture, "POCKET", 8, 8, 24)
    word(picture, "QUEST", 24, 40, 24)
    picture.hline(0, 159, 119, 3)
    picture.hline(0, 159, 121, 1)
    picture.hline(0, 159, 140, 1)
    picture.hline(0, 159, 142, 3)
    return picture
