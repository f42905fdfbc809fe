"""Tables: every other row on another ground, the row under the pointer marked whole, small heads."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QRect, Qt
from PySide6.QtGui import QColor, QEnterEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QTableWidget, QTableWidgetItem, QWidget

from gui.kit import theme
from gui.kit.boxes import named
from gui.kit.icons import paint_icon
from gui.kit.painting import guarded, guarded_item
from gui.kit.style_sheet import GAP, ROW, TABLE_HEAD

ARROW = 10
"""Size in pixels of the arrow on the sorted column."""
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class RowLight(QWidget):
    """Lights up the whole row under the pointer, where Qt marks a single cell.

    It lies over the row, as a delegate in Python for each cell made the table half as fast.
    """

    def __init__(self, view: QTableView) -> None:
        super().__init__(view.viewport())
        self._view = view
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()
        view.setMouseTracking(True)
        view.viewport().installEventFilter(self)
        view.verticalScrollBar().valueChanged.connect(self.hide)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        moves = (QEvent.Type.MouseMove, QEvent.Type.Enter)
        if isinstance(event, QMouseEvent | QEnterEvent) and event.type() in moves:
            self.move_to(self._view.rowAt(int(event.position().y())))
        elif event.type() in (QEvent.Type.Leave, QEvent.Type.Resize):
            self.hide()
        return False

    def move_to(self, row: int) -> None:
        """Light up a row of the view; -1 for none."""
        view = self._view
        self.setGeometry(0, view.rowViewportPosition(row), view.viewport().width(), view.rowHeight(row))
        self.setHidden(row < 0)

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme.current()
        ground, hover, text = (QColor(name).lightnessF() for name in (colors.window, colors.hover, colors.text))
        light = QColor(colors.text)
        light.setAlphaF((hover - ground) / (text - ground))  # over the ground it is the colour `hover`
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), light)


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


def dress_table(view: QTableView) -> RowLight:
    """Give a table the look of all tables; its columns keep their own delegates. Return what lights up a row."""
    view.setHorizontalHeader(Head(view))
    view.verticalHeader().hide()
    view.verticalHeader().setDefaultSectionSize(ROW)
    view.setAlternatingRowColors(True)
    view.setShowGrid(False)
    view.setWordWrap(False)
    view.setTabKeyNavigation(False)
    view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    return RowLight(view)


def row_table(object_name: str, accessible: str, heads: Sequence[str], numbers: Sequence[int] = ()) -> QTableWidget:
    """Return an empty table in which single rows are selected.

    `heads` are the column titles; `numbers` are the columns of numbers, whose titles stand at the right.
    """
    made = named(QTableWidget(0, len(heads)), object_name, accessible)
    dress_table(made)
    made.setSelectionMode(QTableWidget.SelectionMode.SingleSelection)
    made.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
    for place, text in enumerate(heads):
        head = QTableWidgetItem(text)
        if place in numbers:
            head.setTextAlignment(RIGHT)
        made.setHorizontalHeaderItem(place, head)
    return made
