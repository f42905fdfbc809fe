"""Pictures of games on the screen, from a Game Boy's shades or from colours.

By a table look-up and one QImage, without smoothing at whole scales.
"""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PySide6.QtCore import QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QBrush, QColor, QFontMetrics, QImage, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.kit import theme
from gui.kit.painting import guarded, saved
from trainer_core.wire.errors import ProtocolError
from trainer_core.wire.frames import FORMAT_SHADE, FrameInfo, FrameReader, FrameShape
from trainer_core.wire.shades import DEFAULT_SCREEN, SCREENS

BETWEEN = 2
"""Pixels between two tiles."""
NEARLY = 0.9
"""Share of the largest possible scale that suffices for a grid of tiles with fewer empty places."""
CRYSTAL_GAP = QColor(255, 255, 255, 56)
"""Colour of the lines between the pixels of a simulated LCD: that of the panel behind."""
HEAT = (255, 90, 0)
"""Colour of the heat map: no shade of a Game Boy."""
HEAT_ALPHA = 190
WHOLE_FROM = 0.75
"""Least share of the largest scale that fits at which a whole one is taken instead, as it is crisp."""
HINT_MARGIN = 12
"""Distance in pixels between a hint text and the edges of the screen."""
_WRAPPED = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap


def best_columns(count: int, size: tuple[int, int], room: tuple[int, int]) -> int:
    """Return the number of columns in which `count` tiles of (height, width) fit largest into (width, height).

    Among numbers with nearly the same scale, the one with the fewest empty places is taken.
    """

    def scale(columns: int) -> float:
        rows = math.ceil(count / columns)
        return min(room[0] / (columns * (size[1] + BETWEEN)), room[1] / (rows * (size[0] + BETWEEN)))

    largest = max(map(scale, range(1, count + 1)))
    good = [columns for columns in range(1, count + 1) if scale(columns) >= NEARLY * largest]
    return min(good, key=lambda columns: (-count % columns, -scale(columns)))


def tile(pictures: np.ndarray, columns: int) -> np.ndarray:
    """Return one picture of all u8[N, H, W(, 3)] in a grid with dark gaps; empty places are dark."""
    count, height, width = pictures.shape[:3]
    rows = math.ceil(count / columns)
    step_y, step_x = height + BETWEEN, width + BETWEEN
    size = (rows * step_y - BETWEEN, columns * step_x - BETWEEN, *pictures.shape[3:])
    atlas = np.full(size, 3 if pictures.ndim == 3 else 32, np.uint8)
    for index, picture in enumerate(pictures):
        x, y = place_of(index, columns, (height, width))
        atlas[y : y + height, x : x + width] = picture
    return atlas


def place_of(index: int, columns: int, size: tuple[int, int]) -> tuple[int, int]:
    """Return (x, y) of the upper left pixel of tile `index` in a picture made by `tile`."""
    return index % columns * (size[1] + BETWEEN), index // columns * (size[0] + BETWEEN)


class Mark(NamedTuple):
    """Rectangle with a label, painted over a picture; in pixels of the picture."""

    place: QRect
    text: str = ""
    """Label; not painted where it is wider than the rectangle."""
    is_framed: bool = False


