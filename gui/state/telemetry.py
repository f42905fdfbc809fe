"""The runs on show: records in memory, focus, pins, colours and view."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Annotated

import msgspec
from PySide6.QtCore import QObject, Signal

from gui.kit.settings import Settings
from gui.state.metric_series import CLOCK, DECAYING, KINDS, X_AXES
from gui.state.run_history import RunTelemetry
from gui.state.seed_groups import APART, SPREADS, SeedGroup, grouped
from gui.state.session import Place
from trainer_core.wire import records

MAX_PINNED = 250
KEPT = 8
"""Runs whose records stay in memory after they were on show, besides those on show."""
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
_Slot = Annotated[int, msgspec.Meta(ge=0, lt=MOST_SLOTS)]


class TelemetryModel(QObject):
    """Runs by id, the one in focus, the ones pinned beside it, and how curves are drawn.

    Only runs on show, and the last few that were, hold their records; the rest is in their logs.
    """

    focus_changed = Signal(str)
    pins_changed = Signal()
    view_changed = Signal()
    event_taken = Signal(str, object)
    alerted = Signal(str, object)
    """A live record raised an Alert; alerts of a log that is read are only marked."""
    run_told = Signal(str)
    """A run sent its configuration, or a metric for the first time."""
    renamed = Signal(str)
    """A run was renamed."""

    def __init__(self, name_run: Callable[[str], str] = lambda run_id: run_id[-4:]) -> None:
        super().__init__()
        self.name_run = name_run
        """Returns a run's label in plots."""
        self.runs: dict[str, RunTelemetry] = {}
        self.focus = ""
        self.pinned: list[str] = []
        self.x_axis = "env_steps"
        self.smoothing = 0.6
        self.smoothing_kind = DECAYING
        self.spread = APART
        """Display of runs of one configuration: each its own, or one curve with the range of its band."""
        self.trims_outliers = False
        """True if a few extreme values may lie outside of the y axis."""
        self.x_range: tuple[float, float] | None = None
        """Range of every plot's x axis; None follows the newest data."""
        self.waits: dict[str, str] = {}
        """Reason why a run's first update is late, by run, if known."""
        self._loading: dict[str, list[records.Event]] = {}
        """Live records of runs whose log is still being read."""
        self._recent: list[str] = []
        self.slots: dict[str, int] = {}
        """Number of a run's colour: the lowest that was free when it came on show."""
        self.chosen_slots: dict[str, int] = {}
        """Colour numbers that the user gave to runs."""
        self.changes = 0
        """Number that grows when another run, or the log of one, comes on show."""
        self.groups: dict[str, SeedGroup] = {}
        """Groups of the runs on show, by an id that is used like a run's."""
        self._on_show: list[RunTelemetry | SeedGroup] | None = None

    def label(self, run_id: str) -> str:
        """Return the label of a run, or of a group on show, in plots."""
        return self.groups[run_id].label if run_id in self.groups else self.name_run(run_id)

    def tell_wait(self, run_id: str, words: str = "") -> None:
        """Set the text of what a run's first update waits for; empty once that is unknown."""
        if words != self.waits.get(run_id, ""):
            self.waits[run_id] = words
            if not words:
                del self.waits[run_id]
            self.run_told.emit(run_id)

    # -- records in memory ------------------------------------------------------------------

    def begin_loading(self, run_id: str) -> bool:
        """Return whether the run's log has to be read; live records are then held back."""
        if run_id in self.runs or run_id in self._loading:
            return False
        self._loading[run_id] = []
        return True

    def end_loading(self, run_id: str, run: RunTelemetry) -> None:
        """Show the run as read from its log, with the records that arrived meanwhile."""
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
        """Drop a log whose reading was cancelled because it is not wanted any more."""
        self._loading.pop(run_id, None)

    def follow(self, run_id: str, event: records.Event) -> None:
        """Add a live record if its run is on show; the log has it in any case."""
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
        """Update groups and their colours after a run or its configuration became known."""
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
        """Pin these runs beside the focus, as many as fit."""
        self.pinned = run_ids[:MAX_PINNED]
        self._recent += [run_id for run_id in self.pinned if run_id not in self._recent]
        self._on_show = None
        self._give_slots()
        self._forget_old()
        self.pins_changed.emit()

    def _give_slots(self) -> None:
        """Give a colour to each run that came on show, the lowest free one, and keep the others.

        A group's runs share one colour, which is also the eye's in the table; groups are few and come as logs are read,
        so that they take the first colours, far from each other.
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
        """Give a run a colour for whenever it is on show; None for an automatic one."""
        self.chosen_slots.pop(run_id, None)
        self.slots = {name: number for name, number in self.slots.items() if name != run_id}
        if slot is not None:
            self.chosen_slots[run_id] = slot
        self.changes += 1
        self._give_slots()
        self.pins_changed.emit()

    def shown(self) -> list[str]:
        """Return the runs on show: the focus first, then the pinned ones."""
        rest = [run_id for run_id in self.pinned if run_id != self.focus]
        return [self.focus, *rest] if self.focus else rest

    def entries(self) -> list[RunTelemetry | SeedGroup]:
        """Return the runs on show whose records are in memory, grouped if the view groups seeds."""
        if self._on_show is None:
            found = [self.runs[name] for name in self.shown() if name in self.runs]
            is_apart = self.spread == APART or self.x_axis == CLOCK  # seeds run at other times
            self._on_show = list(found) if is_apart else grouped(found, self.spread)
            self.groups = {group.run_id: group for group in self._groups_now()}
        return self._on_show

    def names_shown(self) -> list[str]:
        """Return the ids of present and future curves: runs, or the groups in place of theirs."""
        of = {run.run_id: group.run_id for group in self._groups_now() for run in group.members}
        return list(dict.fromkeys(of.get(run_id, run_id) for run_id in self.shown()))

    def _groups_now(self) -> list[SeedGroup]:
        return [entry for entry in self.entries() if isinstance(entry, SeedGroup)]

    def state_shown(self) -> object:
        """Return a value that stays equal while `entries` are the same with the same records."""
        return self.changes, self.spread, sum([run.table.version for run in self.entries()])

    def set_x_axis(self, name: str) -> None:
        turns = (name == CLOCK) != (self.x_axis == CLOCK)
        self.x_axis, self.x_range = name, None
        if turns and self.spread != APART:
            self.changes += 1
            self._regroup()
        self.view_changed.emit()

    def set_x_range(self, x_range: tuple[float, float] | None) -> None:
        if x_range != self.x_range:
            self.x_range = x_range
            self.view_changed.emit()

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
        """Show runs of one configuration as one curve with a band (RANGE, DEVIATION), or APART."""
        if spread != self.spread:
            self.spread = spread
            self.changes += 1
            self._regroup()
            self.view_changed.emit()


class ViewMemory(QObject):
    """Storage of the view: loads the saved one into the model once, and saves every later change."""

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
        """Return the runs that were pinned when the app was closed."""
        return self._settings.decoded(PINNED_KEY, list[str], [])

    def tab(self) -> Place | None:
        """Return the tab that was in front when the app was closed."""
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
