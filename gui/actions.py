"""Every command of the app once: words, shortcut, whether it is possible now and, if not, why.

Menus show these actions, buttons follow them (gui/widgets/action_button.py), the cheat sheet lists
them. An action asks its controller what is possible; it never looks at a widget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from PySide6.QtCore import Qt, SignalInstance
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

from gui.settings import Settings

NATIVE = QKeySequence.SequenceFormat.NativeText
"""Keys as they are called in the language of the app."""
KEYS = "keys/"
"""Where settings keep the keys of a command, before its id."""
Words = str | Callable[[], str]
"""A text, or what makes it from the state of things."""


class Command(QAction):
    """A QAction that renews its words and its state with the signals it follows."""

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
        """`short` is what a button says, `text` if empty; `symbol` names an icon for buttons.

        `refusal` tells why the command is impossible now, "" when it is possible; `is_there`
        whether it makes sense at all; `is_on` makes it checkable.
        """
        super().__init__(owner)
        self.setObjectName(action_id)
        self.setCheckable(is_on is not None)
        self.run = run
        self._text, self._short, self._symbol, self._tip = text, short, symbol, tip
        self._refusal, self._is_there, self._is_on = refusal, is_there, is_on
        self.symbol = ""
        """Icon that a button shows now. It is not the QAction's: menus would leave room for it."""
        self.triggered.connect(self._on_triggered)

    def _on_triggered(self) -> None:
        self.run()
        self.refresh()  # a click checks a checkable action whatever comes of it

    def refresh(self, *_: object) -> None:
        """Say and allow what holds now."""
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
    """What an action is called, without marks for menus."""
    letters = action.text().replace("&&", "\0").replace("&", "").replace("\0", "&")
    return letters.removesuffix("...")


def _unmarked(words: str) -> str:
    """A text whose ampersands are letters, as in W&B: menus and buttons underline what follows."""
    return words.replace("&", "&&")


def _now(words: Words) -> str:
    return words if isinstance(words, str) else words()


class ActionRegistry:
    """Actions by id; the window owns the QActions, so that their shortcuts work everywhere."""

    def __init__(self, owner: QWidget, settings: Settings | None = None) -> None:
        """`settings` remembers keys that a person chose."""
        self._owner, self._settings = owner, settings
        self._actions: dict[str, QAction] = {}
        self._defaults: dict[str, str] = {}
        self._taken: set[str] = set()
        """The keys that commands came with, in Qt's spelling."""
        self._holders: dict[str, str] = {}
        """Who has which keys now, in Qt's spelling."""

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
        """Make a Command with these looks; it refreshes itself with each signal of `follows`.

        Raises ValueError for an id or a shortcut that is taken.
        """
        self._check_free(action_id, shortcut)
        action = Command(self._owner, action_id, text, run, **looks)
        self._keep(action_id, action, shortcut)
        action.refresh()
        for signal in follows:
            signal.connect(action.refresh)
        return action

    def adopt(self, action_id: str, action: QAction, shortcut: str) -> None:
        """Register an action that Qt made, such as a dock's."""
        self._check_free(action_id, shortcut)
        self._keep(action_id, action, shortcut)

    def _check_free(self, action_id: str, shortcut: str) -> None:
        if action_id in self._actions:
            raise ValueError(f"action {action_id!r} exists")
        if shortcut and QKeySequence(shortcut).toString() in self._taken:
            raise ValueError(f"shortcut {shortcut} of {action_id!r} is taken")

    def _keep(self, action_id: str, action: QAction, shortcut: str) -> None:
        self._defaults[action_id] = shortcut
        if shortcut:
            self._taken.add(QKeySequence(shortcut).toString())
        keys = self._settings.text(KEYS + action_id, shortcut) if self._settings else shortcut
        if keys and not self.holder(keys, action_id):
            self._bind(action_id, action, keys)
        action.setShortcutContext(Qt.ShortcutContext.WindowShortcut)
        self._owner.addAction(action)
        self._actions[action_id] = action

    def __getitem__(self, action_id: str) -> QAction:
        return self._actions[action_id]

    def command(self, action_id: str) -> Command:
        """One of the app's own, not one that Qt made."""
        action = self._actions[action_id]
        assert isinstance(action, Command)
        return action

    def all(self) -> dict[str, QAction]:
        return dict(self._actions)

    # -- keys that a person chooses ---------------------------------------------------------

    def default(self, action_id: str) -> str:
        """The keys that a command came with, empty for none."""
        return self._defaults[action_id]

    def holder(self, keys: str, but: str = "") -> str:
        """Id of the command that has these keys, empty when they are free; `but` does not count."""
        name = self._holders.get(QKeySequence(keys).toString(), "")
        return "" if name == but else name

    def _bind(self, action_id: str, action: QAction, keys: str) -> None:
        self._holders.pop(action.shortcut().toString(), None)
        action.setShortcut(QKeySequence(keys))
        if spelled := action.shortcut().toString():
            self._holders[spelled] = action_id

    def rebind(self, action_id: str, keys: str) -> None:
        """Give a command other keys, none when empty. Raises ValueError when another has them."""
        if clash := self.holder(keys, action_id):
            raise ValueError(f"{keys} belongs to {clash!r}")
        action = self._actions[action_id]
        self._bind(action_id, action, keys)
        if isinstance(action, Command):
            action.refresh()
        if self._settings is None:
            return
        if QKeySequence(keys) == QKeySequence(self._defaults[action_id]):
            self._settings.remove(KEYS + action_id)
        else:
            self._settings.set(KEYS + action_id, keys)

    def cheat_sheet(self) -> list[tuple[str, str]]:
        """(shortcut, words), in the order of registration."""
        return [
            (action.shortcut().toString(NATIVE), plain_words(action))
            for action in self._actions.values()
            if not action.shortcut().isEmpty()
        ]
