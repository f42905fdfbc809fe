"""Small painted indicators: bar charts, held joypad buttons."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.kit import theme
from gui.kit.painting import guarded
from gui.kit.words import number, tr
from trainer_core.wire.buttons import ACTIONS, ALL_ACTIONS, MASK_BITS
from trainer_core.wire.records import UpdateRecord

_CROSS = {"up": (7, 1), "down": (7, 13), "left": (1, 7), "right": (13, 7)}
_ROUND = {"b": (32, 13), "a": (41, 8)}
_PILLS = {"select": 52, "start": 64}
BAR_ROW = 18
LOOP_SECTIONS = ("emulate", "observe", "forward", "learn", "log")
"""Parts of a training update of our own trainer; those of other trainers are shown too."""


class JoypadLights(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self._mask = 0
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(tr("Buttons held: none"))

    def sizeHint(self) -> QSize:
        return QSize(76, 20)

    def set_mask(self, mask: int) -> None:
        if mask != self._mask:
            self._mask = mask
            held = [name for bit, name in enumerate(MASK_BITS) if mask >> bit & 1]
            self.setAccessibleName(tr("Buttons held: {value}", value=", ".join(held) or "none"))
            self.update()

    def _color(self, name: str) -> QColor:
        colors = theme.current()
        held = self._mask >> MASK_BITS.index(name) & 1
        return QColor(colors.accent if held else colors.ctl)

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setPen(Qt.PenStyle.NoPen)
            for name, (x, y) in _CROSS.items():
                painter.fillRect(QRectF(x, y, 5, 5), self._color(name))
            painter.fillRect(QRectF(7, 7, 5, 5), QColor(theme.current().ctl))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            for name, (x, y) in _ROUND.items():
                painter.setBrush(self._color(name))
                painter.drawEllipse(QPointF(x, y), 4, 4)
            for name, x in _PILLS.items():
                painter.setBrush(self._color(name))
                painter.drawRoundedRect(QRectF(x, 9, 9, 4), 2, 2)


class _Bars(QWidget):
    title = ""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self._rows = rows
        self._record: UpdateRecord | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(tr(self.title))

    def sizeHint(self) -> QSize:
        return QSize(200, 28 + BAR_ROW * self._rows)

    def show_record(self, record: UpdateRecord | None) -> None:
        if record is not self._record:
            self._record = record
            self.setHidden(record is not None and not self.is_told(record))
            self.update()

    def is_told(self, record: UpdateRecord) -> bool:
        """Return whether the record contains the data of this chart."""
        raise NotImplementedError

    def shares(self) -> dict[str, float]:
        raise NotImplementedError

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            color = theme.current().muted
            rows = [(name, share, number(share, ".0%"), color) for name, share in self.shares().items()]
            _paint_bars(painter, self.width(), tr(self.title), rows, room=44)


class ActionBars(_Bars):
    title = "Buttons chosen"

    def __init__(self) -> None:
        super().__init__(len(ACTIONS))

    def is_told(self, record: UpdateRecord) -> bool:
        return bool(record.action_hist)

    def show_record(self, record: UpdateRecord | None) -> None:
        rows = len(record.action_hist) if record and record.action_hist else len(ACTIONS)
        if rows != self._rows:  # a task of another codec
            self._rows = rows
            self.updateGeometry()
        super().show_record(record)

    def shares(self) -> dict[str, float]:
        counts = (self._record.action_hist if self._record else []) or [0] * len(ACTIONS)
        total = sum(counts) or 1
        return {name: count / total for name, count in zip(ALL_ACTIONS, counts, strict=False)}


class TimeSplit(_Bars):
    title = "Time split"

    def __init__(self) -> None:
        super().__init__(len(LOOP_SECTIONS))

    def is_told(self, record: UpdateRecord) -> bool:
        return bool(record.time_split)

    def shares(self) -> dict[str, float]:
        split = (self._record.time_split if self._record else {}) or dict.fromkeys(LOOP_SECTIONS, 0.0)
        total = sum(split.values()) or 1.0
        return {name: seconds / total for name, seconds in list(split.items())[: len(LOOP_SECTIONS)]}


def _paint_bars(
    painter: QPainter, width: int, title: str, rows: Sequence[tuple[str, float, str, str]], room: int
) -> None:
    """Paint a title and a bar for each of `rows`: (name, share 0 to 1, text, colour).

    Names and texts get `room` pixels.
    """
    colors, middle = theme.current(), Qt.AlignmentFlag.AlignVCenter
    painter.setPen(QColor(colors.text))
    painter.drawText(12, 4, width, 18, middle, title)
    left = 12 + 56
    length = max(1, width - left - 12 - room)
    for row, (name, share, words, color) in enumerate(rows):
        y = 24 + row * BAR_ROW
        painter.setPen(QColor(colors.muted))
        painter.drawText(12, y, 56, BAR_ROW, middle, name)
        painter.fillRect(QRectF(left, y + 5, length, 8), QColor(colors.trough))
        painter.fillRect(QRectF(left, y + 5, length * min(1.0, share), 8), QColor(color))
        painter.setPen(QColor(colors.text))
        painter.drawText(width - 12 - room, y, room, BAR_ROW, middle | Qt.AlignmentFlag.AlignRight, words)
