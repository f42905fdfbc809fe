"""Keys to the joypad: what a person holds becomes one mask (protocol.buttons)."""

from __future__ import annotations

from PySide6.QtCore import Qt

from trainer_core.protocol.buttons import MASK_BITS

DEFAULT_KEYS: dict[int, str] = {
    Qt.Key.Key_Right: "right", Qt.Key.Key_Left: "left", Qt.Key.Key_Up: "up",
    Qt.Key.Key_Down: "down", Qt.Key.Key_Z: "a", Qt.Key.Key_X: "b",
    Qt.Key.Key_Return: "start", Qt.Key.Key_Enter: "start", Qt.Key.Key_Backspace: "select",
}  # fmt: skip

PLAY_KEYS = (
    ("Arrows", "direction"),
    ("Z, X", "A, B"),
    ("Enter", "START"),
    ("Backspace", "SELECT"),
    ("Space", "pause"),
    (".", "one step while paused"),
    ("+  -  0", "faster, slower, normal"),
    ("Shift", "hold for full speed"),
    ("R", "hold to rewind"),
    ("Tab", "hold to take over (Hybrid)"),
    ("Esc", "leave the screen"),
)
"""Keys that are the game's while its screen has the focus."""


OTHER_KEYS = (
    Qt.Key.Key_Space, Qt.Key.Key_Period, Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_Minus,
    Qt.Key.Key_0, Qt.Key.Key_Shift, Qt.Key.Key_Tab, Qt.Key.Key_Backtab, Qt.Key.Key_Escape,
    Qt.Key.Key_R,
)  # fmt: skip
GAME_KEYS = {int(key) for key in (*DEFAULT_KEYS, *OTHER_KEYS)}
"""Keys that no shortcut of the app answers while the game has the keyboard."""


class Joypad:
    """Which buttons are held. Opposite directions cannot both be held, as on the real cross."""

    def __init__(self) -> None:
        self._held: list[str] = []

    @property
    def mask(self) -> int:
        held = set(self._held)
        for first, second in (("left", "right"), ("up", "down")):
            if first in held and second in held:
                older = min(first, second, key=self._held.index)
                held.discard(older)
        return sum(1 << MASK_BITS.index(name) for name in held)

    def press(self, key: int) -> bool:
        """True when the key is one of the joypad's."""
        name = DEFAULT_KEYS.get(key)
        if name is not None and name not in self._held:
            self._held.append(name)
        return name is not None

    def release(self, key: int) -> bool:
        name = DEFAULT_KEYS.get(key)
        if name in self._held:
            self._held.remove(name)
        return name is not None

    def release_all(self) -> None:
        self._held.clear()
