"""Training dock: Train new or Use trained, preset, form, launch of the run, its state."""

from __future__ import annotations

import time

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QScrollArea,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gui.features.train.controller import TrainingController
from gui.features.train.form import ConfigForm
from gui.features.train.launch import LaunchPanel
from gui.features.train.status import RunStatus
from gui.kit import object_names as names
from gui.kit.actions import ActionRegistry, action_button
from gui.kit.containers import Dock, Segmented
from gui.kit.labels import LABEL_WIDTH, ElidedLabel, label, rule
from gui.kit.words import tr
from gui.state.checkpoints import CheckpointList
from gui.state.run_words import Badge, reason_words
from gui.state.session import Operation, Session
from trainer_core.lab.presets import PRESETS
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import NATIVE_ID

ROOMY = 680
"""Height of the dock in pixels from which all checks are listed; below, only those that need attention."""
MIN_WIDTH = 256
_WHILE = {
    "pause": names.PAUSE_TRAINING_BUTTON,
    "stop": names.STOP_TRAINING_BUTTON,
    "checkpoint": "saveCheckpointButton",
}
_AFTER = {
    "watchRun": "watchRunButton",
    "resumeRun": "resumeRunButton",
    "showError": "showErrorButton",
    "openRunFolder": "openRunFolderButton",
}
"""Commands of the status panel while a run is active and after it, with their buttons' objectNames."""


def elapsed_text(seconds: float) -> str:
    whole = int(max(0.0, seconds))
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


