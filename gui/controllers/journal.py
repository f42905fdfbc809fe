"""What happens, put into words: lines of the log, and the few things a person is told at once."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices

from gui import object_names as names
from gui.bridge import Bridge, in_thread
from gui.controllers.checkpoints import CheckpointsController
from gui.models.failures import failure_of
from gui.models.log_buffer import LogBuffer
from gui.models.navigation import Navigation
from gui.models.notices import END_OF_RUN, Notices
from gui.models.run_words import WORDS
from gui.words import tr
from trainer_core.service import IMPORTED, BadLine, RunChanged, write_report
from trainer_core.wire import records
from trainer_core.wire.run_record import RunRecord, RunState

SHELL_WAY = re.compile(r", or [^,;:`]*`dmglab [^`]*`.*", re.DOTALL)
"""What a cause ends in that has named another way out, one of the app's own, before."""
OFTEN = f"{records.VALIDATING} "
"""So begins a detail that comes every second: no lines for a log."""


def open_folder(folder: Path) -> None:
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))


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
        """Runs that were seen before their end: one that was imported did not end just now."""
        bridge.run_changed.connect(self._on_run_changed)
        bridge.event_received.connect(self._on_event)
        bridge.log_lines.connect(self._on_lines)
        bridge.bad_line.connect(self._on_bad_line)
        bridge.problem.connect(self._on_problem)
        bridge.traced.connect(self._on_traceback)

    def write_report(self, run_id: str, path: Path) -> None:
        """Put what explains a failure, and nothing that is somebody's, into one file."""
        lines = [line.text for line in self._log.lines]
        work = in_thread(write_report, self._bridge.home, run_id, path, lines)
        self._bridge.spawn(
            work,
            title=tr("The report was not written"),
            then=lambda names: self._notices.tell(
                tr("Bug report written"),
                tr("{path}: {count} files, no ROM, no weights", path=path, count=len(names)),
                "good",
                tr("Open folder"),
                partial(open_folder, path.parent),
            ),
        )

    def _on_run_changed(self, notice: RunChanged) -> None:
        run = notice.record
        is_often = notice.detail.startswith(OFTEN) or notice.detail == records.FINISHING
        is_often |= notice.detail.startswith(records.PREPARING) and ": " in notice.detail
        if (notice.detail and not is_often) or run.state.is_end:
            detail = run.reason if run.state.is_end else notice.detail
            word = WORDS[run.state].lower()
            self._log.add(f"{run.run_id} {word}{': ' + detail if detail else ''}")
        if not run.state.is_end:
            self._alive.add(run.run_id)
        elif run.run_id in self._alive:
            self._alive.discard(run.run_id)
            if not self._bridge.closing and not run.reason.startswith(IMPORTED):
                self._tell_end(run)

    def _tell_end(self, run: RunRecord) -> None:
        if run.state is RunState.FINISHED:
            plays = not self._checkpoints.no_player(run.run_id)
            self._notices.tell(
                tr("Training finished"),
                tr("{env_steps:,} environment steps", env_steps=run.env_steps),
                "good",
                tr("Watch it play") if plays else "",
                partial(self._checkpoints.watch_run, run.run_id) if plays else None,
                is_news=True,
                subject=END_OF_RUN,
            )
        elif run.state is RunState.LOST:
            self._tell_failure(tr("Run lost"), run.reason, is_news=True, subject=END_OF_RUN)
        elif run.state is RunState.FAILED:
            self._tell_failure(tr("Training failed"), run.reason, is_news=True, subject=END_OF_RUN)

    def _on_event(self, run_id: str, event: records.Event) -> None:
        if isinstance(event, records.CheckpointRecord):
            self._log.add(f"{run_id} checkpoint {event.path} ({event.reason})")
        elif isinstance(event, records.ErrorRecord):
            self._log.add(f"{run_id} error {event.kind}: {event.message}", 2)

    def _on_lines(self, run_id: str, lines: list[str]) -> None:
        self._log.add_all(lines)

    def _on_bad_line(self, run_id: str, line: BadLine) -> None:
        self._log.add(f"{run_id} bad line: {line.reason} {line.text}".rstrip(), 1)

    def _on_traceback(self, lines: list[str]) -> None:
        for line in lines:
            self._log.add(line, 2)

    def _on_problem(self, title: str, cause: str) -> None:
        self._log.add(f"{title}: {cause}", 2)
        self._tell_failure(title, cause)

    def _tell_failure(self, title: str, cause: str, *, is_news: bool = False, subject: str = "") -> None:
        """One banner: the catalogue's code and title, the cause, and the command that helps."""
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
        # The log has the cause; a command of a shell is no help to whoever reads a window.
        plain = SHELL_WAY.sub("", cause)
        text = f"{tr(failure.title)}: {tr(failure.means) if 'dmglab ' in plain else plain}"
        self._notices.tell(
            f"{title} ({failure.code})", text, "error", command=failure.command, is_news=is_news, subject=subject
        )
