"""Agent dock: who plays, task or tasks, trainer, and the choice between Train new and Use trained."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QMenu,
    QProgressBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
    QWidgetAction,
)

from gui.features.play.controller import PlayController
from gui.features.play.keys import PLAY_KEYS
from gui.features.runners.controller import RunnersController
from gui.features.train.draft import ConfigDraft
from gui.kit import object_names as names
from gui.kit.actions import ActionRegistry, action_button
from gui.kit.containers import Dock, Segmented
from gui.kit.labels import ElidedLabel, label
from gui.kit.words import tr
from gui.state.session import Mode, Operation, Session
from trainer_core.lab.task_lists import SEPARATOR, split_tasks
from trainer_core.wire.spec import NATIVE_ID

SEVERAL_TASKS = "severalTasksButton"
_TIP = Qt.ItemDataRole.ToolTipRole
_HINTS = {
    Mode.HUMAN: "You hold the buttons.",
    Mode.HYBRID: "The agent plays; hold Tab to take the buttons.",
    Mode.AGENT: "",
}


class SeveralTasks(QToolButton):
    """Button with a menu of check boxes for tasks: one policy can learn several tasks at once."""

    picked = Signal(tuple)
    """Ids of the checked tasks, in the menu's order; at least one."""

    def __init__(self, titles: Callable[[], Mapping[str, str]], chosen: Callable[[], tuple[str, ...]]) -> None:
        """Build the button.

        When the menu opens, `titles` is called for the titles by task id, and `chosen` for the checked ids.
        """
        super().__init__()
        self._titles, self._chosen = titles, chosen
        self.boxes: dict[str, QCheckBox] = {}
        self.setObjectName(SEVERAL_TASKS)
        self.setText("+")
        self.setAccessibleName(tr("Several tasks for one run"))
        self.setToolTip(tr("One policy learns several tasks side by side: tick them"))
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        menu = QMenu(self)
        menu.aboutToShow.connect(self.fill)
        self.setMenu(menu)

    def fill(self) -> None:
        menu, ticked = self.menu(), self._chosen()
        menu.clear()
        self.boxes = {}
        for task, title in self._titles().items():
            box = QCheckBox(title)
            box.setToolTip(task)
            box.setChecked(task in ticked)
            box.toggled.connect(self._on_toggled)
            holder = QWidgetAction(menu)
            holder.setDefaultWidget(box)
            menu.addAction(holder)
            self.boxes[task] = box

    def _on_toggled(self) -> None:
        if found := tuple(task for task, box in self.boxes.items() if box.isChecked()):
            self.picked.emit(found)


class Missing(QWidget):
    """Message that the selected trainer is not installed, with buttons to install and cancel, and the progress."""

    def __init__(self, runners: RunnersController, actions: ActionRegistry) -> None:
        super().__init__()
        self.setObjectName("missingRunner")
        self._runners = runners
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        self.words = ElidedLabel("", "muted")
        self.words.setMinimumHeight(24)
        row.addWidget(self.words, 1)
        self.bar = QProgressBar()
        self.bar.setObjectName("installProgress")
        self.bar.setAccessibleName(tr("How far the installation is"))
        self.bar.setRange(0, 1000)
        self.bar.setTextVisible(False)
        self.bar.setFixedWidth(72)
        row.addWidget(self.bar)
        row.addWidget(action_button(actions["installRunner"], "installRunnerButton"))
        row.addWidget(action_button(actions["cancelInstall"], "cancelInstallButton"))

    def renew(self, *, is_wanted: bool) -> None:
        runners = self._runners
        under_way, lacks = runners.installing, runners.wanted
        self.setVisible(is_wanted and (under_way is not None or lacks is not None))
        self.bar.setVisible(under_way is not None)
        self.bar.setValue(round(runners.progress * 1000))
        if under_way is not None:
            self.words.setText(tr("Installing {progress:.0%}", progress=runners.progress))
            self.words.setToolTip(tr("{title}: it takes a few minutes", title=under_way.title))
        elif lacks is not None:
            self.words.setText(tr("Not installed here"))
            self.words.setToolTip(
                tr(
                    "Install fetches it from the package index into {folder}: a few minutes, at most {value} GiB",
                    folder=lacks.folder,
                    value=lacks.needed_bytes >> 30,
                )
            )


