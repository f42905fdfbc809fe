"""Use trained: which checkpoint, how it chooses its actions, and what it was trained on."""

from __future__ import annotations

from PySide6.QtWidgets import QComboBox, QGridLayout, QVBoxLayout, QWidget

from gui.controllers.playing import PlayController
from gui.models.checkpoints import CheckpointCard, CheckpointList
from gui.models.run_list import ago
from gui.widgets.labels import ElidedLabel, label
from gui.words import tr

_MODES = (
    ("leave_loops", "Leave loops: another where a picture comes back"),
    ("greedy", "Greedy: the likeliest action"),
    ("sample", "Sampled: as in training"),
)
_ROWS = ("Task", "Algorithm", "Steps", "Success", "Saved", "Integrity", "Run")


class TrainedPage(QWidget):
    """Its choices are its own: switching to Train new and back keeps them."""

    def __init__(self, playing: PlayController, checkpoints: CheckpointList) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 12, 8)
        column.setSpacing(8)
        self._hint = label("", "muted", wrap=True)
        column.addWidget(self._hint)
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        self._values: dict[str, ElidedLabel] = {}
        for row, name in enumerate(_ROWS):
            grid.addWidget(label(tr(name), "muted"), row, 0)
            self._values[name] = ElidedLabel()
            grid.addWidget(self._values[name], row, 1)
        column.addLayout(grid)
        column.addWidget(label(tr("Actions"), "muted"))
        self.modes = QComboBox()
        self.modes.setObjectName("policyMode")
        self.modes.setAccessibleName(tr("How the policy chooses its actions"))
        for value, text in _MODES:
            self.modes.addItem(tr(text), value)
        self.modes.activated.connect(
            lambda: setattr(playing, "policy_mode", self.modes.currentData())
        )
        column.addWidget(self.modes)
        column.addStretch(1)
        checkpoints.selection_changed.connect(lambda: self.show_card(checkpoints.selected))
        self.show_card(checkpoints.selected)

    def show_card(self, card: CheckpointCard | None) -> None:
        self._hint.setText(
            tr("Pick a checkpoint at the lower right, then press Deploy.")
            if card is None
            else tr("Press Deploy under Checkpoints to watch it play.")
        )
        texts = [""] * len(_ROWS)
        if card is not None:
            texts = [
                card.task, card.algo, f"{card.env_steps:,}", f"{card.success_rate * 100:.0f} %",
                ago(card.created_at), tr(card.integrity), card.run_id,
            ]  # fmt: skip
        for name, text in zip(_ROWS, texts, strict=True):
            self._values[name].setText(text)
