"""The title picture."""

from __future__ import annotations

from .canvas import Canvas


def title() -> Canvas:
    picture = Canvas(160, 144, 0)
    picture.box(10, 10, 100, 50, 3, 1)
    return picture
