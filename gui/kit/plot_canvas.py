"""Widget of one plot on PyQtGraph: shows scenes, finds the curve under the pointer, fades the others, writes files."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QContextMenuEvent, QMouseEvent, QPainter

from gui.kit import theme
from gui.kit.plot_look import BOLD, FADED, SLIM, Plot, Range, with_names
from gui.kit.plot_overlay import Overlay
from gui.kit.plot_picture import Layer, Line, Part, Picture, axis_ranges
from gui.kit.plot_shapes import EMPTY, Array, Curve, Scene

NEAR = 12.0
"""Pixels from a line within which the pointer is at it."""
MOST_LINES = 12
"""Most curves with new points that are painted by themselves; more of them belong to the picture of all."""
POINTER_MS = 16
"""Milliseconds between two searches for the curve under a moving pointer."""


class PlotCanvas(pg.GraphicsView):
    hovered = Signal(object)
    """x value under the pointer; None after the pointer left the view."""
    pointed = Signal(str)
    """Run whose curve or name is under the pointer; empty for none."""
    more_clicked = Signal(QPoint)
    """Place on the screen of the number of runs without a name."""

    def __init__(self, names_width: int = 0) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.shown = EMPTY
        self.pictures = 0
        self.has_axis = True
        self._names_width = names_width
        self._margins = with_names(names_width) if names_width else SLIM
        self.plot = Plot(self._margins)
        self.setCentralItem(self.plot)
        self.view = self.plot.view
        self.layer = Layer()
        self.view.addItem(self.layer, ignoreBounds=True)
        self.overlay = Overlay(self.plot)
        self._lines: dict[tuple[str, ...], Line] = {}
        """Items of the curves that are painted by themselves, by key."""
        self._bold: list[Line] = []
        """Items of the curves of the run under the pointer."""
        self._growing: set[tuple[str, ...]] = set()
        self._coming: tuple[Scene, Picture, list[Curve]] | None = None
        """Scene shown last, its picture, which may be unfinished, and the curves beside that."""
        self._dressed: object = None
        self._pointer: QPointF | None = None
        self._search = QTimer(self, singleShot=True, interval=POINTER_MS)
        self._search.timeout.connect(self._find)

    # -- the scene --------------------------------------------------------------------------

    def set_look(self, names_width: int, *, has_axis: bool) -> None:
        """Set the pixels for names beside the next scene, and whether the x axis has labels."""
        self._names_width, self.has_axis = names_width, has_axis
        self._margins = with_names(names_width) if names_width else SLIM

    def show_scene(self, scene: Scene, deadline: float = math.inf) -> bool:
        """Show a scene.

        Return False while its picture is not painted completely at `deadline`, a time of `time.perf_counter`; the old
        scene is shown meanwhile, and the next call continues.
        """
        self._dress(scene)
        look = (axis_ranges(scene), scene.log_x, scene.log_y, scene.theme, self._view_size(), self.devicePixelRatioF())
        if self._coming is None or self._coming[0] is not scene or self._coming[1].look != look:
            parts, lines = self._split(scene)
            known = [self.layer.picture, self._coming and self._coming[1]]
            same = next((one for one in known if one and one.look == look and one.parts == parts), None)
            self.pictures += same is None
            picture = same or Picture(look, scene, parts, self._view_size(), self.devicePixelRatioF())
            self._coming = scene, picture, lines
        _, picture, lines = self._coming
        if not picture.paint_on(deadline):
            return False
        self._show(scene, picture, lines)
        return True

    def _dress(self, scene: Scene) -> None:
        """Give the plot the colours of the scene's theme and the widths of this screen."""
        look = (scene.theme, self.devicePixelRatioF(), self._margins, self.has_axis, self.size())
        if look != self._dressed:
            self._dressed = look
            self.plot.set_margins(self._margins, has_ticks=self.has_axis)
            self.overlay.has_axis = self.has_axis
            self.plot.set_colors(scene.theme, self.devicePixelRatioF())
            self.setBackground(theme.colors(scene.theme).base)

    def _view_size(self) -> QSize:
        return self.view.rect().size().toSize().expandedTo(QSize(1, 1))

    def _split(self, scene: Scene) -> tuple[list[Part], list[Curve]]:
        """Return the parts of the scene's picture, and the curves beside it: the live ones and those that grew."""
        known = {curve.key: curve for curve in self.shown.curves}
        if (self.shown.x_range, self.shown.log_x, self.shown.theme) != (scene.x_range, scene.log_x, scene.theme):
            self._growing.clear()
        else:
            for curve in scene.curves:
                old = known.get(curve.key)
                if old is not None and old is not curve and old.color == curve.color:
                    self._growing.add(curve.key)
        lines = [curve for curve in scene.curves if curve.is_live or curve.key in self._growing]
        if len(lines) > MOST_LINES:
            lines = [curve for curve in lines if curve.is_live][:MOST_LINES]
        apart = set(map(id, lines))
        parts: list[Part] = [*scene.bands, *(curve for curve in scene.curves if id(curve) not in apart), *scene.dots]
        return parts, lines

    def _show(self, scene: Scene, picture: Picture, lines: list[Curve]) -> None:
        before, self.shown = self.shown, scene
        self.overlay.scene_shown, self.overlay.names_width = scene, self._names_width
        self.set_ranges(*axis_ranges(scene))
        self.layer.show_picture(picture)
        known = {curve.key: curve for curve in before.curves}
        for key in self._lines.keys() - {curve.key for curve in lines}:
            self.view.removeItem(self._lines.pop(key))
        for curve in lines:
            if curve.key not in self._lines:
                self._lines[curve.key] = self._add_line()
            elif known.get(curve.key) is curve and before.log_y == scene.log_y:
                continue
            self._lines[curve.key].show_curve(curve, scene)
        self._highlight()

    def _add_line(self, *, is_file: bool = False) -> Line:
        line = Line(is_file=is_file)
        self.view.addItem(line, ignoreBounds=True)
        return line

    def set_ranges(self, x: Range | None, y: Range | None) -> None:
        """Show other ranges, in axis units, of the same scene: its picture is stretched until the next scene comes."""
        now_x, now_y = self.view.viewRange()
        self.plot.set_ranges(self.shown, x or tuple(now_x), y or tuple(now_y))
        self.overlay.update()

    # -- highlight and crosshair ------------------------------------------------------------

    def set_highlight(self, run_id: str, raw: tuple[Curve, ...] = ()) -> None:
        """Fade all curves but those of this run, which get bold, above its `raw` ones; empty for no run."""
        self.overlay.highlighted = run_id
        self._highlight(raw)

    def _highlight(self, raw: tuple[Curve, ...] = ()) -> None:
        run_id, scene = self.overlay.highlighted, self.shown
        own = [curve for curve in scene.curves if run_id and curve.owner == run_id]
        wanted = [*raw, *own] if own else []
        while len(self._bold) > len(wanted):
            self.view.removeItem(self._bold.pop())
        while len(self._bold) < len(wanted):
            self._bold.append(self._add_line())
        for line, curve in zip(self._bold, wanted, strict=True):
            bold = BOLD if curve in own else curve.width
            line.show_curve(Curve(curve.key, curve.x, curve.y, curve.color, width=bold), scene)
        for line in self._lines.values():
            line.setOpacity(FADED if wanted else 1.0)
        self.layer.setOpacity(FADED if wanted else 1.0)
        self.overlay.update()

    def named(self) -> set[str]:
        """Return the owners of the names that are written."""
        return {name.owner for name in self.overlay.kept()[0]}

    def set_crosshair(self, x: float | None, values: Mapping[str, tuple[float, str]]) -> None:
        """Put the crosshair at x, with (y, value as text) of runs; None removes it."""
        self.overlay.cross, self.overlay.values = x, values
        self.overlay.update()

    def value_at(self, place: QPointF) -> tuple[float, float]:
        """Return (x, y), in data units, of a pixel of this widget."""
        x, y = self.view.value_at(self.view.mapFromScene(place))
        return 10.0**x if self.shown.log_x else x, 10.0**y if self.shown.log_y else y

    # -- the pointer ------------------------------------------------------------------------

    def mouseMoveEvent(self, ev: QMouseEvent) -> None:
        super().mouseMoveEvent(ev)
        self._pointer = ev.position() if not ev.buttons() else None
        if not self._search.isActive():
            self._search.start()

    def leaveEvent(self, ev: QEvent) -> None:
        super().leaveEvent(ev)
        self._pointer = None
        self._search.stop()
        self.hovered.emit(None)
        self.pointed.emit("")

    def mousePressEvent(self, ev: QMouseEvent) -> None:
        super().mousePressEvent(ev)
        if ev.button() == Qt.MouseButton.LeftButton and self.overlay.row_at(ev.position()) == "":
            self.more_clicked.emit(ev.globalPosition().toPoint())

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        super().mouseDoubleClickEvent(event)
        event.accept()  # it fits the axes: the card, which maximises, does not get it

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        event.ignore()  # the card has the menu

    def _find(self) -> None:
        """Tell the place under the pointer, and the run whose name or curve is there."""
        if (place := self._pointer) is None:
            return
        is_inside = self.view.sceneBoundingRect().contains(place)
        self.hovered.emit(self.value_at(place)[0] if is_inside else None)
        self.pointed.emit(self._nearest(place) if is_inside else self.overlay.row_at(place) or "")

    def _nearest(self, place: QPointF) -> str:
        """Return the run of the nearest curve within NEAR pixels; empty if there is none."""
        found, best = "", NEAR
        at = np.array([place.x(), place.y()])
        low, floor = self.value_at(place + QPointF(-NEAR, NEAR))
        high, top = self.value_at(place + QPointF(NEAR, -NEAR))
        for curve in self.shown.curves:
            if not curve.owner:
                continue
            first = max(0, int(curve.x.searchsorted(low)) - 1)
            last = int(curve.x.searchsorted(high, side="right")) + 1
            near = curve.y[first:last]
            if len(near) and near.min() <= top and near.max() >= floor:
                distance = _distance(at, self.plot.to_pixels(self.shown, curve.x[first:last], near))
                if distance < best:
                    found, best = curve.owner, distance
        return found


