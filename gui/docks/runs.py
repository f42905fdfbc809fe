"""The run table: filter, sort, select to see a run's curves, pin to compare, resume."""

from __future__ import annotations

from PySide6.QtCore import QItemSelection, QModelIndex, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPainterPath, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLineEdit,
    QMenu,
    QStackedWidget,
    QStyledItemDelegate,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from gui import object_names as names
from gui import theme
from gui.actions import ActionRegistry
from gui.controllers.runs import RunsController
from gui.models.run_filter import RunFilter
from gui.models.run_list import COLUMNS, RUN_ROLE, SHOWN, RunList
from gui.models.run_telemetry import TelemetryModel
from gui.widgets.badge import paint_dot
from gui.widgets.dock import Dock
from gui.widgets.labels import button, label
from gui.words import tr
from trainer_core.protocol.runs import RunRecord

_WIDTHS = {
    SHOWN: 28,
    "State": 88,
    "Run": 76,
    "Algo": 44,
    "Device": 56,
    "Steps": 62,
    "Best": 48,
    "Started": 94,
}
_FIRST_TO_GO = ("Device", "Algo", "Started", "Best")
"""Columns that a narrow table leaves out, in this order: nothing is ever scrolled sideways."""
LEAST_TASK = 96
MENU = (
    "describeRun", "pinRun", "hideOthers", "compareRuns", "showSweep", "toggleSweep",
    "queueEarlier", "queueLater", "resumeRun", "reuseConfig",
    "openRunFolder",
)  # fmt: skip
"""Commands about the run in focus; a click into the table puts its row there first."""


class _StateDelegate(QStyledItemDelegate):
    """The state's dot before its word."""

    def paint(self, painter: QPainter, option, index: QModelIndex) -> None:  # type: ignore[no-untyped-def]
        option.rect.adjust(16, 0, 0, 0)
        super().paint(painter, option, index)
        painter.save()
        run = index.data(RUN_ROLE)
        paint_dot(painter, option.rect.x() - 4, option.rect.center().y() + 1, run.state)
        painter.restore()


class _EyeDelegate(QStyledItemDelegate):
    """An open eye in the colour of the run's curves, a closed one where they are hidden."""

    def __init__(self, telemetry: TelemetryModel, parent: QWidget) -> None:
        super().__init__(parent)
        self._telemetry = telemetry

    def paint(self, painter: QPainter, option, index: QModelIndex) -> None:  # type: ignore[no-untyped-def]
        super().paint(painter, option, index)
        slot = self._telemetry.slots.get(index.data(RUN_ROLE).run_id)
        color = QColor(theme.current().disabled) if slot is None else theme.curve_color(slot)
        center = QRectF(option.rect).center()
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(color, 1.3))
        lid = QPainterPath(center + QPointF(-6, 0))
        lid.quadTo(center + QPointF(0, 6), center + QPointF(6, 0))
        if slot is not None:
            lid.quadTo(center + QPointF(0, -6), center + QPointF(-6, 0))
        painter.drawPath(lid)
        if slot is not None:
            painter.setBrush(color)
            painter.drawEllipse(center, 1.8, 1.8)
        painter.restore()


class _Table(QTableView):
    """A click on an eye shows or hides that run's curves; it does not change what is in focus."""

    eye_clicked = Signal(str)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        is_eye = index.isValid() and index.column() == COLUMNS.index(SHOWN)
        if is_eye and event.button() == Qt.MouseButton.LeftButton:
            self.eye_clicked.emit(index.data(RUN_ROLE).run_id)
        else:
            super().mousePressEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        if index.isValid() and index.column() == COLUMNS.index(SHOWN):
            self.mousePressEvent(event)
        else:
            super().mouseDoubleClickEvent(event)


