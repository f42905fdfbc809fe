"""Keys and gamepad buttons for the game: their acts, the user's choices, the settings page."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QHBoxLayout, QHeaderView, QTableWidgetItem, QWidget

from gui.features.play.gamepad import Gamepad
from gui.kit.boxes import named, put, vbox
from gui.kit.labels import button, label, set_role
from gui.kit.settings import Settings
from gui.kit.tables import row_table
from gui.kit.words import tr
from trainer_core.wire.buttons import MASK_BITS

_KEY = Qt.Key
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
    ("Tab", "hold to take over"),
    ("Esc", "leave the screen"),
)
"""Default keys of the game's screen and their meaning, for the list of shortcuts."""
KEY_SETTING, PAD_SETTING = "play/key/", "play/pad/"
"""Prefixes of the settings keys with chosen keys and gamepad buttons; the act's name follows."""


@dataclass(frozen=True, slots=True)
class PlayAct:
    """Something that a key or gamepad button does while the game has the keyboard, such as Up or Pause."""

    name: str
    words: str
    keys: tuple[int, ...] = ()
    """Default keys as Qt.Key values; the user can only change the first."""
    pad: tuple[str, ...] = ()
    """Default gamepad buttons, named as in SDL."""

    @property
    def is_button(self) -> bool:
        """True if the act presses a Game Boy button."""
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
    PlayAct("pause", "Pause or resume", (_KEY.Key_Space,), ("guide",)),
    PlayAct("step", "One step while paused", (_KEY.Key_Period,)),
    PlayAct("faster", "Faster", (_KEY.Key_Plus, _KEY.Key_Equal)),
    PlayAct("slower", "Slower", (_KEY.Key_Minus,)),
    PlayAct("normal", "Game Boy speed", (_KEY.Key_0,)),
    PlayAct("turbo", "Hold for full speed", (_KEY.Key_Shift,), ("rightshoulder",)),
    PlayAct("rewind", "Hold to rewind", (_KEY.Key_R,), ("leftshoulder",)),
    PlayAct("take_over", "Hold to take over", (_KEY.Key_Tab, _KEY.Key_Backtab)),
    PlayAct("leave", "Leave the screen", (_KEY.Key_Escape,)),
)
"""All acts. On a gamepad the right-hand button is A and the lower one B, as on a Game Boy."""
ACT_OF_NAME = {act.name: act for act in PLAY_ACTS}


class Joypad:
    """Set of held Game Boy buttons; opposite directions are never held together, as on the real D-pad."""

    def __init__(self) -> None:
        self._held: list[tuple[str, object]] = []
        """(button, key or gamepad button that holds it); several keys may hold the same button."""

    @property
    def mask(self) -> int:
        order = [name for name, _ in self._held]
        held = set(order)
        for first, second in (("left", "right"), ("up", "down")):
            if first in held and second in held:
                held.discard(min(first, second, key=order.index))
        return sum(1 << MASK_BITS.index(name) for name in held)

    def press(self, name: str, by: object = None) -> None:
        """Hold the button `name`, a key of MASK_BITS, on behalf of the key or gamepad button `by`."""
        if (name, by) not in self._held:
            self._held.append((name, by))

    def release(self, name: str, by: object = None) -> None:
        if (name, by) in self._held:
            self._held.remove((name, by))

    def release_all(self) -> None:
        self._held.clear()


class GameKeys(QObject):
    """Map from keys and gamepad buttons to acts, as chosen by the user; each has at most one act."""

    changed = Signal()

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        self._keys: dict[str, tuple[int, ...]] = {}
        self._pad: dict[str, tuple[str, ...]] = {}
        self._read()

    def act_of_key(self, key: int) -> str:
        """Return the name of the act bound to a Qt.Key; empty for none."""
        return next((name for name, keys in self._keys.items() if key in keys), "")

    def act_of_pad(self, button: str) -> str:
        """Return the name of the act bound to a gamepad button, named as in SDL; empty for none."""
        return next((name for name, buttons in self._pad.items() if button in buttons), "")

    def key_words(self, act: str) -> str:
        return ", ".join(QKeySequence(key).toString() or "Shift" for key in self._keys[act][:1])

    def pad_words(self, act: str) -> str:
        return ", ".join(self._pad[act])

    def set_key(self, act: str, key: int) -> None:
        """Bind an act to another key. Raises ValueError when another act has that key."""
        holder = self.act_of_key(key)
        if holder and holder != act:
            raise ValueError(holder)
        self._keep(KEY_SETTING, act, str(int(key)), (int(key),) == ACT_OF_NAME[act].keys[:1])

    def set_pad(self, act: str, button: str) -> None:
        """Bind an act to another gamepad button. Raises ValueError when another act has that button."""
        holder = self.act_of_pad(button)
        if holder and holder != act:
            raise ValueError(holder)
        self._keep(PAD_SETTING, act, button, (button,) == ACT_OF_NAME[act].pad)

    def reset(self) -> None:
        """Restore the default keys and gamepad buttons of all acts."""
        for act in PLAY_ACTS:
            self._settings.remove(KEY_SETTING + act.name)
            self._settings.remove(PAD_SETTING + act.name)
        self._read()

    def _keep(self, kind: str, act: str, value: str, is_default: bool) -> None:
        if is_default:
            self._settings.remove(kind + act)
        else:
            self._settings.set(kind + act, value)
        self._read()

    def _read(self) -> None:
        """Load the saved bindings; other acts keep their default keys, unless a saved binding uses them."""
        chosen_keys, chosen_pad = set(), set()
        self._keys, self._pad = {}, {}
        for act in PLAY_ACTS:
            key = _key_of(self._settings.text(KEY_SETTING + act.name))
            if key and key not in chosen_keys:
                self._keys[act.name] = (key,)
                chosen_keys.add(key)
            if (button := self._settings.text(PAD_SETTING + act.name)) and button not in chosen_pad:
                self._pad[act.name] = (button,)
                chosen_pad.add(button)
        for act in PLAY_ACTS:
            self._keys.setdefault(act.name, tuple(int(key) for key in act.keys if int(key) not in chosen_keys))
            self._pad.setdefault(act.name, tuple(one for one in act.pad if one not in chosen_pad))
        self.changed.emit()


