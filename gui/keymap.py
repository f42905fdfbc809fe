"""What a person can do at a game, by which keys and gamepad buttons unless they chose others."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt

from trainer_core.wire.buttons import MASK_BITS

_KEY = Qt.Key


@dataclass(frozen=True, slots=True)
class PlayAct:
    """One thing that a key or a gamepad button does while the game has the keyboard."""

    name: str
    words: str
    keys: tuple[int, ...] = ()
    """Qt.Key values; the first one may be changed, the others go with it."""
    pad: tuple[str, ...] = ()
    """Names that SDL gives the buttons of its game controllers."""

    @property
    def is_button(self) -> bool:
        """Whether it is one of the Game Boy's own."""
        return self.name in MASK_BITS


PLAY_ACTS = (
    PlayAct("up", "Up", (_KEY.Key_Up,), ("dpup",)),
    PlayAct("down", "Down", (_KEY.Key_Down,), ("dpdown",)),
    PlayAct("left", "Left", (_KEY.Key_Left,), ("dpleft",)),
    PlayAct("right", "Right", (_KEY.Key_Right,), ("dpright",)),
    PlayAct("a", "A", (_KEY.Key_Z,), ("b", "y")),
    PlayAct("b", "B", (_KEY.Key_X,), ("a", "x")),
    PlayAct("start", "START", (_KEY.Key_Return, _KEY.Key_Enter), ("start",)),
    PlayAct("select", "SELECT", (_KEY.Key_Backspace,), ("back",)),
    PlayAct("pause", "Pause, go on", (_KEY.Key_Space,), ("guide",)),
    PlayAct("step", "One step while paused", (_KEY.Key_Period,)),
    PlayAct("faster", "Faster", (_KEY.Key_Plus, _KEY.Key_Equal)),
    PlayAct("slower", "Slower", (_KEY.Key_Minus,)),
    PlayAct("normal", "Game Boy speed", (_KEY.Key_0,)),
    PlayAct("turbo", "Hold for full speed", (_KEY.Key_Shift,), ("rightshoulder",)),
    PlayAct("rewind", "Hold to rewind", (_KEY.Key_R,), ("leftshoulder",)),
    PlayAct("take_over", "Hold to take over (Hybrid)", (_KEY.Key_Tab, _KEY.Key_Backtab)),
    PlayAct("leave", "Leave the screen", (_KEY.Key_Escape,)),
)
"""A gamepad's right-hand button is A and its lower one B, as on a Game Boy."""
ACT_OF_NAME = {act.name: act for act in PLAY_ACTS}

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
"""Keys that are the game's while its screen has the focus, as they come."""


class Joypad:
    """Which buttons are held. Opposite directions cannot both be held, as on the real cross."""

    def __init__(self) -> None:
        self._held: list[tuple[str, object]] = []
        """(button, what holds it): a key and the gamepad may hold the same one."""

    @property
    def mask(self) -> int:
        order = [name for name, _ in self._held]
        held = set(order)
        for first, second in (("left", "right"), ("up", "down")):
            if first in held and second in held:
                held.discard(min(first, second, key=order.index))
        return sum(1 << MASK_BITS.index(name) for name in held)

    def press(self, name: str, by: object = None) -> None:
        """`name` is one of MASK_BITS."""
        if (name, by) not in self._held:
            self._held.append((name, by))

    def release(self, name: str, by: object = None) -> None:
        if (name, by) in self._held:
            self._held.remove((name, by))

    def release_all(self) -> None:
        self._held.clear()
