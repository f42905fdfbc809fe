"""The commands of the app: text, shortcut, and the reason why a command is impossible now.

Menus show these commands, buttons follow them, the list of shortcuts names them. A command asks its controller what is
possible; it never looks at a widget.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from PySide6.QtCore import QObject, Qt, SignalInstance
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QAbstractButton, QApplication, QPushButton, QToolButton, QWidget

from gui.kit.icons import icon
from gui.kit.labels import button, icon_button
from gui.kit.settings import Settings

NATIVE = QKeySequence.SequenceFormat.NativeText
"""Key names in the language of the app."""
KEYS = "keys/"
"""Prefix of the settings that hold the keys of a command; its id follows."""
Words = str | Callable[[], str]
"""A text, or a function that returns the current one."""


class Command(QAction):
    """Action that updates its text and state with the signals it follows."""

    def __init__(
        self,
        owner: QWidget,
        action_id: str,
        text: Words,
        run: Callable[[], object],
        *,
        short: Words = "",
        tip: str = "",
        symbol: Words = "",
        refusal: Callable[[], str] = lambda: "",
        is_there: Callable[[], bool] = lambda: True,
        is_on: Callable[[], bool] | None = None,
    ) -> None:
        """Make the action; `short` is the text of buttons, `text` if empty; `symbol` names their icon.

        `refusal` returns why the command is impossible now, "" when it is possible; `is_there` whether it is shown at
        all; `is_on` makes it checkable.
        """
        super().__init__(owner)
        self.setObjectName(action_id)
        self.setCheckable(is_on is not None)
        self.run = run
        self._text, self._short, self._symbol, self._tip = text, short, symbol, tip
        self._refusal, self._is_there, self._is_on = refusal, is_there, is_on
        self.symbol = ""
        """Icon of buttons now. It is not the QAction's: menus would leave room for it."""
        self.triggered.connect(self._on_triggered)

    def _on_triggered(self) -> None:
        self.run()
        self.refresh()  # a click toggles a checkable action, whatever its command does

    def refresh(self, *_: object) -> None:
        """Update text and state."""
        text, short, self.symbol = _now(self._text), _now(self._short), _now(self._symbol)
        refusal = self._refusal()
        self.setText(_unmarked(text))
        self.setIconText(_unmarked(short or text))
        keys = self.shortcut().toString(NATIVE)
        words = refusal or self._tip or text.removesuffix("...")
        self.setToolTip(f"{words} ({keys})" if keys else words)
        self.setEnabled(not refusal)
        self.setVisible(self._is_there())
        if self._is_on is not None:
            self.setChecked(self._is_on())


def plain_words(action: QAction) -> str:
    """Return an action's text without the marks of menus."""
    letters = action.text().replace("&&", "\0").replace("&", "").replace("\0", "&")
    return letters.removesuffix("...")


def _unmarked(words: str) -> str:
    """Return a text with doubled ampersands, as in W&&B: menus and buttons underline what follows a single one."""
    return words.replace("&", "&&")


def _now(words: Words) -> str:
    return words if isinstance(words, str) else words()


