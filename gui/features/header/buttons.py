"""Button of a command whose words may change while the user is about to press it."""

from __future__ import annotations

from PySide6.QtWidgets import QPushButton

from gui.kit.actions import Command
from gui.kit.boxes import later
from gui.kit.icons import icon

WORDS_MS = 400
"""Milliseconds after which a button shows its command's new words; a press before that does nothing."""


class SteadyButton(QPushButton):
    """Button that keeps its words for WORDS_MS after its command changed, and as long as it is held down.

    So a second click cannot do the opposite of the first one, such as Resume after Pause.
    """

    def __init__(self, action: Command, object_name: str, symbol: str = "", words: str = "") -> None:
        super().__init__()
        self.setObjectName(object_name)
        self.setAutoDefault(False)
        self._action, self._symbol, self._fixed = action, symbol, words
        if not words:
            self.setProperty("action", action.objectName())
        self.is_compact = False
        """True while the button shows its icon alone."""
        self._shown, self._drawn, self._is_there = "", "", True
        self._later = later(self, self._show_words, WORDS_MS)
        self.clicked.connect(self._on_clicked)
        action.changed.connect(self._on_changed)
        self._show_words()
        self._on_changed()

    def set_compact(self, is_compact: bool) -> None:
        """Show the icon alone, or icon and words; a button without an icon keeps its words."""
        if self.is_compact is not (is_compact and bool(self._symbol)):
            self.is_compact = not self.is_compact
            self._write()

    def _words(self) -> str:
        return self._fixed or self._action.iconText()

    def _on_clicked(self) -> None:
        if self._shown == self._words():
            self._action.trigger()

    def _on_changed(self) -> None:
        self.setEnabled(self._action.isEnabled())
        if self._action.isVisible() is not self._is_there:
            self._is_there = self._action.isVisible()
            self.setVisible(self._is_there)
        self.setToolTip(self._action.toolTip())
        if self._shown != self._words() and not self._later.isActive():
            self._later.start()

    def _show_words(self) -> None:
        if self.isDown():
            self._later.start()
            return
        self._shown = self._words()
        self._write()

    def _write(self) -> None:
        plain = self._shown.replace("&&", "&")
        self.setText("" if self.is_compact else self._shown)
        self.setAccessibleName(plain)
        symbol = self._symbol if self._fixed else self._action.symbol or self._symbol
        if symbol != self._drawn:
            self._drawn = symbol
            self.setIcon(icon(symbol))
