"""Texts of events: lines of the log, and notices for the few important ones."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject

from gui.features.checkpoints.controller import CheckpointsController
from gui.features.train.controller import TrainingController
from gui.kit import object_names as names
from gui.kit.boxes import every
from gui.kit.dialogs import show_file
from gui.kit.words import tr
from gui.state.bridge import Bridge, in_thread
from gui.state.failures import failure_of
from gui.state.log_buffer import LogBuffer
from gui.state.notices import END_OF_RUN, Notices
from gui.state.run_history import Alert
from gui.state.run_words import WORDS
from gui.state.session import Navigation, Place
from gui.state.telemetry import TelemetryModel
from trainer_core.service import IMPORTED, BadLine, RunChanged, write_report
from trainer_core.wire import records
from trainer_core.wire.run_record import RunRecord, RunState

SHELL_WAY = re.compile(r", or [^,;:`]*`dmglab [^`]*`.*", re.DOTALL)
"""End of an error text that proposes a shell command, which is left out of a notice."""
OFTEN = f"{records.VALIDATING} "
"""Prefix of progress texts that come every second: too often for the log."""
SILENCE_LOOK_MS = 2000
SILENCE = "silence"
"""Subject of the notice on a run that sends no heartbeats."""


class Journal(QObject):
    def __init__(
        self,
        bridge: Bridge,
        log: LogBuffer,
        notices: Notices,
        navigation: Navigation,
        checkpoints: CheckpointsController,
    ) -> None:
        super().__init__()
        self._bridge, self._log, self._notices = bridge, log, notices
        self._navigation, self._checkpoints = navigation, checkpoints
        self._alive: set[str] = set()
        """Ids of runs that were seen while active; only the end of one of these is announced."""
        bridge.run_changed.connect(self._on_run_changed)
        bridge.event_received.connect(self._on_event)
        bridge.log_lines.connect(self._on_lines)
        bridge.bad_line.connect(self._on_bad_line)
        bridge.problem.connect(self._on_problem)
        bridge.traced.connect(self._on_traceback)

    def write_report(self, run_id: str, path: Path) -> None:
        """Write an archive to `path` with the files that explain a run's failure, without personal data."""
        lines = [line.text for line in self._log.lines]
        work = in_thread(write_report, self._bridge.home, run_id, path, lines)
        self._bridge.spawn(
            work,
            title=tr("The report was not saved"),
            then=lambda names: self._notices.tell(
                tr("Bug report saved"),
                tr("{path}: {count} files, no ROM, no weights", path=path, count=len(names)),
                "good",
                tr("Open folder"),
                partial(show_file, path.parent),
            ),
        )

    def _title(self, run_id: str) -> str:
        return f"{self._bridge.name_of(run_id)} ({run_id})"

    def _on_run_changed(self, notice: RunChanged) -> None:
        run = notice.record
        is_often = notice.detail.startswith(OFTEN) or notice.detail == records.FINISHING
        is_often |= notice.detail.startswith(records.PREPARING) and ": " in notice.detail
        if (notice.detail and not is_often) or run.state.is_end:
            detail = run.reason if run.state.is_end else notice.detail
            word = WORDS[run.state].lower()
            self._log.add(f"{self._title(run.run_id)} {word}{': ' + detail if detail else ''}")
        if not run.state.is_end:
            self._alive.add(run.run_id)
        elif run.run_id in self._alive:
            self._alive.discard(run.run_id)
            if not self._bridge.closing and not run.reason.startswith(IMPORTED):
                self._tell_end(run)

    def _tell_end(self, run: RunRecord) -> None:
        if run.state is RunState.FINISHED:
            plays = not self._checkpoints.no_player(run.run_id)
            rate = run.best_success_rate
            self._notices.tell(
                tr("{run} finished", run=run.name),
                tr("{rate:.0%} on held-out starts, {steps:,} steps", rate=rate, steps=run.env_steps)
                if rate
                else tr("{env_steps:,} environment steps", env_steps=run.env_steps),
                "good",
                tr("Deploy") if plays else "",
                partial(self._checkpoints.watch_run, run.run_id) if plays else None,
                is_news=True,
                subject=END_OF_RUN,
            )
        elif run.state is RunState.LOST:
            self._tell_failure(tr("{run} was lost", run=run.name), run.reason, is_news=True, subject=END_OF_RUN)
        elif run.state is RunState.FAILED:
            self._tell_failure(tr("{run} failed", run=run.name), run.reason, is_news=True, subject=END_OF_RUN)

    def _on_event(self, run_id: str, event: records.Event) -> None:
        if isinstance(event, records.CheckpointRecord):
            self._log.add(f"{self._title(run_id)} checkpoint {event.path} ({event.reason})")
        elif isinstance(event, records.ErrorRecord):
            self._log.add(f"{self._title(run_id)} error {event.kind}: {event.message}", 2)

    def _on_lines(self, run_id: str, lines: list[str]) -> None:
        self._log.add_all(lines)

    def _on_bad_line(self, run_id: str, line: BadLine) -> None:
        self._log.add(f"{self._title(run_id)} bad line: {line.reason} {line.text}".rstrip(), 1)

    def _on_traceback(self, lines: list[str]) -> None:
        for line in lines:
            self._log.add(line, 2)

    def _on_problem(self, title: str, cause: str) -> None:
        self._log.add(f"{title}: {cause}", 2)
        self._tell_failure(title, cause)

    def _tell_failure(self, title: str, cause: str, *, is_news: bool = False, subject: str = "") -> None:
        """Show an error banner: title and code of the known failure, `cause`, and a button with the helpful command.

        A cause that is not in the catalogue gets a button that shows the log.
        """
        failure = failure_of(cause)
        if failure is None:
            self._notices.tell(
                title,
                cause,
                "error",
                tr("Show log"),
                lambda: self._navigation.show_dock(names.LOG_DOCK),
                is_news=is_news,
                subject=subject,
            )
            return
        # The log has the full cause; a shell command is no help in a window.
        plain = SHELL_WAY.sub("", cause)
        text = f"{tr(failure.title)}: {tr(failure.means) if 'dmglab ' in plain else plain}"
        self._notices.tell(
            f"{title} ({failure.code})", text, "error", command=failure.command, is_news=is_news, subject=subject
        )


