"""A small drawing board of four shades: 0 lightest .. 3 black, None transparent."""

from __future__ import annotations

SHADES = {" ": None, ".": 0, ":": 1, "+": 2, "#": 3}


class Canvas:
    """A picture of `width` x `height` pixels; drawing outside it is ignored."""

    def __init__(self, width: int, height: int, fill: int | None = None) -> None:
        self.width, self.height = width, height
        self.rows: list[list[int | None]] = [[fill] * width for _ in range(height)]

    def dot(self, x: int, y: int, shade: int | None) -> None:
        if 0 <= x < self.width and 0 <= y < self.height:
            self.rows[y][x] = shade

    def dots(self, shade: int | None, *points: tuple[int, int]) -> None:
        for x, y in points:
            self.dot(x, y, shade)

    def rect(self, x0: int, y0: int, x1: int, y1: int, shade: int | None) -> None:
        """Fill from (x0, y0) to (x1, y1), both inside."""
        for y in range(y0, y1 + 1):
            for x in range(x0, x1 + 1):
                self.dot(x, y, shade)

    def hline(self, x0: int, x1: int, y: int, shade: int | None) -> None:
        self.rect(x0, y, x1, y, shade)

    def vline(self, x: int, y0: int, y1: int, shade: int | None) -> None:
        self.rect(x, y0, x, y1, shade)

    def box(self, x0: int, y0: int, x1: int, y1: int, edge: int, fill: int | None) -> None:
        self.rect(x0, y0, x1, y1, edge)
        self.rect(x0 + 1, y0 + 1, x1 - 1, y1 - 1, fill)

    def round_box(self, x0: int, y0: int, x1: int, y1: int, edge: int, fill: int | None) -> None:
        """A box whose four corner pixels are left out."""
        kept = [(x, y, self.rows[y][x]) for x in (x0, x1) for y in (y0, y1)]
        self.box(x0, y0, x1, y1, edge, fill)
        for x, y, shade in kept:
            self.dot(x, y, shade)
        self.dots(edge, (x0 + 1, y0 + 1), (x1 - 1, y0 + 1), (x0 + 1, y1 - 1), (x1 - 1, y1 - 1))

    def checker(self, x0: int, y0: int, x1: int, y1: int, shade: int, phase: int = 0) -> None:
        """Dither: every other pixel of the rectangle."""
        for y in range(y0, y1 + 1):
            for x in range(x0, x1 + 1):
                if (x + y + phase) % 2 == 0:
                    self.dot(x, y, shade)

    def art(self, x: int, y: int, rows: str) -> Canvas:
        """Draw text art: one character a pixel, see SHADES; a space leaves what is there."""
        for dy, row in enumerate(rows.strip("\n").split("\n")):
            for dx, mark in enumerate(row):
                if SHADES[mark] is not None:
                    self.dot(x + dx, y + dy, SHADES[mark])
        return self

    def blit(self, other: Canvas, x: int, y: int) -> None:
        for dy, row in enumerate(other.rows):
            for dx, shade in enumerate(row):
                if shade is not None:
                    self.dot(x + dx, y + dy, shade)

    def flipped(self) -> Canvas:
        mirror = Canvas(self.width, self.height)
        mirror.rows = [row[::-1] for row in self.rows]
        return mirror

    def crop(self, x: int, y: int, width: int, height: int) -> Canvas:
        part = Canvas(width, height)
        part.rows = [row[x : x + width] for row in self.rows[y : y + height]]
        return part

    def tile_bytes(self, x: int, y: int) -> bytes:
        """The 16 bytes (2 bits a pixel) of the 8x8 tile at (x, y); transparent is colour 0."""
        planes = bytearray()
        for row in self.rows[y : y + 8]:
            low = high = 0
            for shade in row[x : x + 8]:
                low = low << 1 | ((shade or 0) & 1)
                high = high << 1 | ((shade or 0) >> 1)
            planes += bytes((low, high))
        return bytes(planes)
