"""Use trained: which checkpoint, how it chooses its actions, and what it was trained on."""

from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QComboBox, QGridLayout, QVBoxLayout, QWidget

from gui.controllers.playing import PlayController
from gui.models.checkpoints import RATES, CheckpointCard, CheckpointList
from gui.models.run_list import ago
from gui.widgets.ages import EVERY_MS
from gui.widgets.labels import ElidedLabel, label
from gui.words import tr
from trainer_core.wire.playing import PolicyMode

_MODES = {
    "leave_loops": ("Leave loops", "The likeliest action, another where a picture comes back"),
    "greedy": ("Greedy", "The likeliest action"),
    "sample": ("Drawn", "As likely as the policy says, as in training"),
}
_ROWS = ("Task", "Algorithm", "Steps", "Success", "", "", "Saved", "Integrity", "Run")


class TrainedPage(QWidget):
    """Its choices are its own: switching to Train new and back keeps them."""

    def __init__(self, playing: PlayController, checkpoints: CheckpointList) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 12, 8)
        column.setSpacing(8)
        self._playing = playing
        self._hint = label("", "muted", wrap=True)
        column.addWidget(self._hint)
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        self._values = [ElidedLabel() for _ in _ROWS]
        for row, (name, value) in enumerate(zip(_ROWS, self._values, strict=True)):
            grid.addWidget(label(tr(name) if name else "", "muted"), row, 0)
            grid.addWidget(value, row, 1)
        column.addLayout(grid)
        column.addWidget(label(tr("Actions"), "muted"))
        self.modes = QComboBox()
        self.modes.setObjectName("policyMode")
        self.modes.setAccessibleName(tr("How the policy chooses its actions"))
        for value, (text, _) in _MODES.items():
            self.modes.addItem(tr(text), value)
        self.modes.activated.connect(lambda: self._choose(self.modes.currentData()))
        column.addWidget(self.modes)
        self.mode_words = label("", "muted", wrap=True)
        self.mode_words.setObjectName("policyModeWords")
        column.addWidget(self.mode_words)
        playing.changed.connect(self._tell_mode)
        self._tell_mode()
        column.addStretch(1)
        checkpoints.selection_changed.connect(lambda: self.show_card(checkpoints.selected))
        self.show_card(checkpoints.selected)
        self._ages = QTimer(self, interval=EVERY_MS)
        self._ages.timeout.connect(lambda: self.show_card(checkpoints.selected))
        self._ages.start()

    def _choose(self, mode: PolicyMode) -> None:
        self._playing.policy_mode = mode
        self._tell_mode()

    def _tell_mode(self) -> None:
        """What the choice means, and when the agent that plays was deployed with another."""
        words, request = tr(_MODES[self._playing.policy_mode][1]), self._playing.request
        plays = self._playing.is_active and request is not None and request.mode in _MODES
        if plays and request is not None and request.mode != self._playing.policy_mode:
            words += tr("; from the next Deploy on")
        self.mode_words.setText(words)

    def show_card(self, card: CheckpointCard | None) -> None:
        self._hint.setText(
            tr("Pick a checkpoint at the lower right, then press Deploy.")
            if card is None
            else tr("Press Deploy under Checkpoints to watch it play.")
        )
        texts = [""] * len(_ROWS)
        if card is not None:
            rates = list(dict.fromkeys(map(card.rate_words, RATES)))
            rates += [""] * (len(RATES) - len(rates))
            texts = [
                card.task,
                card.algo,
                f"{card.env_steps:,}",
                *rates,
                ago(card.created_at),
                tr(card.integrity),
                card.run_id,
            ]
        for value, text in zip(self._values, texts, strict=True):
            value.setText(text)
