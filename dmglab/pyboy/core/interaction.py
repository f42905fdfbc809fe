"""`pyboy.core.interaction`: buttons as P1 shows them."""

from __future__ import annotations

from dmglab.pyboy.utils import BUTTONS, PRESS, RELEASE


class Interaction:
    """Buttons that are held, changed by events."""

    def __init__(self) -> None:
        self.mask = 0
        """Joypad mask: bits 0 to 7 right left up down a b select start."""

    def key_event(self, key: object) -> bool:
        """Press or release a button; return whether one was pressed that was not held."""
        for bit, name in enumerate(BUTTONS):
            if key == PRESS[name]:
                before, self.mask = self.mask, self.mask | 1 << bit
                return before != self.mask
            if key == RELEASE[name]:
                self.mask &= ~(1 << bit)
        return False

    def pull(self, joystickbyte: int) -> int:
        """Return what P1 reads after `joystickbyte` was written: a line is low for a held button of the chosen row."""
        rows = joystickbyte >> 4 & 3
        low = {1: self.mask >> 4, 2: self.mask & 15}.get(rows, 0)
        return 0xCF & ~low
