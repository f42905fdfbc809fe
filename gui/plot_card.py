"""One plot: a header with values, curves drawn from the model, marks, a crosshair.

pyqtgraph is slow with many points and slower with thick or smooth lines, so it only ever gets
decimated data, width 1, no antialiasing; it is imported with the first data, not with the window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from gui import theme
from gui.models.metric_series import decimate, nearest
from gui.models.run_telemetry import RunTelemetry, TelemetryModel
from gui.object_names import PLOT_PREFIX
from gui.widgets.labels import label

if TYPE_CHECKING:
    import pyqtgraph as pg

WAITING = "Waiting for the first update, usually 5 to 20 s"
NOTHING = "Start a run, or pick one under Runs"
RAW_ALPHA = 70
AXIS_WIDTH = 46


@dataclass(frozen=True, slots=True)
class PlotSpec:
    """What one plot shows: the metric it is named after, and lines as (metric, short name)."""

    metric: str
    title: str
    lines: tuple[tuple[str, str], ...]
    evals: bool = False
    """Also mark validation results, as points."""


def short_number(value: float) -> str:
    """Five characters or so, for a person: 1.25M, 0.034, 3e-07."""
    size = abs(value)
    if size >= 1e6:
        return f"{value / 1e6:.2f}M"
    if size >= 1e4:
        return f"{value / 1e3:.1f}k"
    if size >= 100 or value == int(value):
        return f"{value:.0f}"
    return f"{value:.3g}" if size < 1e-3 else f"{value:.3f}"


def tick_text(value: float) -> str:
    """A tick's value without needless zeros: 0.4, 60k, 1.2M."""
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= 10 * size or (unit == "M" and abs(value) >= size):
            return f"{value / size:.4g}{unit}"
    return f"{value:.4g}"


