"""Curves as PyQtGraph items: those that grow one by one, all others together as a picture painted in slices.

Qt strokes an antialiased line of 1.5 pixels 20 to 60 times as slowly as one of a single device pixel
(docs/adr/0032-curves-by-pyqtgraph.md). So a line is painted on screens as several thin ones, a fraction of a pixel
apart; files get it as one. Many curves together take another way, `Picture._paint_crowd`.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from pyqtgraph import functions as fn
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPen, QPolygonF, QTransform

from gui.kit import theme
from gui.kit.painting import guarded_item
from gui.kit.plot_look import LINE, OVER
from gui.kit.plot_shapes import CROWD, Array, Band, Curve, Dots, Scene, to_axis

DOT, RING = 3.5, 1.5
"""Radius of a dot, and width of the ring around it in the colour of the ground."""
MOST_SHIFTED, SHIFT = 3.5, 0.43
"""Device pixels up to which a line is painted as thin lines side by side, and how far they are shifted for each device
pixel of width beyond one: 1.5 comes out as 1.24 to 1.80, by the slope, as Qt's own thin lines are 0.7 to 1.0."""
CROSS, CORNER = ((0, 1), (0, -1), (1, 0), (-1, 0)), ((0, 1), (1, 0), (1, 1))
"""Shifts (down, across) that make the lines of a crowd wider by two samples, and by one."""
Part = Band | Curve | Dots


def polygon(points: Array) -> QPolygonF:
    """Return f64[n, 2] points as a polygon, which the next call with as many points changes."""
    made, places = _room(len(points))
    places[:] = points
    return made


@functools.lru_cache(maxsize=64)
def _room(count: int) -> tuple[QPolygonF, Array]:
    """Return a polygon of `count` points, and its memory as f64[count, 2]."""
    made = fn.create_qpolygonf(count)
    return made, fn.ndarray_from_qpolygonf(made)


@functools.lru_cache(maxsize=16)
def _shifts(wide: float) -> Array:
    """Return f64[n, 2], the shifts of lines one device pixel wide that together are about `wide` device pixels wide."""
    if wide <= 1.01:
        return np.zeros((1, 2))
    count = 3 if wide <= 2.0 else 8
    angles = 2 * np.pi * (np.arange(count) + 0.25) / count
    return np.stack([np.sin(angles), np.cos(angles)], axis=1) * (wide - 1) * SHIFT


def stroke(painter: QPainter, points: Array, color: QColor, width: float, *, is_file: bool = False) -> None:
    """Draw the polyline of f64[n, 2] points, in pixels, `width` pixels wide; a single point becomes a dot."""
    if len(points) < 2:
        for x, y in points:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(color)
            painter.drawEllipse(QPointF(x, y), width + 1, width + 1)
        return
    painter.setBrush(Qt.BrushStyle.NoBrush)
    ratio = painter.device().devicePixelRatioF()
    if is_file or width * ratio > MOST_SHIFTED or (color.alpha() < 255 and width * ratio > 1.01):
        pen = QPen(color, width)
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        painter.setPen(pen)
        painter.drawPolyline(polygon(points))
        return
    pen = QPen(color, 1.0)
    pen.setCosmetic(True)
    painter.setPen(pen)
    for shift in _shifts(width * ratio) / ratio:
        painter.drawPolyline(polygon(points + shift))


def paint_dots(painter: QPainter, points: Array, color: QColor, ground: QColor, radius: float = DOT) -> None:
    """Draw f64[n, 2] points, in pixels, as discs with a ring in the colour of the ground."""
    painter.setPen(QPen(ground, RING))
    painter.setBrush(color)
    for x, y in points:
        painter.drawEllipse(QPointF(x, y), radius + RING / 2, radius + RING / 2)


def on_axes(part: Part, scene: Scene) -> Array:
    """Return f64[n, 2], the points of a curve, dots or the outline of a band in axis units; only finite ones."""
    x = to_axis(part.x, log=scene.log_x)
    if isinstance(part, Band):
        x, y = np.concatenate([x, x[::-1]]), np.concatenate([part.high, part.low[::-1]])
        y = to_axis(y, log=scene.log_y)
    else:
        y = to_axis(part.y, log=scene.log_y)
    points = np.empty((len(x), 2))
    points[:, 0], points[:, 1] = x, y
    finite = np.isfinite(points)
    return points if finite.all() else points[finite.all(axis=1)]


