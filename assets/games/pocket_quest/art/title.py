"""The title picture: lettering drawn from strokes, a landscape made of the village's own pieces."""

from __future__ import annotations

import itertools
import math

from . import outdoor, people
from .canvas import Canvas

Point = tuple[float, float]


def _arc(cx: float, cy: float, rx: float, ry: float, start: float, end: float) -> list[Point]:
    """Points of an ellipse from `start` to `end` degrees, 0 to the right, growing downwards."""
    angles = [math.radians(start + (end - start) * k / 24) for k in range(25)]
    return [(cx + rx * math.cos(a), cy + ry * math.sin(a)) for a in angles]


# Strokes of each letter in a box 16 wide and 20 high.
STROKES: dict[str, list[list[Point]]] = {
    "P": [[(2, 20), (2, 0), (8, 0), *_arc(8, 5.5, 6.5, 5.5, -90, 90), (2, 11)]],
    "O": [_arc(8, 10, 7, 10, 0, 360)],
    "C": [_arc(8.5, 10, 7.5, 10, -42, -318)],
    "K": [[(2, 0), (2, 20)], [(14, 0), (3, 11), (14, 20)]],
    "E": [[(13, 0), (2, 0), (2, 20), (13, 20)], [(2, 10), (11, 10)]],
    "T": [[(0, 0), (16, 0)], [(8, 0), (8, 20)]],
    "Q": [_arc(8, 10, 7, 10, 0, 360), [(9, 14), (15, 21)]],
    "U": [[(1.5, 0), (1.5, 12), *_arc(8, 13, 6.5, 7, 180, 0), (14.5, 0)]],
    "S": [[*_arc(8, 5, 6.5, 5, -25, -180), *_arc(8, 15, 6.5, 5, -140, 0),
           *_arc(8, 15, 6.5, 5, 0, 155)]],
}  # fmt: skip


def _distance(x: float, y: float, strokes: list[list[Point]]) -> float:
    best = 99.0
    for stroke in strokes:
        for (ax, ay), (bx, by) in itertools.pairwise(stroke):
            length = (bx - ax) ** 2 + (by - ay) ** 2 or 1e-9
            t = max(0.0, min(1.0, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length))
            best = min(best, math.hypot(x - ax - t * (bx - ax), y - ay - t * (by - ay)))
    return best


def _letter(strokes: list[list[Point]]) -> Canvas:
    """One letter, 24x32: black outline, lit from the upper left, a dark cast edge below."""
    picture = Canvas(24, 32)
    for y in range(32):
        for x in range(24):
            px, py = x - 4 + 0.5, y - 5 + 0.5
            distance = _distance(px, py, strokes)
            if distance <= 2.6:
                lower_right = _distance(px + 1.3, py + 1.3, strokes)
                upper_left = _distance(px - 1.3, py - 1.3, strokes)
                if lower_right > 2.6:
                    shade = 2
                elif upper_left > 2.6 or py < 6:
                    shade = 0
                elif py < 12:
                    shade = (x + y) % 2
                else:
                    shade = 1
                picture.dot(x, y, shade)
            elif distance <= 4.2:
                picture.dot(x, y, 3)
            elif _distance(px - 1, py - 2, strokes) <= 4.2:
                picture.dot(x, y, 3 if (x + y) % 2 else 2)
    return picture


def _word(picture: Canvas, word: str, x: int, y: int, advance: int) -> None:
    for k, mark in enumerate(word):
        picture.blit(_letter(STROKES[mark]), x + advance * k, y)


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
    _word(picture, "POCKET", 8, 8, 24)
    _word(picture, "QUEST", 24, 40, 24)
    picture.hline(0, 159, 119, 3)
    picture.hline(0, 159, 121, 1)
    picture.hline(0, 159, 140, 1)
    picture.hline(0, 159, 142, 3)
    return picture
