"""Every command with its keys, which may be changed; a clash is told before it is made."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QHBoxLayout,
    QHeaderView,
    QKeySequenceEdit,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from gui.actions import ActionRegistry, plain_words
from gui.widgets.labels import button, label, set_role
from gui.words import tr

_ID = Qt.ItemDataRole.UserRole


class ShortcutTable(QWidget):
    """A row a command; below, the keys of the chosen one. Changes hold at once."""

    def __init__(self, registry: ActionRegistry) -> None:
        super().__init__()
        self._registry = registry
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        self.table = QTableWidget(0, 2)
        self.table.setObjectName("shortcutTable")
        self.table.setAccessibleName(tr("Commands and their keys"))
        self.table.setHorizontalHeaderLabels([tr("Command"), tr("Keys")])
        self.table.verticalHeader().hide()
        self.table.setShowGrid(False)
        self.table.setTabKeyNavigation(False)
        self.table.setSelectionBehavior(QTableWidget.SelectionBehavior.SelectRows)
        self.table.setSelectionMode(QTableWidget.SelectionMode.SingleSelection)
        self.table.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.resizeSection(1, 140)
        column.addWidget(self.table, 1)
        row = QHBoxLayout()
        row.setSpacing(8)
        self.keys = QKeySequenceEdit()
        self.keys.setObjectName("shortcutKeys")
        self.keys.setAccessibleName(tr("New keys of the chosen command"))
        self.keys.setMaximumSequenceLength(1)
        self.keys.setClearButtonEnabled(True)
        row.addWidget(self.keys, 1)
        self.apply = button(tr("Set"), "setShortcutButton", clicked=self._on_set)
        row.addWidget(self.apply)
        row.addWidget(button(tr("Default"), "defaultShortcutButton", clicked=self._on_default))
        column.addLayout(row)
        self.told = label("", "muted", wrap=True)
        self.told.setObjectName("shortcutTold")
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
        """Id of the chosen command."""
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
            tr("These are the keys of: {plain_words}", plain_words=plain_words(self._registry[clash]))
            if clash
            else tr("Click into the box and press the keys; empty takes them away.")
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
                    "{default} belongs to: {plain_words}",
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
