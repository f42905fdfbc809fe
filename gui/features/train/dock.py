"""Training dock: Train new or Use trained, preset, form, launch of the run."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QStackedWidget, QWidget

from gui.features.train.controller import TrainingController
from gui.features.train.datasets import DatasetBar, DatasetsController
from gui.features.train.form import ConfigForm
from gui.features.train.launch import LaunchPanel
from gui.kit import object_names as names
from gui.kit.actions import ActionRegistry, action_button
from gui.kit.boxes import hbox, named, put, scrolling, vbox
from gui.kit.containers import Dock, Segmented
from gui.kit.labels import LABEL_WIDTH, ElidedBox, ElidedLabel, label, rule
from gui.kit.words import tr
from gui.state.checkpoints import CheckpointList
from gui.state.session import Operation, Session
from trainer_core.lab.presets import PRESETS
from trainer_core.wire.spec import NATIVE_ID

ROOMY = 680
"""Height of the dock in pixels from which all checks are listed; below, only those that need attention."""
MIN_WIDTH = 256


def operation_switch(session: Session, actions: ActionRegistry, prefix: str = "") -> Segmented:
    """Return a switch between training anew and the use of what is trained."""
    made = Segmented(
        f"{prefix}operationSwitch",
        [
            (Operation.TRAIN, tr("Train new"), prefix + names.TRAIN_NEW_BUTTON),
            (Operation.USE, tr("Use trained"), prefix + names.USE_TRAINED_BUTTON),
        ],
        tr("Train or play"),
    )
    made.picked.connect(lambda value: session.set_operation(Operation(value)))
    made.button(Operation.TRAIN).clicked.connect(actions["trainNew"].trigger)
    session.operation_changed.connect(made.set_value)
    made.set_value(session.operation)
    return made


class TrainingDock(Dock):
    def __init__(
        self,
        session: Session,
        training: TrainingController,
        checkpoints: CheckpointList,
        datasets: DatasetsController,
        actions: ActionRegistry,
    ) -> None:
        super().__init__(tr("Training"), names.TRAINING_DOCK)
        self._session, self._training, self._actions = session, training, actions
        self._checkpoints, self._datasets, self._has_ended = checkpoints, datasets, False
        self._offered: dict[str, str] = {}
        self._pages = QStackedWidget()
        self._pages.addWidget(self._train_page())
        body = QWidget()
        body.setMinimumWidth(MIN_WIDTH)
        column = vbox(body, spacing=0)
        put(column, self._operation_row(), (self._pages, 1))
        self.setWidget(body)
        training.badge_changed.connect(self._on_badge)
        session.operation_changed.connect(self._on_operation)
        session.tasks_changed.connect(self._on_tasks)
        training.draft.runner_changed.connect(self._on_runner)
        training.draft.changed.connect(self._on_draft)
        training.hardware.changed.connect(self._on_hardware)
        datasets.changed.connect(self._on_datasets)
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

    def _operation_row(self) -> QHBoxLayout:
        self.operations = operation_switch(self._session, self._actions)
        row = hbox(margins=(12, 12, 12, 4))
        row.addWidget(self.operations)
        return row

    def _train_page(self) -> QWidget:
        page = QWidget()
        column = vbox(page, margins=(0, 4, 0, 0), spacing=4)
        column.addWidget(self._preset_grid())
        self.form = named(ConfigForm(self._training.draft, self._hides), names.CONFIG_FORM)
        body = QWidget()
        inner = vbox(body, margins=(0, 0, 0, 4), spacing=0)
        inner.addWidget(self.form)
        self._sweep = QWidget()  # hidden apart from its command's own state
        holder = hbox(self._sweep)
        more = action_button(self._actions["moreOptions"], "moreOptionsButton")
        row = hbox(margins=(8, 0, 8, 0))
        put(row, more, self._sweep)
        for made in (more, action_button(self._actions["newSweep"], "newSweepButton")):
            made.setProperty("flat", True)
        holder.addWidget(made)
        row.addStretch(1)
        put(inner, row, 1)
        self.launch = LaunchPanel(self._training, self._actions)
        put(column, (scrolling(body), 1), rule(), DatasetBar(self._datasets, self._actions), self.launch)
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
        self.presets = named(ElidedBox(), names.PRESET_BOX, tr("Preset"))
        for name, preset in PRESETS.items():
            self.presets.addItem(tr(preset.title), name)
            self.presets.setItemData(self.presets.count() - 1, tr(preset.summary), Qt.ItemDataRole.ToolTipRole)
        self.presets.activated.connect(lambda _: self._training.choose_preset(self.presets.currentData()))
        grid.addWidget(self.presets, 0, 1)
        self.fitting = named(ElidedLabel("", "muted"), "fittingPreset", tr("Preset that fits this computer"))
        grid.addWidget(self.fitting, 1, 0, 1, 2)
        return self._preset_row

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.launch.checks.set_compact(self.height() < ROOMY)

    # -- following the model ----------------------------------------------------------------

    def _on_operation(self, operation: Operation) -> None:
        self._pages.setCurrentIndex(0 if operation is Operation.TRAIN else 1)

    def _on_runner(self) -> None:
        """Hide the presets for other trainers, as they set fields of our own trainer."""
        self._preset_row.setVisible(self._session.runner.id == NATIVE_ID)
        self.show_what_helps()

    def _hides(self, name: str) -> bool:
        """Return whether the field `name` makes no sense yet."""
        if name not in ("warm_start", "on") or self._session.shows_more:
            return False
        return not (
            self._training.has_weights(self._checkpoints) if name == "warm_start" else self._training.knows_clusters
        )

    def show_what_helps(self, *_: object) -> None:
        """Show the sweep and the warm start once they make sense, or all of them if the user asked for more."""
        self._sweep.setVisible(self._session.shows_more or self._training.has_done_task())
        self.form.refresh()

    def _on_tasks(self) -> None:
        self.form.set_options("task", self._session.task_titles())

    def _on_datasets(self) -> None:
        offers = self._datasets.offers()
        if offers != self._offered:
            self._offered = offers
            self.form.set_options("dataset", offers)

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
        training = self._training
        ended = training.record is not None and training.state.is_end and not training.starting
        if ended is not self._has_ended:
            self._has_ended = ended
            self.show_what_helps()
