"""Settings dialog: options, language, shortcuts of all commands."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QHeaderView,
    QKeySequenceEdit,
    QTableWidget,
    QTableWidgetItem,
    QTabWidget,
    QWidget,
)

from gui.kit import words
from gui.kit.actions import ActionRegistry, plain_words
from gui.kit.boxes import hbox, named, put, vbox
from gui.kit.dialogs import Sheet
from gui.kit.labels import button, choice_box, label, search_field, set_role
from gui.kit.settings import Settings
from gui.kit.tables import row_table
from gui.kit.words import tr
from gui.state.context import Choice

_ID = Qt.ItemDataRole.UserRole


class ShortcutTable(QWidget):
    """Table of commands with their shortcuts, and below it a field to change the selected one at once."""

    def __init__(self, registry: ActionRegistry) -> None:
        super().__init__()
        self._registry = registry
        column = vbox(self, spacing=8)
        heads = [tr("Command"), tr("Keys")]
        self.table = row_table("shortcutTable", tr("Commands and their keys"), heads)
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.resizeSection(1, 140)
        column.addWidget(self.table, 1)
        row = hbox(spacing=8)
        self.keys = named(QKeySequenceEdit(), "shortcutKeys", tr("New keys of the chosen command"))
        self.keys.setMaximumSequenceLength(1)
        self.keys.setClearButtonEnabled(True)
        row.addWidget(self.keys, 1)
        self.apply = button(tr("Set"), "setShortcutButton", clicked=self._on_set)
        put(row, self.apply, button(tr("Default"), "defaultShortcutButton", clicked=self._on_default))
        column.addLayout(row)
        self.told = named(label("", "muted", wrap=True), "shortcutTold")
        column.addWidget(self.told)
        self.keys.keySequenceChanged.connect(lambda keys: self._tell())
        self.table.itemSelectionChanged.connect(self._on_row)
        self._fill()
        self.table.selectRow(0)

    def _fill(self) -> None:
        rows = self._registry.all()
        self.table.setRowCount(len(rows))
        for place, (action_id, action) in enumerate(rows.items()):
            for column, text in enumerate((plain_words(action), action.shortcut().toString())):
                item = QTableWidgetItem(text)
                item.setData(_ID, action_id)
                self.table.setItem(place, column, item)

    def chosen(self) -> str:
        """Return the id of the selected command."""
        item = self.table.item(max(0, self.table.currentRow()), 0)
        return str(item.data(_ID)) if item is not None else ""

    def _on_row(self) -> None:
        self.keys.setKeySequence(self._registry[self.chosen()].shortcut())
        self._tell()

    def _tell(self) -> None:
        clash = self._registry.holder(self.keys.keySequence().toString(), self.chosen())
        self.apply.setEnabled(not clash)
        set_role(self.told, "role", "warn" if clash else "muted")
        self.told.setText(
            tr("Already used for: {plain_words}", plain_words=plain_words(self._registry[clash]))
            if clash
            else tr("Click into the box and press the keys; clear it to remove them.")
        )

    def _on_set(self) -> None:
        self._registry.rebind(self.chosen(), self.keys.keySequence().toString())
        self._renew()

    def _on_default(self) -> None:
        default = self._registry.default(self.chosen())
        if clash := self._registry.holder(default, self.chosen()):
            self.keys.setKeySequence(QKeySequence(default))
            set_role(self.told, "role", "warn")
            self.told.setText(
                tr(
                    "{default} is already used for: {plain_words}",
                    default=default,
                    plain_words=plain_words(self._registry[clash]),
                )
            )
            return
        self._registry.rebind(self.chosen(), default)
        self._renew()

    def _renew(self) -> None:
        row = self.table.currentRow()
        self._fill()
        self.table.selectRow(row)
        self._on_row()


class SettingsDialog(Sheet):
    """Settings dialog; each change applies at once and is saved in the home folder."""

    def __init__(
        self, parent: QWidget, settings: Settings, choices: Sequence[Choice], registry: ActionRegistry
    ) -> None:
        super().__init__(parent, "settingsDialog", tr("Settings"))
        self._settings = settings
        column = vbox(self, margins=(16, 12, 16, 12), spacing=12)
        self.search = search_field("settingsSearch", tr("Search in the settings"), tr("Search in the settings"))
        self.search.textChanged.connect(self._on_search)
        self.none = label(tr("No setting has these words: clear the field to see all"), "muted")
        self.none.hide()
        put(column, self.search, self.none)
        self._entries: list[tuple[str, list[QWidget]]] = []
        """Search text and widgets of each entry on the first page."""
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
        """Add a feature's page after the existing pages."""
        self._tabs.addTab(page, title)

    def _on_search(self, text: str) -> None:
        """Show only entries with the typed words; disable pages without such entries."""
        words_wanted, tabs = text.casefold().split(), self._tabs
        found = [place for place in range(tabs.count()) if self._narrow(place, words_wanted)]
        self.none.setHidden(bool(found))
        for place in range(tabs.count()):
            tabs.setTabEnabled(place, place in found or not found)
        if found and tabs.currentIndex() not in found:
            tabs.setCurrentIndex(found[0])

    def _narrow(self, place: int, wanted: list[str]) -> bool:
        """Hide the entries of page number `place` without the `wanted` words. Return whether any is left."""
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

    def _general(self, choices: Sequence[Choice]) -> QWidget:
        page = QWidget()
        column = vbox(page, margins=(4, 12, 4, 4), spacing=4)
        row = hbox(spacing=8)
        title, box = label(tr("Language"), "muted"), self._languages()
        put(row, title, (box, 1))
        column.addLayout(row)
        told = label(tr("Language changes after a restart."), "muted", wrap=True)
        told.setContentsMargins(0, 0, 0, 8)
        column.addWidget(told)
        spoken = [box.itemText(place) for place in range(box.count())]
        self._add_entry(title, box, told, text=" ".join([title.text(), *spoken, told.text()]))
        for choice in choices:
            box = named(QCheckBox(choice.words), f"setting_{choice.key.replace('/', '_')}", choice.words)
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
        chosen = self._settings.text(words.LANGUAGE_SETTING, words.ENGLISH)
        box = choice_box("settingLanguage", tr("Language"), words.languages().items(), chosen)
        box.activated.connect(lambda: self._settings.set(words.LANGUAGE_SETTING, str(box.currentData())))
        return box

    def _turn(self, choice: Choice, on: bool) -> None:
        self._settings.set(choice.key, on)
        choice.changed()