def heat(weights: np.ndarray) -> QImage:
    """Return `weights` f32[rows, columns] >= 0 as an image of columns x rows pixels, transparent where they are 0."""
    rows, columns = weights.shape
    shares = np.sqrt(weights / weights.max())  # small weights stay visible beside a large one
    alpha = (shares * HEAT_ALPHA).astype(np.uint32)
    pixels = alpha << 24
    for shift, value in zip((16, 8, 0), HEAT, strict=True):
        pixels |= (alpha * value // 255) << shift
    data = pixels.astype(np.uint32).tobytes()
    kind = QImage.Format.Format_ARGB32_Premultiplied
    return QImage(data, columns, rows, columns * 4, kind).copy()


class Palette:
    """Colours of the four shades, u32[4] as 0xffRRGGBB."""

    def __init__(self) -> None:
        self.table = np.zeros(4, np.uint32)
        self.is_lcd = False
        """True if screens imitate an LCD: with a grid, and pictures that fade slowly."""
        self.is_whole = True
        """True if a game's pixel is a whole number of screen pixels, which is crisp but leaves a margin."""
        self.set_colors(SCREENS[DEFAULT_SCREEN])

    def set_colors(self, shades: tuple[int, int, int, int]) -> None:
        self.table[:] = [0xFF000000 | shade for shade in shades]

    def paint(self, shades: np.ndarray, out: np.ndarray) -> None:
        """Write `shades` u8[H, W] of 0 to 3 as colours into `out` u32[H, W]."""
        self.table.take(shades, out=out, mode="clip")


class FrameSource:
    """Reader of a frames.bin (pictures shared by a process), which may be missing or replaced by its writer."""

    def __init__(self) -> None:
        self.path: Path | None = None
        self._reader: FrameReader | None = None
        self._inode = 0
        self._next_look = 0.0
        self.seq = 0

    def open(self, path: Path | None) -> None:
        if path != self.path:
            self.path = path
            self._close()

    @property
    def shape(self) -> FrameShape | None:
        return self._reader.shape if self._reader else None

    def latest(self) -> tuple[FrameInfo, np.ndarray] | None:
        """Return data and pictures u8[envs, H, W(, 3)] of the newest frame; None if no new one was written."""
        self._look()
        if self._reader is None or self._reader.seq == self.seq:
            return None
        found = self._reader.latest()
        if found is None:
            return None
        self.seq, info, data = found
        shape = self._reader.shape
        channels = () if shape.format == FORMAT_SHADE else (3,)
        size = (shape.envs, shape.height, shape.width, *channels)
        return info, np.frombuffer(data, np.uint8).reshape(size)

    def _look(self) -> None:
        """Map the file into memory, again if it was replaced; checked at most twice a second."""
        now = time.monotonic()
        if self.path is None or (self._reader is not None and now < self._next_look):
            return
        self._next_look = now + 0.5
        try:
            inode = self.path.stat().st_ino
            if inode != self._inode:
                self._close()
                self._reader, self._inode = FrameReader(self.path), inode
        except (OSError, ProtocolError):
            return

    def _close(self) -> None:
        if self._reader is not None:
            self._reader.close()
        self._reader, self._inode, self.seq = None, 0, 0


class Screen(QWidget):
    """Widget with one picture, centred, as large as fits; at a whole scale if the palette says so."""

    painted = Signal()
    focus_lost = Signal()
    pixel_clicked = Signal(int, int)
    """(column, row) of the picture's pixel that was clicked with the left button."""

    def __init__(self, palette: Palette, object_name: str, accessible: str) -> None:
        super().__init__()
        self.setObjectName(object_name)
        self.setAccessibleName(accessible)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.shades = palette
        self._pixels: np.ndarray | None = None
        self._image: QImage | None = None
        self.picture: np.ndarray | None = None
        """Picture on show as given, u8: shades 0 to 3 or colours; None before the first."""
        self._before: np.ndarray | None = None
        """u32[H, W], colours of the previous picture, which a simulated LCD still shows in part; else None."""
        self._grid = QBrush()
        self._overlay: QImage | None = None
        self.fills = False
        """True if the picture fills the widget at any scale, although the palette asks for whole scales.

        Meant for many small tiles, which would cover only half of the widget at a whole scale.
        """
        self.marks: list[Mark] = []
        self.hint = ""
        self.paints = 0

    def sizeHint(self) -> QSize:
        return QSize(480, 432)

    def minimumSizeHint(self) -> QSize:
        return QSize(160, 144)

    @property
    def has_picture(self) -> bool:
        return self._image is not None

    def show_picture(self, picture: np.ndarray) -> None:
        """Show a picture, u8[H, W] of shades 0 to 3 or u8[H, W, 3] of colours."""
        height, width = picture.shape[:2]
        if self._pixels is None or self._pixels.shape != (height, width):
            self._pixels = np.empty((height, width), np.uint32)
            self._image = QImage(self._pixels.data, width, height, width * 4, QImage.Format.Format_RGB32)
        self.picture = picture
        if picture.ndim == 2:
            self.shades.paint(picture, self._pixels)
        else:
            rgb = picture.astype(np.uint32)
            np.bitwise_or(rgb[..., 0] << 16 | rgb[..., 1] << 8, rgb[..., 2], out=self._pixels)
            self._pixels |= np.uint32(0xFF000000)
        if self.shades.is_lcd:
            self._fade(self._pixels)
        else:
            self._before = None
        self.update()

    def _fade(self, pixels: np.ndarray) -> None:
        """Mix half of the previous picture into `pixels`, as an LCD takes longer than a frame to change."""
        if self._before is not None and self._before.shape == pixels.shape:
            np.right_shift(pixels, 1, out=pixels)
            pixels &= np.uint32(0x7F7F7F7F)
            pixels += (self._before >> 1) & np.uint32(0x7F7F7F7F)
            pixels |= np.uint32(0xFF000000)
        self._before = pixels.copy()

    def settle(self) -> None:
        """Mix the previous picture out again while no new picture arrives; called repeatedly."""
        if self._before is not None and self.picture is not None:
            last = self._before
            self.show_picture(self.picture)
            if self._before is not None and np.array_equal(last, self._before):
                self._before = None

    def recolor(self) -> None:
        """Repaint the picture after the palette's colours changed."""
        if self.picture is not None:
            self._before = None
            self.show_picture(self.picture)

    def clear(self) -> None:
        self._pixels = self._image = self.picture = None
        self.update()

    def show_overlay(self, weights: np.ndarray | None) -> None:
        """Paint a heat map over the picture: `weights` f32[rows, columns] >= 0, the greatest is brightest.

        None, or weights without a positive one, removes the heat map.
        """
        self._overlay = None if weights is None or weights.max() <= 0 else heat(weights)
        self.update()

    def fit(self) -> float:
        """Return the largest scale at which the picture fits, in device pixels per pixel of the picture."""
        if self._image is None:
            return 1.0
        ratio = self.devicePixelRatioF()
        return min(self.width() * ratio / self._image.width(), self.height() * ratio / self._image.height())

    def target(self) -> QRect:
        """Return the rectangle of the picture in device-independent pixels.

        A picture that is too large even at scale 1 is shrunk.
        """
        if self._image is None:
            return QRect()
        width, height = self._image.width(), self._image.height()
        scale = self.scale() / self.devicePixelRatioF()
        size = QSize(round(width * scale), round(height * scale))
        return QRect(
            (self.width() - size.width()) // 2, (self.height() - size.height()) // 2, size.width(), size.height()
        )

    def scale(self) -> float:
        """Return the present scale, in device pixels per pixel of the picture: whole unless much room were lost."""
        fit = self.fit()
        is_whole = not self.fills and (self.shades.is_whole or int(fit) >= WHOLE_FROM * fit)
        return float(int(fit)) if is_whole and fit >= 1 else fit

    def pixel_at(self, x: float, y: float) -> tuple[int, int] | None:
        """Return (column, row) of the picture's pixel at a point of the widget; None outside the picture."""
        target = self.target()
        column, row = x - target.x(), y - target.y()
        if self._image is None or not (0 <= column < target.width() and 0 <= row < target.height()):
            return None
        return (int(column * self._image.width() / target.width()), int(row * self._image.height() / target.height()))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        found = self.pixel_at(event.position().x(), event.position().y())
        if found is not None and event.button() == Qt.MouseButton.LeftButton:
            self.pixel_clicked.emit(*found)

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            colors = theme.current()
            painter.fillRect(self.rect(), QColor(colors.letterbox))
            if self._image is not None:
                target = self.target()
                self._paint_picture(painter, target, self._image)
                if self.shades.is_lcd and self.scale().is_integer():
                    self._paint_grid(painter, target)
                if self._overlay is not None:
                    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
                    painter.drawImage(target, self._overlay)
                self._paint_marks(painter, target)
                if self.hasFocus():
                    painter.setPen(QColor(colors.accent))
                    painter.drawRect(target.adjusted(-1, -1, 0, 0))
            if self.hint:
                self._paint_hint(painter, colors)
        self.paints += 1
        self.painted.emit()

    def _paint_picture(self, painter: QPainter, target: QRect, image: QImage) -> None:
        """Paint the picture: crisp at a whole scale, else blurred by at most one device pixel at edges."""
        scale = self.scale()
        if not scale.is_integer():
            if scale > 1:
                image = image.scaled(image.size() * (int(scale) + 1))
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawImage(target, image)

    def _paint_grid(self, painter: QPainter, target: QRect) -> None:
        """Paint the lines between the pixels of a simulated LCD, one device pixel wide, unless the scale is small."""
        ratio = self.devicePixelRatioF()
        side = int(self.scale())
        if side < 3:
            return
        if self._grid.textureImage().width() != side:
            image = QImage(side, side, QImage.Format.Format_ARGB32_Premultiplied)
            image.fill(Qt.GlobalColor.transparent)
            with QPainter(image) as lines:
                lines.fillRect(side - 1, 0, 1, side, CRYSTAL_GAP)
                lines.fillRect(0, side - 1, side - 1, 1, CRYSTAL_GAP)
            self._grid = QBrush(image)
        with saved(painter):
            painter.translate(target.topLeft())
            painter.scale(1 / ratio, 1 / ratio)
            size = QSize(round(target.width() * ratio), round(target.height() * ratio))
            painter.fillRect(QRect(QPoint(0, 0), size), self._grid)

    def _paint_marks(self, painter: QPainter, target: QRect) -> None:
        if not self.marks or self._image is None:
            return
        colors, scale = theme.current(), target.width() / self._image.width()
        painter.setFont(theme.small_font())
        room = painter.fontMetrics()
        for mark in self.marks:
            at = mark.place
            x, y = target.x() + at.x() * scale, target.y() + at.y() * scale
            box = QRect(round(x), round(y), round(at.width() * scale), round(at.height() * scale))
            if mark.is_framed:
                painter.setPen(QPen(QColor(colors.warn), 3))
                painter.drawRect(box.adjusted(1, 1, -1, -1))
            width = room.horizontalAdvance(mark.text) + 8
            if mark.text and width <= box.width():
                plate = QRect(box.left(), box.top(), width, room.height() + 2)
                painter.fillRect(plate, QColor(colors.window))
                painter.setPen(QColor(colors.text))
                painter.drawText(plate, Qt.AlignmentFlag.AlignCenter, mark.text)

    def _paint_hint(self, painter: QPainter, colors: theme.Colors) -> None:
        box = self.hint_box(painter.fontMetrics())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(colors.border))
        painter.setBrush(QColor(colors.window))
        painter.drawRoundedRect(box, 4, 4)
        painter.setPen(QColor(colors.text))
        painter.drawText(box, _WRAPPED, self.hint)

    def hint_box(self, metrics: QFontMetrics) -> QRect:
        """Return the rectangle of the hint text: at the bottom of a picture, else in the middle."""
        room = QRect(0, 0, max(40, self.width() - 2 * HINT_MARGIN - 24), self.height())
        text = metrics.boundingRect(room, _WRAPPED, self.hint)
        width, height = text.width() + 24, text.height() + 12
        bottom = self.rect().bottom() - HINT_MARGIN
        if self._image is None:
            bottom = self.rect().center().y() + height // 2
        return QRect((self.width() - width) // 2, bottom - height, width, height)

    def focusOutEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().focusOutEvent(event)
        self.focus_lost.emit()
        self.update()

    def focusInEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().focusInEvent(event)
        self.update()


def image_of(palette: Palette, picture: np.ndarray) -> QImage:
    """Return a picture, u8[H, W] of shades or u8[H, W, 3] of colours, as an image with memory of its own."""
    height, width = picture.shape[:2]
    if picture.ndim == 3:
        colors = np.ascontiguousarray(picture)
        return QImage(colors.data, width, height, width * 3, QImage.Format.Format_RGB888).copy()
    pixels = np.empty(picture.shape, np.uint32)
    palette.paint(picture, pixels)
    return QImage(pixels.data, width, height, width * 4, QImage.Format.Format_RGB32).copy()
