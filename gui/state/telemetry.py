"""Curves of runs: records in memory, run in focus, pinned runs, colours and settings of the view."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Annotated, NamedTuple

import msgspec
import numpy as np
from PySide6.QtCore import QObject, Signal

from gui.kit.settings import Settings
from gui.state.metric_series import CLOCK, DECAYING, KINDS, X_AXES
from gui.state.run_history import RunTelemetry
from gui.state.seed_groups import APART, SPREADS, SeedGroup, grouped
from gui.state.session import Place
from trainer_core.lab.task_lists import short_task
from trainer_core.wire import records

MAX_PINNED = 250
KEPT = 8
"""Number of runs that are not on show any more whose records stay in memory."""
KIND_KEY = "curves/smoothing_kind"
COLORS_KEY, TAB_KEY = "curves/colors", "view/tab"
AXIS_KEY, SMOOTHING_KEY, SPREAD_KEY, OUTLIERS_KEY, PINNED_KEY = (
    "curves/x_axis",
    "curves/smoothing",
    "curves/seeds",
    "curves/outliers",
    "curves/pinned",
)
MOST_SLOTS = 256
Range = tuple[float, float]
_Slot = Annotated[int, msgspec.Meta(ge=0, lt=MOST_SLOTS)]


class PlotLine(NamedTuple):
    """Line of the plot that the crosshair was put into: the plot's title, the line's metric, how values are written."""

    title: str
    metric: str
    is_percent: bool


class TelemetryModel(QObject):
    """Records of runs by id; which runs are on show (the one in focus and pinned ones); how curves are drawn.

    Only runs on show, and the KEPT last ones, are in memory; others are read from their logs when needed.
    """

    focus_changed = Signal(str)
    pins_changed = Signal()
    view_changed = Signal()
    moved = Signal()
    """The range of an axis has changed; view_changed follows."""
    highlighted = Signal(str)
    """Id of the run or group that the pointer or the keyboard is at; empty for none."""
    crosshair_moved = Signal(object)
    """Place of the crosshair on the x axis of all plots; None without one."""
    event_taken = Signal(str, object)
    alerted = Signal(str, object)
    """Run id, and an Alert raised by a new record; alerts found while reading a log are not signalled."""
    run_told = Signal(str)
    """Id of a run whose configuration, or a metric's first measurement, has arrived."""
    renamed = Signal(str)
    """Id of a run that was renamed."""

    def __init__(self, name_run: Callable[[str], str] = lambda run_id: run_id[-4:]) -> None:
        super().__init__()
        self.name_run = name_run
        """Function that returns the label of a run id in plots."""
        self.task_title: Callable[[str], str] = short_task
        """Function that returns the title of a task id."""
        self.runs: dict[str, RunTelemetry] = {}
        self.focus = ""
        self.pinned: list[str] = []
        self.x_axis = "env_steps"
        self.smoothing = 0.6
        self.smoothing_kind = DECAYING
        self.spread = APART
        """Display of runs of one configuration: APART for a curve each, else a mean with this kind of band."""
        self.trims_outliers = False
        """True if the y axis may cut off a few extreme values."""
        self.x_range: Range | None = None
        """Range of x of all plots; None follows the newest records."""
        self.y_ranges: dict[str, Range] = {}
        """Range of y chosen by the user, by the metric that names the plot."""
        self.log_x = False
        self.highlight = ""
        self.crosshair: float | None = None
        self.crosshair_line: PlotLine | None = None
        self.waits: dict[str, str] = {}
        """Text by run id on why the first update has not come yet, if that is known."""
        self._loading: dict[str, list[records.Event]] = {}
        """New records, by run id, that arrive while the run's log is being read."""
        self._recent: list[str] = []
        self.slots: dict[str, int] = {}
        """Colour number by run id: the lowest one that was free when the run came on show."""
        self.chosen_slots: dict[str, int] = {}
        """Colour numbers chosen by the user, by run id."""
        self.changes = 0
        """Number that grows when the set of runs on show changes or a run's log was read."""
        self.groups: dict[str, SeedGroup] = {}
        """Groups of runs on show that differ only in the seed, by an id used like a run id."""
        self._on_show: list[RunTelemetry | SeedGroup] | None = None

    def label(self, run_id: str) -> str:
        """Return the label in plots of a run or group."""
        return self.groups[run_id].label if run_id in self.groups else self.name_run(run_id)

    def tell_wait(self, run_id: str, words: str = "") -> None:
        """Set the text on what the run's first update waits for; empty removes it."""
        if words != self.waits.get(run_id, ""):
            self.waits[run_id] = words
            if not words:
                del self.waits[run_id]
            self.run_told.emit(run_id)

    # -- records in memory ------------------------------------------------------------------

    def is_loading(self, run_id: str) -> bool:
        """Return whether the run's log is being read."""
        return run_id in self._loading

    def begin_loading(self, run_id: str) -> bool:
        """Return whether the run's log has to be read; if so, new records of the run are queued from now on."""
        if run_id in self.runs or run_id in self._loading:
            return False
        self._loading[run_id] = []
        return True

    def end_loading(self, run_id: str, run: RunTelemetry) -> None:
        """Store the run read from its log, and add the records queued meanwhile."""
        waiting = self._loading.pop(run_id, [])
        known = self.runs.get(run_id)
        if (known and known.next_seq) or run_id not in (*self.shown(), *self._recent):
            return  # no longer on show
        self.runs[run_id] = run
        self._note_change()
        for event in waiting:
            run.take(event)
        self.run_told.emit(run_id)

    def give_up_loading(self, run_id: str) -> None:
        """Discard the records queued for a run whose log is not read after all."""
        self._loading.pop(run_id, None)

    def follow(self, run_id: str, event: records.Event) -> None:
        """Add a new record to its run if that is in memory; otherwise the log has it for later."""
        if run_id in self._loading:
            self._loading[run_id].append(event)
        elif run_id in self.runs:
            self.take(run_id, event)

    def _forget_old(self) -> None:
        shown = set(self.shown())
        for run_id in self._recent[:-KEPT]:
            if run_id not in shown:
                self.runs.pop(run_id, None)
        self._note_change()
        self._recent = [run_id for run_id in self._recent if run_id in self.runs or run_id in shown]

    # -- runs on show -----------------------------------------------------------------------

    def run(self, run_id: str) -> RunTelemetry:
        if run_id not in self.runs:
            self.runs[run_id] = RunTelemetry(run_id)
            self._note_change()
        return self.runs[run_id]

    def _note_change(self) -> None:
        self.changes += 1
        self._on_show = None
        if self.spread != APART:
            self._regroup()

    def _regroup(self) -> None:
        """Compute groups and colours again after a run was added or its configuration arrived."""
        before, self._on_show = self.slots, None
        self._give_slots()
        if before != self.slots:
            self.pins_changed.emit()

    def take(self, run_id: str, event: records.Event) -> None:
        run = self.run(run_id)
        known, alerts = len(run.table.names), len(run.alerts)
        if run.take(event):
            for alert in run.alerts[alerts:]:
                self.alerted.emit(run_id, alert)
            self.event_taken.emit(run_id, event)
            if isinstance(event, records.MetaRecord) and self.spread != APART:
                self._regroup()
            if isinstance(event, records.MetaRecord) or len(run.table.names) != known:
                self.run_told.emit(run_id)

    def set_focus(self, run_id: str) -> None:
        if run_id != self.focus:
            self.focus = run_id
            self._recent = [*(name for name in self._recent if name != run_id), run_id]
            self._on_show = None
            self._give_slots()
            self._forget_old()
            self.focus_changed.emit(run_id)

    def toggle_pin(self, run_id: str) -> None:
        if run_id in self.pinned:
            self.set_pinned([name for name in self.pinned if name != run_id])
        else:
            self.set_pinned([*self.pinned, run_id])

    def set_pinned(self, run_ids: list[str]) -> None:
        """Pin these runs beside the run in focus, up to MAX_PINNED."""
        self.pinned = run_ids[:MAX_PINNED]
        self._recent += [run_id for run_id in self.pinned if run_id not in self._recent]
        self._on_show = None
        self._give_slots()
        self._forget_old()
        self.pins_changed.emit()

    def _give_slots(self) -> None:
        """Assign the lowest free colour number to each run without one on show; the others keep theirs.

        The runs of a group share one number, also for the eye icons of the run table. Where there are groups, numbers
        start over from the lowest, whose colours are most distinct.
        """
        shown = self.shown()
        groups = self._groups_now()
        first = {run.run_id: group.members[0].run_id for group in groups for run in group.members}
        leaders = dict.fromkeys(first.get(run_id, run_id) for run_id in shown)
        wanted = {
            first.get(run_id, run_id): self.chosen_slots[run_id]
            for run_id in reversed(shown)
            if run_id in self.chosen_slots
        }
        slots: dict[str, int] = {}
        bound = len(leaders) if groups else MAX_PINNED + 1
        for name in leaders:
            slot = wanted.get(name, self.slots.get(name, -1))
            is_free = slot not in slots.values() and slot not in wanted.values()
            if name in wanted or (0 <= slot < bound and is_free):
                slots[name] = slot
        taken = {*slots.values(), *wanted.values()}
        free = (number for number in itertools.count() if number not in taken)
        for name in leaders:
            if name not in slots:
                slots[name] = next(free)
        self.slots = {run_id: slots[first.get(run_id, run_id)] for run_id in shown}
        self.slots |= {group.run_id: slots[group.members[0].run_id] for group in groups}

    def choose_slot(self, run_id: str, slot: int | None) -> None:
        """Set the colour number of a run; None means an automatic one."""
        self.chosen_slots.pop(run_id, None)
        self.slots = {name: number for name, number in self.slots.items() if name != run_id}
        if slot is not None:
            self.chosen_slots[run_id] = slot
        self.changes += 1
        self._give_slots()
        self.pins_changed.emit()

    def shown(self) -> list[str]:
        """Return the ids of the runs on show: the one in focus first, then the pinned ones."""
        rest = [run_id for run_id in self.pinned if run_id != self.focus]
        return [self.focus, *rest] if self.focus else rest

    def entries(self) -> list[RunTelemetry | SeedGroup]:
        """Return the runs on show that are in memory; runs of a group are replaced by it unless `spread` is APART."""
        if self._on_show is None:
            found = [self.runs[name] for name in self.shown() if name in self.runs]
            is_apart = self.spread == APART or self.x_axis == CLOCK  # seeds run at other times
            self._on_show = list(found) if is_apart else grouped(found, self.spread, self.task_title)
            self.groups = {group.run_id: group for group in self._groups_now()}
        return self._on_show

    def names_shown(self) -> list[str]:
        """Return the ids of the runs or groups on show, including runs whose log is not read yet."""
        of = {run.run_id: group.run_id for group in self._groups_now() for run in group.members}
        return list(dict.fromkeys(of.get(run_id, run_id) for run_id in self.shown()))

    def _groups_now(self) -> list[SeedGroup]:
        return [entry for entry in self.entries() if isinstance(entry, SeedGroup)]

    def state_shown(self) -> object:
        """Return a value that changes whenever `entries` or their records change."""
        return self.changes, self.spread, sum([run.table.version for run in self.entries()])

    def set_x_axis(self, name: str) -> None:
        turns = (name == CLOCK) != (self.x_axis == CLOCK)
        self.x_axis, self.x_range, self.log_x = name, None, self.log_x and name != CLOCK
        self.set_crosshair(None)
        if turns and self.spread != APART:
            self.changes += 1
            self._regroup()
        self.view_changed.emit()

    def set_x_range(self, x_range: Range | None) -> None:
        self.move(x_range, self.y_ranges)

    def set_y_range(self, metric: str, y_range: Range | None) -> None:
        """Set the range of y of one plot; None fits it to what is on show."""
        rest = {name: kept for name, kept in self.y_ranges.items() if name != metric}
        self.move(self.x_range, rest if y_range is None else {**rest, metric: y_range})

    def move(self, x_range: Range | None, y_ranges: dict[str, Range]) -> None:
        """Set the range of x of all plots, and the ranges of y that the user chose."""
        if (x_range, y_ranges) != (self.x_range, self.y_ranges):
            self.x_range, self.y_ranges = x_range, y_ranges
            self.moved.emit()
            self.view_changed.emit()

    def set_log_x(self, is_log: bool) -> None:
        """Make the x axis of all plots logarithmic, unless it is the time of day."""
        if is_log != self.log_x and self.x_axis != CLOCK:
            self.log_x, self.x_range = is_log, None
            self.view_changed.emit()

    def set_highlight(self, run_id: str) -> None:
        """Highlight a run in all plots, or the group that it belongs to; empty for none."""
        of = {run.run_id: group.run_id for group in self.groups.values() for run in group.members}
        run_id = of.get(run_id, run_id)
        if run_id != self.highlight:
            self.highlight = run_id
            self.highlighted.emit(run_id)

    def set_crosshair(self, x: float | None, line: PlotLine | None = None) -> None:
        """Put the crosshair of all plots at x, by the plot with this line; None removes it."""
        if (x, line) != (self.crosshair, self.crosshair_line):
            self.crosshair, self.crosshair_line = x, line
            self.crosshair_moved.emit(x)

    def value_at(self, run: RunTelemetry | SeedGroup, metric: str, x: float | None) -> float | None:
        """Return the value of the run's smoothed line at x, or at its end if x is None.

        Return None beyond the run's last and before its first measurement.
        """
        places, values = run.curve(metric, self.x_axis, self.smoothing, self.smoothing_kind)
        if not len(values):
            return None
        if x is None:
            return float(values[-1])
        return float(np.interp(x, places, values)) if places[0] <= x <= places[-1] else None

    def set_smoothing(self, weight: float) -> None:
        self.smoothing = min(max(weight, 0.0), 0.99)
        self.view_changed.emit()

    def set_smoothing_kind(self, kind: str) -> None:
        if kind in KINDS and kind != self.smoothing_kind:
            self.smoothing_kind = kind
            self.view_changed.emit()

    def set_trims_outliers(self, trims: bool) -> None:
        if trims != self.trims_outliers:
            self.trims_outliers = trims
            self.view_changed.emit()

    def set_spread(self, spread: str) -> None:
        """Set how runs of one configuration are shown: APART, or a mean with a band (RANGE or DEVIATION)."""
        if spread != self.spread:
            self.spread = spread
            self.changes += 1
            self._regroup()
            self.view_changed.emit()


