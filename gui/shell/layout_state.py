"""Validation of the bytes in which Qt saves docks and window geometry.

Qt does not check these bytes: a wrong length or a dock named twice ends the process. A home may come from another user,
so `restoreState` and `restoreGeometry` only get bytes with exactly our docks and plausible sizes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

_STATE, _DOCKS, _TOOLBARS = 0xFF, 0xFD, 0xFC
_TABS, _SEQUENCE, _WIDGET = 0xFA, 0xFC, 0xFB
_FLOATING, _FLAGS = 2, 15
_GEOMETRY, _GEOMETRY_BYTES = 0x01D9D0CB, 66
MOST_PIXELS = 1 << 15
_ENDLESS = (1 << 24) - 1
"""Qt's QWIDGETSIZE_MAX: no maximum size."""
MOST_DEEP, MOST_PARTS = 8, 32


class _OddByteError(ValueError):
    """Error for bytes that Qt would not have written for this window."""


def is_sound_state(state: bytes, version: int, docks: Iterable[str]) -> bool:
    """Return whether these bytes are a valid dock state with only the given docks, each at most once."""
    reader = _Reader(state, set(docks))
    try:
        reader.window(version)
    except (_OddByteError, struct.error, UnicodeDecodeError):
        return False
    return reader.place == len(state)


def is_sound_geometry(geometry: bytes) -> bool:
    """Return whether these bytes are a valid window geometry with sizes that a screen may have."""
    if len(geometry) != _GEOMETRY_BYTES:
        return False
    magic, major, minor, *rest = struct.unpack(">IHH4i4iiBBi4i", geometry)
    frame, normal, (_, maximised, full, width), last = rest[:4], rest[4:8], rest[8:12], rest[12:]
    numbers = (*frame, *normal, width, *last)
    return (
        (magic, major, minor) == (_GEOMETRY, 3, 0)
        and all(-MOST_PIXELS <= number <= MOST_PIXELS for number in numbers)
        and maximised in (0, 1, 2)
        and full in (0, 1, 4)
    )


def frame_place(geometry: bytes) -> tuple[int, int]:
    """Return x and y at which the window's frame stood when its geometry was saved."""
    return struct.unpack_from(">ii", geometry, 8)


class _Reader:
    """Reader of Qt's saved bytes in order; raises _OddByteError at the first invalid value."""

    def __init__(self, data: bytes, docks: set[str]) -> None:
        self._data, self._docks = data, docks
        self.place = 0

    def window(self, version: int) -> None:
        self._want(self._numbers("ii") == [_STATE, version])
        self._want(self._number("B") == _DOCKS)
        areas = self._number("i", 0, 4)
        seen = [self._area() for _ in range(areas)]
        self._want(len(set(seen)) == areas)
        self._size()
        for _ in range(4):
            self._number("i", 0, 8)  # the area that owns a corner
        self._want(self._number("B") == _TOOLBARS)
        self._want(self._number("i") == 0)  # the app has no tool bars

    def _area(self) -> int:
        which = self._number("i", 0, 3)
        self._size()
        self._group(MOST_DEEP)
        return which

    def _group(self, deep: int) -> None:
        """Read a group of docks (beside each other, below each other, or tabbed) at nesting depth `deep`."""
        self._want(deep > 0)
        kind = self._number("B")
        self._want(kind in (_TABS, _SEQUENCE))
        current = self._number("i", -1, MOST_PARTS) if kind == _TABS else -1
        self._number("B", 0, 2)
        count = self._number("i", 1, MOST_PARTS)
        self._want(current < count)
        for _ in range(count):
            part = self._number("B")
            if part == _WIDGET:
                self._dock()
            else:
                self._want(part == _SEQUENCE)
                self._extent()
                self._group(deep - 1)

    def _dock(self) -> None:
        length = self._number("i", 0, 256)
        self._want(length % 2 == 0 and self.place + length <= len(self._data))
        name = self._data[self.place : self.place + length].decode("utf-16-be")
        self.place += length
        self._want(name in self._docks)
        self._docks.discard(name)
        flags = self._number("B", 0, _FLAGS)
        if flags & _FLOATING:
            self._pixels(4, -MOST_PIXELS)
        else:
            self._extent()

    def _extent(self) -> None:
        """Read position, size, least and greatest size of a group's item."""
        self._pixels(3, -1)
        greatest = self._number("i")
        self._want(0 <= greatest <= _ENDLESS + MOST_PIXELS)  # Qt adds the height of tabs

    def _size(self) -> None:
        self._pixels(2, -1)

    def _pixels(self, count: int, least: int) -> None:
        for _ in range(count):
            self._number("i", least, MOST_PIXELS)

    def _numbers(self, kinds: str) -> list[int]:
        return [self._number(kind) for kind in kinds]

    def _number(self, kind: str, least: int = -(1 << 31), most: int = (1 << 31) - 1) -> int:
        (number,) = struct.unpack_from(">" + kind, self._data, self.place)
        self.place += struct.calcsize(kind)
        self._want(least <= number <= most)
        return number

    def _want(self, holds: bool) -> None:
        if not holds:
            raise _OddByteError(f"odd byte before {self.place}")