class RunsDock(Dock):
    def __init__(
        self, model: RunList, telemetry: TelemetryModel, runs: RunsController,
        actions: ActionRegistry,
    ) -> None:  # fmt: skip
        super().__init__(tr("Runs"), names.RUNS_DOCK)
        self._model, self._runs, self._actions = model, runs, actions
        self._telemetry = telemetry
        self.proxy = RunFilter(model, self)
        self.table = _Table()
        self.table.setObjectName(names.RUN_TABLE)
        self.table.setAccessibleName(tr("Runs"))
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
        header.setMinimumSectionSize(28)
        for name, width in _WIDTHS.items():
            self.table.setColumnWidth(COLUMNS.index(name), width)
        self.table.setItemDelegateForColumn(COLUMNS.index("State"), _StateDelegate(self))
        self.table.setItemDelegateForColumn(
            COLUMNS.index(SHOWN), _EyeDelegate(telemetry, self.table)
        )
        self.table.eye_clicked.connect(runs.toggle_shown)
        self.table.doubleClicked.connect(self._on_double_click)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.table.customContextMenuRequested.connect(self._menu)
        self.table.selectionModel().selectionChanged.connect(self._on_selection)
        self.filter = QLineEdit()
        self.filter.setObjectName("runFilter")
        self.filter.setAccessibleName(tr("Filter runs"))
        self.filter.setPlaceholderText(tr("Filter: state, task, run"))
        self.filter.setClearButtonEnabled(True)
        self.filter.setFixedWidth(168)
        self.filter.textChanged.connect(self.proxy.set_text)
        self.head.addWidget(self.filter)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.table)
        self._stack.addWidget(self._empty_page())
        self.setWidget(self._stack)
        model.rowsInserted.connect(lambda *_: self._on_count())
        telemetry.focus_changed.connect(self._on_focus)
        telemetry.pins_changed.connect(self.table.viewport().update)
        self.proxy.modelReset.connect(lambda: self.select(telemetry.focus))
        self._on_count()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_columns()

    def _fit_columns(self) -> None:
        """Leave out as many columns as the width asks for."""
        room = self.width() - LEAST_TASK - sum(_WIDTHS.values())
        for name in _FIRST_TO_GO:
            self.table.setColumnHidden(COLUMNS.index(name), room < 0)
            room += _WIDTHS[name] if room < 0 else 0

    def _empty_page(self) -> QWidget:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setSpacing(8)
        column.addStretch(1)
        text = label(tr("No training yet. A demo takes a minute."), "muted")
        column.addWidget(text, 0, Qt.AlignmentFlag.AlignHCenter)
        show = self._actions["welcome"].trigger
        start = button(tr("Start demo"), "startDemoFromRuns", clicked=show)
        column.addWidget(start, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(1)
        return page

    def _on_count(self) -> None:
        self._stack.setCurrentIndex(0 if self._model.rowCount() else 1)

    def _on_focus(self, run_id: str) -> None:
        self.select(run_id)
        self.table.viewport().update()

    def select(self, run_id: str) -> None:
        """Show the row of the run in focus as the selected one."""
        row, run = self.proxy.row_of(run_id), self.current()
        if row >= 0 and (run is None or run.run_id != run_id):
            self.table.selectRow(row)
            self.table.scrollTo(self.proxy.index(row, 0))

    def current(self) -> RunRecord | None:
        rows = self.table.selectionModel().selectedRows()
        return rows[0].data(RUN_ROLE) if rows else None

    def _on_selection(self, selected: QItemSelection, deselected: QItemSelection) -> None:
        run = self.current()
        if run is not None and selected.count():
            self._runs.show(run.run_id)

    def _on_double_click(self, index: QModelIndex) -> None:
        """On the row of a sweep: each trial gets its row, or all of them one again."""
        run = index.data(RUN_ROLE)
        if self._model.sweeps.led_by(self._model.row_of(run.run_id)):
            self._model.toggle_sweep(run.tags["sweep"])

    def _menu(self, position) -> None:  # type: ignore[no-untyped-def]
        if self.current() is not None:
            menu = QMenu(self)
            menu.setToolTipsVisible(True)
            menu.addActions([self._actions[name] for name in MENU])
            menu.exec(self.table.viewport().mapToGlobal(position))
