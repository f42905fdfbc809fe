"""The run table: filter, sort, select to see a run's curves, pin to compare, resume."""

from __future__ import annotations

from PySide6.QtCore import QItemSelection, QModelIndex, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLineEdit,
    QMainWindow,
    QMenu,
    QStackedWidget,
    QStyledItemDelegate,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from gui import object_names as names
from gui.models.run_list import COLUMNS, RUN_ROLE, RunFilter, RunList
from gui.widgets.badge import paint_dot
from gui.widgets.dock import Dock
from gui.widgets.labels import button, label
from trainer_core.protocol.paths import HomePaths
from trainer_core.protocol.runs import RunRecord

_WIDTHS = {"State": 88, "Run": 52, "Algo": 44, "Device": 56, "Steps": 56, "Best": 48, "Started": 84}


class _StateDelegate(QStyledItemDelegate):
    """The state's dot before its word."""

    def paint(self, painter: QPainter, option, index: QModelIndex) -> None:  # type: ignore[no-untyped-def]
        option.rect.adjust(16, 0, 0, 0)
        super().paint(painter, option, index)
        painter.save()
        run = index.data(RUN_ROLE)
        paint_dot(painter, option.rect.x() - 4, option.rect.center().y() + 1, run.state)
        painter.restore()


class RunsDock(Dock):
    selected = Signal(str)
    pin_toggled = Signal(str)
    resume_wanted = Signal(str)
    reuse_wanted = Signal(str)
    demo_wanted = Signal()

    def __init__(self, model: RunList, home: HomePaths, window: QMainWindow) -> None:
        super().__init__("Runs", "runsDock", window)
        self._model, self._home = model, home
        self.proxy = RunFilter(self)
        self.proxy.setSourceModel(model)
        self.table = QTableView()
        self.table.setObjectName(names.RUN_TABLE)
        self.table.setAccessibleName("Runs")
        self.table.setModel(self.proxy)
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.setShowGrid(False)
        self.table.setWordWrap(False)
        self.table.setTabKeyNavigation(False)
        self.table.setSortingEnabled(True)
        self.table.sortByColumn(COLUMNS.index("Started"), Qt.SortOrder.DescendingOrder)
        self.table.verticalHeader().hide()
        self.table.verticalHeader().setDefaultSectionSize(24)
        header = self.table.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setSectionResizeMode(COLUMNS.index("Task"), QHeaderView.ResizeMode.Stretch)
        header.setMinimumSectionSize(40)
        for name, width in _WIDTHS.items():
            self.table.setColumnWidth(COLUMNS.index(name), width)
        self.table.setItemDelegateForColumn(0, _StateDelegate(self))
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.table.customContextMenuRequested.connect(self._menu)
        self.table.selectionModel().selectionChanged.connect(self._on_selection)
        self.filter = QLineEdit()
        self.filter.setObjectName("runFilter")
        self.filter.setAccessibleName("Filter runs")
        self.filter.setPlaceholderText("Filter: state, task, run")
        self.filter.setClearButtonEnabled(True)
        self.filter.setFixedWidth(168)
        self.filter.textChanged.connect(self.proxy.set_text)
        self.head.addWidget(self.filter)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.table)
        self._stack.addWidget(self._empty_page())
        self.setWidget(self._stack)
        model.rowsInserted.connect(lambda *_: self._on_count())
        self._on_count()

    def _empty_page(self) -> QWidget:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setSpacing(8)
        column.addStretch(1)
        text = label("No training yet. A demo takes a minute.", "muted")
        column.addWidget(text, 0, Qt.AlignmentFlag.AlignHCenter)
        start = button("Start demo", "startDemoFromRuns", clicked=self.demo_wanted.emit)
        column.addWidget(start, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(1)
        return page

    def _on_count(self) -> None:
        self._stack.setCurrentIndex(0 if self._model.rowCount() else 1)

    def select(self, run_id: str) -> None:
        row = self._model.row_of(run_id)
        if row >= 0:
            index = self.proxy.mapFromSource(self._model.index(row, 0))
            self.table.selectRow(index.row())
            self.table.scrollTo(index)

    def current(self) -> RunRecord | None:
        rows = self.table.selectionModel().selectedRows()
        return rows[0].data(RUN_ROLE) if rows else None

    def _on_selection(self, selected: QItemSelection, deselected: QItemSelection) -> None:
        run = self.current()
        if run is not None and selected.count():
            self.selected.emit(run.run_id)

    def _menu(self, position) -> None:  # type: ignore[no-untyped-def]
        run = self.current()
        if run is None:
            return
        folder = self._home.run(run.run_id).root
        menu = QMenu(self)
        menu.addAction("Pin or unpin its curves", lambda: self.pin_toggled.emit(run.run_id))
        resume = menu.addAction(
            "Resume from its newest checkpoint", lambda: self.resume_wanted.emit(run.run_id)
        )
        resume.setEnabled(run.state.is_end and bool(run.last_checkpoint))
        menu.addAction(
            "Use its configuration for a new run", lambda: self.reuse_wanted.emit(run.run_id)
        )
        menu.addSeparator()
        menu.addAction(
            "Open its folder", lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))
        )
        menu.exec(self.table.viewport().mapToGlobal(position))
