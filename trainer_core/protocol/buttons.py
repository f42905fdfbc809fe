"""The buttons codec `buttons7.v1`: seven actions, no no-op; and the joypad mask they become.

Joypad mask, as in Pan Docs "Joypad Input" with the two nibbles side by side:
bit 0 right, 1 left, 2 up, 3 down, 4 A, 5 B, 6 SELECT, 7 START; 1 = held.
"""

from __future__ import annotations

CODEC_ID = "buttons7.v1"
ACTIONS = ("A", "B", "START", "UP", "DOWN", "LEFT", "RIGHT")
MASK_BITS = ("right", "left", "up", "down", "a", "b", "select", "start")
ACTION_MASKS = tuple(1 << MASK_BITS.index(name.lower()) for name in ACTIONS)
