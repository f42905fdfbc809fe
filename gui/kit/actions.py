"""Commands of the app: text, shortcut, and the reason why a command is disabled.

Menus, buttons and the list of shortcuts are made from these commands. A command asks its controller whether it is
possible, and never looks at a widget.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from PySide6.QtCore import QObject, Qt, SignalInstance
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QAbstractButton, QApplication, QMenu, QPushButton, QToolButton, QWidget

from gui.kit.icons import icon
from gui.kit.labels import button, icon_button
from gui.kit.settings import Settings
from gui.kit.words import tr

NATIVE = QKeySequence.SequenceFormat.NativeText
"""Format of key names in the language of the app."""
KEYS = "keys/"
"""Prefix of the settings with the shortcuts chosen by the user; the command's id follows."""
Words = str | Callable[[], str]
"""A text, or a function that returns the present text."""


class Command(QAction):
    """QAction that updates its text and enabled state at signals."""

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
        """Make the action; `run` executes it.

        `short` is the text of buttons (default: `text`) and `symbol` the name of their icon. `refusal` returns why the
        command is disabled now, or ""; `is_there` returns whether the command is visible; `is_on` makes it checkable
        and returns its check state.
        """
        super().__init__(owner)
        self.setObjectName(action_id)
        self.setCheckable(is_on is not None)
        self.run = run
        self._text, self._short, self._symbol, self._tip = text, short, symbol, tip
        self._refusal, self._is_there, self._is_on = refusal, is_there, is_on
        self.symbol = ""
        """Name of the icon on buttons; it is not set as the QAction's icon, which would indent all menu texts."""
        self.triggered.connect(self._on_triggered)

    def _on_triggered(self) -> None:
        self.run()
        self.refresh()  # a click toggles a checkable action, whatever its command does

    def refresh(self, *_: object) -> None:
        """Update text, enabled state and check state."""
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
    """Return an action's text without menu marks (`&` and the final dots)."""
    letters = action.text().replace("&&", "\0").replace("&", "").replace("\0", "&")
    return letters.removesuffix("...")


def _unmarked(words: str) -> str:
    """Return a text with each `&` doubled, as menus and buttons use a single one for a mnemonic."""
    return words.replace("&", "&&")


def _now(words: Words) -> str:
    return words if isinstance(words, str) else words()


class ActionRegistry:
    """All commands by id; the main window owns them, so that their shortcuts work in the whole window."""

    def __init__(self, owner: QWidget, settings: Settings | None = None) -> None:
        """Take the window and the `settings` in which the user's shortcuts are saved."""
        self._owner, self._settings = owner, settings
        self._actions: dict[str, Command] = {}
        self._defaults: dict[str, str] = {}
        self._taken: set[str] = set()
        """Default shortcuts of all commands, in Qt's spelling."""
        self._holders: dict[str, str] = {}
        """Command id by its present shortcut, in Qt's spelling."""
        self.finders: list[Callable[[str], list[QAction]]] = []
        """Functions that return actions for the letters typed in the palette, such as one for each run found."""

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
        """Make a Command, which is updated at each signal of `follows`.

        Raises ValueError for an id or a shortcut that another command has.
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
        """Return the default shortcut of a command, empty for none."""
        return self._defaults[action_id]

    def holder(self, keys: str, but: str = "") -> str:
        """Return the id of the command with this shortcut, except command `but`; empty when there is none."""
        name = self._holders.get(QKeySequence(keys).toString(), "")
        return "" if name == but else name

    def _bind(self, action_id: str, action: Command, keys: str) -> None:
        self._holders.pop(action.shortcut().toString(), None)
        action.setShortcut(QKeySequence(keys))
        if spelled := action.shortcut().toString():
            self._holders[spelled] = action_id

    def rebind(self, action_id: str, keys: str) -> None:
        """Give a command another shortcut, or none if empty. Raises ValueError when another command has it."""
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
        """Return (shortcut, text) of all commands with a shortcut, in the order in which they were added."""
        return [
            (action.shortcut().toString(NATIVE), plain_words(action))
            for action in self._actions.values()
            if not action.shortcut().isEmpty()
        ]


def action_button(action: QAction, object_name: str, *, primary: bool = False) -> QPushButton:
    """Return a push button for an action, with the action's short text."""
    made = button(action.iconText(), object_name, primary=primary)
    _Follower(made, action)
    return made


def action_icon_button(action: Command, object_name: str) -> QToolButton:
    """Return an icon button for a command; the command's text is the tooltip and the accessible name."""
    made = icon_button(action.symbol, action.text(), object_name, flat=False)
    _PictureFollower(made, action)
    return made


def more_button(actions: ActionRegistry, ids: Iterable[str], object_name: str) -> QToolButton:
    """Return the button *More*, whose menu has these commands; "" is a separator."""
    made = QToolButton()
    made.setObjectName(object_name)
    made.setText(tr("More"))
    made.setAccessibleName(tr("More"))
    made.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
    made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    menu = QMenu(made)
    menu.setToolTipsVisible(True)
    for action_id in ids:
        menu.addAction(actions[action_id]) if action_id else menu.addSeparator()
    made.setMenu(menu)
    return made


class _Follower(QObject):
    """Connection that copies the state of an action to a button; deleted with the button.

    QToolButton.setDefaultAction is no choice, as most buttons of the app are QPushButtons.
    """

    def __init__(self, follower: QAbstractButton, action: QAction) -> None:
        super().__init__(follower)
        self._button, self._action = follower, action
        self._is_there = True
        self._clicked_at, self._clicked_as = 0.0, ""
        self._pressed_as = ""
        follower.setProperty("action", action.objectName())
        follower.pressed.connect(self._on_pressed)
        follower.clicked.connect(self._on_clicked)
        action.changed.connect(self._on_changed)
        self._on_changed()

    def _on_pressed(self) -> None:
        self._pressed_as = self._action.text()

    def _on_clicked(self) -> None:
        is_another = self._action.text() != self._pressed_as  # it changed under the pressed pointer
        if not is_another and not self._is_second_of_two():
            self._action.trigger()
        self._on_changed()  # a click toggles a checkable button, whatever its command does

    def _is_second_of_two(self) -> bool:
        """Return whether this click is the second of a double click whose first click changed the button's command.

        For example Stop becomes Force, and Pause becomes Resume: the second click is ignored.
        """
        now, words = time.monotonic(), self._action.text()
        soon = now - self._clicked_at < QApplication.doubleClickInterval() / 1000
        is_other = soon and words != self._clicked_as
        if not is_other:
            self._clicked_at, self._clicked_as = now, words
        return is_other

    def _on_changed(self) -> None:
        made, action = self._button, self._action
        if not made.isDown():
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
