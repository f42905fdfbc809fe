"""The checkpoint that plays in the live view: its validation, and the episodes played since it was deployed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from gui.features.play.controller import PlayController
from gui.state.checkpoints import CheckpointCard, CheckpointList
from gui.state.run_progress import validations
from gui.state.situation import Situations
from gui.state.telemetry import TelemetryModel
from trainer_core.wire.records import EvalRecord, PlayEvent


class Watched(QObject):
    """Follower of the player; the run whose checkpoint plays comes on show, unless another one trains."""

    changed = Signal()

    def __init__(
        self,
        playing: PlayController,
        checkpoints: CheckpointList,
        telemetry: TelemetryModel,
        show: Callable[[str], object],
        situations: Situations,
    ) -> None:
        """Take the app's parts; `show` brings a run on show."""
        super().__init__()
        self._playing, self._checkpoints, self._telemetry = playing, checkpoints, telemetry
        self._show, self._situations = show, situations
        self._counted = ""
        self.goals = self.episodes = 0
        """Episodes that reached the goal, and all that ended, since the checkpoint was deployed."""
        playing.changed.connect(self._on_changed)
        playing.played.connect(self._on_played)

    @property
    def card(self) -> CheckpointCard | None:
        """The checkpoint that plays alone; None while none plays or two play side by side."""
        request = self._playing.request
        if request is None or not request.checkpoint or request.rival or not self._playing.is_active:
            return None
        row = self._checkpoints.row_of(Path(self._playing.checkpoint))
        return self._checkpoints.cards[row] if row >= 0 else None

    @property
    def task(self) -> str:
        request = self._playing.request
        return request.task if request is not None else ""

    def validation(self) -> EvalRecord | None:
        """Return the validation of the checkpoint's own weights; None while its run's log is not read."""
        card = self.card
        run = self._telemetry.runs.get(card.run_id) if card is not None else None
        found = [one for one in validations(run) if card and one.env_steps == card.env_steps] if run else []
        return found[-1] if found else None

    @property
    def is_best(self) -> bool:
        card = self.card
        return card is not None and self._checkpoints.is_best(card)

    def siblings(self) -> int:
        """Return the number of the run's checkpoints in the list."""
        card = self.card
        return sum(one.run_id == card.run_id for one in self._checkpoints.cards) if card is not None else 0

    def _on_changed(self) -> None:
        card = self.card
        if card is not None and self._playing.checkpoint != self._counted:
            self._counted, self.goals, self.episodes = self._playing.checkpoint, 0, 0
            if card.run_id != self._telemetry.focus and not self._situations.is_training:
                self._show(card.run_id)
        self.changed.emit()

    def _on_played(self, event: PlayEvent) -> None:
        if (event.success or event.trunc) and event.who == "agent":
            self.goals, self.episodes = self.goals + event.success, self.episodes + 1
            self.changed.emit()
