"""The preflight list: one line a check, its sign, what was found, and a button where one helps."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gui.object_names import PREFLIGHT_LIST
from gui.widgets.labels import ElidedLabel, button, label
from trainer_core.preflight import Check

_SIGNS = {"ok": ("ok", "good"), "warn": ("!", "warn"), "fail": ("x", "error")}
CHECK_COUNT = 6


class ChecksView(QWidget):
    remedy_chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName(PREFLIGHT_LIST)
        self.setAccessibleName("Preflight checks")
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(2)
        self._checks: list[Check] = []
        self._checking = self._checked = False

    def show_checks(self, checks: list[Check], checking: bool, checked: bool) -> None:
        self._checks, self._checking, self._checked = checks, checking, checked
        while (item := self._column.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.deleteLater()
        for check in checks:
            self._column.addWidget(self._line(check))
        if checking:
            self._column.addWidget(label("Checking...", "muted"))
        elif not checks:
            self._column.addWidget(label("Runs before the start", "muted"))

    def summary(self) -> tuple[str, str]:
        """A few words and the role to colour them with."""
        if self._checking:
            return f"{len(self._checks)} of {CHECK_COUNT}", "muted"
        if not self._checks:
            return "not run", "muted"
        for status, word, role in (("fail", "failed", "error"), ("warn", "to look at", "warn")):
            count = sum(check.status == status for check in self._checks)
            if count:
                return f"{count} {word}", role
        return f"{len(self._checks)} OK", "good"

    def texts(self) -> list[str]:
        return [f"{check.status} {check.name}: {check.detail}" for check in self._checks]

    def _line(self, check: Check) -> QWidget:
        line = QWidget()
        row = QHBoxLayout(line)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        sign, role = _SIGNS[check.status]
        mark = label(sign, role)
        mark.setFixedWidth(16)
        name = label(check.name)
        name.setFixedWidth(72)
        detail = ElidedLabel(check.detail, "muted")
        detail.setToolTip(f"{check.detail}\n{check.fix}" if check.fix else check.detail)
        for widget in (mark, name):
            row.addWidget(widget)
        row.addWidget(detail, 1)
        if check.remedy:
            fix = button(check.fix, clicked=lambda: self.remedy_chosen.emit(check))
            fix.setToolTip(check.fix)
            fix.setText("Fix")
            fix.setAccessibleName(f"Fix: {check.fix}")
            row.addWidget(fix)
        line.setAccessibleName(f"{check.name} {check.status}: {check.detail}")
        return line
