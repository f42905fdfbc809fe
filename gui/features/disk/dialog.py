"""Dialog of disk use: the size of each run, selection of old ones, archive and restore."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QCheckBox,
    QHBoxLayout,
    QHeaderView,
    QMenu,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from gui.features.disk.controller import ArchivesController, DiskRow, old_rows
from gui.features.disk.storage import StorageController
from gui.kit.boxes import hbox, put, vbox
from gui.kit.dialogs import Sheet, ask_file
from gui.kit.labels import ago, button, label, size_text, spin_box
from gui.kit.style_sheet import ROW, TABLE_HEAD
from gui.kit.tables import RIGHT, row_table
from gui.kit.words import number, tr
from gui.state.run_words import WORDS
from trainer_core.lab.storage_profiles import HOME_ITSELF
from trainer_core.wire.run_record import STORAGE_TAG

COLUMNS = ("Run", "Task", "Kept", "State", "Ended", "Best success", "Checkpoints", "Total")
NARROW = {"Kept": 112, "State": 84, "Ended": 104, "Best success": 96, "Checkpoints": 96, "Total": 76}
"""Widths in pixels of columns by title; the other columns share the rest."""
DAYS, KEEP = 30, 20
MOST_HEIGHT = 560


class DiskDialog(Sheet):
    """Dialog of disk use; a run is deleted only after its archive was read back and compared."""

    def __init__(self, parent: QWidget, archives: ArchivesController, storage: StorageController) -> None:
        super().__init__(parent, "diskDialog", tr("Disk use"))
        self._archives, self._storage = archives, storage
        self._shown: list[DiskRow] = []
        column = vbox(self, margins=(16, 12, 16, 12), spacing=8)
        self.told = label("", "muted")
        column.addWidget(self.told)
        self.table = self._make_table()
        put(column, (self.table, 1), self._retention(), self._policy(), self._buttons())
        self.table.setMinimumHeight(TABLE_HEAD + 4 * ROW)
        self.resize(940, 0)
        for changed in (archives.changed, storage.changed):
            changed.connect(self.renew)
        self.finished.connect(lambda: archives.changed.disconnect(self.renew))
        self.finished.connect(lambda: storage.changed.disconnect(self.renew))
        archives.measure()
        self.renew()

    def _make_table(self) -> QTableWidget:
        first = COLUMNS.index("Best success")
        heads = [tr(name) for name in COLUMNS]
        table = row_table("diskTable", tr("Runs by size"), heads, range(first, len(COLUMNS)))
        table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        header = table.horizontalHeader()
        for place, name in enumerate(COLUMNS):
            if name in NARROW:
                table.setColumnWidth(place, NARROW[name])
            else:
                header.setSectionResizeMode(place, QHeaderView.ResizeMode.Stretch)
        table.itemSelectionChanged.connect(self._on_selection)
        return table

    def _retention(self) -> QHBoxLayout:
        row = hbox(spacing=8)
        self.days = spin_box("diskDays", tr("Days since a run ended"), 0, 3650, DAYS)
        self.keep = spin_box("diskKeep", tr("Newest runs to keep"), 0, 10_000, KEEP)
        put(row, label(tr("Ended more than"), "muted"), self.days, label(tr("days ago, except the newest"), "muted"))
        put(row, self.keep, button(tr("Select"), "diskSelectOld", clicked=self.select_old), 1)
        return row

    def _policy(self) -> QHBoxLayout:
        storage, row = self._storage, hbox(spacing=8)
        self.tidies = QCheckBox(tr("Tidy old runs by itself"))
        self.tidies.setObjectName("diskTidies")
        self.tidies.setToolTip(tr("When the app starts, and every hour: by the rules in storage_profiles.toml"))
        self.tidies.clicked.connect(storage.switch)
        self.undo_button = button(tr("Restore"), "diskUndo", clicked=storage.undo)
        self.policy_buttons = (
            button(tr("Preview"), "diskPreview", clicked=storage.preview, tip=tr("Show what the rules would do now")),
            button(tr("Apply now"), "diskApply", clicked=storage.apply),
            self.undo_button,
        )
        rules = button(tr("Rules..."), "diskRules", clicked=storage.edit, tip=tr("Edit storage_profiles.toml"))
        put(row, self.tidies, rules, *self.policy_buttons, 1)
        return row

    def _buttons(self) -> QHBoxLayout:
        row = hbox(spacing=8)
        self.archive_button = button(
            tr("Archive"),
            "diskArchive",
            primary=True,
            clicked=self._archive,
            tip=tr("Each run becomes one file, which is checked before the run's folder is deleted"),
        )
        self.cancel_button = button(tr("Cancel"), "diskCancel", clicked=self._archives.cancel)
        self.restore_button = button(tr("Restore..."), "diskRestore", clicked=self._restore)
        self.move_button = button(tr("Move to"), "diskMove", tip=tr("Storage profiles are in storage_profiles.toml"))
        menu = QMenu(self.move_button)
        menu.aboutToShow.connect(lambda: self._fill_places(menu))
        self.move_button.setMenu(menu)
        buttons = (self.archive_button, self.cancel_button, self.restore_button)
        put(row, self.move_button, *buttons, 1)  # the move first: the next one's width changes with its text
        row.addWidget(button(tr("Close"), "diskClose", clicked=self.accept))
        return row

    # -- following the controller -----------------------------------------------------------

    def renew(self) -> None:
        """Update all widgets from the controller."""
        archives = self._archives
        if archives.rows is not self._shown:
            self._fill(archives.rows)
        here = [row for row in archives.rows if STORAGE_TAG not in row.run.tags]
        total = size_text(sum(row.total for row in here))
        self.tidies.setChecked(self._storage.read()[0].policy.on)
        trashed = self._storage.trashed
        self.undo_button.setText(tr("Restore {count} from trash", count=trashed))
        self.undo_button.setVisible(trashed > 0)
        for each in self.policy_buttons:
            each.setEnabled(not archives.working)
        free = size_text(archives.free_bytes)
        self.told.setText(
            archives.working
            or self._storage.plan_words
            or tr("{count} runs take {total}; {free} are free on the disk", count=len(here), total=total, free=free)
        )
        self.cancel_button.setVisible(bool(archives.working))
        self.restore_button.setEnabled(not archives.working)
        self.restore_button.setToolTip(archives.working)
        self._on_selection()

    def _fill(self, rows: list[DiskRow]) -> None:
        self._shown = rows
        self.table.clearSelection()  # its rows will be others
        self.table.setRowCount(len(rows))
        if rows and self.height() < MOST_HEIGHT:  # as high as its rows need
            self.resize(self.width(), min(MOST_HEIGHT, self.minimumSizeHint().height() + ROW * max(0, len(rows) - 4)))
        for place, row in enumerate(rows):
            run = row.run
            texts = (
                row.label,
                self._archives.task_title(run.task),
                run.tags.get(STORAGE_TAG, tr("local")),
                tr(WORDS[run.state]),
                ago(run.finished_at) if run.finished_at else "",
                number(run.best_success_rate, ".0%") if run.best_success_rate else "",
                size_text(row.checkpoints),
                size_text(row.total),
            )
            for index, text in enumerate(texts):
                item = QTableWidgetItem(text)
                item.setToolTip(run.run_id if row.is_movable else run.reason or run.run_id)
                if not row.is_movable:
                    item.setFlags(item.flags() & ~Qt.ItemFlag.ItemIsSelectable)
                if index >= COLUMNS.index("Best success"):
                    item.setTextAlignment(RIGHT)
                self.table.setItem(place, index, item)

    def chosen(self) -> list[DiskRow]:
        rows = {index.row() for index in self.table.selectedIndexes()}
        return [self._shown[row] for row in sorted(rows)]

    def select_old(self) -> None:
        """Select the runs that are older than the chosen days, apart from the chosen number of newest ones."""
        old = {row.run.run_id for row in old_rows(self._shown, self.days.value(), self.keep.value())}
        self.table.clearSelection()
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.MultiSelection)
        for place, row in enumerate(self._shown):
            if row.run.run_id in old:
                self.table.selectRow(place)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self._on_selection()

    def _on_selection(self) -> None:
        chosen = self.chosen()
        for each in (self.archive_button, self.move_button):
            each.setEnabled(bool(chosen) and not self._archives.working)
        size = size_text(sum(row.total for row in chosen))
        self.archive_button.setText(
            tr("Archive {count}, {size}", count=len(chosen), size=size) if chosen else tr("Archive")
        )

    def _archive(self) -> None:
        self._archives.archive([row.run.run_id for row in self.chosen()])

    def _fill_places(self, menu: QMenu) -> None:
        menu.clear()
        run_ids = [row.run.run_id for row in self.chosen()]
        for name in self._storage.places:
            words = tr("This data folder") if name == HOME_ITSELF else name
            menu.addAction(words, lambda name=name: self._storage.move(run_ids, name))

    def _restore(self) -> None:
        kinds = tr("Archives (*.tar.gz);;All files (*)")
        ask_file(self, tr("Restore a run"), kinds, self._archives.restore, str(self._archives.folder))
