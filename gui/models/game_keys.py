"""Which key and which gamepad button does what at the game; a person's choices are remembered."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QKeySequence

from gui.keymap import ACT_OF_NAME, PLAY_ACTS
from gui.settings import Settings

KEYS, PAD = "play/key/", "play/pad/"
"""Where settings keep a choice, before the act's name."""


class GameKeys(QObject):
    """Each key and each gamepad button does one thing."""

    changed = Signal()

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        self._keys: dict[str, tuple[int, ...]] = {}
        self._pad: dict[str, tuple[str, ...]] = {}
        self._read()

    def act_of_key(self, key: int) -> str:
        """Name of the PlayAct that a Qt.Key stands for; empty for none."""
        return next((name for name, keys in self._keys.items() if key in keys), "")

    def act_of_pad(self, button: str) -> str:
        """The same for SDL's name of a gamepad button."""
        return next((name for name, buttons in self._pad.items() if button in buttons), "")

    def key_words(self, act: str) -> str:
        return ", ".join(QKeySequence(key).toString() or "Shift" for key in self._keys[act][:1])

    def pad_words(self, act: str) -> str:
        return ", ".join(self._pad[act])

    def set_key(self, act: str, key: int) -> None:
        """Give an act another key. Raises ValueError when the key is another act's."""
        holder = self.act_of_key(key)
        if holder and holder != act:
            raise ValueError(holder)
        self._keep(KEYS, act, str(int(key)), (int(key),) == ACT_OF_NAME[act].keys[:1])

    def set_pad(self, act: str, button: str) -> None:
        """The same for a button of the gamepad."""
        holder = self.act_of_pad(button)
        if holder and holder != act:
            raise ValueError(holder)
        self._keep(PAD, act, button, (button,) == ACT_OF_NAME[act].pad)

    def reset(self) -> None:
        """Everything as it came."""
        for act in PLAY_ACTS:
            self._settings.remove(KEYS + act.name)
            self._settings.remove(PAD + act.name)
        self._read()

    def _keep(self, kind: str, act: str, value: str, is_default: bool) -> None:
        if is_default:
            self._settings.remove(kind + act)
        else:
            self._settings.set(kind + act, value)
        self._read()

    def _read(self) -> None:
        """Choices first: what they take is no other act's any more."""
        chosen_keys, chosen_pad = set(), set()
        self._keys, self._pad = {}, {}
        for act in PLAY_ACTS:
            key = _key_of(self._settings.text(KEYS + act.name))
            if key and key not in chosen_keys:
                self._keys[act.name] = (key,)
                chosen_keys.add(key)
            if (button := self._settings.text(PAD + act.name)) and button not in chosen_pad:
                self._pad[act.name] = (button,)
                chosen_pad.add(button)
        for act in PLAY_ACTS:
            self._keys.setdefault(act.name, tuple(int(key) for key in act.keys if int(key) not in chosen_keys))
            self._pad.setdefault(act.name, tuple(one for one in act.pad if one not in chosen_pad))
        self.changed.emit()


def _key_of(text: str) -> int:
    """The Qt.Key in a setting; 0 where it holds none."""
    is_number = text.isascii() and text.isdigit() and len(text) < 10  # what Qt's int takes
    return int(text) if is_number and QKeySequence(int(text)).toString() else 0


def is_bindable(key: int) -> bool:
    """Whether a key can be given to an act: a lone Control or Alt belongs to shortcuts."""
    return key not in (Qt.Key.Key_Control, Qt.Key.Key_Alt, Qt.Key.Key_Meta, Qt.Key.Key_AltGr, Qt.Key.Key_unknown, 0)
