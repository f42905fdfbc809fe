"""Every command of the app once: its id, words, shortcut. Menus, cheat sheet and tests read it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget


class ActionRegistry:
    """Actions by id; the window owns the QActions."""

    def __init__(self, owner: QWidget) -> None:
        self._owner = owner
        self._actions: dict[str, QAction] = {}

    def add(
        self, action_id: str, text: str, run: Callable[[], object], shortcut: str = "",
        *, menu: QMenu | None = None, checkable: bool = False,
    ) -> QAction:  # fmt: skip
        """Raises ValueError for an id or a shortcut that is taken."""
        if action_id in self._actions:
            raise ValueError(f"action {action_id!r} exists")
        taken = {action.shortcut().toString() for action in self._actions.values()}
        if shortcut and QKeySequence(shortcut).toString() in taken:
            raise ValueError(f"shortcut {shortcut} of {action_id!r} is taken")
        action = QAction(text, self._owner)
        action.setObjectName(action_id)
        action.setCheckable(checkable)
        if shortcut:
            action.setShortcut(QKeySequence(shortcut))
        action.triggered.connect(lambda: run())
        self._owner.addAction(action)
        if menu is not None:
            menu.addAction(action)
        self._actions[action_id] = action
        return action

    def __getitem__(self, action_id: str) -> QAction:
        return self._actions[action_id]

    def adopt(self, action_id: str, action: QAction, shortcut: str) -> None:
        """Register an action that Qt made, such as a dock's."""
        action.setShortcut(QKeySequence(shortcut))
        self._owner.addAction(action)
        self._actions[action_id] = action

    def all(self) -> dict[str, QAction]:
        return dict(self._actions)

    def cheat_sheet(self) -> list[tuple[str, str]]:
        """(shortcut, words), in the order of registration."""
        return [
            (action.shortcut().toString(), action.text().replace("&", ""))
            for action in self._actions.values()
            if not action.shortcut().isEmpty()
        ]