class ActionRegistry:
    """Commands by id; the window owns them, so that their shortcuts work everywhere."""

    def __init__(self, owner: QWidget, settings: Settings | None = None) -> None:
        """Take the `settings` that hold the keys chosen by the user."""
        self._owner, self._settings = owner, settings
        self._actions: dict[str, Command] = {}
        self._defaults: dict[str, str] = {}
        self._taken: set[str] = set()
        """Default keys of all commands, in Qt's spelling."""
        self._holders: dict[str, str] = {}
        """Command id by its present keys, in Qt's spelling."""

    def add(
        self,
        action_id: str,
        text: Words,
        run: Callable[[], object],
        shortcut: str = "",
        *,
        follows: Iterable[SignalInstance] = (),
        **looks,
    ) -> Command:
        """Make a Command with these arguments, updated with each signal of `follows`.

        Raises ValueError for an id or a shortcut in use.
        """
        self._check_free(action_id, shortcut)
        action = Command(self._owner, action_id, text, run, **looks)
        self._keep(action_id, action, shortcut)
        action.refresh()
        for signal in follows:
            signal.connect(action.refresh)
        return action

    def _check_free(self, action_id: str, shortcut: str) -> None:
        if action_id in self._actions:
            raise ValueError(f"action {action_id!r} exists")
        if shortcut and QKeySequence(shortcut).toString() in self._taken:
            raise ValueError(f"shortcut {shortcut} of {action_id!r} is taken")

    def _keep(self, action_id: str, action: Command, shortcut: str) -> None:
        self._defaults[action_id] = shortcut
        if shortcut:
            self._taken.add(QKeySequence(shortcut).toString())
        keys = self._settings.text(KEYS + action_id, shortcut) if self._settings else shortcut
        if keys and not self.holder(keys, action_id):
            self._bind(action_id, action, keys)
        action.setShortcutContext(Qt.ShortcutContext.WindowShortcut)
        self._owner.addAction(action)
        self._actions[action_id] = action

    def __getitem__(self, action_id: str) -> Command:
        return self._actions[action_id]

    def all(self) -> dict[str, Command]:
        return dict(self._actions)

    # -- keys that the user chooses ---------------------------------------------------------

    def default(self, action_id: str) -> str:
        """Return the default keys of a command, empty for none."""
        return self._defaults[action_id]

    def holder(self, keys: str, but: str = "") -> str:
        """Return the id of the command with these keys, empty when they are free; `but` is ignored."""
        name = self._holders.get(QKeySequence(keys).toString(), "")
        return "" if name == but else name

    def _bind(self, action_id: str, action: Command, keys: str) -> None:
        self._holders.pop(action.shortcut().toString(), None)
        action.setShortcut(QKeySequence(keys))
        if spelled := action.shortcut().toString():
            self._holders[spelled] = action_id

    def rebind(self, action_id: str, keys: str) -> None:
        """Give a command other keys, none when empty. Raises ValueError when another command has them."""
        if clash := self.holder(keys, action_id):
            raise ValueError(f"{keys} belongs to {clash!r}")
        action = self._actions[action_id]
        self._bind(action_id, action, keys)
        action.refresh()
        if self._settings is None:
            return
        if QKeySequence(keys) == QKeySequence(self._defaults[action_id]):
            self._settings.remove(KEYS + action_id)
        else:
            self._settings.set(KEYS + action_id, keys)

    def cheat_sheet(self) -> list[tuple[str, str]]:
        """Return (shortcut, text) in the order of registration."""
        return [
            (action.shortcut().toString(NATIVE), plain_words(action))
            for action in self._actions.values()
            if not action.shortcut().isEmpty()
        ]


def action_button(action: QAction, object_name: str, *, primary: bool = False) -> QPushButton:
    """Return a push button with the action's short text."""
    made = button(action.iconText(), object_name, primary=primary)
    _Follower(made, action)
    return made


def action_icon_button(action: Command, object_name: str) -> QToolButton:
    """Return a button with the action's icon; its text is the tooltip and the accessible name."""
    made = icon_button(action.symbol, action.text(), object_name, flat=False)
    _PictureFollower(made, action)
    return made


class _Follower(QObject):
    """Link that keeps a button equal to its action; deleted with the button.

    QToolButton.setDefaultAction would do, but the app's buttons are QPushButtons to styles, default keys and assistive
    tools.
    """

    def __init__(self, follower: QAbstractButton, action: QAction) -> None:
        super().__init__(follower)
        self._button, self._action = follower, action
        self._is_there = True
        self._clicked_at, self._clicked_as = 0.0, ""
        follower.setProperty("action", action.objectName())
        follower.clicked.connect(self._on_clicked)
        action.changed.connect(self._on_changed)
        self._on_changed()

    def _on_clicked(self) -> None:
        if not self._is_second_of_two():
            self._action.trigger()
        self._on_changed()  # a click toggles a checkable button, whatever its command does

    def _is_second_of_two(self) -> bool:
        """Return whether the second half of a double click meets a text that its first half changed.

        Stop becomes Force, Pause becomes Resume: a double click means only the first.
        """
        now, words = time.monotonic(), self._action.text()
        soon = now - self._clicked_at < QApplication.doubleClickInterval() / 1000
        is_other = soon and words != self._clicked_as
        if not is_other:
            self._clicked_at, self._clicked_as = now, words
        return is_other

    def _on_changed(self) -> None:
        made, action = self._button, self._action
        self._show_words()
        made.setToolTip(action.toolTip())
        made.setEnabled(action.isEnabled())
        made.setCheckable(action.isCheckable())
        made.setChecked(action.isChecked())
        if action.isVisible() != self._is_there:
            self._is_there = action.isVisible()
            made.setVisible(self._is_there)

    def _show_words(self) -> None:
        self._button.setText(self._action.iconText())
        self._button.setAccessibleName(self._action.iconText().replace("&&", "&"))


class _PictureFollower(_Follower):
    def __init__(self, follower: QAbstractButton, action: Command) -> None:
        self._command, self._drawn = action, action.symbol
        super().__init__(follower, action)

    def _show_words(self) -> None:
        self._button.setAccessibleName(self._command.text())
        if self._command.symbol != self._drawn:
            self._drawn = self._command.symbol
            self._button.setIcon(icon(self._drawn))
