"""Runs of the home, active and ended: the run in focus, its records, resuming, reuse of its configuration."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction

from gui.features.runs.columns import RunColumns, differing
from gui.features.runs.comparison import Axis, axis_of, success_axis
from gui.features.runs.model import RunList, sweep_of
from gui.features.train.controller import TrainingController
from gui.kit import object_names as names
from gui.kit.boxes import every
from gui.kit.dialogs import show_file
from gui.kit.words import number, tr
from gui.state.bridge import Bridge, cause_of
from gui.state.metric_series import Array
from gui.state.notices import END_OF_RUN, FILE_OPENED, Notices
from gui.state.run_history import RunTelemetry, reading
from gui.state.run_notes import Note, RunNotes
from gui.state.run_words import reason_words
from gui.state.seed_groups import flat
from gui.state.session import Navigation, Place, Session
from gui.state.telemetry import TelemetryModel
from trainer_core.lab.paths import run_at
from trainer_core.service import RunChanged
from trainer_core.wire import records
from trainer_core.wire.errors import LabError, shortened
from trainer_core.wire.metric_names import METRICS
from trainer_core.wire.run_record import STORAGE_TAG, RunRecord, RunState, is_archived

RENEW_MS = 1000
"""Least milliseconds between two updates of an active run's row in the table."""
NO_CHECKPOINT = "no checkpoint to resume from"
MOST_FOUND = 8
"""Most runs that the palette finds."""
MOST_OTHER = 60
"""Most rows for other trainers' metrics in the table of results."""
MOST_COMPARED = 8
"""Most runs in the tables of a comparison, so that these fit the window."""


