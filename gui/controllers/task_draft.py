"""A task in the making: start states and a goal that a person captures while playing."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from gui.bridge import Bridge
from gui.controllers.playing import PlayController
from gui.controllers.training import TrainingController
from gui.models.notices import Notices
from gui.models.session import Session
from trainer_core.preflight.checks import BUILT_IN_TASKS
from trainer_core.service import run_job


class TaskDraft(QObject):
    """Files go below `drafts/` of the home; the task itself is made by `dmglab task make`."""

    made = Signal(str)
    """Id of the new task."""

    def __init__(
        self, bridge: Bridge, session: Session, playing: PlayController,
        training: TrainingController, notices: Notices,
    ) -> None:  # fmt: skip
        super().__init__()
        self._bridge, self._session, self._notices = bridge, session, notices
        self._playing, self._training = playing, training
        self.starts: list[Path] = []
        self.goal: Path | None = None
        self._base = ""
        self._folder = Path()

    def refusal(self) -> str:
        """Why nothing can be captured now; empty when it can."""
        request = self._playing.request
        if request is None:
            return "Play the game first"
        if request.task in BUILT_IN_TASKS:
            return f"{request.task} is built in; play a game to make a task of it"
        return ""

    def save_start(self) -> None:
        """Add where the game is now to the states that episodes begin from."""
        if not self._begin():
            return
        path = self._folder / f"start_{len(self.starts)}.npz"
        self._playing.save_state(path, lambda: self._on_start(path))

    def capture_goal(self) -> None:
        """Take the present picture as the goal; with a start state it completes the task."""
        if not self._begin():
            return
        path = self._folder / "goal.npz"
        self._playing.capture_goal(path, lambda: self._on_goal(path))

    def _begin(self) -> bool:
        reason = self.refusal()
        if reason:
            self._bridge.problem.emit("Nothing was captured", reason)
            return False
        task = self._playing.request.task if self._playing.request else ""
        if task != self._base:
            self._base, self.starts, self.goal = task, [], None
            self._folder = self._bridge.home.root / "drafts" / time.strftime("%Y%m%d_%H%M%S")
        return True

    def _on_start(self, path: Path) -> None:
        self.starts.append(path)
        if self.goal is not None:
            self._make()
        else:
            text = "go to where the agent should get, Capture goal"
            self._notices.tell("Start state saved", text, "good")

    def _on_goal(self, path: Path) -> None:
        self.goal = path
        if self.starts:
            self._make()
        else:
            text = "Save start state where episodes should begin"
            self._notices.tell("Goal captured", text, "good")

    def _make(self) -> None:
        task_id = f"mine/{self._folder.name}"
        argv = [
            sys.executable, "-m", "trainer_core.cli.main", "task", "make", "--id", task_id,
            "--base", self._base, "--goal", str(self.goal), "--home", str(self._bridge.home.root),
            "--title", f"Mine, {time.strftime('%d %b %H:%M')}",
            "--start", *map(str, self.starts),
        ]  # fmt: skip
        self._base = ""  # the next capture begins a new draft
        self._bridge.spawn(
            run_job(argv), title="The task was not made", then=lambda result: self._on_made(task_id)
        )

    def _on_made(self, task_id: str) -> None:
        self._session.tasks_changed.emit()
        self._session.set_task(task_id)
        self._notices.tell("Task made", task_id, "good", "Train new", self._training.train_new)
        self.made.emit(task_id)
