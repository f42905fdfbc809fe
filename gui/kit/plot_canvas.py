"""Canvas of a plot: grid, ticks, curves, marks and crosshair, painted with QPainter.

Curves that did not change since the last paint are cached in one pixmap; only those with new points are painted over
it. So 250 finished runs beside an active one cost as much as that one. Hairlines are cosmetic pens, one device pixel
wide at any scale.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QPolygonF,
    QWheelEvent,
)
from PySide6.QtWidgets import QWidget
from shiboken6 import VoidPtr

from gui.kit import theme
from gui.kit.painting import guarded, saved
from gui.kit.plot_shapes import EMPTY, Curve, Scene, tick_text, ticks, x_ticks
from gui.kit.words import tr

_Scale = Callable[[Any], Any]
LEFT, TOP, RIGHT, BOTTOM = 46, 4, 10, 18
"""Margins around the plot in pixels; the lower one is only there if the x axis has labels."""
MOST_OVER = 12
"""Most curves with new points that are painted over the cached pixmap; with more, it is painted anew.

Also the most curves painted in one call: with more, the new pixmap is painted in several calls while the old one is
shown.
"""
SLICE = 8
"""Number of curves painted between two checks of the deadline."""
ZOOM_STEP = 1.25
LEAST_DRAG = 6
_CENTER = int(Qt.AlignmentFlag.AlignCenter)
_RIGHT_CENTER = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)


@functools.lru_cache(maxsize=8)
def _polygon(length: int) -> tuple[QPolygonF, Any]:
    """Return a polygon of `length` points, and a writable view f64[length, 2] of its points."""
    made = QPolygonF()
    made.resize(length)
    room = VoidPtr(made.data(), 16 * length, True)  # type: ignore[call-overload]
    return made, np.frombuffer(room, np.float64).reshape(-1, 2)  # type: ignore[call-overload]


@functools.lru_cache(maxsize=1024)
def _hairline(rgba: int, dash: Qt.PenStyle = Qt.PenStyle.SolidLine, width: float = 1.0) -> QPen:
    """Return a pen of this RGBA colour that is `width` device pixels wide at any scale."""
    pen = QPen(QColor.fromRgba(rgba), width, dash)
    pen.setCosmetic(True)
    return pen


@dataclass(slots=True)
class _Picture:
    """Cached pixmap of a scene's curves; `drawn` are the curves painted so far, by key."""

    look: object
    scene: Scene
    pixmap: QPixmap
    drawn: dict[object, Curve]
    _looked_at: Scene | None = None
    _lacks: list[Curve] | None = None

    def is_whole(self) -> bool:
        return len(self.drawn) == len(self.scene.curves)

    def add(self, curves: Sequence[Curve]) -> None:
        """Record that these curves were painted."""
        self.drawn |= {curve.key: curve for curve in curves}
        self._looked_at = None

    def lacks(self, look: object, scene: Scene) -> list[Curve] | None:
        """Return the curves of `scene` that are new or have new points; None if the pixmap cannot be extended to it.

        `look` has the canvas' size, ranges and colours. The result is cached, as a canvas is painted many times per
        scene.
        """
        if look != self.look:
            return None
        if scene is not self._looked_at:
            self._looked_at, self._lacks = scene, self._compare(scene)
        return self._lacks

    def _compare(self, scene: Scene) -> list[Curve] | None:
        found: list[Curve] = []
        drawn, kept = self.drawn, 0
        for curve in scene.curves:
            old = drawn.get(curve.key)
            if old is not curve:
                if old is not None and old.kind != curve.kind:
                    return None
                found.append(curve)
            kept += old is not None
        return found if kept == len(drawn) else None  # else one of them was removed


