"""Button codecs: the actions an agent may choose in a step, and the joypad mask of each.

`buttons7.v1` has seven actions, one button each; `buttons21.v1` adds SELECT and pairs of buttons. None has a no-op.
Every codec is a prefix of the longest, so that the number of an action means the same in every log, recording and
checkpoint.

Joypad mask, as in Pan Docs "Joypad Input" with the two nibbles side by side: bit 0 right, 1 left, 2 up, 3 down, 4 A, 5
B, 6 SELECT, 7 START; 1 = held.
"""

from __future__ import annotations

CODEC_ID = "buttons7.v1"
TWO_BUTTONS_ID = "buttons21.v1"
ACTIONS = ("A", "B", "START", "UP", "DOWN", "LEFT", "RIGHT")
"""Actions of `buttons7.v1`, the default codec."""
ALL_ACTIONS = (
    *ACTIONS,
    "SELECT",
    "A+B",
    *(f"{button}+{way}" for button in "AB" for way in ("UP", "DOWN", "LEFT", "RIGHT")),
    *(f"{way}+{side}" for way in ("UP", "DOWN") for side in ("LEFT", "RIGHT")),
)
"""Names of the actions of all codecs, in the order of their numbers."""
CODECS = {CODEC_ID: ACTIONS, TWO_BUTTONS_ID: ALL_ACTIONS}
MASK_BITS = ("right", "left", "up", "down", "a", "b", "select", "start")


def mask_of(action: str) -> int:
    """Return the joypad mask of an action named like `A` or `A+UP`."""
    return sum(1 << MASK_BITS.index(name.lower()) for name in action.split("+"))


ACTION_MASKS = tuple(map(mask_of, ACTIONS))
ALL_MASKS = tuple(map(mask_of, ALL_ACTIONS))


def action_name(action: int) -> str:
    """Return the name of an action of any codec; "none" for a number that is no action."""
    return ALL_ACTIONS[action] if 0 <= action < len(ALL_ACTIONS) else "none"
