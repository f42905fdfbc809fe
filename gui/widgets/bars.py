"""Two small bar charts: how often each button is chosen, where the time goes."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui import theme
from trainer_core.protocol.buttons import ACTIONS
from trainer_core.protocol.records import UpdateRecord

ROW = 18
SECTIONS = ("emulate", "observe", "forward", "learn", "log")
"""Sections of the loop that our trainer tells; another may tell others, as many are drawn."""


class _Bars(QWidget):
    title = ""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self._rows = rows
        self._record: UpdateRecord | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.title)

    def sizeHint(self) -> QSize:
        return QSize(200, 28 + ROW * self._rows)

    def show_record(self, record: UpdateRecord | None) -> None:
        if record is not self._record:
            self._record = record
            self.update()

    def shares(self) -> dict[str, float]:
        raise NotImplementedError

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colors = theme.current()
        painter.setPen(QColor(colors.text))
        painter.drawText(12, 4, self.width(), 18, Qt.AlignmentFlag.AlignVCenter, self.title)
        left, right = 12 + 56, 12 + 44
        width = max(1, self.width() - left - right)
        for row, (name, share) in enumerate(self.shares().items()):
            y = 24 + row * ROW
            painter.setPen(QColor(colors.muted))
            painter.drawText(12, y, 56, ROW, Qt.AlignmentFlag.AlignVCenter, name)
            painter.fillRect(QRectF(left, y + 5, width, 8), QColor(colors.raised))
            color = QColor(colors.curves[0])
            painter.fillRect(QRectF(left, y + 5, width * min(1.0, share), 8), color)
            painter.setPen(QColor(colors.text))
            text = f"{share * 100:.0f} %"
            flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
            painter.drawText(self.width() - right, y, 32, ROW, flags, text)


class ActionBars(_Bars):
    title = "Buttons chosen"

    def __init__(self) -> None:
        super().__init__(len(ACTIONS))

    def shares(self) -> dict[str, float]:
        counts = (self._record.action_hist if self._record else []) or [0] * len(ACTIONS)
        total = sum(counts) or 1
        return {name: count / total for name, count in zip(ACTIONS, counts, strict=False)}


class TimeSplit(_Bars):
    title = "Where the time goes"

    def __init__(self) -> None:
        super().__init__(len(SECTIONS))

    def shares(self) -> dict[str, float]:
        split = (self._record.time_split if self._record else {}) or dict.fromkeys(SECTIONS, 0.0)
        total = sum(split.values()) or 1.0
        return {name: seconds / total for name, seconds in list(split.items())[: len(SECTIONS)]}