class PlotCard(QWidget):
    zoomed = Signal(float, float)
    """The person chose this x range; the other plots follow."""
    hovered = Signal(object)
    """x under the pointer, None when it left."""

    def __init__(self, spec: PlotSpec, model: TelemetryModel, *, show_axis: bool) -> None:
        super().__init__()
        self.spec, self.model, self._show_axis = spec, model, show_axis
        self.setObjectName(PLOT_PREFIX + spec.metric)
        self.setAccessibleName(f"Plot of {spec.title}")
        self.setMinimumHeight(74)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 4, 0, 0)
        column.setSpacing(0)
        head = QHBoxLayout()
        head.setContentsMargins(12, 0, 12, 0)
        self._title = label(spec.title)
        self.values = QLabel()
        self.values.setTextFormat(Qt.TextFormat.RichText)
        self.values.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        head.addWidget(self._title)
        head.addWidget(self.values, 1)
        column.addLayout(head)
        self._stack = QStackedWidget()
        self._empty = label(NOTHING, "muted")
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._stack.addWidget(self._empty)
        column.addWidget(self._stack, 1)
        self._plot: pg.PlotWidget | None = None
        self._curves: dict[tuple[str, str, str], Any] = {}
        self._marks: dict[str, Any] = {}
        self._line: Any = None
        self._drawn: object = None
        self._range: tuple[float, float] | None = None
        self._hover: float | None = None
        self.redraws = 0

    # -- drawing ----------------------------------------------------------------------------

    def is_stale(self) -> bool:
        return self._key() != self._drawn

    def _key(self) -> object:
        runs = [(run.run_id, run.table.version) for run in self._runs()]
        view = (self.model.x_axis, self.model.smoothing, theme.current().name, self._range)
        return runs, view, self.width()

    def _runs(self) -> list[RunTelemetry]:
        return [self.model.runs[name] for name in self.model.shown() if name in self.model.runs]

    def redraw(self) -> None:
        """Draw what the model holds now; a few milliseconds whatever the number of points."""
        self._drawn = self._key()
        runs = [run for run in self._runs() if len(run.table)]
        if not runs:
            self._empty.setText(WAITING if self.model.focus else NOTHING)
            self._stack.setCurrentWidget(self._empty)
            self.values.clear()
            return
        plot = self._plot or self._make_plot()
        self._stack.setCurrentWidget(plot)
        self.redraws += 1
        low, high = self._x_range(runs)
        bounds = self._draw_curves(runs, low, high)
        bottom, top = _padded(*bounds)
        self._draw_marks(runs[0], bottom, top)
        plot.getViewBox().setRange(xRange=(low, high), yRange=(bottom, top), padding=0)
        self._write_values()

    def _x_range(self, runs: list[RunTelemetry]) -> tuple[float, float]:
        if self._range is not None:
            return self._range
        high = max(float(run.table.column(self.model.x_axis)[-1]) for run in runs)
        return 0.0, max(high, 1e-9) * 1.015

    def _draw_curves(
        self, runs: list[RunTelemetry], low: float, high: float
    ) -> tuple[float, float]:
        columns = max(64, self.width() - AXIS_WIDTH)
        bounds: list[tuple[float, float]] = []
        wanted = set()
        for index, run in enumerate(runs):
            x = run.table.column(self.model.x_axis)
            for line, (metric, _) in enumerate(self.spec.lines):
                pen = self._pen(index, line, len(runs))
                layers = [("smooth", run.column(metric).values(self.model.smoothing))]
                if self.model.smoothing > 0 and index == 0 and len(self.spec.lines) == 1:
                    layers.insert(0, ("raw", run.table.column(metric)))
                for layer, y in layers:
                    points = decimate(x, y, low, high, columns)
                    if len(points[1]):
                        bounds.append((float(points[1].min()), float(points[1].max())))
                    key = (run.run_id, metric, layer)
                    wanted.add(key)
                    self._set_curve(key, points, pen, layer)
        if self.spec.evals and self.model.x_axis == "env_steps":
            bounds += self._draw_evals(runs[0])
        for key in set(self._curves) - wanted:
            assert self._plot is not None
            self._plot.removeItem(self._curves.pop(key))
        return min(b[0] for b in bounds), max(b[1] for b in bounds)

    def _pen(self, run: int, line: int, runs: int) -> tuple[QColor, Qt.PenStyle]:
        """Colour and dash. One run: each line its own colour. Several: each run its own."""
        place = line if runs == 1 else run
        curves = theme.current().curves
        color = QColor(curves[place % len(curves)])
        return color, theme.DASHES[(place if runs == 1 else run + line) % len(theme.DASHES)]

    def _set_curve(
        self, key: tuple[str, str, str], points: Any, pen: tuple[QColor, Qt.PenStyle], layer: str
    ) -> None:
        import pyqtgraph as pg

        assert self._plot is not None
        curve = self._curves.get(key)
        if curve is None:
            curve = self._curves[key] = pg.PlotCurveItem(skipFiniteCheck=True)
            curve.setZValue(1 if layer == "raw" else 2)
            self._plot.addItem(curve)
        color = QColor(pen[0])
        if layer == "raw":
            color.setAlpha(RAW_ALPHA)
        style = Qt.PenStyle.SolidLine if layer == "raw" else pen[1]
        curve.setData(*points, pen=pg.mkPen(color, width=1, style=style))

    def _draw_evals(self, run: RunTelemetry) -> list[tuple[float, float]]:
        import pyqtgraph as pg

        assert self._plot is not None
        greedy = [record for record in run.evals if record.mode == "greedy"]
        item = self._marks.get("evals")
        if item is None:
            item = self._marks["evals"] = pg.ScatterPlotItem(size=6, pxMode=True)
            item.setZValue(3)
            self._plot.addItem(item)
        color = theme.current().curves[1]
        item.setData(
            [record.env_steps for record in greedy],
            [record.success_rate for record in greedy],
            pen=pg.mkPen(color),
            brush=pg.mkBrush(color),
        )
        rates = [record.success_rate for record in greedy]
        return [(min(rates), max(rates))] if rates else []

    def _draw_marks(self, run: RunTelemetry, bottom: float, top: float) -> None:
        """Vertical lines, all of one kind in one item: checkpoints dotted, resumes dashed."""
        if self.model.x_axis != "env_steps":
            checkpoints, resumes = [], []
        else:
            checkpoints = [record.env_steps for record in run.checkpoints]
            resumes = [record.env_steps for record in run.resumes]
        colors = theme.current()
        self._set_marks("checkpoints", checkpoints, bottom, top, colors.border)
        self._set_marks("resumes", resumes, bottom, top, colors.warn)

    def _set_marks(
        self, name: str, where: list[int], bottom: float, top: float, color: str
    ) -> None:
        import pyqtgraph as pg

        assert self._plot is not None
        if name not in self._marks:
            self._marks[name] = pg.PlotCurveItem(connect="pairs", skipFiniteCheck=True)
            self._plot.addItem(self._marks[name])
        x = np.repeat(np.asarray(where, np.float64), 2)
        y = np.tile(np.array([bottom, top]), len(where))
        style = Qt.PenStyle.DashLine if name == "resumes" else Qt.PenStyle.DotLine
        self._marks[name].setData(x, y, pen=pg.mkPen(color, width=1, style=style))

    # -- values and crosshair ---------------------------------------------------------------

    def set_hover(self, x: float | None) -> None:
        self._hover = x
        if self._line is not None:
            self._line.setVisible(x is not None)
            if x is not None:
                self._line.setValue(x)
        self._write_values()

    def readout(self) -> dict[str, float]:
        """Value by line name at the crosshair, else the newest; of the first run on show."""
        runs = [run for run in self._runs() if len(run.table)]
        if not runs:
            return {}
        table = runs[0].table
        index = len(table) - 1
        if self._hover is not None:
            index = nearest(table.column(self.model.x_axis), self._hover)
        return {
            name: float(column[index])
            for metric, name in self.spec.lines
            if index >= 0 and len(column := table.column(metric))
        }

    def _write_values(self) -> None:
        found = self.readout()
        single = len(self.model.shown()) <= 1
        parts = []
        for line, (name, value) in enumerate(found.items()):
            color = theme.current().text
            if single and len(self.spec.lines) > 1:
                color = self._pen(0, line, 1)[0].name()
            head = f"{name} " if len(self.spec.lines) > 1 else ""
            parts.append(f'<span style="color:{color}">{head}{short_number(value)}</span>')
        self.values.setText("&nbsp;&nbsp;".join(parts))

    # -- the view ---------------------------------------------------------------------------

    def set_range(self, x_range: tuple[float, float] | None) -> None:
        """Fix the x range, or follow the newest data again with None."""
        self._range = x_range

    def to_csv(self) -> str:
        """Every point of every run on show, not only what is drawn."""
        names = [metric for metric, _ in self.spec.lines]
        rows = ["run," + self.model.x_axis + "," + ",".join(names)]
        for run in self._runs():
            x = run.table.column(self.model.x_axis)
            columns = [run.table.column(name) for name in names]
            rows += [
                ",".join([run.run_id, f"{x[i]:.10g}", *(f"{c[i]:.10g}" for c in columns)])
                for i in range(len(x))
            ]
        return "\n".join(rows) + "\n"

    def _make_plot(self) -> pg.PlotWidget:
        import pyqtgraph as pg

        axes = {place: _axis(place) for place in ("bottom", "left")}
        plot = pg.PlotWidget(axisItems=axes)
        plot.setBackground(None)
        plot.installEventFilter(self)
        plot.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        plot.setMenuEnabled(False)
        plot.hideButtons()
        box = plot.getViewBox()
        box.setMouseEnabled(x=True, y=False)
        box.disableAutoRange()
        box.setDefaultPadding(0)
        box.sigRangeChangedManually.connect(self._on_zoom)
        plot.getAxis("left").setWidth(AXIS_WIDTH)
        plot.showAxis("bottom", self._show_axis)
        item: Any = plot.plotItem
        item.setContentsMargins(0, 2, 10, 2)
        self._line = pg.InfiniteLine(angle=90)
        self._line.setVisible(False)
        item.addItem(self._line, ignoreBounds=True)
        item.scene().sigMouseMoved.connect(self._on_mouse)
        self._stack.addWidget(plot)
        self._plot = plot
        self.recolor()
        return plot

    def recolor(self) -> None:
        """Follow the theme."""
        if self._plot is None:
            return
        import pyqtgraph as pg

        colors = theme.current()
        for name in ("left", "bottom"):
            axis = self._plot.getAxis(name)
            axis.setPen(pg.mkPen(colors.border))
            axis.setTextPen(pg.mkPen(colors.muted))
            axis.setTickFont(theme.ui_font(7.5))
            axis.setStyle(tickLength=-3, tickTextOffset=4, maxTickLevel=0)
        item: Any = self._plot.plotItem
        item.showGrid(x=False, y=True, alpha=0.18)
        self._line.setPen(pg.mkPen(colors.muted, width=1))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            self.hovered.emit(None)
        return super().eventFilter(watched, event)

    def _on_zoom(self, *_: object) -> None:
        assert self._plot is not None
        low, high = self._plot.getViewBox().viewRange()[0]
        self.zoomed.emit(max(0.0, low), high)

    def _on_mouse(self, position: Any) -> None:
        assert self._plot is not None
        box = self._plot.getViewBox()
        if box.sceneBoundingRect().contains(position):
            self.hovered.emit(float(box.mapSceneToView(position).x()))


def _padded(low: float, high: float) -> tuple[float, float]:
    room = (high - low) * 0.08
    if high - low < 1e-3 * abs(high):  # as good as constant: ticks would all read the same
        room = abs(high) * 0.1
    room = room or 1e-6
    return low - room, high + room


def _axis(place: str) -> Any:
    """An axis whose ticks read like the values in the header."""
    import pyqtgraph as pg

    class ShortAxis(pg.AxisItem):
        def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
            return [tick_text(value) for value in values]

    axis = ShortAxis(place)
    axis.enableAutoSIPrefix(False)
    if place == "bottom":
        axis.setHeight(18)
    return axis
