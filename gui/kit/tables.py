"""Tables: every other row on another ground, the row under the pointer marked whole, small heads."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QRect, Qt
from PySide6.QtGui import QColor, QEnterEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QTableView,
    QTableWidget,
    QTableWidgetItem,
)

from gui.kit import theme
from gui.kit.icons import paint_icon
from gui.kit.painting import guarded_item
from gui.kit.style_sheet import GAP, ROW, TABLE_HEAD

HOVERED = "hoveredRow"
"""Property of a table: number of the row under the pointer, -1 for none."""
ARROW = 10
"""Size in pixels of the arrow on the sorted column."""
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class RowDelegate(QStyledItemDelegate):
    """Cell that is marked as under the pointer while its row is, where Qt marks a single cell."""

    def initStyleOption(self, option, index) -> None:  # type: ignore[no-untyped-def]
        super().initStyleOption(option, index)
        over = QStyle.StateFlag.State_MouseOver
        is_over = option.widget is not None and option.widget.property(HOVERED) == index.row()
        option.state = option.state | over if is_over else option.state & ~over


class _Hover(QObject):
    """Writes the row under the pointer to the property HOVERED of a table."""

    def __init__(self, view: QTableView) -> None:
        super().__init__(view)
        self._view = view
        view.setProperty(HOVERED, -1)
        view.setMouseTracking(True)
        view.viewport().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        moves = (QEvent.Type.MouseMove, QEvent.Type.Enter)
        if isinstance(event, QMouseEvent | QEnterEvent) and event.type() in moves:
            self._move_to(self._view.rowAt(int(event.position().y())))
        elif event.type() in (QEvent.Type.Leave, QEvent.Type.Wheel):
            self._move_to(-1)
        return False

    def _move_to(self, row: int) -> None:
        if row != self._view.property(HOVERED):
            self._view.setProperty(HOVERED, row)
            self._view.viewport().update()


class Head(QHeaderView):
    """Head of a table: small texts, and an arrow on the sorted column only, beside its text."""

    def __init__(self, view: QTableView) -> None:
        super().__init__(Qt.Orientation.Horizontal, view)
        self.setHighlightSections(False)
        self.setSectionsClickable(True)
        self.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.setFixedHeight(TABLE_HEAD)

    @guarded_item
    def paintSection(self, painter: QPainter, rect: QRect, index: int) -> None:
        colors, role = theme.current(), Qt.ItemDataRole
        painter.fillRect(rect, QColor(colors.window))
        painter.fillRect(QRect(rect.x(), rect.bottom(), rect.width(), 1), QColor(colors.border))
        read = self.model().headerData
        side = read(index, Qt.Orientation.Horizontal, role.TextAlignmentRole)
        is_right = side is not None and bool(int(side) & int(Qt.AlignmentFlag.AlignRight))
        room = rect.adjusted(GAP + 3, 0, -GAP - 3, 0)  # as the texts of cells stand, with Qt's own margin
        text = str(read(index, Qt.Orientation.Horizontal, role.DisplayRole) or "")
        painter.setFont(theme.small_font())
        if self.isSortIndicatorShown() and index == self.sortIndicatorSection():
            width = min(painter.fontMetrics().horizontalAdvance(text), room.width() - ARROW - 2)
            x = room.right() - width - ARROW - 1 if is_right else room.left() + width + 2
            is_up = self.sortIndicatorOrder() == Qt.SortOrder.AscendingOrder
            place = QRect(x, rect.center().y() - ARROW // 2, ARROW, ARROW)
            paint_icon(painter, place, "up" if is_up else "down", "text")
            room = room.adjusted(ARROW + 2, 0, 0, 0) if is_right else room.adjusted(0, 0, -ARROW - 2, 0)
        painter.setPen(QColor(colors.muted))
        short = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, RIGHT if is_right else Qt.AlignmentFlag.AlignVCenter, short)


def dress_table(view: QTableView) -> None:
    """Give a table the look of all tables; its columns keep their own delegates."""
    view.setHorizontalHeader(Head(view))
    view.verticalHeader().hide()
    view.verticalHeader().setDefaultSectionSize(ROW)
    view.setAlternatingRowColors(True)
    view.setShowGrid(False)
    view.setWordWrap(False)
    view.setTabKeyNavigation(False)
    view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    view.setItemDelegate(RowDelegate(view))
    _Hover(view)


def row_table(object_name: str, accessible: str, heads: Sequence[str], numbers: Sequence[int] = ()) -> QTableWidget:
    """Return an empty table in which single rows are selected.

    `heads` are the column titles; `numbers` are the columns of numbers, whose titles stand at the right.
    """
    made = QTableWidget(0, len(heads))
    made.setObjectName(object_name)
    made.setAccessibleName(accessible)
    dress_table(made)
    made.setSelectionMode(QTableWidget.SelectionMode.SingleSelection)
    made.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
    for place, text in enumerate(heads):
        head = QTableWidgetItem(text)
        if place in numbers:
            head.setTextAlignment(RIGHT)
        made.setHorizontalHeaderItem(place, head)
    return made
