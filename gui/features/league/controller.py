"""Controller of the league's process: players, progress, table of results."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from gui.features.replay.controller import ReplayController
from gui.kit.words import tr
from gui.state.bridge import Bridge
from gui.state.checkpoints import CheckpointList
from gui.state.session import Navigation, Place, Session
from trainer_core.service import Job, run_job

MAX_EPISODES = 16


class LeagueController(QObject):
    """Starts `dmglab league --record` on a task and reads its table; rows stay until the next league begins."""

    changed = Signal()
    wanted = Signal()
    """The user wants to see the league, also where there is nothing to compare yet."""
    progressed = Signal(float)

    def __init__(
        self,
        bridge: Bridge,
        session: Session,
        navigation: Navigation,
        replay: ReplayController,
        checkpoints: CheckpointList,
    ) -> None:
        super().__init__()
        self._bridge, self._session = bridge, session
        self.name_of, self.task_title = bridge.name_of, bridge.task_title
        """Functions that return a run's name, and a task's title."""
        self._navigation, self._replay, self._checkpoints = navigation, replay, checkpoints
        self.rows: list[dict[str, Any]] = []
        """Rows of the last league's league.json, the best player first; empty while a league runs."""
        self.task = self.error = ""
        """Task of `rows`; and the error text when the last league failed."""
        self.chosen = -1
        self.players = "random"
        """Players as arguments of `dmglab league`: separated by spaces, quoted where they contain spaces."""
        self._job: Job | None = None
        self._busy = False
        session.task_changed.connect(lambda task: self.changed.emit())
        checkpoints.selection_changed.connect(self.changed)

    @property
    def is_busy(self) -> bool:
        return self._busy

    @property
    def next_task(self) -> str:
        """Task of the next league: that of the selected checkpoint if it is a player, else the session's task."""
        card = self._checkpoints.selected
        plays = card is not None and f"checkpoint={card.folder}" in self.players
        return card.task if card is not None and plays else self._session.task

    def show(self) -> None:
        self.wanted.emit()
        self._navigation.show(Place.LEAGUE)

    def set_players(self, text: str) -> None:
        self.players = text
        self.changed.emit()

    def add_checkpoint(self) -> None:
        """Add the checkpoint selected in the checkpoint list to the players."""
        card = self._checkpoints.selected
        if card is not None:
            player = shlex.quote(f"checkpoint={card.folder}")
            self.set_players(f"{self.players} {player}".strip())

    def add_refusal(self) -> str:
        return "" if self._checkpoints.selected is not None else tr("Select a checkpoint first")

    def refusal(self) -> str:
        """Return why the league's button is disabled; empty while a league can be started or stopped."""
        if self._busy:
            return ""
        try:
            players = shlex.split(self.players)
        except ValueError:
            return tr("A quotation mark is missing")
        if not players:
            return tr("Name at least one player")
        options = [player for player in players if player.startswith("-")]
        return tr("{what} is not a player", what=options[0]) if options else ""

    def toggle(self) -> None:
        """Start a league, or stop the running one."""
        if self._job is not None:
            self._job.cancel()
        elif not self._busy:
            self._begin()

    def _begin(self) -> None:
        argv = [
            sys.executable,
            "-m",
            "trainer_core.cli.main",
            "league",
            *shlex.split(self.players),
            "--task",
            self.next_task,
            "--episodes",
            str(MAX_EPISODES),
            "--record",
            "--home",
            str(self._bridge.home.root),
        ]
        self._busy, self.error = True, ""
        self.task, self.rows, self.chosen = self.next_task, [], -1
        self.changed.emit()
        self._bridge.spawn(
            run_job(argv, on_progress=self.progressed.emit, on_start=self._on_job, partial=True),
            then=self._on_done,
            failed=self._on_failed,
        )

    def _on_job(self, job: Job) -> None:
        self._job = job

    def _on_done(self, result: dict[str, Any]) -> None:
        self._job, self._busy = None, False
        self.rows = list(result.get("rows", ()))
        self.changed.emit()

    def _on_failed(self, reason: str) -> None:
        self._job, self._busy = None, False
        self.error = tr("Stopped") if reason == "cancelled" else reason
        self.changed.emit()

    # -- a row of the table -----------------------------------------------------------------

    def choose(self, row: int) -> None:
        if row != self.chosen:
            self.chosen = row
            self.changed.emit()

    def replay_refusal(self) -> str:
        if not 0 <= self.chosen < len(self.rows):
            return tr("Select a player in the table first")
        if not self.rows[self.chosen].get("recording"):
            return tr("No recorded episode of this player")
        return ""

    def replay(self) -> None:
        """Show the first episode of the selected player in the Replay tab."""
        if not self.replay_refusal():
            self._replay.load(Path(self.rows[self.chosen]["recording"]))
            self._navigation.show(Place.REPLAY)
