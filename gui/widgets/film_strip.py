"""Small pictures along a clip's length: where in it one is, and a way to go there."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QImage, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui import theme
from gui.models.replay import Replay
from gui.widgets.painting import guarded
from gui.widgets.screen import Palette
from gui.words import tr

HEIGHT = 36


class FilmStrip(QWidget):
    """The pictures are read once for a width; each stands for the frame under its left edge."""

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
        return QSize(200, HEIGHT)

    def show_replay(self, replay: Replay | None, frames: int) -> None:
        """`frames` is how long the whole strip is; the clip may be shorter."""
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
            painter.fillRect(QRect(place, 0, 2, HEIGHT), QColor(colors.accent))

    def _draw_small(self, replay: Replay) -> None:
        key = (replay, self._frames, self.width(), self._palette.table.tobytes())
        if key == self._drawn_for:
            return
        self._drawn_for, self._small = key, []
        about = replay.recording
        wide = max(8, HEIGHT * about.width // about.height)
        for left in range(0, self.width(), wide + 2):
            frame = left * self._frames // self.width()
            if frame < len(replay):
                image = _image(replay.picture(frame), self._palette)
                self._small.append((left, image.scaled(wide, HEIGHT, mode=Qt.TransformationMode.SmoothTransformation)))


def _image(picture: np.ndarray, palette: Palette) -> QImage:
    """A picture of shades or of colours; it owns its pixels."""
    height, width = picture.shape[:2]
    if picture.ndim == 3:
        colors = np.ascontiguousarray(picture)
        made = QImage(colors.data, width, height, 3 * width, QImage.Format.Format_RGB888)
        return made.copy()
    pixels = np.empty((height, width), np.uint32)
    palette.paint(picture, pixels)
    return QImage(pixels.data, width, height, 4 * width, QImage.Format.Format_RGB32).copy()
