"""Where in a Game Boy's memory something is kept: narrowed from look to look, value unknown."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gui.words import tr
from trainer_core.wire.frames import BASE

CARTRIDGE = (0xA000, 0xC000)
RAM = (CARTRIDGE, (0xC000, 0xE000), (0xFF80, 0xFFFF))
"""Cartridge, work and high RAM: begin and end. What mirrors it, video memory and registers are
left out."""
COMPARISONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "the same": np.equal,
    "another": np.not_equal,
    "more": np.greater,
    "less": np.less,
}
"""How a value is to stand to what it was at the search before."""
EQUAL = "the value"
"""Or to a number that is given."""


class MemorySearch:
    """`left` says of each address of memory.bin whether it may still be the one."""

    def __init__(self) -> None:
        self.is_wide = False
        """Whether two bytes are one number, the low one first."""
        self.before: np.ndarray | None = None
        """i32[32768], values as they were at the search before; None where none was made."""
        self.left = np.zeros(0x8000, bool)
        self.restart()

    def restart(self) -> None:
        """Every address of RAM may be the one again."""
        self.before = None
        self.left[:] = False
        for begin, end in RAM:
            self.left[begin - BASE : end - BASE - self.is_wide] = True

    def set_wide(self, is_wide: bool) -> None:
        self.is_wide = is_wide
        self.restart()

    def values(self, memory: np.ndarray) -> np.ndarray:
        """`memory` u8[32768] as numbers i32[32768], one at each address."""
        low = memory.astype(np.int32)
        return low | np.roll(low, -1) << 8 if self.is_wide else low

    def narrow(self, memory: np.ndarray, how: str, value: int = 0) -> int:
        """Keep the addresses that fit; how many are left. `how` is EQUAL or one of COMPARISONS.

        The first comparison has nothing to compare with: it remembers, and keeps all.
        """
        now = self.values(memory)
        cartridge = slice(CARTRIDGE[0] - BASE, CARTRIDGE[1] - BASE)
        if self.before is None and (memory[cartridge] == 0xFF).all():  # nothing is there, or off
            self.left[cartridge] = False
        if how == EQUAL:
            self.left &= now == value
        elif self.before is not None:
            self.left &= COMPARISONS[how](now, self.before)
        self.before = now
        return int(self.left.sum())

    def found(self, most: int) -> list[int]:
        """The first addresses that are left, `most` at most."""
        return [BASE + int(place) for place in np.flatnonzero(self.left)[:most]]


def parse_number(text: str, most: int | None = None) -> int:
    """A decimal number, or hexadecimal with $ or 0x before it, between 0 and `most`.

    Raises ValueError in one line.
    """
    plain = text.strip().lower()
    try:
        hexadecimal = plain.startswith("$")
        base = 10 if plain.isdecimal() else 0  # "007" is no Python number
        number = int(plain[1:], 16) if hexadecimal else int(plain, base)
    except ValueError:
        what = tr("{text} is no number: 12, $0C or 0x0C", text=text or tr("nothing"))
        raise ValueError(what) from None
    if most is not None and not 0 <= number <= most:
        raise ValueError(tr("{text} is not between 0 and {most}", text=text, most=most))
    return number
