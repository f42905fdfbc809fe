"""Contents of a plot card's canvas: axis ranges, coloured curves and marks, built from the runs on show."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor

from gui.features.curves.plots import PlotSpec
from gui.features.curves.scene import MOST_WHOLE, RAW, REST, Entry, Line, PlotLines, greedy_results, settled
from gui.kit import theme
from gui.kit.plot_shapes import Band, Curve, Dots, Rules, Scene
from gui.state.metric_series import CLOCK, Array
from gui.state.telemetry import TelemetryModel

RAW_ALPHA = 70
BAND_ALPHA = 46
MARK_GAP = 48
"""Least distance in pixels between two of the vertical lines that mark checkpoints."""


class CardScenes:
    """Builder of one plot's successive `Scene` objects; unchanged curves are reused and not repainted."""

    def __init__(self, spec: PlotSpec, model: TelemetryModel) -> None:
        self.spec, self.model = spec, model
        self.lines = PlotLines(spec, model)
        self._made: dict[str, tuple[list[Line], int, list[Curve]]] = {}
        self._made_as: object = None
        self._high = 0.0
        self._y_range: tuple[float, float] | None = None

    def show_spec(self, spec: PlotSpec) -> None:
        self.spec, self.lines = spec, PlotLines(spec, self.model)

    def forget(self) -> None:
        """Discard the cached curves of earlier scenes."""
        self._made.clear()

    def make(self, runs: list[Entry], x_range: tuple[float, float], width: int, *, log_y: bool) -> Scene:
        """Return the scene for a canvas `width` pixels wide; `lines` must have computed the curves of `runs`."""
        dots = self._dots(runs)
        new = self.lines.y_range([dot.y for dot in dots], log=log_y)
        is_followed = self.model.x_range is None and not log_y
        is_followed = is_followed and not self.model.trims_outliers
        self._y_range = settled(self._y_range, new) if is_followed else new
        return Scene(
            curves=self._curves(),
            x_range=x_range,
            y_range=self._y_range,
            dots=dots,
            rules=self._rules(runs[0], x_range, width),
            log_y=log_y,
            theme=theme.current().name,
            bands=self._bands(),
            by_clock=self.model.x_axis == CLOCK,
        )

    def x_range(self, runs: list[Entry]) -> tuple[float, float]:
        """Return the x range chosen by the user, else the range of all records plus room for new ones."""
        if self.model.x_range is not None:
            return self.model.x_range
        low = self.lines.first_x(runs)
        high = max(self.lines.last_x(runs) - low, 0.0) or 1.0  # a single record at zero needs a width too
        if not high <= self._high <= high * 1.15:
            grew = 0 < self._high < high < self._high * 1.5
            self._high = high * (1.08 if grew else 1.015)
        return low, low + self._high

    def color_of(self, run: int, line: int) -> QColor:
        """Return the colour of a line: different for each line of a single run, else for each run."""
        run_id = self.lines.runs[run].run_id
        if self.lines.is_alone:
            return theme.curve_color(self._slot_alone(run_id, line))
        return theme.curve_color(self.model.slots.get(run_id, run))

    def _slot_alone(self, run_id: str, line: int) -> int:
        """Return the colour number of a line of the plot's only run; the run's chosen colour is for its first line."""
        chosen = self.model.chosen_slots.get(run_id)
        return line if line or chosen is None else chosen

    def _curves(self) -> tuple[Curve, ...]:
        """Return the plot's lines as coloured curves, reusing the objects of lines that did not change."""
        runs = len(self.lines.runs)
        look = (self.lines.is_alone, runs <= MOST_WHOLE, theme.current().name)
        if look != self._made_as or len(self._made) > 2 * runs:
            self._made.clear()
        self._made_as = look
        slots, made, curves = self.model.slots, self._made, []
        for lines in self.lines.by_run:
            first = lines[0]
            known, slot = made.get(first.run_id), slots.get(first.run_id, first.run)
            if known is None or known[0] is not lines or known[1] != slot:
                drawn = [line for line in lines if line.layer != REST or len(line.x)]
                own = [self._make_curve(line, slot, runs) for line in drawn]
                known = made[first.run_id] = (lines, slot, own)
            curves += known[2]
        return tuple(curves)

    def _make_curve(self, line: Line, slot: int, runs: int) -> Curve:
        is_alone = self.lines.is_alone
        if is_alone:
            slot = self._slot_alone(line.run_id, line.line)
        color, dash = theme.curve_color(slot), Qt.PenStyle.SolidLine
        if line.layer == RAW:
            color.setAlpha(RAW_ALPHA)
        elif line.layer == REST:
            dash = Qt.PenStyle.DotLine
        elif runs <= MOST_WHOLE and line.band is None:
            place = line.line if is_alone else slot + line.line
            dash = theme.DASHES[place % len(theme.DASHES)]
        return Curve(
            (line.run_id, line.metric, line.layer),
            (line.kind, color.rgba(), dash, is_alone),
            line.x,
            line.y,
            color,
            dash,
        )

    def _bands(self) -> tuple[Band, ...]:
        """Return, for each group of runs that differ only in their seed, the band around its mean curve."""
        lines = [line for lines in self.lines.by_run for line in lines if line.band is not None]
        made = []
        for line in lines:
            assert line.band is not None
            color = self.color_of(line.run, line.line)
            color.setAlpha(BAND_ALPHA)
            made.append(Band(*line.band, color))
        return tuple(made)

    def _dots(self, runs: list[Entry]) -> tuple[Dots, ...]:
        """Return the success rates of greedy validations as dots; empty unless x counts environment steps."""
        if not self.spec.evals or self.model.x_axis != "env_steps":
            return ()
        made = []
        for index, run in enumerate(runs):
            if not run.evals:
                continue
            for line, (metric, _) in enumerate(self.spec.lines):
                if line and "/" not in metric:
                    continue  # validation belongs to the first line, or to its task's
                greedy = greedy_results(run, metric)
                own = theme.curve_color(line) if "/" in metric else eval_color()
                made.append(
                    Dots(
                        np.array([float(record.env_steps) for record in greedy]),
                        np.array([record.success_rate for record in greedy]),
                        own if self.lines.is_alone else self.color_of(index, line),
                    )
                )
        return tuple(dots for dots in made if len(dots.x))

    def _rules(self, run: Entry, x_range: tuple[float, float], width: int) -> tuple[Rules, ...]:
        """Return vertical lines of the run: resumes (dashed), some checkpoints (dotted) and alerts (solid)."""
        if self.model.x_axis != "env_steps":
            return ()
        colors = theme.current()
        gap = MARK_GAP * (x_range[1] - x_range[0]) / max(1, width)
        checkpoints = thinned([float(record.env_steps) for record in run.checkpoints], gap)
        resumes = np.array([float(record.env_steps) for record in run.resumes])
        alerts = np.array([float(alert.env_steps) for alert in run.alerts])
        return (
            Rules(checkpoints, QColor(colors.border), Qt.PenStyle.DotLine),
            Rules(resumes, QColor(colors.warn), Qt.PenStyle.DashLine),
            Rules(alerts, QColor(colors.bad), Qt.PenStyle.SolidLine),
        )


def eval_color() -> QColor:
    """Return the colour of the dots of greedy validations in a plot of one run."""
    return theme.curve_color(1)


def thinned(places: list[float], gap: float) -> Array:
    """Return positions, ascending, at least `gap` apart; the newest position is always kept."""
    kept: list[float] = []
    for place in sorted(places, reverse=True):
        if not kept or kept[-1] - place >= gap:
            kept.append(place)
    return np.array(kept[::-1], np.float64)
