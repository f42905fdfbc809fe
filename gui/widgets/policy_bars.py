"""What the policy thinks of the step that begins: a bar a button, and the value it expects."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui import object_names as names
from gui import theme
from gui.widgets.painting import guarded
from gui.words import tr
from trainer_core.wire.buttons import ACTIONS, ALL_ACTIONS
from trainer_core.wire.records import PolicyEvent

HEIGHT, TIGHT_HEIGHT, NAMES = 40, 28, 14
"""The names lie under the bars."""
VALUE_WIDTH = 104
NAME_WIDTH, ONE_NAME_WIDTH = 22, 72
"""Columns narrower than the first name the chosen action alone, in the room of the second."""


class PolicyBars(QWidget):
    """A column for each action of the codec; the one that was chosen is in the accent colour."""

    def __init__(self) -> None:
        super().__init__()
        self.event_shown: PolicyEvent | None = None
        self._height = HEIGHT
        self.setObjectName(names.POLICY_BARS)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.show_thought(None)

    def sizeHint(self) -> QSize:
        return QSize(280, self._height)

    def set_tight(self, is_tight: bool) -> None:
        """Lower bars, for a low window."""
        self._height = TIGHT_HEIGHT if is_tight else HEIGHT
        self.updateGeometry()

    def show_thought(self, event: PolicyEvent | None) -> None:
        """None while no policy plays, or one that does not tell."""
        self.event_shown = event
        self.setAccessibleName(self.words())
        self.setToolTip(self.words())
        self.update()

    def words(self) -> str:
        event = self.event_shown
        if event is None:
            return tr("No policy thinks")
        likely = ", ".join(f"{name} {share:.0%}" for name, share in zip(ALL_ACTIONS, event.probabilities, strict=False))
        return tr(
            "Step {step}: {likely}; {value_words}", step=event.step, likely=likely, value_words=self.value_words()
        )

    def value_words(self) -> str:
        value = self.event_shown.value if self.event_shown else None
        return tr("no value") if value is None else tr("value {value:+.3f}", value=value)

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        told = self.event_shown
        if told is None:
            return
        with QPainter(self) as painter:
            colors = theme.current()
            painter.setFont(theme.ui_font(8))
            width = (self.width() - VALUE_WIDTH) / max(len(told.probabilities), len(ACTIONS))
            named = width >= NAME_WIDTH
            bar = self.height() - NAMES
            for index, (name, share) in enumerate(zip(ALL_ACTIONS, told.probabilities, strict=False)):
                gap = min(2.0, width / 8)
                box = QRectF(index * width + gap, 0, width - 2 * gap, bar)
                painter.fillRect(box, QColor(colors.raised))
                height = bar * min(1.0, max(0.0, share))
                color = colors.accent if index == told.action else colors.curves[0]
                painter.fillRect(box.adjusted(0, bar - height, 0, 0), QColor(color))
                painter.setPen(QColor(colors.text if index == told.action else colors.muted))
                if named or index == told.action:
                    room = max(width, ONE_NAME_WIDTH)
                    left = min(index * width, self.width() - VALUE_WIDTH - room)
                    text = QRectF(index * width if named else left, bar, width if named else room, NAMES)
                    painter.drawText(text, Qt.AlignmentFlag.AlignCenter, name)
            painter.setPen(QColor(colors.text))
            right = QRectF(self.width() - VALUE_WIDTH, 0, VALUE_WIDTH, bar)
            flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(right, flags, self.value_words())
