"""The saved views: open one, let one go, save what is on show under a name."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLineEdit, QListWidget, QVBoxLayout, QWidget

from gui.models.saved_views import SavedViews
from gui.widgets.labels import button, label
from gui.words import tr

MOST_LETTERS = 60


class ViewsDialog(QDialog):
    def __init__(
        self, parent: QWidget, views: SavedViews, save: Callable[[str], object], show: Callable[[str], object]
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("viewsDialog")
        self.setWindowTitle(tr("Saved views"))
        self._views, self._save, self._show = views, save, show
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 16)
        column.setSpacing(8)
        text = tr("Axes, smoothing, plots, the runs on show and both filters")
        column.addWidget(label(text, "muted"))
        self.list = QListWidget()
        self.list.setObjectName("viewsList")
        self.list.setAccessibleName(tr("Saved views"))
        self.list.itemActivated.connect(lambda _: self.accept())
        self.list.currentRowChanged.connect(lambda _: self._on_row())
        column.addWidget(self.list, 1)
        row = QHBoxLayout()
        self.name = QLineEdit()
        self.name.setObjectName("viewName")
        self.name.setAccessibleName(tr("Name of the view"))
        self.name.setPlaceholderText(tr("Name of the view"))
        self.name.setMaxLength(MOST_LETTERS)
        self.name.textChanged.connect(lambda _: self._on_row())
        self.keep = button(tr("Save what is on show"), "saveViewButton", clicked=self._on_save)
        row.addWidget(self.name, 1)
        row.addWidget(self.keep)
        column.addLayout(row)
        row = QHBoxLayout()
        self.drop = button(tr("Delete"), "deleteViewButton", clicked=self._on_drop)
        self.open_it = button(tr("Open"), "openViewButton", primary=True, clicked=self.accept)
        row.addWidget(self.drop)
        row.addStretch(1)
        row.addWidget(button(tr("Close"), clicked=self.reject))
        row.addWidget(self.open_it)
        column.addLayout(row)
        views.changed.connect(self._fill)
        self._fill()
        (self.list if self.list.count() else self.name).setFocus()
        self.resize(440, 360)

    def _fill(self) -> None:
        self.list.clear()
        self.list.addItems(self._views.names())
        self.list.setCurrentRow(self.list.count() - 1)
        self._on_row()

    def _chosen(self) -> str:
        item = self.list.currentItem()
        return item.text() if item is not None else ""

    def _on_row(self) -> None:
        nothing = "" if self._chosen() else tr("No view is saved yet")
        for one in (self.drop, self.open_it):
            one.setEnabled(not nothing)
            one.setToolTip(nothing)
        name = self.name.text().strip()
        self.keep.setEnabled(bool(name))
        (self.keep if name else self.open_it).setDefault(True)  # Return presses it
        is_old = name in self._views.names()
        self.keep.setToolTip(
            tr("The view of this name is replaced") if is_old else "" if name else tr("Type a name first")
        )

    def _on_save(self) -> None:
        self._save(self.name.text())
        self.name.clear()

    def _on_drop(self) -> None:
        self._views.drop(self._chosen())

    def accept(self) -> None:
        if name := self._chosen():
            self._show(name)
            super().accept()