class Alerts(QObject):
    def __init__(
        self, telemetry: TelemetryModel, training: TrainingController, navigation: Navigation, notices: Notices
    ) -> None:
        super().__init__()
        self._telemetry, self._training = telemetry, training
        self._navigation, self._notices = navigation, notices
        self._stalled = ""
        """Id of the run whose silence was announced."""
        telemetry.alerted.connect(self._on_alert)
        self._clock = every(self, SILENCE_LOOK_MS, self._look)

    def _on_alert(self, run_id: str, alert: Alert) -> None:
        if alert.kind != "error":  # the journal reports how a run failed
            self._tell(f"{alert.title}: {self._telemetry.label(run_id)}", alert.text)

    def _look(self) -> None:
        """Announce once that the run on show sends no records any more."""
        silent, run_id = self._training.stalled_for(), self._training.run_id
        if silent and self._stalled != run_id:
            self._stalled = run_id
            self._tell(
                tr("No data from {label}", label=self._telemetry.label(run_id)),
                tr("for {silent:.0f} seconds", silent=silent),
                SILENCE,
            )
        elif not silent and self._stalled:  # it sends records again, ended, or is no longer on show
            self._stalled = ""
            self._notices.withdraw(SILENCE)

    def _tell(self, title: str, text: str, subject: str = "") -> None:
        self._notices.tell(
            title,
            text,
            "warn",
            tr("Show curves"),
            lambda: self._navigation.show(Place.CURVES),
            is_news=True,
            subject=subject,
        )
