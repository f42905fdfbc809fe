"""Settings: what a person may decide once, and the keys of every command."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QHBoxLayout,
    QLineEdit,
    QTableWidget,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from gui import words
from gui.actions import ActionRegistry
from gui.settings import Settings
from gui.widgets.labels import button, label
from gui.widgets.shortcut_table import ShortcutTable
from gui.words import tr


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

    def __init__(self, parent: QWidget, settings: Settings, choices: list[Choice], registry: ActionRegistry) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("settingsDialog")
        self.setWindowTitle(tr("Settings"))
        self._settings = settings
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 12, 16, 12)
        column.setSpacing(12)
        self.search = QLineEdit()
        self.search.setObjectName("settingsSearch")
        self.search.setAccessibleName(tr("Search in the settings"))
        self.search.setPlaceholderText(tr("Search in the settings"))
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self._on_search)
        column.addWidget(self.search)
        self._entries: list[tuple[str, list[QWidget]]] = []
        """Of the first page: the words of each entry, and its widgets."""
        tabs = self._tabs = QTabWidget()
        tabs.setDocumentMode(True)
        tabs.tabBar().setAccessibleName(tr("Pages of settings"))
        tabs.addTab(self._general(choices), tr("General"))
        self.shortcuts = ShortcutTable(registry)
        tabs.addTab(self.shortcuts, tr("Keyboard"))
        column.addWidget(tabs, 1)
        close = button(tr("Close"), "closeSettingsButton", clicked=self.accept)
        column.addWidget(close, 0, Qt.AlignmentFlag.AlignRight)
        self.resize(520, 440)

    def add_page(self, page: QWidget, title: str) -> None:
        """A page of another part of the app, after those that are there."""
        self._tabs.addTab(page, title)

    def _on_search(self, text: str) -> None:
        """Show what has these words in it; a page without any cannot be chosen meanwhile."""
        words_wanted, tabs = text.casefold().split(), self._tabs
        found = [place for place in range(tabs.count()) if self._narrow(place, words_wanted)]
        for place in range(tabs.count()):
            tabs.setTabEnabled(place, place in found or not found)
        if found and tabs.currentIndex() not in found:
            tabs.setCurrentIndex(found[0])

    def _narrow(self, place: int, wanted: list[str]) -> bool:
        """Hide what does not have the words on this page. True when something is left."""
        left = False
        if place == 0:
            for text, parts in self._entries:
                fits = all(word in text for word in wanted)
                left |= fits
                for part in parts:
                    part.setVisible(fits)
        page = self._tabs.widget(place)
        for table in page.findChildren(QTableWidget) if page is not None else ():
            for row in range(table.rowCount()):
                cells = [table.item(row, column) for column in range(table.columnCount())]
                text = " ".join(cell.text() for cell in cells if cell is not None).casefold()
                fits = all(word in text for word in wanted)
                left |= fits
                table.setRowHidden(row, not fits)
        return left

    def _add_entry(self, *parts: QWidget, text: str) -> None:
        self._entries.append((text.casefold(), list(parts)))

    def _general(self, choices: list[Choice]) -> QWidget:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(4, 12, 4, 4)
        column.setSpacing(4)
        row = QHBoxLayout()
        title, box = label(tr("Language"), "muted"), self._languages()
        row.addWidget(title)
        row.addWidget(box, 1)
        column.addLayout(row)
        told = label(tr("Another language is spoken from the next start on."), "muted", wrap=True)
        told.setContentsMargins(0, 0, 0, 8)
        column.addWidget(told)
        spoken = [box.itemText(place) for place in range(box.count())]
        self._add_entry(title, box, told, text=" ".join([title.text(), *spoken, told.text()]))
        for choice in choices:
            box = QCheckBox(choice.words)
            box.setObjectName(f"setting_{choice.key.replace('/', '_')}")
            box.setAccessibleName(choice.words)
            box.setChecked(self._settings.flag(choice.key, choice.default))
            box.toggled.connect(lambda on, choice=choice: self._turn(choice, on))
            column.addWidget(box)
            told = label(choice.help, "muted", wrap=True)
            told.setContentsMargins(22, 0, 0, 8)
            column.addWidget(told)
            self._add_entry(box, told, text=f"{choice.words} {choice.help}")
        column.addStretch(1)
        return page

    def _languages(self) -> QComboBox:
        box = QComboBox()
        box.setObjectName("settingLanguage")
        box.setAccessibleName(tr("Language"))
        for code, name in words.languages().items():
            box.addItem(name, code)
        chosen = self._settings.text(words.SETTING, words.ENGLISH)
        box.setCurrentIndex(max(0, box.findData(chosen)))
        box.activated.connect(lambda: self._settings.set(words.SETTING, str(box.currentData())))
        return box

    def _turn(self, choice: Choice, on: bool) -> None:
        self._settings.set(choice.key, on)
        choice.changed()
