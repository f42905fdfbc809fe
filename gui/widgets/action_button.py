"""Buttons that show an action: its words or its icon, whether it is possible, and why not."""

from __future__ import annotations

import time

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractButton, QApplication, QPushButton, QToolButton

from gui.actions import Command
from gui.widgets.icons import icon
from gui.widgets.labels import button, icon_button


def action_button(action: QAction, object_name: str, *, primary: bool = False) -> QPushButton:
    """A push button with the action's short words."""
    made = button(action.iconText(), object_name, primary=primary)
    _Follower(made, action)
    return made


def action_icon_button(action: Command, object_name: str) -> QToolButton:
    """A button with the action's icon; its words are the tooltip and the accessible name."""
    made = icon_button(action.symbol, action.text(), object_name, flat=False)
    _PictureFollower(made, action)
    return made


class _Follower(QObject):
    """Keeps one button as its action is; lives as long as the button.

    QToolButton.setDefaultAction would do, but the app's buttons are QPushButtons to styles,
    default keys and assistive tools.
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
        self._on_changed()  # a click checks a checkable button whatever comes of it

    def _is_second_of_two(self) -> bool:
        """Whether a double click's second half falls on words that came with its first half.

        Stop becomes Force, Pause becomes Resume: nobody who clicks twice means both.
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