class Picture:
    """Image of `parts` of a scene in the area of a view, painted in several calls."""

    def __init__(self, look: object, scene: Scene, parts: list[Part], size: QSize, ratio: float) -> None:
        """Prepare it for a view of `size` pixels; `look` is all that its pixels depend on beside the parts."""
        self.look, self.scene, self.parts = look, scene, parts
        (low, high), (floor, top) = axis_ranges(scene)
        self.rect = QRectF(low, floor, high - low, top - floor)
        self._scale = np.array([size.width() / (high - low), size.height() / (floor - top)])
        self._origin = np.array([-low * self._scale[0], OVER - top * self._scale[1]])
        self._size, self._ratio = size + QSize(0, 2 * OVER), ratio
        self.image = QImage(self._size * ratio, QImage.Format.Format_ARGB32_Premultiplied)
        self.image.setDevicePixelRatio(ratio)
        self.image.fill(Qt.GlobalColor.transparent)
        self._work = self._paint()

    def paint_on(self, deadline: float = math.inf) -> bool:
        """Paint until `deadline`, a time of `time.perf_counter`; return whether all is painted."""
        return all(time.perf_counter() <= deadline for _ in self._work)

    def _paint(self) -> Iterator[None]:
        """Paint all parts, with a pause after each, where the caller may stop."""
        crowd = [part for part in self.parts if isinstance(part, Curve) and part.width == LINE and len(part.x) > 1]
        crowd = crowd if len(crowd) > CROWD else []
        apart = set(map(id, crowd))
        dots = [part for part in self.parts if isinstance(part, Dots)]
        with QPainter(self.image) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            for part in self.parts:
                if id(part) not in apart and not isinstance(part, Dots):
                    paint_part(painter, part, self._pixels(part), self.scene)
                    yield
            if crowd:
                yield from self._paint_crowd(painter, crowd)
            for part in dots:
                paint_part(painter, part, self._pixels(part), self.scene)
                yield

    def _pixels(self, part: Part, samples: int = 1) -> Array:
        return on_axes(part, self.scene) * (self._scale * samples) + self._origin * samples

    def _paint_crowd(self, painter: QPainter, curves: list[Curve]) -> Iterator[None]:
        """Paint many curves of width LINE, with a pause after each, in a third of the time of `stroke`.

        Each is drawn once, in samples smaller than pixels, by its number in place of its colour. Where lines meet, the
        highest number is on top, so a line becomes wider by the maximum of neighbouring samples. Then numbers become
        colours, and the mean of the samples of a pixel smooths the edges.
        """
        samples = math.ceil(self._ratio) + 1
        image = QImage(self._size * samples, QImage.Format.Format_RGB32)
        image.fill(Qt.GlobalColor.black)
        with QPainter(image) as numbers:
            for index, curve in enumerate(curves):
                number = index % 0xFFFF + 1
                numbers.setPen(QPen(QColor(0, number >> 8, number & 0xFF), 0))
                numbers.drawPolyline(polygon(self._pixels(curve, samples)))
                yield
        found = np.frombuffer(image.constBits(), np.uint16)[::2].reshape(image.height(), image.width()).copy()
        twice, once = divmod(int(LINE * samples) - 1, 2)
        for shifts in [CROSS] * twice + [CORNER] * once:
            found = _widened(found, shifts)
        colors = np.array([0, *(curve.color.rgba() for curve in curves[:0xFFFF])], np.uint32)[found]
        made = QImage(colors.data, image.width(), image.height(), QImage.Format.Format_ARGB32_Premultiplied)
        wanted = self.image.size()
        made = made.scaled(wanted, mode=Qt.TransformationMode.SmoothTransformation)
        made.setDevicePixelRatio(self._ratio)
        painter.drawImage(0, 0, made)
        yield


def _widened(numbers: NDArray[np.uint16], shifts: tuple[tuple[int, int], ...]) -> NDArray[np.uint16]:
    """Return u16[h, w], each sample the maximum of itself and its neighbours at these shifts."""
    made, (height, width) = numbers.copy(), numbers.shape
    for down, across in shifts:
        here = made[max(0, down) : height + min(0, down), max(0, across) : width + min(0, across)]
        there = numbers[max(0, -down) : height - max(0, down), max(0, -across) : width - max(0, across)]
        np.maximum(here, there, out=here)
    return made


