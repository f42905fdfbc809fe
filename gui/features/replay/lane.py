"""Timeline below a replay: thumbnails, and named rows of actions, buttons, rewards, distances and values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QImage, QMouseEvent, QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.features.play.lane import sign_of
from gui.features.replay.model import Replay
from gui.kit import theme
from gui.kit.painting import guarded
from gui.kit.screen import Palette, image_of
from gui.kit.words import tr
from trainer_core.wire.buttons import ALL_ACTIONS

STRIP_HEIGHT = 36
ROWS = ("Action", "Buttons", "Reward", "Distance", "Value")
ROW, GAP = 16, 3
"""Height in pixels of a row of the lane, and of the space below it."""


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


class LaneKey(QWidget):
    """Names of the rows of an ActionLane, at its left."""

    def __init__(self, lane: ActionLane) -> None:
        super().__init__()
        self._lane = lane
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(theme.small_font())
        return QSize(max(metrics.horizontalAdvance(tr(name)) for name in ROWS) + 12, self._lane.sizeHint().height())

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setFont(theme.small_font())
            painter.setPen(QColor(theme.current().muted))
            for place, name in enumerate(self._lane.rows()):
                box = QRect(0, place * (ROW + GAP), self.width(), ROW)
                painter.drawText(box, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, tr(name))


class ActionLane(QWidget):
    """Rows below a replay: action of each agent step, buttons of each frame, reward, goal distance and value."""

    frame_picked = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self._replay: Replay | None = None
        self._frame = self._frames = 0
        self._drawn: QPixmap | None = None
        self._drawn_for: tuple[object, ...] = ()
        self.setObjectName("actionLane")
        self.setAccessibleName(tr("Actions and rewards of the replay"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(200, len(self.rows()) * (ROW + GAP))

    def rows(self) -> tuple[str, ...]:
        """Return the names of the rows for which the recording has data."""
        replay = self._replay
        if replay is None or not replay.steps:
            return ROWS[1:2]
        has_values = any(step.value is not None for step in replay.steps)
        return ROWS[: (5 if has_values else 4) if replay.has_goal else 2]

    def show_replay(self, replay: Replay | None, frames: int = 0) -> None:
        """Show a recording; `frames` is the length of the whole timeline, at least the recording's."""
        self._replay, self._frame = replay, 0
        self._frames = max(frames, len(replay) if replay is not None else 0)
        self.updateGeometry()
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
                painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                for place, name in enumerate(self.rows()):
                    _PAINTS[name](painter, replay, self.width() / self._frames, place * (ROW + GAP))
            self._drawn_for = key
        return self._drawn


def _actions(painter: QPainter, replay: Replay, scale: float, top: int) -> None:
    """Paint a cell for each step with its action's sign; a bar in the action's colour where it is too narrow."""
    colors = theme.current()
    for step in replay.steps:
        start, end = step.first_frame, step.last_frame + 1
        box = QRectF(start * scale, top, max(1.0, (end - start) * scale - 1), ROW)
        painter.fillRect(box, QColor(colors.raised))
        sign = sign_of(step.action)
        if box.width() >= painter.fontMetrics().horizontalAdvance(sign):
            painter.setPen(QColor(colors.text))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, sign)
        elif 0 <= step.action < len(ALL_ACTIONS):
            color = QColor(colors.curves[step.action % len(colors.curves)])
            painter.fillRect(QRectF(box.x(), box.bottom() - 3, box.width(), 3), color)


def _buttons(painter: QPainter, replay: Replay, scale: float, top: int) -> None:
    """Paint the held buttons, a bar two pixels high for each, in the order of the mask's bits."""
    for bit in range(8):
        held = np.flatnonzero(np.diff(replay.buttons >> bit & 1, prepend=0, append=0))
        for start, end in held.reshape(-1, 2).tolist():
            bar = QRectF(start * scale, top + 2 * bit, max(1.0, (end - start) * scale), 2)
            painter.fillRect(bar, QColor(theme.current().muted))


def _rewards(painter: QPainter, replay: Replay, scale: float, top: int) -> None:
    colors = theme.current()
    tallest = max((abs(step.reward) for step in replay.steps), default=0.0) or 1.0
    for step in replay.steps:
        height = ROW / 2 * step.reward / tallest
        left, wide = step.first_frame * scale, (step.last_frame + 1 - step.first_frame) * scale - 1
        box = QRectF(left, top + ROW / 2 - max(height, 0), max(1.0, wide), max(1.0, abs(height)))
        painter.fillRect(box, QColor(colors.good if height > 0 else colors.bad))


def _distances(painter: QPainter, replay: Replay, scale: float, top: int) -> None:
    _line(painter, [(step.last_frame, step.dist) for step in replay.steps], scale, top)


def _values(painter: QPainter, replay: Replay, scale: float, top: int) -> None:
    _line(painter, [(step.first_frame, step.value) for step in replay.steps if step.value is not None], scale, top)


def _line(painter: QPainter, points: list[tuple[int, float]], scale: float, top: int) -> None:
    """Paint (frame, value) as a line from the row's lower edge, the least value, to its upper one, the greatest."""
    least, most = min(value for _, value in points), max(value for _, value in points)
    high = (ROW - 4) / ((most - least) or 1.0)
    painter.setPen(QPen(QColor(theme.current().curves[0]), 1.5))
    painter.drawPolyline([QPointF((at + 0.5) * scale, top + ROW - 2 - high * (value - least)) for at, value in points])


_PAINTS: dict[str, Callable[[QPainter, Replay, float, int], None]] = dict(
    zip(ROWS, (_actions, _buttons, _rewards, _distances, _values), strict=True)
)
"""Function that paints each row."""