def _distance(at: Array, points: Array) -> float:
    """Return the distance in pixels of a place from a polyline; inf for one without points."""
    if not len(points):
        return math.inf
    if len(points) == 1:
        return float(np.hypot(*(points[0] - at)))
    begin, way = points[:-1], np.diff(points, axis=0)
    length = np.maximum((way * way).sum(axis=1), 1e-12)
    share = np.clip(((at - begin) * way).sum(axis=1) / length, 0.0, 1.0)
    off = np.hypot(*(begin + share[:, None] * way - at).T)
    return float(np.nanmin(off)) if not np.isnan(off).all() else math.inf


class FilePlot(PlotCanvas):
    """Plot of a fixed size that is painted into a file by vectors, never on the screen."""

    def __init__(self, names_width: int, width: int, height: int) -> None:
        super().__init__(names_width)
        self.overlay.is_file = True
        self.resize(width, height)
        self.resizeEvent(None)

    def show_scene(self, scene: Scene, deadline: float = math.inf) -> bool:
        self._dress(scene)
        self.shown = self.overlay.scene_shown = scene
        self.overlay.names_width = self._names_width
        self.set_ranges(*axis_ranges(scene))
        self.layer.vectors = [*scene.bands, *scene.curves, *scene.dots], scene
        return True

    def draw(self, painter: QPainter, area: QRectF) -> None:
        """Paint the plot into an area of another device."""
        painter.fillRect(area, self.backgroundBrush())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.scene().render(painter, area, QRectF(self.rect()))