class ViewMemory(QObject):
    """Saves the view (axes, smoothing, pinned runs, tab) in the settings, and restores it at the start."""

    def __init__(self, telemetry: TelemetryModel, settings: Settings) -> None:
        super().__init__()
        self._telemetry, self._settings = telemetry, settings
        axis, spread = settings.text(AXIS_KEY), settings.text(SPREAD_KEY)
        telemetry.x_axis = axis if axis in X_AXES else telemetry.x_axis
        telemetry.spread = spread if spread in SPREADS else APART
        telemetry.trims_outliers = settings.flag(OUTLIERS_KEY, False)
        telemetry.set_smoothing_kind(settings.text(KIND_KEY))
        telemetry.set_smoothing(settings.number(SMOOTHING_KEY, telemetry.smoothing))
        telemetry.chosen_slots = settings.decoded(COLORS_KEY, dict[str, _Slot], {})
        telemetry.view_changed.connect(self._on_view)
        telemetry.pins_changed.connect(self._on_pins)

    def pinned(self) -> list[str]:
        """Return the ids of the runs that were pinned when the app was closed."""
        return self._settings.decoded(PINNED_KEY, list[str], [])

    def tab(self) -> Place | None:
        """Return the tab that was in front when the app was closed; None if none is saved."""
        found = self._settings.text(TAB_KEY)
        return Place(found) if found in list(Place) else None

    def keep_tab(self, place: Place) -> None:
        self._settings.set(TAB_KEY, place.value)

    def _on_view(self) -> None:
        self._settings.set(AXIS_KEY, self._telemetry.x_axis)
        self._settings.set(SMOOTHING_KEY, self._telemetry.smoothing)
        self._settings.set(KIND_KEY, self._telemetry.smoothing_kind)
        self._settings.set(SPREAD_KEY, self._telemetry.spread)
        self._settings.set(OUTLIERS_KEY, self._telemetry.trims_outliers)

    def _on_pins(self) -> None:
        self._settings.set(PINNED_KEY, json.dumps(self._telemetry.pinned))
        self._settings.set(COLORS_KEY, json.dumps(self._telemetry.chosen_slots))
