"""Keyboard and gamepad input for the game, while its screen has the keyboard focus."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence

from gui.features.play.controller import PlayController
from gui.features.play.gamepad import Gamepad
from gui.features.play.keys import ACT_OF_NAME, GameKeys, Joypad
from gui.kit.screen import Screen
from gui.kit.words import tr
from gui.state.notices import Notices

PAD = "gamepad"


class PlayInput(QObject):
    """Translates keys and gamepad buttons to joypad buttons and commands; losing the focus releases all."""

    focused = Signal()
    """The game's screen got or lost the keyboard focus."""

    def __init__(
        self, screen: Screen, playing: PlayController, keys: GameKeys, gamepad: Gamepad, notices: Notices
    ) -> None:
        super().__init__(screen)
        self._screen, self._playing = screen, playing
        self._keys, self._gamepad, self._notices = keys, gamepad, notices
        self._joypad = Joypad()
        screen.installEventFilter(self)
        screen.focus_lost.connect(self._on_focus_lost)
        gamepad.button.connect(self._on_pad)
        gamepad.found.connect(self._on_pad_found)
        gamepad.lost.connect(self._on_pad_lost)
        keys.changed.connect(self.release_all)

    def release_all(self) -> None:
        """Release all held Game Boy buttons."""
        self._joypad.release_all()
        self._playing.hold(0)

    def eventFilter(self, watched, event) -> bool:  # type: ignore[no-untyped-def]
        kind = event.type()
        if kind == QEvent.Type.ShortcutOverride and self._playing.is_active:
            if self._is_play_key(event) or self._under_turbo(event):
                event.accept()  # keys that the game uses while the user plays
                return True
            return False
        if kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease) and self._playing.is_active:
            return self._on_key(event, kind == QEvent.Type.KeyPress)
        if kind == QEvent.Type.FocusIn:
            QTimer.singleShot(0, self, self.focused.emit)
        return super().eventFilter(watched, event)

    def _is_play_key(self, event: QKeyEvent) -> bool:
        """Return whether the game, not a shortcut, gets this key while its screen has the focus."""
        control = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier
        return not event.modifiers() & control and bool(self._keys.act_of_key(event.key()))

    def _under_turbo(self, event: QKeyEvent) -> QAction | None:
        """Return the command of a function key that is pressed while Shift is held for turbo.

        A command whose shortcut is Shift and the key comes before one of the key alone; None without either.
        """
        is_function = Qt.Key.Key_F1 <= event.key() <= Qt.Key.Key_F35
        if not (self._playing.state.is_turbo and is_function):
            return None
        if event.modifiers() != Qt.KeyboardModifier.ShiftModifier:
            return None
        actions = {action.shortcut(): action for action in self._screen.window().actions()}
        with_shift = QKeySequence(event.keyCombination())
        return actions.get(with_shift) or actions.get(QKeySequence(event.key()))

    def _on_key(self, event: QKeyEvent, pressed: bool) -> bool:
        if event.isAutoRepeat():
            return True
        if pressed and (action := self._under_turbo(event)) is not None:
            action.trigger()
            return True
        act = self._keys.act_of_key(event.key())
        return bool(act) and self._do(act, pressed, event.key())

    def _on_pad(self, button: str, pressed: bool) -> None:
        if pressed and not (self._screen.hasFocus() and self._playing.is_active):
            return
        if act := self._keys.act_of_pad(button):
            self._do(act, pressed, PAD + button)

    def _do(self, act: str, pressed: bool, by: object) -> bool:
        """Perform the act named `act` and return whether that was possible.

        `by` identifies the key or gamepad button that was pressed or released.
        """
        playing = self._playing
        if ACT_OF_NAME[act].is_button:
            (self._joypad.press if pressed else self._joypad.release)(act, by)
            playing.hold(self._joypad.mask)
            return True
        held = {"turbo": playing.turbo, "rewind": playing.rewind}
        if act in held:
            held[act](pressed)
            return True
        if act == "take_over":
            if playing.takeover_refusal():
                return False
            playing.take_over(pressed)
            return True
        if not pressed:
            return False
        verbs = {
            "pause": playing.toggle_pause,
            "step": playing.step,
            "faster": lambda: playing.shift_speed(1),
            "slower": lambda: playing.shift_speed(-1),
            "normal": lambda: playing.set_speed(1.0),
            "leave": self._screen.clearFocus,
        }
        verbs[act]()
        return True

    def _on_pad_found(self, name: str) -> None:
        self._notices.withdraw(tr("Gamepad disconnected"))
        self._notices.tell(tr("Gamepad"), tr("{name} connected", name=name))

    def _on_pad_lost(self, name: str) -> None:
        self._notices.withdraw(tr("Gamepad"))
        if not self._playing.is_active:
            return
        if not self._playing.paused:
            self._playing.toggle_pause()
        self._notices.tell(
            tr("Gamepad disconnected"),
            tr("{name} was disconnected: its buttons are released, the game is paused", name=name),
            "warn",
        )

    def _on_focus_lost(self) -> None:
        self.release_all()
        self._playing.turbo(False)
        self._playing.rewind(False)
        self._playing.take_over(False)
        self.focused.emit()