class PlotCanvas(QWidget):
    hovered = Signal(object)
    """x value under the pointer; None after the pointer left the canvas."""
    zoomed = Signal(float, float)
    """Range of x that the user selected by dragging or the wheel."""

    def __init__(self) -> None:
        super().__init__()
        self.scene = EMPTY
        self.has_axis = False
        self.paints = self.pictures = 0
        self.hover: float | None = None
        self.legend: Sequence[tuple[QColor, str]] = ()
        """(colour, text) of the lines of text shown beside the crosshair."""
        self._picture: _Picture | None = None
        self._behind: _Picture | None = None
        """Pixmap of a new scene that is not finished and not shown yet; None if there is none."""
        self._drag: tuple[float, float] | None = None
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    # -- the scene --------------------------------------------------------------------------

    def show_scene(self, scene: Scene, deadline: float = math.inf) -> bool:
        """Show a scene.

        Return False while a scene of many curves is not painted completely at `deadline`, a time of
        `time.perf_counter`; the next call continues.
        """
        before, self.scene = self.scene, scene
        if len(scene.curves) > MOST_OVER and not self._is_painted() and not self._paint_on(deadline):
            self.scene = before
            return False
        self.update()
        return True

    def _is_painted(self) -> bool:
        """Return whether at most MOST_OVER curves of the scene are missing in the cached pixmap."""
        lacks = self._picture and self._picture.lacks(self._look(), self.scene)
        return lacks is not None and len(lacks) <= MOST_OVER

    def _look(self) -> object:
        scene = self.scene
        return (
            scene.x_range,
            scene.y_range,
            scene.log_y,
            scene.theme,
            self.width(),
            self.height(),
            self.devicePixelRatioF(),
            self.has_axis,
        )

    def set_hover(self, x: float | None, legend: Sequence[tuple[QColor, str]] = ()) -> None:
        if (x, legend) != (self.hover, self.legend):
            self.hover, self.legend = x, legend
            self.update()

    def plot_rect(self) -> QRectF:
        bottom = BOTTOM if self.has_axis else 4
        return QRectF(self.rect()).adjusted(LEFT, TOP, -RIGHT, -bottom)

    # -- coordinates ------------------------------------------------------------------------

    def _scales(self) -> tuple[_Scale, _Scale]:
        """Return the functions that map x and y of the scene to pixels."""
        area, scene = self.plot_rect(), self.scene
        (low, high), (floor, top) = scene.x_range, scene.y_range
        wide = area.width() / (high - low)
        left = area.left() - low * wide

        def across(x: Any) -> Any:
            return x * wide + left

        if scene.log_y:
            log_floor = np.log10(floor)
            tall = -area.height() / (np.log10(top) - log_floor)
            bottom = area.bottom() - log_floor * tall
            return across, lambda y: np.log10(np.maximum(y, floor)) * tall + bottom
        tall = -area.height() / (top - floor)
        bottom = area.bottom() - floor * tall
        return across, lambda y: y * tall + bottom

    def _across(self, x: Any) -> Any:
        return self._scales()[0](x)

    def _down(self, y: Any) -> Any:
        return self._scales()[1](y)

    def x_at(self, across: float) -> float:
        area, (low, high) = self.plot_rect(), self.scene.x_range
        return low + (across - area.left()) * (high - low) / max(1.0, area.width())

    # -- painting ---------------------------------------------------------------------------

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        self.paints += 1
        if not self._is_painted():
            is_small = len(self.scene.curves) <= MOST_OVER
            if is_small or self._picture is None:  # else this waits until `show_scene` is done
                self._paint_on(math.inf)
        picture = self._picture
        assert picture is not None
        with QPainter(self) as painter:
            if picture.look == self._look():
                self._paint_bands(painter)
            painter.drawPixmap(0, 0, picture.pixmap)
            if (lacks := picture.lacks(self._look(), self.scene)) is not None:
                self._paint_curves(painter, lacks)
            if picture.look == self._look():
                self._paint_marks(painter)
                self._paint_crosshair(painter)

    def _paint_on(self, deadline: float) -> bool:
        """Continue to paint the new pixmap until `deadline`; return True once it is complete and shown."""
        look, scene, made = self._look(), self.scene, self._behind
        if made is None or made.look != look or (made.scene is not scene and made.lacks(look, scene) is None):
            made = self._behind = self._begin_picture(look)
        made.scene = scene
        with QPainter(made.pixmap) as painter:
            rest = [curve for curve in scene.curves if curve.key not in made.drawn]
            for start in range(0, len(rest), SLICE):
                part = rest[start : start + SLICE]
                self._paint_curves(painter, part)
                made.add(part)
                if time.perf_counter() > deadline:
                    break
        if not made.is_whole():
            return False
        self._picture, self._behind = made, None
        return True

    def _begin_picture(self, look: object) -> _Picture:
        self.pictures += 1
        ratio = self.devicePixelRatioF()
        pixmap = QPixmap(self.size() * ratio)
        pixmap.setDevicePixelRatio(ratio)
        pixmap.fill(Qt.GlobalColor.transparent)
        with QPainter(pixmap) as painter:
            self._paint_grid(painter)
        return _Picture(look, self.scene, pixmap, {})

    def paint_lines(self, painter: QPainter) -> None:
        """Paint everything except the crosshair by vector commands, for an SVG file."""
        self._paint_bands(painter)
        self._paint_grid(painter)
        # One pixel of a picture at twice the resolution would hardly be visible.
        self._paint_curves(painter, self.scene.curves, painter.device().devicePixelRatio())
        self._paint_marks(painter)

    def _paint_grid(self, painter: QPainter) -> None:
        colors, area, scene = theme.current(), self.plot_rect(), self.scene
        painter.setFont(theme.small_font())
        grid = QColor(colors.border)
        grid.setAlphaF(0.55)
        rows = max(2, int(area.height() // 34))
        ratio = self.devicePixelRatioF()
        for value in ticks(*scene.y_range, rows, log=scene.log_y):
            y = _crisp(float(self._down(value)), ratio)
            painter.setPen(_hairline(grid.rgba()))
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
            painter.setPen(QColor(colors.muted))
            box = QRectF(0, y - 8, LEFT - 6, 16)
            painter.drawText(box, _RIGHT_CENTER, tick_text(value))
        if self.has_axis:
            columns = max(2, int(area.width() // 80))
            for value, text in x_ticks(*scene.x_range, columns, by_clock=scene.by_clock):
                x = float(self._across(value))
                painter.setPen(QColor(colors.muted))
                box = QRectF(x - 40, area.bottom() + 2, 80, BOTTOM - 2)
                if box.right() > self.width():
                    box.moveRight(self.width() - 2)
                painter.drawText(box, _CENTER, text)
        painter.setPen(_hairline(QColor(colors.border).rgba()))
        bottom = _crisp(area.bottom(), ratio)
        painter.drawLine(QPointF(area.left(), bottom), QPointF(area.right(), bottom))

    def _paint_curves(self, painter: QPainter, curves: Sequence[Curve], width: float = 1.0) -> None:
        with saved(painter):
            painter.setClipRect(self.plot_rect())
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            across, down = self._scales()
            for curve in curves:
                if not len(curve.x):
                    continue
                painter.setPen(_hairline(curve.color.rgba(), curve.dash, width))
                points, pairs = _polygon(len(curve.x))
                pairs[:, 0], pairs[:, 1] = across(curve.x), down(curve.y)
                if len(pairs) > 1:
                    painter.drawPolyline(points)
                else:
                    self._paint_alone(painter, points.first(), curve.color)

    def _paint_alone(self, painter: QPainter, at: QPointF, color: QColor) -> None:
        """Paint a curve of one point as a dot, which the plot's edge does not clip."""
        area = self.plot_rect().adjusted(-4, -4, 4, 4)
        with saved(painter):
            painter.setClipRect(area)
            painter.setPen(QPen(color, 4.4, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
            painter.drawPoint(at)

    def _paint_bands(self, painter: QPainter) -> None:
        if not self.scene.bands:
            return
        with saved(painter):
            painter.setClipRect(self.plot_rect())
            painter.setPen(Qt.PenStyle.NoPen)
            across, down = self._scales()
            for band in self.scene.bands:
                if not (count := len(band.x)):
                    continue  # of runs that have no point in common yet
                area, pairs = _polygon(2 * count)
                pairs[:count, 0], pairs[:count, 1] = across(band.x), down(band.high)
                pairs[count:, 0], pairs[count:, 1] = pairs[:count, 0][::-1], down(band.low)[::-1]
                painter.setBrush(band.color)
                painter.drawPolygon(area)

    def _paint_marks(self, painter: QPainter) -> None:
        area = self.plot_rect()
        with saved(painter):
            painter.setClipRect(area.adjusted(-4, -4, 4, 4))
            for rules in self.scene.rules:
                painter.setPen(_hairline(rules.color.rgba(), rules.dash))
                for x in self._across(rules.x):
                    if area.left() <= x <= area.right():
                        painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            for dots in self.scene.dots:
                painter.setBrush(dots.color)
                for x, y in zip(self._across(dots.x), self._down(dots.y), strict=True):
                    painter.drawEllipse(QPointF(x, y), 2.6, 2.6)

    def _paint_crosshair(self, painter: QPainter) -> None:
        area, colors = self.plot_rect(), theme.current()
        if self._drag is not None:
            soft = QColor(colors.accent)
            soft.setAlphaF(0.18)
            left, right = sorted(self._drag)
            painter.fillRect(QRectF(left, area.top(), right - left, area.height()), soft)
        if self.hover is None:
            return
        x = float(self._across(self.hover))
        if not area.left() <= x <= area.right():
            return
        painter.setPen(_hairline(QColor(colors.muted).rgba()))
        painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
        if self.legend:
            self._paint_legend(painter, area, x)

    def _paint_legend(self, painter: QPainter, area: QRectF, x: float) -> None:
        colors, font = theme.current(), theme.small_font()
        metrics = QFontMetrics(font)
        most = max(2, int((area.height() - 6) // metrics.height()))
        lines = list(self.legend)
        if len(lines) > most:
            rest = len(lines) - most + 1
            lines = [*lines[: most - 1], (QColor(colors.muted), tr("and {rest} more", rest=rest))]
        width = max(metrics.horizontalAdvance(text) for _, text in lines) + 12
        height = metrics.height() * len(lines) + 6
        left = x + 8 if x + 8 + width <= area.right() else x - 8 - width
        box = QRectF(max(2.0, left), area.top() + 2, width, height)
        ground = QColor(colors.raised)
        ground.setAlphaF(0.94)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(colors.border), 1))
        painter.setBrush(ground)
        painter.drawRoundedRect(box, 3, 3)
        painter.setFont(font)
        for number, (color, text) in enumerate(lines):
            painter.setPen(color)
            row = QRectF(box.left() + 6, box.top() + 3 + number * metrics.height(), width, 16)
            painter.drawText(row, Qt.AlignmentFlag.AlignLeft, text)

    # -- the mouse --------------------------------------------------------------------------

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        x = event.position().x()
        if self._drag is not None:
            self._drag = (self._drag[0], x)
            self.update()
        inside = self.plot_rect().contains(event.position())
        self.hovered.emit(self.x_at(x) if inside else None)

    def leaveEvent(self, event: Any) -> None:
        self.hovered.emit(None)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._drag = (event.position().x(), event.position().x())
        else:
            event.ignore()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        drag, self._drag = self._drag, None
        self.update()
        if drag is not None and abs(drag[1] - drag[0]) >= LEAST_DRAG:
            low, high = sorted(map(self.x_at, drag))
            self.zoomed.emit(max(0.0, low), high)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._drag = None
        event.ignore()  # left to the card, which maximises

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom around the pointer with Ctrl and the wheel; without Ctrl the page scrolls."""
        if not event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            event.ignore()
            return
        factor = ZOOM_STEP ** (-event.angleDelta().y() / 120)
        middle, (low, high) = self.x_at(event.position().x()), self.scene.x_range
        low, high = middle - (middle - low) * factor, middle + (high - middle) * factor
        self.zoomed.emit(max(0.0, low), max(high, low + 1e-9))
        event.accept()


def _crisp(place: float, ratio: float) -> float:
    """Return `place` moved to the centre of the nearest device pixel, so that a hairline covers one pixel."""
    return (np.floor(place * ratio) + 0.5) / ratio