def _key_of(text: str) -> int:
    """Return the Qt.Key saved as `text` in the settings; 0 if it is invalid."""
    is_number = text.isascii() and text.isdigit() and len(text) < 10  # the range of Qt's int
    return int(text) if is_number and QKeySequence(int(text)).toString() else 0


def is_bindable(key: int) -> bool:
    """Return whether an act may be bound to this key; modifiers such as Control and Alt are excluded."""
    return key not in (Qt.Key.Key_Control, Qt.Key.Key_Alt, Qt.Key.Key_Meta, Qt.Key.Key_AltGr, Qt.Key.Key_unknown, 0)


class GameKeysPage(QWidget):
    """Settings page of the game's keys: select a row, press *Change*, then the new key or button; Esc cancels."""

    def __init__(self, keys: GameKeys, gamepad: Gamepad) -> None:
        super().__init__()
        self._keys, self._gamepad = keys, gamepad
        self._is_waiting = False
        column = vbox(self, spacing=8)
        heads = [tr("Action"), tr("Key"), tr("Gamepad")]
        self.table = row_table("gameKeysTable", tr("Keys and gamepad buttons of the game"), heads)
        self.table.setRowCount(len(PLAY_ACTS))
        self.table.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        column.addWidget(self.table, 1)
        row = QHBoxLayout()
        self.change = button(tr("Change"), "changeGameKeyButton", clicked=self._wait)
        self.change.installEventFilter(self)
        put(row, self.change, button(tr("Reset to defaults"), "resetGameKeysButton", clicked=keys.reset), 1)
        column.addLayout(row)
        self.told = named(label("", "muted", wrap=True), "gameKeysTold")
        column.addWidget(self.told)
        keys.changed.connect(self._fill)
        gamepad.button.connect(self._on_pad)
        self._fill()
        self.table.selectRow(0)
        self._tell(self._pad_words())

    def showEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().showEvent(event)
        self._gamepad.listen()

    def hideEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().hideEvent(event)
        self._gamepad.rest()  # the live view reads it again once it has the focus

    def _pad_words(self) -> str:
        if self._gamepad.why_not:
            return tr("Gamepads cannot be used: {why}", why=self._gamepad.why_not)
        name = self._gamepad.name
        return tr("Gamepad: {name}", name=name) if name else tr("No gamepad is connected.")

    def _fill(self) -> None:
        for row, act in enumerate(PLAY_ACTS):
            words = (tr(act.words), self._keys.key_words(act.name), self._keys.pad_words(act.name))
            for column, text in enumerate(words):
                self.table.setItem(row, column, QTableWidgetItem(text))

    def _chosen(self) -> str:
        return PLAY_ACTS[max(0, self.table.currentRow())].name

    def _wait(self) -> None:
        self._is_waiting = True
        self.change.setFocus()
        self._tell(tr("Press the new key or gamepad button; Esc cancels."))

    def eventFilter(self, watched, event) -> bool:  # type: ignore[no-untyped-def]
        if self._is_waiting and event.type() == QEvent.Type.FocusOut:
            self._is_waiting = False
            self._tell(self._pad_words())
        if self._is_waiting and event.type() in (QEvent.Type.ShortcutOverride, QEvent.Type.KeyPress):
            event.accept()
            if event.type() == QEvent.Type.KeyPress:
                self._on_key(event)
            return True
        return super().eventFilter(watched, event)

    def _on_key(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if not is_bindable(key):
            return
        self._is_waiting = False
        if key == Qt.Key.Key_Escape and self._chosen() != "leave":
            self._tell(self._pad_words())
            return
        try:
            self._keys.set_key(self._chosen(), key)
        except ValueError as clash:
            self._refuse(QKeySequence(key).toString(), str(clash))
        else:
            self._tell(self._pad_words())

    def _on_pad(self, name: str, pressed: bool) -> None:
        if not (self._is_waiting and pressed):
            return
        self._is_waiting = False
        try:
            self._keys.set_pad(self._chosen(), name)
        except ValueError as clash:
            self._refuse(name, str(clash))
        else:
            self._tell(self._pad_words())

    def _refuse(self, what: str, holder: str) -> None:
        words = tr(ACT_OF_NAME[holder].words)
        self._tell(tr("{what} is already used for: {words}", what=what, words=words), "warn")

    def _tell(self, text: str, role: str = "muted") -> None:
        set_role(self.told, "role", role)
        self.told.setText(text)
