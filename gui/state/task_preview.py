"""Start and goal picture of a task side by side: what the next run is about."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.kit import theme
from gui.kit.painting import guarded
from gui.kit.screen import Palette, image_of
from gui.kit.words import tr
from gui.state.session import Session
from gui.state.task_pictures import SCREEN, TaskPictures, read_task_pictures
from trainer_core.lab.paths import HomePaths

GAP, CAPTION, MARGIN = 48, 32, 16
ARROW, HEAD = 24, 6
"""Length of the arrow from start to goal, and of its head, in pixels."""


class TaskPreview(QWidget):
    """Both pictures at the largest whole scale that fits, with a caption below each; nothing for a task without."""

    def __init__(self, palette: Palette, session: Session, home: HomePaths, *, is_stage: bool = False) -> None:
        """Follow the session's task. `is_stage` paints the ground of games instead of that of a card."""
        super().__init__()
        self.setObjectName("taskPreview")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._palette, self._session, self._home, self._is_stage = palette, session, home, is_stage
        self._task = ""
        self._found: TaskPictures | None = None
        session.task_changed.connect(lambda task: self.update())
        session.tasks_changed.connect(self._forget)

    def _forget(self) -> None:
        self._task = ""
        self.update()

    @property
    def pictures(self) -> TaskPictures | None:
        """Pictures of the session's task, read when they are first needed."""
        if self._task != self._session.task:
            self._task = self._session.task
            self._found = read_task_pictures(self._task, self._home)
            self.setAccessibleName(tr("Start and goal of {task}", task=self._session.task_title(self._task)))
        return self._found

    def scale(self) -> float:
        """Return device pixels per pixel of a screen, at most as many as fit; half of one fits everywhere."""
        ratio = self.devicePixelRatioF()
        margin = 2 * MARGIN if self._is_stage else 0
        wide = (self.width() - GAP - margin) * ratio / (2 * SCREEN[1])
        high = (self.height() - CAPTION - margin) * ratio / SCREEN[0]
        return max(0.5, int(min(wide, high)))

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            colors = theme.current()
            if self._is_stage:
                painter.fillRect(self.rect(), QColor(colors.letterbox))
            if (found := self.pictures) is None:
                painter.setPen(QColor(colors.muted))
                title = self._session.task_title(self._session.task)
                painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, title)
                return
            scale = self.scale() / self.devicePixelRatioF()
            size = QSize(round(SCREEN[1] * scale), round(SCREEN[0] * scale))
            sides = self._sides(found)
            left = (self.width() - len(sides) * size.width() - (len(sides) - 1) * GAP) // 2
            top = (self.height() - size.height() - CAPTION) // 2
            for at, (picture, head, text) in enumerate(sides):
                rect = QRect(left + at * (size.width() + GAP), top, size.width(), size.height())
                image: QImage = image_of(self._palette, picture)
                painter.drawImage(rect, image)
                self._paint_words(
                    painter, QRect(rect.left(), rect.bottom() + 1, rect.width() + GAP - 8, CAPTION), head, text
                )
            if found.goal is None:
                return
            middle = QPoint(left + size.width() + GAP // 2, top + size.height() // 2)
            tip = middle + QPoint(ARROW // 2, 0)
            painter.setPen(QPen(QColor(colors.muted), 2))
            painter.drawLine(middle - QPoint(ARROW // 2, 0), tip)
            for side in (-HEAD, HEAD):
                painter.drawLine(tip, tip + QPoint(-HEAD, side))

    def _sides(self, found: TaskPictures) -> tuple[tuple[np.ndarray, str, str], ...]:
        """Return picture, name and remark of start and goal."""
        starts = goal = ""
        if self._is_stage:
            starts = tr("one of {count} start states", count=found.starts)
            if found.held_out:
                starts = tr("{starts}, {count} held out", starts=starts, count=found.held_out)
            goal = tr("near enough at a distance of {tau:g}", tau=found.tau)
        start = (found.start, tr("Start"), starts)
        return (start,) if found.goal is None else (start, (found.goal, tr("Goal"), goal))

    def _paint_words(self, painter: QPainter, line: QRect, head: str, text: str) -> None:
        colors, flags = theme.current(), Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        font = painter.font()
        font.setBold(True)
        painter.setFont(font)
        painter.setPen(QColor(colors.text))
        painter.drawText(line, flags, head)
        line.setLeft(line.left() + painter.fontMetrics().horizontalAdvance(head) + 8)
        font.setBold(False)
        painter.setFont(font)
        painter.setPen(QColor(colors.muted))
        painter.drawText(
            line, flags, painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, int(line.width()))
        )
