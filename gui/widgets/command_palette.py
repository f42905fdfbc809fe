"""Every command by typing a few letters of its words."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QDialog, QLineEdit, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from gui.actions import ActionRegistry, plain_words
from gui.words import tr

WIDTH, HEIGHT = 520, 360
_MOVES = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)


def rank(wanted: str, words: str) -> int:
    """How well words fit what was typed, 0 best; -1 when not all its letters come in order."""
    wanted, words = wanted.lower().strip(), words.lower()
    if wanted in words:
        return 0 if words.startswith(wanted) else 1
    place = 0
    for letter in wanted.replace(" ", ""):
        place = words.find(letter, place) + 1
        if not place:
            return -1
    return 2


class CommandPalette(QDialog):
    """The list follows what is typed; Enter does the chosen command, if it is possible now."""

    def __init__(self, parent: QWidget, registry: ActionRegistry) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("commandPalette")
        self.setWindowTitle(tr("Commands"))
        self._actions = [
            action for name, action in registry.all().items() if action.isVisible() and name != "commandPalette"
        ]
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 8)
        self.box = QLineEdit()
        self.box.setObjectName("commandPaletteBox")
        self.box.setAccessibleName(tr("Command"))
        self.box.setPlaceholderText(tr("Type a few letters of a command"))
        self.box.installEventFilter(self)
        self.list = QListWidget()
        self.list.setAccessibleName(tr("Commands"))
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        column.addWidget(self.box)
        column.addWidget(self.list)
        self.box.textChanged.connect(self._filter)
        self.box.returnPressed.connect(self._do)
        self.list.itemClicked.connect(lambda item: self._do())
        self._filter("")
        self.resize(WIDTH, HEIGHT)

    def _filter(self, text: str) -> None:
        ranked = [(rank(text, plain_words(action)), action) for action in self._actions]
        found = sorted((row for row in ranked if row[0] >= 0), key=lambda row: (row[0], not row[1].isEnabled()))
        self.list.clear()
        for _, action in found:
            keys = action.shortcut().toString()
            words = plain_words(action)
            item = QListWidgetItem(f"{words}    {keys}" if keys else words)
            item.setData(Qt.ItemDataRole.UserRole, action)
            item.setToolTip(action.toolTip())
            if not action.isEnabled():
                item.setFlags(item.flags() & ~Qt.ItemFlag.ItemIsEnabled)
            self.list.addItem(item)
        self.list.setCurrentRow(0)

    def _do(self) -> None:
        item = self.list.currentItem()
        action = item.data(Qt.ItemDataRole.UserRole) if item else None
        if isinstance(action, QAction) and action.isEnabled():
            self.accept()
            action.trigger()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Arrows move through the list while the box keeps the keyboard."""
        if not isinstance(event, QKeyEvent) or event.type() != QEvent.Type.KeyPress:
            return super().eventFilter(watched, event)
        if Qt.Key(event.key()) in _MOVES:
            self.list.event(event)
            return True
        return super().eventFilter(watched, event)