def axis_ranges(scene: Scene) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the ranges of x and y of a scene in axis units."""
    x, y = (np.asarray(ends, np.float64) for ends in (scene.x_range, scene.y_range))
    (low, high), (floor, top) = to_axis(x, log=scene.log_x), to_axis(y, log=scene.log_y)
    return (float(low), float(high)), (float(floor), float(top))


def paint_part(painter: QPainter, part: Part, points: Array, scene: Scene, *, is_file: bool = False) -> None:
    """Draw a part whose points lie at these pixels."""
    if isinstance(part, Curve):
        stroke(painter, points, part.color, part.width, is_file=is_file)
    elif isinstance(part, Dots):
        paint_dots(painter, points, part.color, QColor(theme.colors(scene.theme).base))
    else:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(part.color)
        painter.drawPolygon(polygon(points))


def clipped(part: Part, points: Array, area: QRectF) -> list[Array]:
    """Return the pieces of a part's points that lie in an area: an SVG file of Qt's has no clipping."""
    low, high = np.array([area.left(), area.top()]), np.array([area.right(), area.bottom()])
    if isinstance(part, Dots) or len(points) < 2:
        return [points[((low <= points) & (points <= high)).all(axis=1)]]
    if isinstance(part, Band):
        shape = polygon(points).intersected(QPolygonF(area))
        return [np.array([(place.x(), place.y()) for place in shape.toList()])] if shape.size() else []
    begin, way = points[:-1], np.diff(points, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.sort([(low - begin) / way, (high - begin) / way], axis=0)
    still = (way == 0) & (low <= begin) & (begin <= high)
    enters = np.where(still, -np.inf, ends[0]).max(axis=1, initial=0.0)
    leaves = np.where(still, np.inf, ends[1]).min(axis=1, initial=1.0)
    pieces: list[list[Array]] = []
    for index in np.flatnonzero(enters < leaves):
        if not pieces or enters[index] > 0 or not np.array_equal(pieces[-1][-1], begin[index]):
            pieces.append([begin[index] + enters[index] * way[index]])
        pieces[-1].append(points[index + 1] if leaves[index] == 1 else begin[index] + leaves[index] * way[index])
    return [np.array(piece) for piece in pieces]


class Layer(pg.GraphicsObject):
    """Item of the parts that do not grow: on screens a picture, which moves with the view; in files vectors."""

    def __init__(self) -> None:
        super().__init__()
        self.picture: Picture | None = None
        self.vectors: tuple[list[Part], Scene] | None = None
        """Parts to draw, and their scene, where the plot belongs to a file."""

    def show_picture(self, picture: Picture) -> None:
        if picture is not self.picture:
            self.prepareGeometryChange()
            self.picture = picture
            self.update()

    def boundingRect(self) -> QRectF:
        view = self.getViewBox()
        if view is None:
            return QRectF()
        return self.mapRectFromScene(view.sceneBoundingRect().adjusted(0, -OVER, 0, OVER))

    @guarded_item
    def paint(self, painter: QPainter, *_: Any) -> None:
        to_scene = in_pixels(self, painter)
        if self.vectors is not None:
            device, (parts, scene), area = painter.device(), self.vectors, to_scene.mapRect(self.boundingRect())
            if len(parts) > CROWD and isinstance(device, QImage):  # strokes would take seconds
                size = QSize(int(area.width()), int(area.height()) - 2 * OVER)
                self.picture = Picture(None, scene, parts, size, device.devicePixelRatioF())
                self.picture.paint_on()
            else:
                for part in parts:
                    for points in clipped(part, mapped(to_scene, on_axes(part, scene)), area):
                        paint_part(painter, part, points, scene, is_file=True)
        if self.picture is not None:
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            ratio = self.picture.image.devicePixelRatio()
            target = to_scene.mapRect(self.picture.rect)
            over = OVER * target.height() * ratio / max(1.0, self.picture.image.height() - 2 * OVER * ratio)
            painter.drawImage(target.adjusted(0, -over, 0, over), self.picture.image)


class Line(pg.PlotCurveItem):
    """One curve that is painted by itself: a growing one, or that under the pointer."""

    def __init__(self, *, is_file: bool = False) -> None:
        super().__init__()
        self._curve: Curve | None = None
        self._is_file = is_file
        if not is_file:
            self.setCacheMode(self.CacheMode.DeviceCoordinateCache)

    def show_curve(self, curve: Curve, scene: Scene) -> None:
        points = on_axes(curve, scene)
        self._curve = curve
        self.setData(points[:, 0], points[:, 1], pen=pg.mkPen(curve.color, width=curve.width + LINE))

    @guarded_item
    def paint(self, painter: QPainter, *_: Any) -> None:
        x, y = self.getData()
        if self._curve is None or x is None or y is None:
            return
        to_scene = in_pixels(self, painter)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        points = mapped(to_scene, np.stack([x, y], axis=1))
        stroke(painter, points, self._curve.color, self._curve.width, is_file=self._is_file)


def in_pixels(item: pg.GraphicsObject, painter: QPainter) -> QTransform:
    """Let the painter of an item paint in pixels of its scene; return how the item's places become such pixels."""
    to_scene = item.sceneTransform()
    painter.setTransform(to_scene.inverted()[0] * painter.transform())
    return to_scene


def mapped(transform: QTransform, points: Array) -> Array:
    """Return f64[n, 2] points moved and scaled by a transform without rotation."""
    return points * (transform.m11(), transform.m22()) + (transform.dx(), transform.dy())
