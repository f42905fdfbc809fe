"""Recordings as demonstrations: ways to a goal that training may begin along."""

from __future__ import annotations

import sys

from PySide6.QtCore import QObject

from gui.bridge import Bridge
from gui.controllers.replay import ReplayController
from gui.models.notices import Notices
from gui.words import tr
from trainer_core.lab.tasks import list_tasks
from trainer_core.service import run_job


class Demonstrations(QObject):
    def __init__(self, bridge: Bridge, replay: ReplayController, notices: Notices) -> None:
        super().__init__()
        self._bridge, self._replay, self._notices = bridge, replay, notices

    def tasks(self) -> list[str]:
        """Ids of this home's own tasks of the game that was recorded; shipped ones stay as is."""
        replay, home = self._replay.replay, self._bridge.home
        if replay is None or not replay.can_play_on:
            return []
        return [
            task.manifest.id
            for task in list_tasks(home)
            if task.folder.is_relative_to(home.tasks) and task.manifest.rom.sha256 == replay.recording.rom_sha256
        ]

    def refusal(self) -> str:
        return self._replay.replay_refusal()

    def add(self, task: str, first: int, last: int) -> None:
        """Keep frames `first` to `last` of the recording on show with a task, up to its goal."""
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
                tr("Demonstration kept"),
                tr(
                    "{task} reaches its goal in {steps} steps; it has {count} of them now",
                    task=task,
                    steps=found["steps"],
                    count=found["demonstrations"],
                ),
                "good",
            ),
            failed=lambda reason: self._bridge.problem.emit(tr("No demonstration"), reason),
        )
