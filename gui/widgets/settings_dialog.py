"""Settings: what a person may decide once, and the keys of every command."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QDialog, QTabWidget, QVBoxLayout, QWidget

from gui.actions import ActionRegistry
from gui.settings import Settings
from gui.widgets.labels import button, label
from gui.widgets.shortcut_table import ShortcutTable


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing that is on or off."""

    key: str
    words: str
    help: str
    default: bool = True
    changed: Callable[[], object] = lambda: None
    """Called after it was turned."""


class SettingsDialog(QDialog):
    """Every change holds at once and is remembered in the home."""

    def __init__(
        self, parent: QWidget, settings: Settings, choices: list[Choice], registry: ActionRegistry
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("settingsDialog")
        self.setWindowTitle("Settings")
        self._settings = settings
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 12, 16, 12)
        column.setSpacing(12)
        tabs = QTabWidget()
        tabs.setDocumentMode(True)
        tabs.tabBar().setAccessibleName("Pages of settings")
        tabs.addTab(self._general(choices), "General")
        self.shortcuts = ShortcutTable(registry)
        tabs.addTab(self.shortcuts, "Keyboard")
        column.addWidget(tabs, 1)
        close = button("Close", "closeSettingsButton", clicked=self.accept)
        column.addWidget(close, 0, Qt.AlignmentFlag.AlignRight)
        self.resize(520, 440)

    def _general(self, choices: list[Choice]) -> QWidget:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(4, 12, 4, 4)
        column.setSpacing(4)
        for choice in choices:
            box = QCheckBox(choice.words)
            box.setObjectName(f"setting_{choice.key.replace('/', '_')}")
            box.setAccessibleName(choice.words)
            box.setChecked(self._settings.flag(choice.key, choice.default))
            box.toggled.connect(lambda on, choice=choice: self._turn(choice, on))
            column.addWidget(box)
            words = label(choice.help, "muted", wrap=True)
            words.setContentsMargins(22, 0, 0, 8)
            column.addWidget(words)
        column.addStretch(1)
        return page

    def _turn(self, choice: Choice, on: bool) -> None:
        self._settings.set(choice.key, on)
        choice.changed()