class TrainingDock(Dock):
    def __init__(
        self,
        session: Session,
        training: TrainingController,
        status: RunStatus,
        checkpoints: CheckpointList,
        actions: ActionRegistry,
    ) -> None:
        super().__init__(tr("Training"), names.TRAINING_DOCK)
        self._status = status
        self._session, self._training, self._actions = session, training, actions
        self._checkpoints, self._has_ended = checkpoints, False
        self._pages = QStackedWidget()
        self._pages.addWidget(self._train_page())
        body = QWidget()
        body.setMinimumWidth(MIN_WIDTH)
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(self._operation_switch())
        column.addWidget(self._pages, 1)
        self._state_panel = self._status_panel()
        column.addWidget(self._state_panel)
        self.setWidget(body)
        self._clock = QTimer(self, interval=500)
        self._clock.timeout.connect(self._on_tick)
        self._clock.start()
        training.badge_changed.connect(self._on_badge)
        session.operation_changed.connect(self._on_operation)
        session.tasks_changed.connect(self._on_tasks)
        training.draft.runner_changed.connect(self._on_runner)
        training.draft.changed.connect(self._on_draft)
        training.hardware.changed.connect(self._on_hardware)
        for signal in (session.more_changed, session.task_changed, checkpoints.rowsInserted):
            signal.connect(self.show_what_helps)
        self._on_hardware()
        self._on_tasks()
        self._on_draft()
        self._on_operation(session.operation)
        self._on_runner()
        self._on_badge()

    def place_trained(self, page: QWidget) -> None:
        """Add the page *Use trained*, shown while the user has chosen that operation."""
        self._pages.addWidget(page)
        self._on_operation(self._session.operation)

    # -- building ---------------------------------------------------------------------------

    def _operation_switch(self) -> QHBoxLayout:
        self.operations = Segmented(
            "operationSwitch",
            [
                (Operation.TRAIN, tr("Train new"), names.TRAIN_NEW_BUTTON),
                (Operation.USE, tr("Use trained"), names.USE_TRAINED_BUTTON),
            ],
            tr("Operation"),
        )
        self.operations.picked.connect(lambda value: self._session.set_operation(Operation(value)))
        self.operations.button(Operation.TRAIN).clicked.connect(self._actions["trainNew"].trigger)
        row = QHBoxLayout()
        row.setContentsMargins(12, 12, 12, 4)
        row.addWidget(self.operations)
        return row

    def _train_page(self) -> QWidget:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 4, 0, 0)
        column.setSpacing(4)
        column.addWidget(self._preset_grid())
        self.form = ConfigForm(self._training.draft, self._hides)
        self.form.setObjectName(names.CONFIG_FORM)
        body = QWidget()
        inner = QVBoxLayout(body)
        inner.setContentsMargins(0, 0, 0, 4)
        inner.setSpacing(0)
        inner.addWidget(self.form)
        self._sweep = QWidget()  # hidden apart from its command's own state
        holder = QHBoxLayout(self._sweep)
        holder.setContentsMargins(0, 0, 0, 0)
        more = action_button(self._actions["moreOptions"], "moreOptionsButton")
        row = QHBoxLayout()
        row.setContentsMargins(8, 0, 8, 0)
        row.addWidget(more)
        row.addWidget(self._sweep)
        for made in (more, action_button(self._actions["newSweep"], "newSweepButton")):
            made.setProperty("flat", True)
        holder.addWidget(made)
        row.addStretch(1)
        inner.addLayout(row)
        inner.addStretch(1)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setWidget(body)
        column.addWidget(scroll, 1)
        column.addWidget(rule())
        self.launch = LaunchPanel(self._training, self._actions)
        column.addWidget(self.launch)
        return page

    def _preset_grid(self) -> QWidget:
        """Return the rows that set many fields at once: the preset, and the one that fits."""
        self._preset_row = QWidget()
        grid = QGridLayout(self._preset_row)
        grid.setContentsMargins(12, 0, 36, 0)  # as wide as the fields of the form
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(4)
        grid.setColumnMinimumWidth(0, LABEL_WIDTH)
        grid.setColumnStretch(1, 1)
        grid.addWidget(label(tr("Preset"), "muted"), 0, 0)
        self.presets = QComboBox()
        self.presets.setObjectName(names.PRESET_BOX)
        self.presets.setAccessibleName(tr("Preset"))
        for name, preset in PRESETS.items():
            self.presets.addItem(tr(preset.title), name)
            self.presets.setItemData(self.presets.count() - 1, tr(preset.summary), Qt.ItemDataRole.ToolTipRole)
        self.presets.activated.connect(lambda _: self._training.choose_preset(self.presets.currentData()))
        grid.addWidget(self.presets, 0, 1)
        self.fitting = ElidedLabel("", "muted")
        self.fitting.setObjectName("fittingPreset")
        self.fitting.setAccessibleName(tr("Preset that fits this computer"))
        grid.addWidget(self.fitting, 1, 0, 1, 2)
        return self._preset_row

    def _status_panel(self) -> QWidget:
        panel = QWidget()
        outer = QVBoxLayout(panel)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(0)
        outer.addWidget(rule())
        column = QVBoxLayout()
        outer.addLayout(column)
        column.setContentsMargins(12, 4, 12, 8)
        column.setSpacing(4)
        head = QHBoxLayout()
        self.badge = Badge()
        self.badge.setObjectName(names.STATUS_BADGE)
        head.addWidget(self.badge)
        head.addStretch(1)
        self.elapsed = label("00:00:00")
        self.elapsed.setObjectName(names.ELAPSED_LABEL)
        head.addWidget(self.elapsed)
        column.addLayout(head)
        self.detail = ElidedLabel("", "muted")
        told = QHBoxLayout()
        told.addWidget(self.detail, 1)
        told.addWidget(action_button(self._actions["fixRun"], "fixRunButton"))
        column.addLayout(told)
        self._verbs = QStackedWidget()
        self._verbs.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        for verbs in (_WHILE, _AFTER):
            page = QWidget()
            row = QHBoxLayout(page)
            row.setContentsMargins(0, 0, 0, 0)
            row.setSpacing(4)
            for action_id, name in verbs.items():
                verb = action_button(self._actions[action_id], name)
                verb.setProperty("narrow", True)  # four of them have to fit, in any language
                row.addWidget(verb, 1)
            self._verbs.addWidget(page)
        self._verbs.currentChanged.connect(self._on_other_verbs)
        column.addWidget(self._verbs)
        return panel

    def _on_other_verbs(self, _: int) -> None:
        """Ignore clicks for the length of a double click after the buttons under the pointer were replaced."""
        deaf = Qt.WidgetAttribute.WA_TransparentForMouseEvents
        self._verbs.setAttribute(deaf)
        QTimer.singleShot(
            QApplication.doubleClickInterval(), self._verbs, lambda: self._verbs.setAttribute(deaf, False)
        )

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.launch.checks.set_compact(self.height() < ROOMY)

    # -- following the model ----------------------------------------------------------------

    def _on_operation(self, operation: Operation) -> None:
        self.operations.set_value(operation)
        self._pages.setCurrentIndex(0 if operation is Operation.TRAIN else 1)

    def _on_runner(self) -> None:
        """Hide the presets for other trainers, as they set fields of our own trainer."""
        self._preset_row.setVisible(self._session.runner.id == NATIVE_ID)
        self.show_what_helps()

    def _hides(self, name: str) -> bool:
        """Return whether the field `name` makes no sense yet."""
        wants = self._session.shows_more or self._training.has_weights(self._checkpoints)
        return name == "warm_start" and not wants

    def show_what_helps(self, *_: object) -> None:
        """Show the sweep and the warm start once they make sense, or all of them if the user asked for more."""
        self._sweep.setVisible(self._session.shows_more or self._training.has_done_task())
        self.form.refresh()

    def _on_tasks(self) -> None:
        self.form.set_options("task", {task: task for task in self._session.task_titles()})

    def _on_hardware(self) -> None:
        hardware = self._training.hardware
        self._on_draft()
        self.form.set_options("device", {device: hardware.device_words(device) for device in hardware.devices()})

    def _on_draft(self, *_: object) -> None:
        preset, hardware = self._training.draft.preset, self._training.hardware
        self.presets.setCurrentIndex(self.presets.findData(preset))
        better = tr("{hardware}: {preset} fits", hardware=hardware.name, preset=tr(PRESETS[hardware.preset].title))
        self.fitting.setText(hardware.words if preset == hardware.preset else better)

    def _on_badge(self) -> None:
        training, state = self._training, self._training.state
        self._show_state()
        self._state_panel.setVisible(training.record is not None or training.starting)
        ended = training.record is not None and state.is_end and not training.starting
        self._verbs.setCurrentIndex(1 if ended else 0)
        self._on_detail()
        if ended is not self._has_ended:
            self._has_ended = ended
            self.show_what_helps()

    def _on_tick(self) -> None:
        if not self._training.run_id:
            self._on_detail()
        else:
            self._show_state()
            self._on_detail()

    def _show_state(self) -> None:
        training = self._training
        if silent := training.stalled_for():
            self.badge.set_state(training.state, tr("Stalled, no data for {silent:.0f} s", silent=silent))
        else:
            word = tr("Validating") if training.validating else ""
            self.badge.set_state(training.state, word, is_warning=False)

    def _on_detail(self) -> None:
        record, notice = self._training.record, self._training.notice
        if record is None:
            self.elapsed.setText("00:00:00")
            self.detail.setText(self._training.waiting_words or tr("Nothing has been started yet"))
            return
        self.elapsed.setText(elapsed_text(self._status.elapsed_s()))
        text = reason_words(record.reason) if record.state.is_end else notice.detail if notice else ""
        if notice is not None and notice.force_at:
            left = max(0.0, notice.force_at - time.monotonic())
            text = tr("{value}, forcing in {left:.0f} s", value=notice.detail.split(";")[0], left=left)
        if record.state is RunState.RUNNING:
            steps = tr("{env_steps:,} environment steps", env_steps=record.env_steps)
            unconfirmed = self._training.unconfirmed
            steps = f"{steps}; {unconfirmed}" if unconfirmed else steps
            text = self._training.validating or steps
        self.detail.setText(text or record.run_id)
