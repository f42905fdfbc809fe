"""Recordings as demonstrations for training, and the form that adds one to a task."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFormLayout, QHBoxLayout, QVBoxLayout, QWidget

from gui.features.replay.controller import ReplayController
from gui.kit.boxes import put
from gui.kit.dialogs import Sheet
from gui.kit.labels import button, choice_box, label, spin_box
from gui.kit.words import tr
from gui.state.bridge import Bridge
from gui.state.notices import Notices
from trainer_core.lab.tasks import list_tasks
from trainer_core.service import run_job


class Demonstrations(QObject):
    def __init__(self, bridge: Bridge, replay: ReplayController, notices: Notices) -> None:
        super().__init__()
        self._bridge, self._replay, self._notices = bridge, replay, notices

    def tasks(self) -> dict[str, str]:
        """Return the title by id of the user's own tasks for the game of the recording on show."""
        replay, home = self._replay.replay, self._bridge.home
        if replay is None or not replay.can_play_on:
            return {}
        return {
            task.manifest.id: task.manifest.title
            for task in list_tasks(home)
            if task.folder.is_relative_to(home.tasks) and task.manifest.rom.sha256 == replay.recording.rom_sha256
        }

    def refusal(self) -> str:
        return self._replay.replay_refusal()

    def add(self, task: str, first: int, last: int) -> None:
        """Add frames `first` to `last` of the recording on show to a task as a demonstration of its goal.

        Frames after the goal was reached are left out.
        """
        replay = self._replay.replay
        if replay is None:
            return
        argv = [
            sys.executable, "-m", "trainer_core.cli.main", "task", "demo", str(replay.folder),
            "--task", task, "--from-frame", str(first), "--to-frame", str(last + 1),
            "--home", str(self._bridge.home.root),
        ]  # fmt: skip
        self._bridge.spawn(
            run_job(argv),
            then=lambda found: self._notices.tell(
                tr("Demonstration saved"),
                tr(
                    "{task} reaches its goal in {steps} steps; it has {count} of them now",
                    task=self._bridge.task_title(task),
                    steps=found["steps"],
                    count=found["demonstrations"],
                ),
                "good",
            ),
            failed=lambda reason: self._bridge.problem.emit(tr("No demonstration"), reason),
        )


class DemoSheet(Sheet):
    def __init__(
        self, parent: QWidget, tasks: Mapping[str, str], frames: int, add: Callable[[str, int, int], object]
    ) -> None:
        """Build the form; `tasks` are titles by id; `add` is called with id, first and last frame, counted from 0."""
        super().__init__(parent, "demoSheet", tr("Use as a demonstration"))
        self._add = add
        self.task = choice_box("demoTask", tr("Task"), tasks.items())
        self.first = spin_box("demoFirst", tr("From frame"), 1, frames, 1)
        self.last = spin_box("demoLast", tr("To frame"), 1, frames, frames)
        form = QFormLayout()
        form.addRow(tr("Task"), self.task)
        form.addRow(tr("From frame"), self.first)
        form.addRow(tr("To frame"), self.last)
        row = QHBoxLayout()
        put(row, 1, button(tr("Cancel"), "demoCancel", clicked=self.reject))
        self.agree = button(tr("Save"), "demoAgree", primary=True, clicked=self._agree)
        self.agree.setEnabled(bool(tasks))
        row.addWidget(self.agree)
        column = QVBoxLayout(self)
        if not tasks:
            column.addWidget(
                label(
                    tr(
                        "This game has no task of your own yet. Create one first: save a start state (F7) and "
                        "capture a goal (F8) while you play."
                    ),
                    wrap=True,
                )
            )
        put(column, form, row)

    def _agree(self) -> None:
        first, last = self.first.value(), self.last.value()
        self._add(self.task.currentData(), first - 1, max(first, last) - 1)
        self.accept()
