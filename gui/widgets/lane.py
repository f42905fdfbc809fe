"""The lane under a replay: actions as coloured cells, rewards as bars, a mark for the frame."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui import theme
from gui.models.replay import Replay
from gui.words import tr
from trainer_core.protocol.buttons import ACTIONS


class ActionLane(QWidget):
    """One cell an agent step: the upper half names the action, the lower shows the reward."""

    frame_picked = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self._replay: Replay | None = None
        self._frame = 0
        self.setObjectName("actionLane")
        self.setAccessibleName(tr("Actions and rewards of the replay"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(200, 40)

    def show_replay(self, replay: Replay | None) -> None:
        self._replay, self._frame = replay, 0
        self.update()

    def set_frame(self, frame: int) -> None:
        self._frame = frame
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self._replay is not None and len(self._replay):
            share = event.position().x() / max(1, self.width())
            self.frame_picked.emit(int(share * (len(self._replay) - 1)))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colors = theme.current()
        painter.fillRect(self.rect(), QColor(colors.base))
        painter.setFont(theme.ui_font(8))
        replay = self._replay
        if replay is None or not len(replay):
            return
        scale = self.width() / len(replay)
        steps = replay.steps
        tallest = max((abs(step.reward) for step in steps), default=0.0) or 1.0
        for step in steps:
            start, end = step.first_frame, step.last_frame + 1
            box = QRectF(start * scale, 0, max(1.0, (end - start) * scale - 1), 18)
            self._cell(painter, box, step.action)
            reward = step.reward
            height = 9 * abs(reward) / tallest
            top = 30 - height if reward > 0 else 30
            color = colors.good if reward > 0 else colors.bad
            painter.fillRect(QRectF(box.x(), top, box.width(), max(1.0, height)), QColor(color))
        painter.fillRect(QRectF(self._frame * scale, 0, 1, self.height()), QColor(colors.text))

    def _cell(self, painter: QPainter, box: QRectF, action: int) -> None:
        colors = theme.current()
        painter.fillRect(box, QColor(colors.raised))
        if not 0 <= action < len(ACTIONS):
            return
        color = QColor(colors.curves[action % len(colors.curves)])
        painter.fillRect(QRectF(box.x(), box.bottom() - 3, box.width(), 3), color)
        if box.width() > 36:
            painter.setPen(QColor(colors.text))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, ACTIONS[action])
