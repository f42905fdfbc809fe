"""Big letters for titles, drawn from strokes."""

from __future__ import annotations

import itertools
import math

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
    "S": [[*_arc(8, 5, 6.5, 5, -25, -180), *_arc(8, 15, 6.5, 5, -140, 0), *_arc(8, 15, 6.5, 5, 0, 155)]],
    "H": [[(2, 0), (2, 20)], [(14, 0), (14, 20)], [(2, 10), (14, 10)]],
    "N": [[(2, 20), (2, 0), (14, 20), (14, 0)]],
    "A": [[(1, 20), (8, 0), (15, 20)], [(4, 13), (12, 13)]],
    "I": [[(8, 0), (8, 20)], [(4, 0), (12, 0)], [(4, 20), (12, 20)]],
    "M": [[(1, 20), (1, 0), (8, 12), (15, 0), (15, 20)]],
    "R": [[(2, 20), (2, 0), (8, 0), *_arc(8, 5.5, 6.5, 5.5, -90, 90), (2, 11)], [(8, 11), (15, 20)]],
    "D": [[(2, 0), (2, 20), (7, 20), *_arc(7, 10, 7, 10, 90, -90), (2, 0)]],
}


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


def word(picture: Canvas, word: str, x: int, y: int, advance: int) -> None:
    for k, mark in enumerate(word):
        picture.blit(_letter(STROKES[mark]), x + advance * k, y)