class AgentDock(Dock):
    def __init__(
        self,
        session: Session,
        runners: RunnersController,
        draft: ConfigDraft,
        playing: PlayController,
        actions: ActionRegistry,
    ) -> None:
        super().__init__(tr("Agent and mode"), names.AGENT_DOCK)
        self._session, self._runners, self._draft = session, runners, draft
        self._playing = playing
        body = QWidget()
        column = QVBoxLayout(body)
        self._column = column
        column.setContentsMargins(12, 12, 12, 12)
        column.setSpacing(8)
        column.addWidget(self._mode_switch(actions))
        self._hint = label("", "muted", wrap=True)
        column.addWidget(self._hint)
        column.addLayout(self._catalogs())
        self.missing = Missing(runners, actions)
        column.addWidget(self.missing)
        column.addWidget(self._operation_switch(actions))
        column.addWidget(self._keys())
        self.plays = ElidedLabel("", "muted")  # below the rest, which it does not move
        self.plays.setObjectName("playsNow")
        column.addWidget(self.plays)
        column.addStretch(1)
        self.setWidget(body)
        self.reload_tasks()
        self._follow()
        self._refresh()

    def _mode_switch(self, actions: ActionRegistry) -> Segmented:
        self.modes = Segmented(
            names.MODE_SWITCH,
            [
                (Mode.HUMAN, tr("Human"), names.MODE_HUMAN),
                (Mode.HYBRID, tr("Hybrid"), names.MODE_HYBRID),
                (Mode.AGENT, tr("Agent"), names.MODE_AGENT),
            ],
            tr("Mode"),
        )
        self.modes.picked.connect(lambda value: self._session.set_mode(Mode(value)))
        self.modes.button(Mode.HUMAN).clicked.connect(actions["playGame"].trigger)
        return self.modes

    def _operation_switch(self, actions: ActionRegistry) -> Segmented:
        self.operations = Segmented(
            "operationSwitch",
            [
                (Operation.TRAIN, tr("Train new"), names.TRAIN_NEW_BUTTON),
                (Operation.USE, tr("Use trained"), names.USE_TRAINED_BUTTON),
            ],
            tr("Operation"),
        )
        self.operations.picked.connect(lambda value: self._session.set_operation(Operation(value)))
        self.operations.button(Operation.TRAIN).clicked.connect(actions["trainNew"].trigger)
        return self.operations

    def _catalogs(self) -> QGridLayout:
        self._grid = grid = QGridLayout()
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        self.tasks = self._combo(names.TASK_CATALOG, tr("Game and task"))
        self.runners = self._combo(names.AGENT_CATALOG, tr("Trainer"))
        self._trainer_label = label(tr("Trainer"), "muted")
        for row, (text, combo) in enumerate(
            ((label(tr("Task"), "muted"), self.tasks), (self._trainer_label, self.runners))
        ):
            text.setMinimumWidth(48)
            grid.addWidget(text, row, 0)
            grid.addWidget(combo, row, 1)
        self.several = SeveralTasks(self._session.task_titles, self._ticked)
        self.several.picked.connect(self._on_several)
        grid.addWidget(self.several, 0, 2)
        for runner in self._session.runners:
            self.runners.addItem(runner.title, runner.id)
            self.runners.setItemData(self.runners.count() - 1, tr(runner.summary), _TIP)
        for name, reason in self._session.broken_runners.items():
            self._add_broken(self.runners, name, reason)
        return grid

    def _follow(self) -> None:
        """Connect the lists with the session in both directions."""
        session = self._session
        self.tasks.activated.connect(lambda: session.set_task(str(self.tasks.currentData())))
        self.runners.activated.connect(lambda: session.set_runner(str(self.runners.currentData())))
        session.mode_changed.connect(lambda mode: self._refresh())
        session.operation_changed.connect(lambda operation: self._refresh())
        self._runners.changed.connect(self._refresh)
        session.task_changed.connect(lambda task: self._refresh())
        self._draft.changed.connect(lambda name: self._refresh() if name in ("", "task") else None)
        session.rom_changed.connect(lambda rom: self.reload_tasks())
        session.tasks_changed.connect(self.reload_tasks)
        self._playing.changed.connect(self._tell_other)
        self._playing.started.connect(self._tell_other)

    def _ticked(self) -> tuple[str, ...]:
        return split_tasks(self._draft.text("task"))

    def _on_several(self, tasks: tuple[str, ...]) -> None:
        """Select the first of the checked tasks in the task list: it is the one that is played."""
        self._session.set_task(tasks[0])
        self._draft.set_text("task", SEPARATOR.join(tasks))
        self._refresh()

    def take_choices(self) -> None:
        """Take the mode, task and operation switches back from the bar that shows them while this dock is hidden."""
        self._column.insertWidget(0, self.modes)
        self._grid.addWidget(self.tasks, 0, 1)
        self._column.insertWidget(self._column.indexOf(self._legend), self.operations)

    def _keys(self) -> QWidget:
        """Return a line of text with the keys for the joypad."""
        text = tr("Arrows, Z is A, X is B, Enter is START. Space pauses, R rewinds. F12 lists all keys.")
        self._legend = label(text, "muted", wrap=True)
        self._legend.setToolTip("\n".join(f"{tr(keys)}: {tr(text)}" for keys, text in PLAY_KEYS))
        return self._legend

    @staticmethod
    def _combo(name: str, accessible: str) -> QComboBox:
        made = QComboBox()
        made.setObjectName(name)
        made.setAccessibleName(accessible)
        made.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        made.setMinimumContentsLength(10)
        return made

    def reload_tasks(self) -> None:
        self.tasks.clear()
        if self._session.rom:
            self.tasks.addItem(Path(self._session.rom).name, "")
        for task_id, title in self._session.task_titles().items():
            self.tasks.addItem(title, task_id)
            self.tasks.setItemData(self.tasks.count() - 1, task_id, _TIP)
        for place, reason in self._session.broken_tasks().items():
            self._add_broken(self.tasks, place, reason)
        self._refresh()

    @staticmethod
    def _add_broken(combo: QComboBox, name: str, reason: str) -> None:
        """Add an entry that cannot be selected, with the reason as its tooltip."""
        combo.addItem(tr("{name}: cannot be used", name=name), None)
        row = combo.count() - 1
        combo.setItemData(row, reason, _TIP)
        combo.setItemData(row, 0, Qt.ItemDataRole.UserRole - 1)  # not enabled

    def _refresh(self) -> None:
        mode = self._session.mode
        self.modes.set_value(mode)
        self.operations.set_value(self._session.operation)
        self._hint.setText(tr(_HINTS[mode]))
        self._hint.setVisible(bool(_HINTS[mode]))
        shown = 0 if self._shows_rom() else self.tasks.findData(self._session.task)
        self.tasks.setCurrentIndex(max(0, shown))
        self._tell_other()
        self.runners.setCurrentIndex(max(0, self.runners.findData(self._session.runner.id)))
        training = mode is Mode.AGENT
        self.missing.renew(is_wanted=training)
        self._legend.setVisible(not training)
        for widget in (self.runners, self._trainer_label, self.operations):
            widget.setVisible(training)
        is_native = self._session.runner.id == NATIVE_ID
        is_new = self._session.operation is Operation.TRAIN
        self.several.setVisible(training and is_new and is_native)
        count = len(self._ticked())
        self.several.setText(str(count) if count > 1 else "+")

    def _shows_rom(self) -> bool:
        """Return whether the task list shows a ROM that the user plays instead of a task."""
        return bool(self._session.rom) and self._session.mode is Mode.HUMAN

    def _tell_other(self) -> None:
        """Show which game plays, if it is not the one selected in the task list."""
        request = self._playing.request
        named = self._session.game if self._shows_rom() else self._session.task
        is_other = request is not None and request.task != named
        self.plays.setVisible(is_other)
        if request is not None and is_other:
            row = self.tasks.findData(request.task)
            name = Path(request.task).name if self._playing.is_rom else request.task
            title = self.tasks.itemText(row) if row >= 0 else name
            self.plays.setText(tr("Plays now: {task}", task=title))