class RunsController(QObject):
    """Commands on runs, most of them on the run in focus (the one the user selected last)."""

    def __init__(
        self,
        bridge: Bridge,
        session: Session,
        model: RunList,
        telemetry: TelemetryModel,
        training: TrainingController,
        navigation: Navigation,
        notices: Notices,
        notes: RunNotes,
        columns: RunColumns,
    ) -> None:
        super().__init__()
        self._notes, self._columns = notes, columns
        self._bridge, self._session, self._model = bridge, session, model
        self._telemetry, self._training = telemetry, training
        self._navigation, self._notices = navigation, notices
        self.queue_changed = model.places_changed
        self._configs_asked: set[str] = set()
        self.selected: list[str] = []
        """Ids of the selected rows' runs; the last one is the run in focus."""
        self._offered: list[QAction] = []
        """Actions of the last call of `found`, which the palette shows."""
        self._queued: set[str] = set()
        self._moving: set[str] = set()
        """Ids of the runs that have not ended."""
        bridge.run_changed.connect(self._on_run_changed)
        bridge.event_received.connect(self._on_event)
        training.started.connect(self._on_started)
        training.queued.connect(self._on_queued)
        self._clock = every(self, RENEW_MS, self._on_clock)

    def open_home(self, pinned: Sequence[str] = ()) -> None:
        """Load the runs in the home folder, report those whose process was lost, and show the `pinned` ones."""
        service = self._bridge.service
        lost = service.open()
        if problem := service.registry.problem:
            self._notices.tell(
                tr("The list of runs cannot be read"),
                tr("{problem}. The list is rebuilt from the folders of the runs", problem=shortened(problem)),
                "warn",
            )
        self._model.put_all(list(service.runs.values()))
        self._moving |= {run_id for run_id, run in service.runs.items() if not run.state.is_end}
        self._tell_waits()
        self._look_at_queue()
        if self._columns.fields:
            self.read_configs()
        if service.runs:
            newest = max(service.runs.values(), key=lambda run: run.created_at)
            self.show(newest.run_id)
            self.show_all([run_id for run_id in pinned if run_id in service.runs])
        for run in lost:
            goes_on = service.can_go_on(run) and not self._starts_anew(run)
            why = reason_words(run.reason) + ("" if service.can_go_on(run) else f"; {tr(NO_CHECKPOINT)}")
            self._notices.tell(
                tr("{run} was lost", run=run.name),
                why,
                "warn",
                tr("Resume") if goes_on else "",
                partial(self._training.resume, run.run_id) if goes_on else None,
                subject=f"lost {run.run_id}",
            )

    def take_path(self, path: Path) -> bool:
        """Put the run whose folder or log this is in focus, or tell how one of another home gets here; return whether
        it is a run."""
        paths = run_at(path)
        if paths is None:
            return False
        if paths.run_id in self._bridge.service.runs and paths.root == self._bridge.home.run(paths.run_id).root:
            self.show(paths.run_id)
            self._navigation.show(Place.CURVES)
        else:
            self._notices.tell(
                tr("{name} is a run of another data folder", name=paths.run_id),
                tr("Archive it there and drop the archive here"),
                "warn",
                subject=FILE_OPENED,
            )
        return True

    def take_in(self, run: RunRecord) -> None:
        """Add a run that was not started by this app, such as an imported one, and put it in focus."""
        self._bridge.service.runs[run.run_id] = run
        self._model.put(run)
        self.show(run.run_id)

    @property
    def current(self) -> RunRecord | None:
        """The run in focus, which the user selected last; None before a selection."""
        return self._bridge.service.runs.get(self._telemetry.focus)

    def show(self, run_id: str) -> None:
        """Put a run in focus: curves, state and details of this run are shown."""
        run = self._bridge.service.runs.get(run_id)
        if run is not None and run.state.is_end:
            self._wait_no_more(run)
        self._telemetry.set_focus(run_id)
        self._training.show(run_id)
        self._load_history(run_id)

    def toggle_pin(self) -> None:
        """Show or stop showing the curves of the run in focus beside those of others (pin, unpin).

        With several selected rows, pin all of them, or unpin all if all are pinned.
        """
        pinned, wanted = self._telemetry.pinned, [run.run_id for run in self.in_focus()]
        if all(run_id in pinned for run_id in wanted):
            self._telemetry.set_pinned([run_id for run_id in pinned if run_id not in wanted])
        else:
            self.show_all([*pinned, *(run_id for run_id in wanted if run_id not in pinned)])

    def toggle_shown(self, run_id: str) -> None:
        """Show or hide a run's curves without putting the run in focus."""
        self._telemetry.toggle_pin(run_id)
        if run_id in self._telemetry.pinned:
            self._load_history(run_id)

    def show_all(self, run_ids: list[str]) -> None:
        """Pin these runs beside the one in focus, up to the largest number of pinned runs."""
        self._telemetry.set_pinned(run_ids)
        for run_id in self._telemetry.pinned:
            self._load_history(run_id)

    def color(self) -> int | None:
        """Return the curve colour number chosen for the run in focus, None for an automatic colour."""
        return self._telemetry.chosen_slots.get(self._telemetry.focus)

    def set_color(self, slot: int | None) -> None:
        """Set the curve colour number of the selected runs; None means an automatic colour."""
        for run in self.in_focus():
            self._telemetry.choose_slot(run.run_id, slot)

    def known(self, run_ids: Sequence[object]) -> list[str]:
        """Return those of `run_ids` that are ids of runs in the home."""
        return [str(run_id) for run_id in run_ids if run_id in self._bridge.service.runs]

    def annotate(self, name: str, note: Note) -> None:
        """Set the name and the note (tags, text) of the run in focus."""
        run = self.current
        try:
            if run is not None and name != run.name:
                self._bridge.service.rename(run.run_id, name)
            self._notes.put(self._telemetry.focus, note)
        except (LabError, OSError) as error:
            self._bridge.problem.emit(tr("Name, tags and notes were not saved"), cause_of(error))

    def note(self) -> Note:
        """Return the user's note (tags, text) on the run in focus."""
        return self._notes[self._telemetry.focus]

    def hide_others(self) -> None:
        """Unpin all runs, so that only the curves of the run in focus are shown."""
        self._telemetry.set_pinned([])

    def differences(self, runs: list[RunTelemetry] | None = None) -> list[tuple[str, list[str]]]:
        """Return (field, value for each run) of the configuration fields that differ among `runs`.

        By default `runs` are those of `compared`.
        """
        metas = [run.meta for run in runs or self.compared()]
        configs = [flat(meta.config) if meta is not None else {} for meta in metas]
        names = list({name: True for config in configs for name in config})
        rows = [(name, [config.get(name, "-") for config in configs]) for name in names]
        return [(name, values) for name, values in rows if len(set(values)) > 1]

    def outcomes(self, runs: list[RunTelemetry] | None = None) -> list[tuple[str, list[str]]]:
        """Return (label, value for each run) of progress and newest measurements of `runs`.

        By default `runs` are those of `compared`.
        """
        runs, service = runs or self.compared(), self._bridge.service.runs
        records = [service.get(run.run_id) for run in runs]
        rows = [
            (tr("Steps"), [number(record.env_steps) if record else "-" for record in records]),
            (tr("Best success"), [number(record.best_success_rate, ".0%") if record else "-" for record in records]),
            (
                tr("Best success, loops left by chance"),
                [number(record.best_leaving_rate, ".0%") if record else "-" for record in records],
            ),
        ]
        for row in METRICS:
            columns = [run.table.column(row.name) for run in runs]
            if row.group == "overview" and any(map(len, columns)):
                rows.append((tr(row.title), _newest(columns)))
        known = {row.name for row in METRICS}
        other = dict.fromkeys(n for run in runs for n in run.table.names if n not in known)
        rows += [(name, _newest([run.table.column(name) for run in runs])) for name in list(other)[:MOST_OTHER]]
        return rows

    def parallel(self) -> tuple[list[str], list[Axis]]:
        """Return names of the runs on show, and axes of a parallel coordinates plot: differing settings, success."""
        runs = [run for run in self.on_show() if run.meta is not None]
        configs = [flat(run.meta.config) if run.meta else {} for run in runs]
        axes = [axis_of(name, [config.get(name) for config in configs]) for name in differing(configs)]
        known = self._bridge.service.runs
        rates = [known[run.run_id].best_success_rate if run.run_id in known else 0.0 for run in runs]
        return [self._telemetry.label(run.run_id) for run in runs], [*axes, success_axis(rates)]

    def on_show(self) -> list[RunTelemetry]:
        """Return the runs whose curves are shown and whose logs have been read, the run in focus first."""
        found = (self._telemetry.runs.get(run_id) for run_id in self._telemetry.shown())
        return [run for run in found if run is not None]

    def sweep(self) -> list[str]:
        """Return the ids of all trials of the sweep of the run in focus, in the order of their creation."""
        name = sweep_of(self.current)
        runs = sorted(self._bridge.service.runs.values(), key=lambda run: run.created_at)
        return [run.run_id for run in runs if name and sweep_of(run) == name]

    def found(self, text: str) -> list[QAction]:
        """Return actions that put a run in focus, for the runs whose name or id contains `text`, the newest first."""
        runs = sorted(self._bridge.service.runs.values(), key=lambda run: -run.created_at)
        wanted = text.strip().lower()
        hits = [run for run in runs if wanted in run.title.lower()][:MOST_FOUND] if wanted else []
        self._offered = [QAction(run.title) for run in hits]
        for action, run in zip(self._offered, hits, strict=True):
            action.triggered.connect(partial(self.show, run.run_id))
        return self._offered

    def in_focus(self) -> list[RunRecord]:
        """Return the run in focus and the others selected; a folded sweep stands for all of its trials."""
        known, focus = self._bridge.service.runs, self._telemetry.focus
        picked = self.selected if focus in self.selected else [focus]
        rows = [self._model.row_of(run_id) for run_id in picked]
        behind = [name for row in rows if row >= 0 for name in self._model.sweeps.behind(row)]
        return [known[run_id] for run_id in dict.fromkeys(behind) if run_id in known]

    def show_sweep(self) -> None:
        """Show the curves of all trials of the sweep of the run in focus."""
        self.show_all(self.sweep())

    def toggle_sweep(self) -> None:
        """Fold the sweep of the run in focus to one row of the table, or unfold it."""
        self._model.toggle_sweep(sweep_of(self.current))

    def is_sweep_open(self) -> bool:
        run = self.current
        return run is not None and bool(sweep_of(run)) and not self._model.sweeps.is_folded_sweep(run)

    def sweep_refusal(self) -> str:
        return self.refusal() or ("" if sweep_of(self.current) else tr("The run is not part of a sweep"))

    def compared(self) -> list[RunTelemetry]:
        """Return the runs on show, at most MOST_COMPARED, for the tables of a comparison."""
        return self.on_show()[:MOST_COMPARED]

    def compare_refusal(self) -> str:
        return "" if len(self.compared()) > 1 else tr("Show the curves of two runs or more first")

    def resume(self) -> None:
        self._training.resume(self._telemetry.focus)

    def reuse_config(self) -> None:
        """Copy the configuration of the run in focus into the training form."""
        run = self._telemetry.runs.get(self._telemetry.focus)
        if run is not None and run.meta is not None:
            self._training.turn_to_runner(run.meta.runner)
            self._session.turn_to_training()
            self._training.draft.set_values(run.meta.config)

    def move_in_queue(self, by: int) -> None:
        """Move the run in focus one place towards the head (-1) or tail (1) of the queue."""
        queue, run_id = self._bridge.service.queue, self._telemetry.focus
        try:
            self._look_at_queue()  # other processes change the queue too
            if run_id in self._model.places:
                queue.move(run_id, max(1, self._model.places[run_id] + by))
        except LabError as error:
            self._bridge.problem.emit(tr("The queue was not changed"), cause_of(error))
        self._look_at_queue()

    def take_place_of(self, run_id: str, other: str) -> None:
        """Move the queued run `run_id` to the place of `other` in the queue."""
        queue = self._bridge.service.queue
        try:
            self._look_at_queue()
            if run_id in self._model.places and other in self._model.places:
                queue.move(run_id, self._model.places[other])
        except LabError as error:
            self._bridge.problem.emit(tr("The queue was not changed"), cause_of(error))
        self._look_at_queue()

    def toggle_field(self, name: str) -> None:
        """Show or hide the column of a configuration field in the run table."""
        self._columns.toggle_field(name)
        if name in self._columns.fields:
            self.read_configs()

    def read_configs(self) -> None:
        """Read the configurations of all runs in slices of the event loop, so that the table can sort by them."""
        run_ids = [name for name in self._bridge.service.runs if name not in self._configs_asked]
        if not run_ids:
            return
        self._configs_asked |= set(run_ids)
        self._bridge.spawn(
            self._bridge.in_slices(self._columns.configs.reading(run_ids)), then=lambda _: self._model.renew_columns()
        )

    def _look_at_queue(self) -> None:
        entries = self._bridge.service.queue.entries()
        self._model.set_places([entry.run_id for entry in entries])

    def open_folder(self) -> None:
        show_file(self._bridge.home.run(self._telemetry.focus).root)

    def _log_file(self) -> Path:
        return self._bridge.home.run(self._telemetry.focus).worker_log

    def open_log(self) -> None:
        show_file(self._log_file())

    def log_refusal(self) -> str:
        """Return why the run in focus has no log file to open; empty when it has one."""
        if refusal := self.refusal():
            return refusal
        return "" if self._log_file().is_file() else tr("The trainer of this run wrote no log file")

    def show_log(self) -> None:
        """Show the log dock, where the last lines of a failed run are."""
        self._navigation.show_dock(names.LOG_DOCK)

    # -- what is possible -------------------------------------------------------------------

    def refusal(self) -> str:
        """Return why a command on the run in focus is impossible; empty when a run is in focus."""
        return "" if self.current is not None else tr("Select a run first")

    def resume_refusal(self) -> str:
        run = self.current
        if run is None:
            return self.refusal()
        if run.run_id in self._training.resuming:
            return tr("The run is already being resumed")
        if not run.state.is_end:
            return tr("The run has not ended")
        if refusal := self._starts_anew(run):
            return refusal
        return "" if self._bridge.service.can_go_on(run) else tr("The run has no checkpoint to resume from")

    def _starts_anew(self, run: RunRecord) -> str:
        """Return why the run's trainer cannot resume a run; empty when it can or it is unknown."""
        for runner in self._bridge.service.runners:
            if runner.id == run.runner and not runner.capabilities.exact_resume:
                return tr("{title} cannot resume a run: start a new one", title=runner.title)
        return ""

    def error_refusal(self) -> str:
        """Return why no error of the run in focus can be shown; empty when it has one."""
        run = self.current
        failed = run is not None and run.state in (RunState.FAILED, RunState.LOST)
        return "" if failed else tr("The run did not fail")

    def reuse_refusal(self) -> str:
        run = self._telemetry.runs.get(self._telemetry.focus)
        if run is None or run.meta is None:
            return self.refusal() or tr("Its log has no configuration")
        if run.meta.runner not in {runner.id for runner in self._bridge.service.runners}:
            return tr("No installed trainer can handle this run")
        return ""

    def waits(self) -> bool:
        """Return whether the run in focus is queued."""
        return self._telemetry.focus in self._model.places

    def move_refusal(self, by: int) -> str:
        """Return why the run in focus cannot move up (-1) or down (1) in the queue; empty when it can."""
        place = self._model.places.get(self._telemetry.focus, 0)
        if not place:
            return self.refusal() or tr("The run is not queued")
        if 1 <= place + by <= len(self._model.places):
            return ""
        return tr("The run is already first in the queue") if by < 0 else tr("The run is already last in the queue")

    def curves_refusal(self) -> str:
        """Return why the curves of the run in focus cannot be exported; empty when they can."""
        run = self._telemetry.runs.get(self._telemetry.focus)
        if run is None or not len(run.table):
            return self.refusal() or tr("The run has no curves yet")
        return ""

    # -- following --------------------------------------------------------------------------

    def _load_history(self, run_id: str) -> None:
        """Read the part of the run's log that is not in memory, in slices; new records are added after it."""
        if run_id and self._telemetry.begin_loading(run_id):
            log = self._bridge.home.run(run_id).train_log
            self._bridge.spawn(
                self._bridge.in_slices(reading(run_id, log, lambda: run_id in self._telemetry.shown())),
                then=lambda run: self._on_read(run_id, run),
                failed=lambda reason: self._on_unreadable(run_id, reason),
            )

    def _on_read(self, run_id: str, run: RunTelemetry | None) -> None:
        if run is not None:
            self._telemetry.end_loading(run_id, run)
            return
        self._telemetry.give_up_loading(run_id)
        if run_id in self._telemetry.shown():  # wanted again meanwhile
            self._load_history(run_id)

    def _on_unreadable(self, run_id: str, reason: str) -> None:
        self._telemetry.end_loading(run_id, RunTelemetry(run_id))
        self._bridge.problem.emit(tr("The run's log cannot be read"), reason)

    def _on_event(self, run_id: str, event: records.Event) -> None:
        self._telemetry.follow(run_id, event)

    def _on_run_changed(self, notice: RunChanged) -> None:
        run = notice.record
        (self._moving.discard if run.state.is_end else self._moving.add)(run.run_id)
        before = self._model.label(run.run_id)
        self._model.put(run)
        if self._model.label(run.run_id) != before:
            self._telemetry.renamed.emit(run.run_id)
        if run.state.is_end:
            self._wait_no_more(run)
        if run.state is RunState.QUEUED or run.run_id in self._model.places:
            self._look_at_queue()
        self._tell_waits()

    def _wait_no_more(self, run: RunRecord) -> None:
        """Show why the run will never have curves (ended early, archived, folder gone) instead of a waiting text."""
        is_there = self._bridge.home.run(run.run_id).root.is_dir()
        self._telemetry.tell_wait(
            run.run_id,
            (
                tr("No update before it was stopped")
                if run.state is RunState.STOPPED
                else tr("No update before it ended")
            )
            if is_there
            else tr("The run is archived: restore it to see its curves")
            if is_archived(run)
            else tr("The folder that keeps the run cannot be reached: {place}", place=run.tags[STORAGE_TAG])
            if STORAGE_TAG in run.tags
            else tr("The run's folder was deleted, and its curves with it"),
        )

    def _tell_waits(self) -> None:
        """Set the waiting text of each queued run, and clear it for runs that have left the queue."""
        waiting = set()
        for run_id in self._moving:
            run = self._bridge.service.runs[run_id]
            if run.state is RunState.QUEUED:
                waiting.add(run_id)
                self._telemetry.tell_wait(run_id, self.waiting_for(run))
        for run_id in self._queued - waiting:
            self._notices.withdraw(f"queued {run_id}")
            if not self._bridge.service.runs[run_id].state.is_end:
                self._telemetry.tell_wait(run_id)
        self._queued = waiting

    def waiting_for(self, run: RunRecord) -> str:
        """Return a text on which run occupies the device that a queued run needs, or that it waits in the queue."""
        known = [self._bridge.service.runs[run_id] for run_id in self._moving]
        before = next((one for one in known if one.device == run.device and one.state is not RunState.QUEUED), None)
        if before is not None:
            return tr("Waiting for {label}", label=self._telemetry.label(before.run_id))
        return tr("Waiting in the queue")

    def _on_queued(self, run_id: str) -> None:
        run = self._bridge.service.runs[run_id]
        self._notices.tell(
            tr("{run} is queued", run=run.name),
            self.waiting_for(run),
            "info",
            tr("Show"),
            partial(self.show, run_id),
            subject=f"queued {run_id}",
        )

    def _on_started(self, run_id: str) -> None:
        if run_id not in self._queued:
            self._telemetry.tell_wait(run_id)
        for over in (END_OF_RUN, f"lost {run_id}"):
            self._notices.withdraw(over)
        self.show(run_id)
        self._navigation.leave_welcome()
        if self._navigation.place is Place.LIVE and not self._navigation.plays():  # a user elsewhere stays there
            self._navigation.show(Place.WALL)

    def _on_clock(self) -> None:
        for run_id in self._moving:
            self._model.put(self._bridge.service.runs[run_id])
        if self._model.places:  # another process may have moved them
            self._look_at_queue()
            self._tell_waits()


def _newest(columns: list[Array]) -> list[str]:
    return [number(column[-1], ".4g") if len(column) else "-" for column in columns]
