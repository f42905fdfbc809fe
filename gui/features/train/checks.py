"""List of preflight checks: one line each, with sign and result, and a button for the first remedy."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec
from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from gui.kit import theme
from gui.kit.boxes import named, vbox
from gui.kit.labels import button
from gui.kit.painting import guarded_item
from gui.kit.words import tr
from gui.state.failures import Failure, failure_of_check
from trainer_core.service.preflight import Check

_SIGNS = {"ok": ("ok", "good"), "warn": ("!", "warn"), "fail": ("x", "bad")}
_TASK = re.compile(r"\b[a-z0-9_]+(?:/[a-z0-9_]+)*")
"""What may be the id of a task."""
ROW = 20


class _CheckDelegate(QStyledItemDelegate):
    """Line of a check in three columns: sign, name, result; a long result is elided."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(120, ROW)

    @guarded_item
    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        check, colors, rect = index.data(Qt.ItemDataRole.UserRole), theme.current(), option.rect
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        if check is None:
            painter.setPen(QColor(colors.muted))
            painter.drawText(rect, flags, index.data())
            return
        sign, tone = _SIGNS[check.status]
        painter.setPen(QColor(getattr(colors, tone)))
        painter.drawText(QRect(rect.x(), rect.y(), 24, ROW), flags, sign)
        painter.setPen(QColor(colors.text))
        painter.drawText(QRect(rect.x() + 24, rect.y(), 76, ROW), flags, check.name)
        room = QRect(rect.x() + 104, rect.y(), rect.width() - 104, ROW)
        painter.setPen(QColor(colors.muted))
        text = painter.fontMetrics().elidedText(check.detail, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, flags, text)


class ChecksView(QWidget):
    """List of preflight checks; the text of each item of `list` is the check's full text."""

    remedy_chosen = Signal(object)
    command_wanted = Signal(str)
    """Id of the command that helps with a failed check, after a click on its button."""

    def __init__(self, object_name: str, task_title: Callable[[str], str], words: Callable[[str], str] = str) -> None:
        """Build the list; `words` returns the text of a command's button by the command's id."""
        super().__init__()
        self._task_title = task_title
        self._words = words
        column = vbox(self, spacing=4)
        self.list = named(QListWidget(), object_name, tr("Preflight checks"))
        self.list.setItemDelegate(_CheckDelegate(self.list))
        self.list.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setSelectionMode(QListWidget.SelectionMode.NoSelection)
        self.list.setStyleSheet("QListWidget { background: transparent; }")
        column.addWidget(self.list)
        self.fix = button(tr("Fix"), "")
        self.fix.clicked.connect(self._on_fix)
        column.addWidget(self.fix)
        self._checks: list[Check] = []
        self._checking = self._compact = False
        self.show_checks([], False)

    def set_compact(self, compact: bool) -> None:
        """Show only failed checks and warnings, for a low window."""
        if compact != self._compact:
            self._compact = compact
            self._fold()

    def _fold(self) -> None:
        shown = 0
        for row in range(self.list.count()):
            check = self.list.item(row).data(Qt.ItemDataRole.UserRole)
            hidden = self._compact and check is not None and check.status == "ok"
            self.list.setRowHidden(row, hidden)
            shown += not hidden
        self.list.setFixedHeight(ROW * shown + 2)

    def show_checks(self, checks: list[Check], checking: bool) -> None:
        self._checks, self._checking = checks, checking
        self.list.clear()
        for check in checks:
            told = _TASK.sub(lambda found: self._task_title(found[0]), check.detail)
            item = QListWidgetItem(f"{check.status} {check.name}: {told}")
            item.setData(Qt.ItemDataRole.UserRole, msgspec.structs.replace(check, detail=told))
            item.setToolTip(_tip(check))
            self.list.addItem(item)
        if checking:
            self.list.addItem(tr("Checking..."))
        elif not checks:
            self.list.addItem(tr("Checks run when you press Train new, and before every start"))
        self._fold()
        remedy, helping = self._remedy(), self._helping()
        self.fix.setVisible(remedy is not None or helping is not None)
        if remedy is None and helping is not None:
            self.fix.setText(self._words(helping.command))
            self.fix.setAccessibleName(f"{tr(helping.title)}: {self._words(helping.command)}")
        if remedy is not None:
            self.fix.setText(remedy.fix)
            self.fix.setAccessibleName(tr("Fix {name}: {fix}", name=remedy.name, fix=remedy.fix))

    def summary(self) -> tuple[str, str]:
        """Return the result of all checks in a few words, and the colour role of the sign that stands before them."""
        count = len(self._checks)
        if self._checking:
            return tr("Checking, {count} done", count=count), "muted"
        if not count:
            return tr("Not checked yet"), "muted"
        failed, doubtful = (sum(check.status == status for check in self._checks) for status in ("fail", "warn"))
        if failed:
            return (tr("1 check failed") if failed == 1 else tr("{count} checks failed", count=failed)), "error"
        if doubtful:
            return (tr("1 warning") if doubtful == 1 else tr("{count} warnings", count=doubtful)), "warn"
        return tr("{count} checks passed", count=count), "good"

    def memory(self) -> str:
        """Return what the check of the memory found, such as "700 MiB of 23 GiB"; empty before it."""
        return next((check.detail.removeprefix("about ") for check in self._checks if check.name == "Memory"), "")

    def _remedy(self) -> Check | None:
        order = {"fail": 0, "warn": 1, "ok": 2}
        found = [check for check in self._checks if check.remedy]
        return min(found, key=lambda check: order[check.status], default=None)

    def _helping(self) -> Failure | None:
        """Return the catalogue's entry for the first failed check that has no remedy of its own; None without one."""
        failed = (check for check in self._checks if check.status == "fail" and not check.remedy)
        return next(filter(None, map(failure_of_check, failed)), None)

    def _on_fix(self) -> None:
        remedy, helping = self._remedy(), self._helping()
        if remedy is not None:
            self.remedy_chosen.emit(remedy)
        elif helping is not None:
            self.command_wanted.emit(helping.command)


def _tip(check: Check) -> str:
    """Return the full text of a check for its tooltip."""
    failure = failure_of_check(check)
    title = tr(failure.title) if failure is not None else ""
    return "\n".join(part for part in (title, check.detail, check.fix) if part)
