"""Timeline below a replay: thumbnails, and bars of actions, buttons, rewards and curves."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QImage, QMouseEvent, QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.features.replay.model import Replay
from gui.kit import theme
from gui.kit.painting import guarded
from gui.kit.screen import Palette, image_of
from gui.kit.words import tr
from trainer_core.wire.buttons import ALL_ACTIONS

STRIP_HEIGHT = 36
ACTION, BUTTONS, REWARD, CURVES = (0, 16), (18, 34), (35, 47), (49, 63)
"""Top and bottom of each row of the lane in pixels."""


class FilmStrip(QWidget):
    """Row of thumbnails; each shows the frame at its left edge. They are read again when the width changes."""

    frame_picked = Signal(int)

    def __init__(self, palette: Palette) -> None:
        super().__init__()
        self._palette = palette
        self._replay: Replay | None = None
        self._frames = self._frame = 0
        self._small: list[tuple[int, QImage]] = []
        self._drawn_for: tuple[object, ...] = ()
        self.setObjectName("filmStrip")
        self.setAccessibleName(tr("Small pictures along the recording"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(200, STRIP_HEIGHT)

    def show_replay(self, replay: Replay | None, frames: int) -> None:
        """Show a recording; `frames` is the length of the whole timeline, at least the recording's."""
        self._replay, self._frames = replay, frames
        self.update()

    def set_frame(self, frame: int) -> None:
        self._frame = frame
        self.update()

    def _pick(self, event: QMouseEvent) -> None:
        if self._frames and event.buttons() & Qt.MouseButton.LeftButton:
            share = event.position().x() / max(1, self.width())
            self.frame_picked.emit(min(max(int(share * self._frames), 0), self._frames - 1))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pick(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._pick(event)

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme.current()
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), QColor(colors.base))
            if self._replay is None or not self._frames:
                return
            self._draw_small(self._replay)
            for left, image in self._small:
                painter.drawImage(left, 0, image)
            place = self._frame * self.width() // self._frames
            painter.fillRect(QRect(place, 0, 2, STRIP_HEIGHT), QColor(colors.accent))

    def _draw_small(self, replay: Replay) -> None:
        key = (replay, self._frames, self.width(), self._palette.table.tobytes())
        if key == self._drawn_for:
            return
        self._drawn_for, self._small = key, []
        about = replay.recording
        wide = max(8, STRIP_HEIGHT * about.width // about.height)
        for left in range(0, self.width(), wide + 2):
            frame = left * self._frames // self.width()
            if frame < len(replay):
                image = image_of(self._palette, replay.picture(frame))
                self._small.append(
                    (left, image.scaled(wide, STRIP_HEIGHT, mode=Qt.TransformationMode.SmoothTransformation))
                )


class ActionLane(QWidget):
    """Bars below a replay: actions, buttons, reward, and curves of goal distance and the critic's value.

    An agent step is one cell with its action; buttons are drawn frame by frame.
    """

    frame_picked = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self._replay: Replay | None = None
        self._frame = self._frames = 0
        self._drawn: QPixmap | None = None
        self._drawn_for: tuple[object, ...] = ()
        self.setObjectName("actionLane")
        self.setAccessibleName(tr("Actions and rewards of the replay"))
        self.setToolTip(tr("Actions; the eight buttons; reward; distance (line), value (dashes)"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(200, CURVES[1] + 2)

    def show_replay(self, replay: Replay | None, frames: int = 0) -> None:
        """Show a recording; `frames` is the length of the whole timeline, at least the recording's."""
        self._replay, self._frame = replay, 0
        self._frames = max(frames, len(replay) if replay is not None else 0)
        self.update()

    def set_frame(self, frame: int) -> None:
        self._frame = frame
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self._frames:
            share = event.position().x() / max(1, self.width())
            self.frame_picked.emit(min(max(int(share * self._frames), 0), self._frames - 1))

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme.current()
        with QPainter(self) as painter:
            if self._replay is None or not self._frames:
                painter.fillRect(self.rect(), QColor(colors.base))
                return
            painter.drawPixmap(0, 0, self._picture(self._replay))
            place = self._frame * self.width() / self._frames
            painter.fillRect(QRectF(place, 0, 1, self.height()), QColor(colors.text))

    def _picture(self, replay: Replay) -> QPixmap:
        """Return the lane without the mark of the current frame, cached until size or theme change."""
        colors, ratio = theme.current(), self.devicePixelRatioF()
        key = (replay, self._frames, self.size(), ratio, colors.name)
        if self._drawn is None or key != self._drawn_for:
            self._drawn, self._drawn_for = QPixmap(self.size() * ratio), ()
            self._drawn.setDevicePixelRatio(ratio)
            self._drawn.fill(QColor(colors.base))
            with QPainter(self._drawn) as painter:
                painter.setFont(theme.small_font())
                scale = self.width() / self._frames
                self._paint_steps(painter, replay, scale)
                self._paint_buttons(painter, replay, scale)
                self._paint_curves(painter, replay, scale)
            self._drawn_for = key
        return self._drawn

    def _paint_steps(self, painter: QPainter, replay: Replay, scale: float) -> None:
        colors = theme.current()
        tallest = max((abs(step.reward) for step in replay.steps), default=0.0) or 1.0
        middle = sum(REWARD) / 2
        for step in replay.steps:
            start, end = step.first_frame, step.last_frame + 1
            box = QRectF(start * scale, ACTION[0], max(1.0, (end - start) * scale - 1), ACTION[1])
            self._cell(painter, box, step.action)
            if not replay.has_goal:
                continue
            height = (REWARD[1] - middle) * step.reward / tallest
            top = middle - height if height > 0 else middle
            color = QColor(colors.good if height > 0 else colors.bad)
            painter.fillRect(QRectF(box.x(), top, box.width(), max(1.0, abs(height))), color)

    def _paint_buttons(self, painter: QPainter, replay: Replay, scale: float) -> None:
        """Paint the held buttons, a bar two pixels high for each, in the order of the mask's bits."""
        colors, top = theme.current(), BUTTONS[0]
        for bit in range(8):
            held = np.flatnonzero(np.diff(replay.buttons >> bit & 1, prepend=0, append=0))
            color = QColor(colors.curves[bit % len(colors.curves)])
            for start, end in held.reshape(-1, 2).tolist():
                wide = max(1.0, (end - start) * scale)
                painter.fillRect(QRectF(start * scale, top + 2 * bit, wide, 2), color)

    def _paint_curves(self, painter: QPainter, replay: Replay, scale: float) -> None:
        if not replay.has_goal:
            return
        colors = theme.current()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        told = [
            ([(step.last_frame, step.dist) for step in replay.steps], colors.curves[0], 0),
            ([(step.first_frame, step.value) for step in replay.steps if step.value is not None], colors.curves[1], 1),
        ]
        for points, color, dash in told:
            if len(points) < 2:
                continue
            values = [value for _, value in points]
            least, room = min(values), (max(values) - min(values)) or 1.0
            high = CURVES[1] - CURVES[0]
            painter.setPen(QPen(QColor(color), 1.2, theme.DASHES[dash]))
            painter.drawPolyline(
                [QPointF((frame + 0.5) * scale, CURVES[1] - high * (value - least) / room) for frame, value in points]
            )

    def _cell(self, painter: QPainter, box: QRectF, action: int) -> None:
        colors = theme.current()
        painter.fillRect(box, QColor(colors.raised))
        if not 0 <= action < len(ALL_ACTIONS):
            return
        color = QColor(colors.curves[action % len(colors.curves)])
        painter.fillRect(QRectF(box.x(), box.bottom() - 3, box.width(), 3), color)
        if box.width() > 36:
            painter.setPen(QColor(colors.text))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, ALL_ACTIONS[action])
