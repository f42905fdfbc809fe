"""How two policies stand that play side by side: name, way so far, episodes won."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from gui.widgets.labels import ElidedLabel, label, set_role
from gui.words import tr
from trainer_core.wire.buttons import action_name
from trainer_core.wire.records import VersusEvent, VersusSide


class VersusBoard(QWidget):
    """Two columns, as the pictures lie."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("versusBoard")
        self.setAccessibleName(tr("Two policies side by side"))
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(4)
        self.names = [ElidedLabel(), ElidedLabel()]
        self.ways = [ElidedLabel("", "muted"), ElidedLabel("", "muted")]
        self.wins = [label(), label()]
        for side in range(2):
            grid.addWidget(self.names[side], 0, 2 * side)
            grid.addWidget(self.wins[side], 0, 2 * side + 1, Qt.AlignmentFlag.AlignRight)
            grid.addWidget(self.ways[side], 1, 2 * side, 1, 2)
            grid.setColumnStretch(2 * side, 1)
        self.rounds = label("", "muted")
        grid.addWidget(self.rounds, 2, 0, 1, 4)

    def set_names(self, left: str, right: str) -> None:
        """What the two are called."""
        for shown, name in zip(self.names, (left, right), strict=True):
            shown.setText(name)

    def show_standing(self, event: VersusEvent) -> None:
        for side, told in enumerate(event.sides):
            self.wins[side].setText(tr("won {wins}", wins=told.wins))
            self.ways[side].setText(way_words(told))
            set_role(self.ways[side], "role", "good" if told.success else "muted")
        self.rounds.setText(
            tr(
                "episode {episode}, start {start}, draws {draws}",
                episode=event.episode,
                start=event.start,
                draws=event.draws,
            )
        )


def way_words(side: VersusSide) -> str:
    """How far one of them is."""
    if side.success:
        return tr("goal after {steps} steps", steps=side.steps)
    if side.over:
        return tr("cut off after {steps} steps", steps=side.steps)
    action = action_name(side.action) if side.action >= 0 else ""
    return tr("step {steps}   distance {dist:.3f}   {action}", steps=side.steps, dist=side.dist, action=action)
