"""Line of the buttons that were pressed in the last episodes, with a tick at each goal."""

from __future__ import annotations

from collections import deque

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.kit import theme
from gui.kit.painting import guarded
from gui.kit.words import tr
from trainer_core.wire.buttons import action_name
from trainer_core.wire.records import PlayEvent

HEIGHT, CELL = 24, 21
LONGEST = 160
"""Steps that are remembered; a very wide window shows about so many."""
SIGNS = {
    "UP": "\u2191",
    "DOWN": "\u2193",
    "LEFT": "\u2190",
    "RIGHT": "\u2192",
    "START": "S",
    "SELECT": "E",
    "none": "\u00b7",
}
"""Sign of each button; others are written as they are called."""
GOAL, END = "\u2713", "\u2013"


def sign_of(action: int) -> str:
    """Return an action in as few characters as possible, such as an arrow."""
    return "".join(SIGNS.get(part, part) for part in action_name(action).split("+"))


class ButtonLane(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self._steps: deque[tuple[str, bool]] = deque(maxlen=LONGEST)
        """Sign of each step, and whether it ended an episode."""
        self.setObjectName("buttonLane")
        self.setAccessibleName(tr("Buttons of the last episodes"))
        self.setToolTip(tr("Buttons of the last episodes; a mark shows a goal"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(HEIGHT)

    def sizeHint(self) -> QSize:
        return QSize(200, HEIGHT)

    def add(self, event: PlayEvent) -> None:
        """Add a step of the game."""
        self._steps.append((sign_of(event.action), False))
        if event.success or event.trunc:
            self._steps.append((GOAL if event.success else END, True))
        self.update()

    def clear(self) -> None:
        self._steps.clear()
        self.update()

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        shown = list(self._steps)[-max(1, self.width() // CELL) :]
        with QPainter(self) as painter:
            colors = theme.current()
            for at, (sign, is_end) in enumerate(shown):
                box = QRectF(at * CELL, 0, CELL, HEIGHT)
                is_last = at == len(shown) - 1
                if is_last and not is_end:
                    painter.fillRect(box.adjusted(1, 2, -1, -2), QColor(colors.accent_soft))
                color = colors.good if sign == GOAL else colors.accent if is_last and not is_end else colors.muted
                painter.setPen(QColor(color))
                painter.drawText(box, Qt.AlignmentFlag.AlignCenter, sign)
                if is_end:
                    painter.fillRect(QRectF(box.right(), 4, 1, HEIGHT - 8), QColor(colors.border))
