"""Contents of a plot card's canvas: axis ranges, coloured curves, marks and names, built from the runs on show."""

from __future__ import annotations

import functools
from collections.abc import Container

import numpy as np
from PySide6.QtGui import QColor

from gui.features.curves.plots import PlotSpec
from gui.features.curves.scene import (
    RAW,
    REST,
    SMOOTH,
    Entry,
    Line,
    PlotLines,
    greedy_results,
    phases,
    settled,
    turned_online,
)
from gui.kit import theme
from gui.kit.plot_shapes import Band, Curve, Dots, Marks, Name, Scene, short_number, value_text
from gui.kit.words import tr
from gui.state.metric_series import CLOCK, Array
from gui.state.run_history import RunTelemetry
from gui.state.seed_groups import flat
from gui.state.telemetry import TelemetryModel

RAW_ALPHA, REST_ALPHA, BAND_ALPHA = 0.32, 0.7, 0.16
_curve_color = functools.lru_cache(maxsize=1024)(theme.curve_color)
MARK_GAP = 48
"""Least distance in pixels between two of the marks of checkpoints."""


class CardScenes:
    """Builder of one plot's successive `Scene` objects; unchanged curves are reused and not repainted."""

    def __init__(self, spec: PlotSpec, model: TelemetryModel) -> None:
        self.spec, self.model = spec, model
        self.lines = PlotLines(spec, model)
        self.theme = ""
        """Name of the theme of a plot in a file; empty for that of the app."""
        self._made: dict[str, tuple[list[Line], object, list[Curve], list[Band], list[Name]]] = {}
        self._made_as: object = None
        self._dots: tuple[object, tuple[Dots, ...]] = (None, ())
        self._high = 0.0
        self._y_range: tuple[float, float] | None = None

    def show_spec(self, spec: PlotSpec) -> None:
        picked = self.lines.picked
        self.spec, self.lines = spec, PlotLines(spec, self.model)
        self.lines.picked = picked

    def forget(self) -> None:
        """Discard the cached curves of earlier scenes."""
        self._made.clear()

    def theme_name(self) -> str:
        return self.theme or theme.current().name

    def make(self, runs: list[Entry], x_range: tuple[float, float], width: int, rows: int, *, log_y: bool) -> Scene:
        """Return the scene for a canvas `width` pixels wide with `rows` ticks of y; `lines` must have been computed."""
        model, colors = self.model, theme.colors(self.theme_name())
        curves, bands, names = self._curves(x_range[1])
        dots = self._eval_dots(runs)
        new = self.lines.y_range([dot.y for dot in dots], log=log_y, rows=rows)
        is_followed = model.x_range is None and not log_y and not model.trims_outliers
        self._y_range = settled(self._y_range, new) if is_followed else new
        chosen = model.y_ranges.get(self.spec.metric)
        return Scene(
            curves=curves,
            x_range=x_range,
            y_range=chosen if chosen and (chosen[0] > 0 or not log_y) else self._y_range,
            dots=dots,
            marks=self._marks(runs[0], x_range, width),
            names=names,
            log_x=model.log_x,
            log_y=log_y,
            theme=colors.name,
            bands=bands,
            by_clock=model.x_axis == CLOCK,
            is_percent=self.spec.is_fixed,
            target=self._target(runs[0]),
            turns=self._turns(runs),
            turn_words=self._turn_words(runs[0]),
        )

    def _target(self, run: Entry) -> float:
        """Return the success rate at which a run is to end, for the plot with validations; else 0."""
        meta = run.meta if isinstance(run, RunTelemetry) else run.members[0].meta
        found = flat(meta.config).items() if self.spec.evals and meta is not None else ()
        told = next((value for name, value in found if name.rpartition(".")[2] == "target_success"), "")
        return float(told) if told.replace(".", "", 1).isdecimal() else 0.0

    def _turns(self, runs: list[Entry]) -> tuple[Marks, ...]:
        """Return, in the colour of each run, where it turned from its dataset to the environment."""
        found = ((run, turned_online(run, self.model.x_axis)) for run in runs)
        return tuple(
            Marks(np.array([x]), self.color_of(run.run_id, index, 0))
            for index, (run, x) in enumerate(found)
            if x is not None
        )

    def _turn_words(self, run: Entry) -> str:
        """Return what the run in focus reached offline and online, in a plot of scores; in others the second phase."""
        metric = self.lines.shown_lines()[0][1]
        before, after = phases(run, metric)
        if not ("score" in metric or "eval" in metric) or not (len(before) and len(after)):
            return tr("online")
        return tr("offline {before}, online {after}", before=short_number(before[-1]), after=short_number(after[-1]))

    def x_range(self, runs: list[Entry]) -> tuple[float, float]:
        """Return the x range chosen by the user, else the range of all records plus room for new ones."""
        if self.model.x_range is not None:
            return self.model.x_range
        low = self.lines.first_x(runs)
        high = max(self.lines.last_x(runs) - low, 0.0) or 1.0  # a single record at zero needs a width too
        if not high <= self._high <= high * 1.15:
            grew = 0 < self._high < high < self._high * 1.5
            self._high = high * (1.08 if grew else 1.015)
        return (low or 1.0 if self.model.log_x else low), low + self._high

    def color_of(self, run_id: str, index: int, line: int) -> QColor:
        """Return the colour of a line: different for each line if all lines of one run are drawn, else the run's."""
        slot = self.model.slots.get(run_id, index)
        return _curve_color(line if line and self.lines.is_every_line else slot, self.theme_name())

    def _curves(self, right: float) -> tuple[tuple[Curve, ...], tuple[Band, ...], tuple[Name, ...]]:
        """Return the coloured curves, bands and names, reusing the objects of lines that did not change."""
        look = (self.lines.is_every_line, self.theme_name())
        if look != self._made_as or len(self._made) > 2 * len(self.lines.runs):
            self._made.clear()
        self._made_as = look
        curves: list[Curve] = []
        bands: list[Band] = []
        names: list[Name] = []
        for run, lines in self.lines.by_run:
            known, told = self._made.get(run.run_id), (self.model.slots.get(run.run_id), self.model.label(run.run_id))
            if known is None or known[0] is not lines or known[1] != told:
                drawn = [self._curve(run, line) for line in lines if len(line.x) or line.layer != REST]
                known = (lines, told, drawn, self._bands(run, lines), self._names(run, lines, right))
                self._made[run.run_id] = known
            curves += known[2]
            bands += known[3]
            names += known[4]
        return tuple(curves), tuple(bands), tuple(names)

    def _curve(self, run: Entry, line: Line) -> Curve:
        color, width = self.color_of(run.run_id, line.run, line.line), 1.5
        owner = "" if line.layer == RAW else self._owner(line)
        if line.layer != SMOOTH:
            width = 1.0
            color = _faded(color, RAW_ALPHA if line.layer == RAW else REST_ALPHA)
        return Curve((line.run_id, line.metric, line.layer), line.x, line.y, color, owner, width, is_live=line.run == 0)

    def raw_curves(self, run_id: str, columns: int) -> tuple[Curve, ...]:
        """Return the curve of a run as it was measured; none if the run has no such curve or it is drawn anyway."""
        line = None if self.lines.is_alone else self.lines.raw_line(run_id, columns)
        return (self._curve(self.lines.runs[line.run], line),) if line is not None else ()

    def _bands(self, run: Entry, lines: list[Line]) -> list[Band]:
        made = []
        for line in lines:
            if line.band is not None and len(line.band[0]):
                color = self.color_of(run.run_id, line.run, line.line)
                made.append(Band(*line.band, _faded(color, BAND_ALPHA)))
        return made

    def _names(self, run: Entry, lines: list[Line], right: float) -> list[Name]:
        """Return the name of each line, with the value at its end or at the right edge of the view."""
        made, is_every = [], self.lines.is_every_line
        for line in lines:
            if not len(line.x) or line.layer == RAW:
                continue
            y = float(line.y[-1] if right >= line.x[-1] else np.interp(right, line.x, line.y))
            text = self.spec.lines[line.line][1] if is_every else self.model.label(line.run_id)
            made.append(Name(self._owner(line), text, self.color_of(run.run_id, line.run, line.line), y))
        return made

    def _owner(self, line: Line) -> str:
        return line.metric if self.lines.is_every_line else line.run_id

    def values_at(self, x: float, owners: Container[str]) -> dict[str, tuple[float, str]]:
        """Return (y, value as text) of the line of each of these owners at x."""
        found: dict[str, tuple[float, str]] = {}
        for run, lines in self.lines.by_run:
            for line in lines:
                if line.layer == RAW or self._owner(line) not in owners:
                    continue
                entry: Entry | None = run
                if line.run_id != run.run_id:  # the longest run of a group, beyond the group's mean
                    entry = self.model.runs.get(line.run_id) if len(line.x) and x >= line.x[0] else None
                value = None if entry is None else self.model.value_at(entry, line.metric, x)
                if value is not None:
                    found[self._owner(line)] = value, value_text(value, is_percent=self.spec.is_fixed)
        return found

    def _eval_dots(self, runs: list[Entry]) -> tuple[Dots, ...]:
        """Return the success rates of greedy validations as dots; empty unless x counts environment steps."""
        state = ([(run.run_id, len(run.evals)) for run in runs], self._made_as, self.model.slots, self.model.x_axis)
        if state != self._dots[0]:
            self._dots = state, tuple(self._made_dots(runs))
        return self._dots[1]

    def _made_dots(self, runs: list[Entry]) -> list[Dots]:
        if not self.spec.evals or self.model.x_axis != "env_steps":
            return []
        made = []
        for index, run in enumerate(runs):
            for line, metric, _ in self.lines.shown_lines():
                if (line and "/" not in metric) or not (greedy := greedy_results(run, metric)):
                    continue  # validation belongs to the first line, or to its task's
                x = np.array([float(record.env_steps) for record in greedy])
                y = np.array([record.success_rate for record in greedy])
                owner = metric if self.lines.is_every_line else run.run_id
                made.append(Dots(x, y, self.color_of(run.run_id, index, line), owner))
        return made

    def _marks(self, run: Entry, x_range: tuple[float, float], width: int) -> tuple[Marks, ...]:
        """Return the marks of the run on the base line: some checkpoints, all resumes and alerts."""
        if self.model.x_axis != "env_steps":
            return ()
        colors = theme.colors(self.theme_name())
        gap = MARK_GAP * (x_range[1] - x_range[0]) / max(1, width)
        checkpoints = thinned([float(record.env_steps) for record in run.checkpoints], gap)
        resumes = np.array([float(record.env_steps) for record in run.resumes])
        alerts = np.array([float(alert.env_steps) for alert in run.alerts])
        return (
            Marks(checkpoints, QColor(colors.muted)),
            Marks(resumes, QColor(colors.warn)),
            Marks(alerts, QColor(colors.bad)),
        )


def _faded(color: QColor, alpha: float) -> QColor:
    faded = QColor(color)
    faded.setAlphaF(alpha)
    return faded


def thinned(places: list[float], gap: float) -> Array:
    """Return positions, ascending, at least `gap` apart; the newest position is always kept."""
    kept: list[float] = []
    for place in sorted(places, reverse=True):
        if not kept or kept[-1] - place >= gap:
            kept.append(place)
    return np.array(kept[::-1], np.float64)
