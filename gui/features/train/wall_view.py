"""The wall's tiles: as many whole rows of running Game Boys as fit, each with its goals and the distance left."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QImage, QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.kit import object_names as names
from gui.kit import theme
from gui.kit.painting import guarded
from gui.kit.screen import Palette
from gui.kit.words import tr

GAP, MARGIN, CAPTION = 8, 6, 18
"""Pixels between two tiles, around all of them, and of the line below each picture."""
BAR_WIDTH, BAR_HEIGHT = 46, 3
GOAL_S = 1.0
"""Seconds for which a tile says that its goal was reached."""
MOST_GOALS = 9
"""One in so many tiles says so at a time; a fast run reaches goals everywhere all the time."""
SCALES = (0.5, 1.0, 2.0, 3.0, 4.0)
"""Scales of the pictures on offer; at 0.5 a picture has the 80x72 pixels that the policy sees."""
DEFAULT_SIZE = (144, 160)


@dataclass(frozen=True, slots=True)
class Grid:
    """Whole rows of tiles in the wall's room."""

    scale: float
    """Device-independent pixels per pixel of a picture."""
    columns: int
    rows: int

    @property
    def count(self) -> int:
        return self.columns * self.rows


def fitting(scale: float, room: QSize, most: int, picture: tuple[int, int] = DEFAULT_SIZE) -> Grid | None:
    """Return the largest grid of at most `most` tiles at this scale, of pictures (height, width).

    None if not one whole row fits that fills the width.
    """
    wide, high = picture[1] * scale + GAP, picture[0] * scale + CAPTION + GAP
    columns = int((room.width() - 2 * MARGIN + GAP) // wide)
    rows = min(int((room.height() - MARGIN + GAP) // high), most // max(1, columns))
    return Grid(scale, columns, rows) if columns >= 1 and rows >= 1 else None


def grids(room: QSize, most: int, ratio: float, picture: tuple[int, int] = DEFAULT_SIZE) -> list[Grid]:
    """Return the grids that fill the width with whole rows, the most tiles first; at least one.

    On a screen with `ratio` device pixels per pixel the scales are such that each pixel of a game is as large as the
    others. Where even the largest scale leaves more columns than tiles, they stand in one row.
    """
    whole = [max(1, round(scale * ratio)) / ratio if scale >= 1 else scale for scale in SCALES]
    found = [grid for scale in whole if (grid := fitting(scale, room, most, picture)) is not None]
    if found:
        return found
    high = (room.height() - MARGIN - CAPTION - GAP) / picture[0]
    wide = (room.width() - 2 * MARGIN + GAP) / most - GAP
    fits = [scale for scale in whole if scale <= min(high, wide / picture[1])]
    return [Grid(max(fits, default=SCALES[0]), most, 1)]


class WallView(QWidget):
    """Painting of the tiles, and the mouse on them."""

    clicked = Signal(int)
    """Index of the environment whose tile was clicked with the left button."""
    frozen = Signal(int)
    """Index of the environment whose tile was clicked with the right button."""
    resized = Signal()

    def __init__(self, palette: Palette) -> None:
        super().__init__()
        self.setObjectName(names.ENV_WALL)
        self.setAccessibleName(tr("Game Boys of the training run"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self._palette = palette
        self.grid = Grid(1.0, 1, 1)
        self.order: list[int] = []
        """Index of the environment at each place."""
        self.words: dict[int, str] = {}
        """Goals of episodes of each environment, as text."""
        self.left: dict[int, float] = {}
        """Share of the way that is left, 0 to 1, of each environment."""
        self.still: set[int] = set()
        """Environments whose pictures the user froze."""
        self._goals: dict[int, float] = {}
        """Time by `time.monotonic` until which an environment's goal is shown."""
        self._pictures: np.ndarray | None = None
        self._hovered = self._current = -1
        self.hint = ""

    def sizeHint(self) -> QSize:
        return QSize(480, 432)

    def minimumSizeHint(self) -> QSize:
        return QSize(160, 144)

    @property
    def has_picture(self) -> bool:
        return self._pictures is not None

    @property
    def picture_size(self) -> tuple[int, int]:
        """(height, width) of the pictures."""
        return self._pictures.shape[1:3] if self._pictures is not None else DEFAULT_SIZE

    def show_pictures(self, pictures: np.ndarray) -> None:
        """Show the pictures by environment, u8[N, H, W] of shades or u8[N, H, W, 3] of colours."""
        self._pictures = pictures
        self.update()

    def clear(self) -> None:
        self._pictures = None
        self.words, self.left, self._goals = {}, {}, {}
        self.update()

    def recolor(self) -> None:
        self.update()

    def note_goal(self, env: int) -> None:
        """Say for GOAL_S that this environment has reached its goal."""
        self._goals[env] = time.monotonic() + GOAL_S

    # -- places -----------------------------------------------------------------------------

    def tiles(self) -> list[tuple[int, QRect]]:
        """Return (environment, rectangle of its picture) of each tile on show."""
        grid, (height, width) = self.grid, self.picture_size
        wide, high = round(width * grid.scale), round(height * grid.scale)
        left = (self.width() - grid.columns * (wide + GAP) + GAP) // 2
        shown = self.order[: grid.count]
        return [
            (
                env,
                QRect(
                    left + at % grid.columns * (wide + GAP),
                    MARGIN + at // grid.columns * (high + CAPTION + GAP),
                    wide,
                    high,
                ),
            )
            for at, env in enumerate(shown)
        ]

    def env_at(self, place: QPointF) -> int:
        """Return the environment whose tile is at a point of the widget; -1 beside the tiles."""
        for env, rect in self.tiles():
            if rect.adjusted(0, 0, 0, CAPTION).contains(place.toPoint()):
                return env
        return -1

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.resized.emit()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        env = self.env_at(event.position()) if self.has_picture else -1
        if env >= 0:
            is_right = event.button() == Qt.MouseButton.RightButton
            (self.frozen if is_right else self.clicked).emit(env)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        self._hover(self.env_at(event.position()) if self.has_picture else -1)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._hover(-1)

    def _hover(self, env: int) -> None:
        if env != self._hovered:
            self._hovered = env
            self.setCursor(Qt.CursorShape.PointingHandCursor if env >= 0 else Qt.CursorShape.ArrowCursor)
            self.update()

    def keyPressEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        """Move between the tiles by the arrow keys; Enter shows the tile large, F freezes its picture."""
        moves = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_Up: -self.grid.columns}
        moves[Qt.Key.Key_Down] = self.grid.columns
        key, shown = Qt.Key(event.key()), [env for env, _ in self.tiles()]
        if key in moves and shown:
            here = shown.index(self._current) + moves[key] if self._current in shown else 0
            self._current = shown[min(max(here, 0), len(shown) - 1)]
            self.update()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._current >= 0:
            self.clicked.emit(self._current)
        elif key == Qt.Key.Key_F and self._current >= 0:
            self.frozen.emit(self._current)
        else:
            super().keyPressEvent(event)

    # -- painting ---------------------------------------------------------------------------

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme.current()
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), QColor(colors.letterbox))
            pictures = self._pictures
            if pictures is None:
                painter.setPen(QColor(colors.muted))
                painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, self.hint)
                return
            tiles = [(env, rect) for env, rect in self.tiles() if env < len(pictures)]
            pixels = self._pixels(pictures[[env for env, _ in tiles]]) if tiles else None
            painter.setFont(theme.small_font())
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, self.grid.scale < 1)
            goals = self._shown_goals()
            for at, (env, rect) in enumerate(tiles):
                assert pixels is not None
                height, width = pixels.shape[1:]
                data = pixels[at].data
                painter.drawImage(rect, QImage(data, width, height, width * 4, QImage.Format.Format_RGB32))
                is_goal = env in goals
                self._paint_edge(painter, rect, env, is_goal)
                self._paint_caption(painter, rect, env, is_goal)

    def _shown_goals(self) -> set[int]:
        """Return the environments that say that they reached the goal: the newest ones, if many do at a time."""
        now = time.monotonic()
        self._goals = {env: end for env, end in self._goals.items() if end > now}
        newest = sorted(self._goals, key=lambda env: -self._goals[env])
        return set(newest[: max(1, self.grid.count // MOST_GOALS)])

    def _pixels(self, pictures: np.ndarray) -> np.ndarray:
        """Return the colours of pictures, u32[N, H, W]."""
        out = np.empty(pictures.shape[:3], np.uint32)
        if pictures.ndim == 3:
            self._palette.paint(pictures, out)
        else:
            rgb = pictures.astype(np.uint32)
            np.bitwise_or(0xFF000000 | rgb[..., 0] << 16 | rgb[..., 1] << 8, rgb[..., 2], out=out)
        return out

    def _paint_edge(self, painter: QPainter, rect: QRect, env: int, is_goal: bool) -> None:
        colors = theme.current()
        color, width = colors.text, 2
        if env in self.still:
            color = colors.warn
        elif not is_goal and not (self.hasFocus() and env == self._current):
            if env != self._hovered:
                return
            color, width = colors.muted, 1
        painter.setPen(QPen(QColor(color), width))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(QRectF(rect).adjusted(-2, -2, 2, 2))

    def _paint_caption(self, painter: QPainter, rect: QRect, env: int, is_goal: bool) -> None:
        colors, line = theme.current(), QRect(rect.left(), rect.bottom() + 1, rect.width(), CAPTION)
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.setPen(QColor(colors.muted))
        painter.drawText(line, middle | Qt.AlignmentFlag.AlignLeft, self.words.get(env, ""))
        right = tr("frozen") if env in self.still else tr("goal") if is_goal else ""
        if right:
            painter.setPen(QColor(colors.warn if env in self.still else colors.accent))
            painter.drawText(line, middle | Qt.AlignmentFlag.AlignRight, right)
        elif env in self.left:
            wide = min(BAR_WIDTH, rect.width() // 3)
            bar = QRectF(line.right() - wide + 1, line.center().y() - 1, wide, BAR_HEIGHT)
            painter.fillRect(bar, QColor(colors.border))
            bar.setWidth(wide * min(1.0, max(0.0, self.left[env])))
            painter.fillRect(bar, QColor(colors.muted))


class DistanceKey(QWidget):
    """Small bar that explains the bars of distance on the wall."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedSize(BAR_WIDTH // 2, BAR_HEIGHT)

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), QColor(theme.current().muted))
