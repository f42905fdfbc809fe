"""Strip that stands for the left dock while that is hidden: mode, task, operation, and the next run in one line."""

from __future__ import annotations

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QWidget

from gui.features.runners.switches import mode_switch, task_box
from gui.features.train.dock import operation_switch
from gui.features.train.draft import ConfigDraft
from gui.kit import object_names as names
from gui.kit.actions import NATIVE, ActionRegistry
from gui.kit.boxes import hbox, named, put, titlebar
from gui.kit.labels import ElidedLabel, button, icon_button, label
from gui.kit.words import tr
from gui.state.checkpoints import CheckpointList
from gui.state.session import Mode, Operation, Session
from gui.state.situation import Situation, Situations
from gui.state.telemetry import TelemetryModel

HEIGHT = 40
TASK_WIDTH = 168
TINY = 960
"""Width in pixels below which the words of the strip do not fit."""
DOCK_COMMAND = f"dock.{names.AGENT_DOCK}"


class ModeCorner(QWidget):
    """Place at the right end of the menu bar with the mode switch, while nothing else shows it."""

    def __init__(self, session: Session, situations: Situations, actions: ActionRegistry) -> None:
        super().__init__()
        titlebar(self)
        row = hbox(self, margins=(0, 2, 16, 2))
        row.addWidget(mode_switch(session, actions, "corner_"))
        self._situations = situations
        for signal in (situations.changed, situations.folded_changed):
            signal.connect(self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        self.setVisible(self._situations.is_left_folded and self._situations.now is Situation.FIRST)


class Strip(QWidget):
    """Bar with the switches of the agent dock, and a summary of the next run."""

    def __init__(
        self,
        session: Session,
        situations: Situations,
        draft: ConfigDraft,
        checkpoints: CheckpointList,
        telemetry: TelemetryModel,
        actions: ActionRegistry,
    ) -> None:
        super().__init__()
        self._session, self._situations = session, situations
        self._draft, self._checkpoints, self._telemetry = draft, checkpoints, telemetry
        self.setObjectName("strip")
        self.setAccessibleName(tr("The next run"))
        titlebar(self)
        self.setFixedHeight(HEIGHT)

        def unfold() -> None:
            actions[DOCK_COMMAND].trigger()

        self._row = row = hbox(self, margins=(12, 0, 16, 0), spacing=12)
        self.fold = icon_button("dock", tr("Show the left dock"), "unfoldLeft", clicked=unfold)
        self._task = label(tr("Task"), "muted")
        self._rules = [_upright() for _ in range(3)]
        self.summary = named(ElidedLabel("", "muted"), "nextRun", tr("Settings of the next run"))
        self.edit = button(tr("Edit set-up"), "editSetup", clicked=unfold)
        self.edit.setProperty("flat", True)
        self.operations = operation_switch(session, actions, "strip_")
        self.tasks = task_box(session, "strip_")
        self.tasks.setMinimumWidth(TASK_WIDTH)
        modes, (first, second, third) = mode_switch(session, actions, "strip_"), self._rules
        row.addWidget(self.fold)
        for widget in (modes, first, self._task, self.tasks, second, self.operations, third):
            row.addWidget(widget)
        put(row, (self.summary, 1), self.edit)
        self._key = label("", "caption")
        row.addWidget(self._key)
        self._actions = actions
        for signal in (
            situations.changed,
            situations.folded_changed,
            session.mode_changed,
            session.operation_changed,
            draft.changed,
            draft.runner_changed,
            checkpoints.selection_changed,
        ):
            signal.connect(self.refresh)
        self.refresh()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave out words in a window smaller than those that the app is made for."""
        super().resizeEvent(event)
        is_tiny = self.width() < TINY
        for each in (self._task, self._key, self._rules[0]):
            each.setHidden(is_tiny)
        self.tasks.setMinimumWidth(0 if is_tiny else TASK_WIDTH)

    def refresh(self, *_: object) -> None:
        """Show what the next run would be, if the left dock does not."""
        self.setVisible(self._situations.is_left_folded and self._situations.now is not Situation.FIRST)
        if DOCK_COMMAND in self._actions.all():
            self._key.setText(self._actions[DOCK_COMMAND].shortcut().toString(NATIVE))
        learns = self._session.mode is Mode.AGENT
        is_said = self._situations.now in (Situation.RUN, Situation.WATCH)  # by the header, for the run on show
        for widget in (self._rules[1], self.operations):  # the summary keeps the others from growing
            widget.setVisible(learns)
        self._rules[2].setVisible(learns and not is_said)
        # A policy that plays is "Use trained", whatever the next run would be.
        watches = self._situations.now is Situation.WATCH
        self.operations.set_value(Operation.USE if watches else self._session.operation)
        self.summary.setText(self._words() if learns and not is_said else "")

    def _words(self) -> str:
        """Return what *Start* or *Deploy* would begin."""
        if self.operations.value == Operation.TRAIN:
            return self._draft.summary()
        card = self._checkpoints.selected
        if card is None:
            return tr("No checkpoint is selected")
        name = self._telemetry.label(card.run_id)
        return tr("Checkpoint of {name} at {steps:,} steps", name=name, steps=card.env_steps)


def _upright() -> QFrame:
    """Return a hairline between two groups of the strip."""
    line = QFrame()
    line.setProperty("role", "upright")
    line.setFixedSize(1, 20)
    return line
