"""Agent dock: who plays, task or tasks, and the trainer once there is a choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QGridLayout, QMenu, QProgressBar, QToolButton, QWidget, QWidgetAction

from gui.features.play.controller import PlayController
from gui.features.play.keys import PLAY_KEYS
from gui.features.runners.controller import RunnersController
from gui.features.runners.switches import add_broken, mode_switch, plain_box, shows_rom, task_box
from gui.features.train.draft import ConfigDraft
from gui.kit import object_names as names
from gui.kit.actions import ActionRegistry, action_button
from gui.kit.boxes import hbox, keep_room, named, put, vbox
from gui.kit.containers import Dock
from gui.kit.labels import LABEL_WIDTH, ElidedLabel, label
from gui.kit.words import tr
from gui.state.session import Mode, Operation, Session
from trainer_core.lab.task_lists import SEPARATOR, split_tasks
from trainer_core.wire.spec import NATIVE_ID

SEVERAL_TASKS = "severalTasksButton"
_TIP = Qt.ItemDataRole.ToolTipRole
_HINTS = {Mode.HUMAN: "", Mode.HYBRID: "The agent plays; hold Tab to take over.", Mode.AGENT: ""}


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
        self.setToolTip(tr("Tick several tasks: one policy learns them all"))
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
        row = hbox(self, spacing=8)
        self.words = ElidedLabel("", "muted")
        self.words.setMinimumHeight(24)
        row.addWidget(self.words, 1)
        self.bar = named(QProgressBar(), "installProgress", tr("Progress of the installation"))
        self.bar.setRange(0, 1000)
        self.bar.setTextVisible(False)
        self.bar.setFixedWidth(72)
        put(row, self.bar, action_button(actions["installRunner"], "installRunnerButton"))
        row.addWidget(action_button(actions["cancelInstall"], "cancelInstallButton"))

    def renew(self, *, is_wanted: bool) -> None:
        runners = self._runners
        under_way, lacks = runners.installing, runners.wanted
        self.setVisible(is_wanted and (under_way is not None or lacks is not None))
        self.bar.setVisible(under_way is not None)
        self.bar.setValue(round(runners.progress * 1000))
        if under_way is not None:
            self.words.setText(tr("Installing {progress:.0%}", progress=runners.progress))
            self.words.setToolTip(tr("{title}: this takes a few minutes", title=under_way.title))
        elif lacks is not None:
            self.words.setText(tr("Not installed here"))
            self.words.setToolTip(
                tr(
                    "Install downloads it: a few minutes, at most {value} GiB, into {folder}",
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
        column = vbox(body, margins=(12, 8, 12, 8), spacing=6)
        self.modes = mode_switch(session, actions)
        column.addWidget(self.modes)
        self._hint = label("", "muted", wrap=True)
        put(column, self._hint, self._catalogs())
        self.missing = Missing(runners, actions)
        put(column, self.missing, self._keys())
        self.plays = named(ElidedLabel("", "muted"), "playsNow")  # below the rest; its room stays: nothing moves
        keep_room(self.plays)
        put(column, self.plays, 1)
        self.setWidget(body)
        self._follow()
        self._refresh()

    def _catalogs(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        self.tasks = task_box(self._session)
        self.runners = plain_box(names.AGENT_CATALOG, tr("Trainer"))
        self._trainer_label = label(tr("Trainer"), "muted")
        for row, (text, combo) in enumerate(
            ((label(tr("Task"), "muted"), self.tasks), (self._trainer_label, self.runners))
        ):
            text.setMinimumWidth(LABEL_WIDTH)
            grid.addWidget(text, row, 0)
            grid.addWidget(combo, row, 1)
        self.several = SeveralTasks(self._session.task_titles, self._ticked)
        self.several.picked.connect(self._on_several)
        grid.addWidget(self.several, 0, 2)
        for runner in self._session.runners:
            self.runners.addItem(runner.title, runner.id)
            self.runners.setItemData(self.runners.count() - 1, tr(runner.summary), _TIP)
        for name, reason in self._session.broken_runners.items():
            add_broken(self.runners, name, reason)
        return grid

    def _follow(self) -> None:
        """Connect the lists with the session in both directions."""
        session = self._session
        self.runners.activated.connect(lambda: session.set_runner(str(self.runners.currentData())))
        session.mode_changed.connect(lambda mode: self._refresh())
        session.operation_changed.connect(lambda operation: self._refresh())
        self._runners.changed.connect(self._refresh)
        session.task_changed.connect(lambda task: self._refresh())
        self._draft.changed.connect(lambda name: self._refresh() if name in ("", "task") else None)
        session.rom_changed.connect(lambda rom: self._refresh())
        session.more_changed.connect(self._refresh)
        self._playing.changed.connect(self._tell_other)
        self._playing.started.connect(self._tell_other)

    def _ticked(self) -> tuple[str, ...]:
        return split_tasks(self._draft.text("task"))

    def _on_several(self, tasks: tuple[str, ...]) -> None:
        """Select the first of the checked tasks in the task list: it is the one that is played."""
        self._session.set_task(tasks[0])
        self._draft.set_text("task", SEPARATOR.join(tasks))
        self._refresh()

    def _keys(self) -> QWidget:
        """Return a line of text with the keys for the joypad."""
        text = tr("Arrows, Z is A, X is B, Enter is START. F12 lists all keys.")
        self._legend = label(text, "muted", wrap=True)
        self._legend.setToolTip("\n".join(f"{tr(keys)}: {tr(text)}" for keys, text in PLAY_KEYS))
        return self._legend

    def _refresh(self) -> None:
        mode = self._session.mode
        self._hint.setText(tr(_HINTS[mode]))
        self._hint.setVisible(bool(_HINTS[mode]))
        self._tell_other()
        self.runners.setCurrentIndex(max(0, self.runners.findData(self._session.runner.id)))
        training = mode is Mode.AGENT
        self.missing.renew(is_wanted=training)
        self._legend.setVisible(not training)
        shows_all = self._session.shows_more
        is_native = self._session.runner.id == NATIVE_ID
        for widget in (self.runners, self._trainer_label):
            widget.setVisible(training and (shows_all or not is_native or self._runners.has_choice))
        is_new = self._session.operation is Operation.TRAIN
        count = len(self._ticked())
        self.several.setVisible(training and is_new and is_native and (shows_all or count > 1))
        self.several.setText(str(count) if count > 1 else "+")

    def _tell_other(self) -> None:
        """Show which game plays, if it is not the one selected in the task list."""
        request = self._playing.request
        named = self._session.game if shows_rom(self._session) else self._session.task
        is_other = request is not None and request.task != named
        self.plays.setVisible(is_other)
        if request is not None and is_other:
            name = Path(request.task).name if self._playing.is_rom else self._session.task_title(request.task)
            self.plays.setText(tr("Now playing: {task}", task=name))
