"""Look and mouse of every plot: PyQtGraph's plot item, view box and axes with our margins, pens and ticks."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QPainterPath

from gui.kit import theme
from gui.kit.plot_shapes import Array, Scene, tick_rows, tick_text, ticks, to_axis, x_ticks

pg.setConfigOptions(antialias=True)
LINE, BOLD, THIN = 1.5, 2.5, 1.0
"""Widths in pixels: of a smoothed curve, of that under the pointer, of raw curves and of every hairline."""
FADED, FADED_NAME, BOX_ALPHA = 0.5, 0.72, 0.16
"""Opacity of lines and names beside one under the pointer, and of the zoom box."""
OVER = 4
"""Pixels above and below the view in which curves are still painted: half of a dot or of a bold line."""
COLUMN = 80
"""Least pixels between two ticks of an x axis."""
ZOOM_STEP = 1.25
LEAST_BOX = 8
"""Least extent in pixels in which a dragged box zooms an axis."""
LEFT_BUTTON, SHIFT = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier
Range = tuple[float, float]


class Margins(NamedTuple):
    """Pixels around the view of a plot; `bottom` is that below a plot with ticks of x, else there is `bare`."""

    left: int
    top: int
    right: int
    bottom: int
    bare: int = 4


SLIM = Margins(48, 4, 8, 20)
"""Margins of a plot without names beside it; `with_names` has those of one with names."""


def with_names(width: int) -> Margins:
    """Return the margins of a plot whose names and values have `width` pixels at its right."""
    return Margins(52, 8, width, 26)


class View(pg.ViewBox):
    """View box that changes no range itself: it asks for one, since the x axes of all plots are the same."""

    asked = Signal(object, object)
    """Wanted ranges (low, high) of x and of y in axis units; None for an axis that keeps its range."""
    fitted = Signal()

    def __init__(self) -> None:
        super().__init__(enableMenu=False, defaultPadding=0)

    def shape(self) -> QPainterPath:
        """Return the area that curves are clipped to."""
        path = QPainterPath()
        path.addRect(self.rect().adjusted(0, -OVER, 0, OVER))
        return path

    def value_at(self, place: QPointF) -> tuple[float, float]:
        """Return (x, y), in axis units, of a pixel of this item."""
        (left, right), (low, high) = self.viewRange()
        across, up = place.x() / max(1.0, self.width()), 1 - place.y() / max(1.0, self.height())
        return left + across * (right - left), low + up * (high - low)

    def ask_zoom(self, axis: int, factor: float, center: float | None = None) -> None:
        """Ask for a range of one axis that is `factor` times as long, around `center` or the middle."""
        low, high = self.viewRange()[axis]
        middle = (low + high) / 2 if center is None else center
        self._ask(axis, (middle - (middle - low) * factor, middle + (high - middle) * factor))

    def ask_move(self, axis: int, share: float) -> None:
        """Ask for the range of one axis moved by `share` of its length."""
        low, high = self.viewRange()[axis]
        self._ask(axis, (low + share * (high - low), high + share * (high - low)))

    def _ask(self, axis: int, wanted: Range) -> None:
        self.asked.emit(*((wanted, None) if axis == self.XAxis else (None, wanted)))

    # -- the mouse --------------------------------------------------------------------------

    def wheelEvent(self, ev: Any, axis: int | None = None) -> None:
        """Zoom an axis by the wheel above it, x by Ctrl and the wheel anywhere; else the page scrolls."""
        if axis is None and not ev.modifiers() & Qt.KeyboardModifier.ControlModifier:
            ev.ignore()
            return
        axis = axis or self.XAxis
        self.ask_zoom(axis, ZOOM_STEP ** (-ev.delta() / 120), self.value_at(self.mapFromScene(ev.scenePos()))[axis])
        ev.accept()

    def mouseDragEvent(self, ev: Any, axis: int | None = None) -> None:
        """Zoom to the box that is dragged; with Shift, the middle button, or from an axis: move."""
        if ev.button() == Qt.MouseButton.RightButton:
            ev.ignore()
            return
        ev.accept()
        if axis is None and ev.button() == LEFT_BUTTON and not ev.modifiers() & SHIFT:
            self._drag_box(ev)
            return
        way = ev.lastPos() - ev.pos()
        (left, right), (low, high) = self.viewRange()
        across = way.x() * (right - left) / max(1.0, self.width())
        up = -way.y() * (high - low) / max(1.0, self.height())
        x, y = (left + across, right + across), (low + up, high + up)
        self.asked.emit(x if axis in (None, self.XAxis) and way.x() else None,
                        y if axis in (None, self.YAxis) and way.y() else None)  # fmt: skip

    def _drag_box(self, ev: Any) -> None:
        begun, here = ev.buttonDownPos(ev.button()), ev.pos()
        if not ev.isFinish():
            self.updateScaleBox(begun, here)
            return
        self.rbScaleBox.hide()
        wide, tall = (abs(here.x() - begun.x()) >= LEAST_BOX, abs(here.y() - begun.y()) >= LEAST_BOX)
        x, y = (tuple(sorted(ends)) for ends in zip(self.value_at(begun), self.value_at(here), strict=True))
        self.asked.emit(x if wide else None, y if tall else None)

    def mouseClickEvent(self, ev: Any) -> None:
        if ev.double() and ev.button() == LEFT_BUTTON:
            ev.accept()
            self.fitted.emit()


class Axis(pg.AxisItem):
    def generateDrawSpecs(self, p: Any) -> Any:
        """Return what to draw; of x, whole labels alone, as PyQtGraph draws ticks without length as dots."""
        specs = super().generateDrawSpecs(p)
        self.label_areas: list[QRectF] = []
        if specs is None or self.orientation == "left":
            return specs
        last = self.size().width() + SLIM.right - 1
        labels = [(area.translated(min(0.0, last - area.right()), 0.0), flags, text) for area, flags, text in specs[2]]
        self.label_areas = [area for area, _, _ in labels]
        return specs[0], [], labels

    def boundingRect(self) -> QRectF:
        """Return an area with room for the labels of both ends, which PyQtGraph leaves out otherwise."""
        return super().boundingRect().adjusted(0, -8, 0, 8) if self.orientation == "left" else super().boundingRect()


class Plot(pg.PlotItem):
    """Plot item with two axes whose ticks are ours: the ends' labels would vanish otherwise."""

    def __init__(self, margins: Margins) -> None:
        self.view = View()
        self.left, self.bottom = Axis("left"), Axis("bottom")
        super().__init__(viewBox=self.view, axisItems={"left": self.left, "bottom": self.bottom}, enableMenu=False)
        self.hideButtons()
        self.setMenuEnabled(False)
        self.left.setStyle(tickAlpha=255, maxTickLevel=0, tickLength=0, tickTextOffset=8, autoExpandTextSpace=False,
                           hideOverlappingLabels=False)  # fmt: skip
        self.left.setGrid(255)
        self.left.setZValue(-1)
        self.bottom.setStyle(tickLength=0, tickTextOffset=6, autoExpandTextSpace=False, hideOverlappingLabels=False)
        self._grid: Any = self.layout  # a method elsewhere in Qt
        self._grid.setSpacing(0)
        self.set_margins(margins, has_ticks=True)

    def area(self) -> QRectF:
        """Return the pixels of the view."""
        return self.mapRectFromItem(self.view, self.view.rect())

    def to_pixels(self, scene: Scene, x: Array, y: Array) -> Array:
        """Return f64[n, 2], the pixels of data values; NaN for those without a place on a logarithmic axis."""
        area, ((left, right), (floor, top)) = self.area(), self.view.viewRange()
        across = area.left() + (to_axis(x, log=scene.log_x) - left) * area.width() / (right - left)
        down = area.bottom() - (to_axis(y, log=scene.log_y) - floor) * area.height() / (top - floor)
        return np.stack([across, down], axis=1)

    def set_margins(self, margins: Margins, *, has_ticks: bool) -> None:
        self.left.setWidth(margins.left)
        self.bottom.setStyle(showValues=has_ticks)
        self.bottom.setHeight(margins.bottom if has_ticks else margins.bare)
        self._grid.setContentsMargins(0, margins.top, margins.right, 0)
        self._grid.activate()

    def set_colors(self, name: str, ratio: float) -> None:
        """Give axes and zoom box the colours of a theme; cosmetic pens count device pixels, `ratio` for each pixel."""
        colors, font = theme.colors(name), theme.small_font()
        for axis in (self.left, self.bottom):
            axis.setTickFont(font)
            axis.setTextPen(colors.muted)
        self.left.setPen(None)
        self.left.setTickPen(pg.mkPen(colors.border, width=ratio))
        self.bottom.setPen(pg.mkPen(colors.ctl, width=ratio))
        soft = QColor(colors.accent)
        soft.setAlphaF(BOX_ALPHA)
        self.view.rbScaleBox.setPen(pg.mkPen(colors.accent, width=ratio))
        self.view.rbScaleBox.setBrush(soft)

    def set_ranges(self, scene: Scene, x: Range, y: Range) -> None:
        """Show these ranges, in axis units, with round ticks."""
        self.view.setRange(xRange=x, yRange=y, padding=0)
        self.view.prepareForPaint()  # else it moves its items at the next paint, which causes another one
        rows = tick_rows(self.view.height())
        columns = max(2, int(self.view.width() // COLUMN))
        left, bottom = _data(x, log=scene.log_x), _data(y, log=scene.log_y)
        places = [(place, tick_text(place, is_percent=scene.is_percent))
                  for place in ticks(*bottom, rows, log=scene.log_y)]  # fmt: skip
        self.left.setTicks([_placed(places, log=scene.log_y)])
        across = x_ticks(*left, columns, by_clock=scene.by_clock, log=scene.log_x)
        self.bottom.setTicks([_placed(across, log=scene.log_x)])


def _data(ends: Range, *, log: bool) -> Range:
    return (10.0 ** ends[0], 10.0 ** ends[1]) if log else ends


def _placed(labels: list[tuple[float, str]], *, log: bool) -> list[tuple[float, str]]:
    """Return (place in axis units, label) of ticks at data values."""
    return [(math.log10(place), text) for place, text in labels if place > 0] if log else labels
