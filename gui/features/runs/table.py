"""View of the run table: eye icons that show or hide curves, and queued rows that can be dragged."""

from __future__ import annotations

import functools

from PySide6.QtCore import QEvent, QMimeData, QModelIndex, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QDrag,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from gui.features.runs.model import COLUMNS, RUN_ROLE, SHOWN
from gui.kit import theme
from gui.kit.icons import icon, paint_icon
from gui.kit.labels import keep_ages
from gui.kit.painting import guarded, guarded_item
from gui.kit.style_sheet import ICON, MARK
from gui.kit.tables import dress_table
from gui.state.run_words import mark_of
from gui.state.telemetry import TelemetryModel
from trainer_core.wire.run_record import RunState

RUN_MIME = "application/x-dmglab-run"


class StateDelegate(QStyledItemDelegate):
    """Cell with the mark of a run's state before its text."""

    def initStyleOption(self, option, index) -> None:  # type: ignore[no-untyped-def]
        super().initStyleOption(option, index)
        _mark(option, *mark_of(index.data(RUN_ROLE).state))


class NameDelegate(QStyledItemDelegate):
    """Cell with a dot in the colour of the run's curves, grey while they are hidden, before its name.

    The middle of a long name is left out, because names of a sweep's trials differ at the end.
    """

    def __init__(self, telemetry: TelemetryModel, parent: QWidget) -> None:
        super().__init__(parent)
        self._telemetry = telemetry

    def initStyleOption(self, option, index) -> None:  # type: ignore[no-untyped-def]
        super().initStyleOption(option, index)
        run_id = index.data(RUN_ROLE).run_id
        slot = self._telemetry.slots.get(run_id)
        _mark(option, "dot", "ctl" if slot is None else theme.curve_color(slot).name())
        option.textElideMode = Qt.TextElideMode.ElideMiddle
        if run_id == self._telemetry.focus:
            option.font = theme.bold_font()


_icon = functools.cache(icon)


def _mark(option, name: str, color: str) -> None:  # type: ignore[no-untyped-def]
    option.features |= QStyleOptionViewItem.ViewItemFeature.HasDecoration
    option.decorationSize = QSize(MARK, MARK)
    option.icon = _icon(name, color)


class EyeDelegate(QStyledItemDelegate):
    """Cell with an eye: open while the run's curves are shown, else crossed out."""

    def __init__(self, telemetry: TelemetryModel, parent: QWidget) -> None:
        super().__init__(parent)
        self._telemetry = telemetry

    @guarded_item
    def paint(self, painter: QPainter, option, index: QModelIndex) -> None:  # type: ignore[no-untyped-def]
        super().paint(painter, option, index)
        is_shown = index.data(RUN_ROLE).run_id in self._telemetry.slots
        place = QRect(0, 0, ICON, ICON)
        place.moveCenter(option.rect.center())
        paint_icon(painter, place, "eye" if is_shown else "eyeOff", "muted" if is_shown else "disabled")


class RunTable(QTableView):
    """Table of runs; a click on an eye shows or hides that run's curves without putting it in focus.

    Dropping a queued row on another queued row moves it to that place in the queue.
    """

    eye_clicked = Signal(str)
    dropped = Signal(str, str)
    """Id of the dragged run, and of the run that it was dropped on; both are queued."""
    pointed = Signal(str)
    """Run whose row is under the pointer; empty for none."""

    def __init__(self) -> None:
        super().__init__()
        self._press: QPoint | None = None
        self._target = QModelIndex()
        self.light = dress_table(self)
        self.ages = keep_ages(self)
        self.setAcceptDrops(True)
        self.setDragDropMode(QAbstractItemView.DragDropMode.NoDragDrop)
        self.viewport().setAcceptDrops(True)

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QMouseEvent) and event.type() == QEvent.Type.MouseMove:
            index = self.indexAt(event.position().toPoint())
            self.pointed.emit(index.data(RUN_ROLE).run_id if index.isValid() else "")
        elif event.type() == QEvent.Type.Leave:
            self.pointed.emit("")
        return super().viewportEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        is_left = event.button() == Qt.MouseButton.LeftButton
        if is_left and index.isValid() and index.column() == COLUMNS.index(SHOWN):
            self.eye_clicked.emit(index.data(RUN_ROLE).run_id)
            return
        self._press = event.position().toPoint() if is_left and _waits(index) else None
        super().mousePressEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        if index.isValid() and index.column() == COLUMNS.index(SHOWN):
            self.mousePressEvent(event)
        else:
            super().mouseDoubleClickEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._press is None:
            super().mouseMoveEvent(event)
            return
        way = (event.position().toPoint() - self._press).manhattanLength()
        if way >= QApplication.startDragDistance():
            index, self._press = self.indexAt(self._press), None
            if _waits(index):
                self._drag(index)

    def _drag(self, index: QModelIndex) -> None:
        drag, carried = QDrag(self), QMimeData()
        carried.setData(RUN_MIME, index.data(RUN_ROLE).run_id.encode())
        drag.setMimeData(carried)
        row = self.visualRect(index)
        row.setLeft(0)
        row.setRight(self.viewport().width())
        drag.setPixmap(self.viewport().grab(row))
        drag.exec(Qt.DropAction.MoveAction)

    def _aim(self, index: QModelIndex) -> None:
        self._target = index
        self.viewport().update()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.mimeData().hasFormat(RUN_MIME):
            event.acceptProposedAction()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        carried = _carried(event)
        can_drop = bool(carried) and _waits(index) and index.data(RUN_ROLE).run_id != carried
        self._aim(index if can_drop else QModelIndex())
        event.setAccepted(can_drop)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._aim(QModelIndex())

    def dropEvent(self, event: QDropEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        self._aim(QModelIndex())
        if (carried := _carried(event)) and _waits(index):
            event.acceptProposedAction()
            self.dropped.emit(carried, index.data(RUN_ROLE).run_id)

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._target.isValid():  # where a dragged row would go
            rect = self.visualRect(self._target)
            with QPainter(self.viewport()) as painter:
                painter.setPen(QPen(QColor(theme.current().accent), 1))
                painter.drawRect(0, rect.top(), self.viewport().width() - 1, rect.height() - 1)


def _waits(index: QModelIndex) -> bool:
    return index.isValid() and index.data(RUN_ROLE).state is RunState.QUEUED


def _carried(event: QDropEvent) -> str:
    """Return the id of the run that is being dragged; empty if something else is dragged."""
    return bytes(event.mimeData().data(RUN_MIME).data()).decode()
