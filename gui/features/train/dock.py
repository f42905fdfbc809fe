"""Training dock: preset, form, preflight checks, command, consent, start."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QPlainTextEdit,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gui.features.train.checks import ChecksView
from gui.features.train.controller import TrainingController
from gui.features.train.form import ConfigForm
from gui.kit import object_names as names
from gui.kit import theme
from gui.kit.actions import ActionRegistry, action_button
from gui.kit.containers import Dock, Section
from gui.kit.labels import ElidedLabel, icon_button, label, rule
from gui.kit.words import tr
from gui.state.config_fields import guest_line, train_line
from gui.state.session import Operation, Session
from trainer_core.lab.presets import PRESETS
from trainer_core.wire.spec import NATIVE_ID

ROOMY = 680
"""Height of the dock in pixels from which the list of checks is unfolded beside the whole form."""
MIN_WIDTH = 288
NARROW = 26
"""Width in pixels of a button in the heading of the command."""


class TrainingDock(Dock):
    def __init__(self, session: Session, training: TrainingController, actions: ActionRegistry) -> None:
        super().__init__(tr("Training"), names.TRAINING_DOCK)
        self._session, self._training, self._actions = session, training, actions
        self._pages = QStackedWidget()
        self._pages.addWidget(self._train_page())
        body = QWidget()
        body.setMinimumWidth(MIN_WIDTH)
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._pages, 1)
        self.setWidget(body)
        training.checks_changed.connect(self._on_checks)
        training.plan_changed.connect(self._on_plan)
        training.ready_changed.connect(self._on_ready)
        session.operation_changed.connect(self._on_operation)
        session.tasks_changed.connect(self._on_tasks)
        training.draft.runner_changed.connect(self._on_runner)
        training.draft.changed.connect(self._name_preset)
        self._name_preset()
        self._on_operation(session.operation)
        self._on_runner()
        self._on_checks()
        self._on_plan()
        self._on_ready()

    def place_trained(self, page: QWidget) -> None:
        """Add the page *Use trained*, shown while the user has chosen that operation."""
        self._pages.addWidget(page)
        self._on_operation(self._session.operation)

    # -- building ---------------------------------------------------------------------------

    def _train_page(self) -> QWidget:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 8, 0, 0)
        column.setSpacing(4)
        head = QHBoxLayout()
        head.setContentsMargins(12, 0, 12, 0)
        head.setSpacing(8)
        head.addWidget(label(tr("Preset"), "muted"))
        self._preset_row = QWidget()
        self._preset_row.setLayout(head)
        self.presets = QComboBox()
        self.presets.setObjectName(names.PRESET_BOX)
        self.presets.setAccessibleName(tr("Preset"))
        self.presets.addItem(tr("Choose..."))
        for preset in PRESETS.values():
            self.presets.addItem(tr(preset.title), preset.fields)
            self.presets.setItemData(self.presets.count() - 1, tr(preset.summary), Qt.ItemDataRole.ToolTipRole)
        self.presets.activated.connect(self._on_preset)
        head.addWidget(self.presets, 1)
        head.addWidget(action_button(self._actions["newSweep"], "newSweepButton"))
        column.addWidget(self._preset_row)
        self.form = ConfigForm(self._training.draft, list(self._session.task_titles()))
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.form.setObjectName(names.CONFIG_FORM)
        scroll.setWidget(self.form)
        column.addWidget(scroll, 1)
        column.addWidget(rule())
        column.addLayout(self._launch_panel())
        return page

    def _launch_panel(self) -> QVBoxLayout:
        panel = QVBoxLayout()
        panel.setContentsMargins(8, 4, 12, 8)
        panel.setSpacing(4)
        self._checks_section = Section(tr("Preflight"), is_open=False)
        self._checks_section.body.setContentsMargins(8, 0, 0, 0)
        self.checks = ChecksView(names.PREFLIGHT_LIST, lambda command: self._actions[command].iconText())
        self.checks.command_wanted.connect(lambda command: self._actions[command].trigger())
        self.checks.remedy_chosen.connect(self._training.apply_remedy)
        self._checks_section.body.addWidget(self.checks)
        panel.addWidget(self._checks_section)
        self._command_section = Section(tr("Command"), is_open=True)
        self._command_section.body.setContentsMargins(4, 0, 0, 0)
        self.equivalent = label("", wrap=True)
        self.equivalent.setObjectName("equivalentLine")
        self.equivalent.setAccessibleName(tr("The same run from a terminal"))
        self.equivalent.setFont(theme.mono_font())
        self.equivalent.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.equivalent.setMaximumHeight(self.equivalent.fontMetrics().lineSpacing() * 3 + 4)
        self._command_section.body.addWidget(self.equivalent)
        self.preview = QPlainTextEdit()
        self.preview.setObjectName(names.COMMAND_PREVIEW)
        self.preview.setAccessibleName(tr("The exact command that will be run"))
        self.preview.setReadOnly(True)
        self.preview.setFont(theme.mono_font())
        self.preview.setTabChangesFocus(True)
        self.preview.setPlaceholderText(tr("Correct the form to see the command"))
        self._command_section.body.addWidget(self.preview)
        head = self._command_section.head
        head.setSpacing(2)
        self._command_section.note.hide()  # an empty note's margins would cut the check's words
        head.insertWidget(1, self._detach_check())
        self.exact = icon_button("more", tr("Show the exact process"), "exactCommand", checkable=True)
        self.exact.toggled.connect(self.preview.setVisible)
        copy = icon_button("copy", tr("Copy the command"), clicked=self._on_copy)
        for each in (self.exact, copy):
            each.setFixedWidth(NARROW)
            head.addWidget(each)
        self.preview.hide()
        panel.addWidget(self._command_section)
        panel.addLayout(self._start_row())
        self.reason = ElidedLabel("", "muted")
        self.reason.setObjectName("startReason")
        policy = self.reason.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # the widgets above it do not move
        self.reason.setSizePolicy(policy)
        row = QHBoxLayout()
        row.setContentsMargins(4, 0, 0, 0)
        row.addWidget(self.reason)
        panel.addLayout(row)
        return panel

    def _detach_check(self) -> QCheckBox:
        """Return the check box for runs that continue after the end of the app, which changes the command."""
        self.detach = QCheckBox(tr("Keep running"))
        self.detach.setObjectName(names.DETACH_CHECK)
        self.detach.setAccessibleName(tr("Keep running after the app closes"))
        self.detach.setToolTip(
            tr("Keep running after the app closes")
            + "\n"
            + tr("A process of its own trains it; it waits while the device is busy")
        )
        self.detach.toggled.connect(self._training.set_detach)
        return self.detach

    def _start_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setContentsMargins(4, 0, 0, 0)
        self.consent = QCheckBox(tr("Run this here"))
        self.consent.setObjectName(names.CONSENT_CHECK)
        self.consent.setAccessibleName(tr("I have read the command; run it on this computer"))
        self.consent.setToolTip(tr("I have read the command; run it on this computer"))
        self.consent.toggled.connect(self._training.set_consent)
        row.addWidget(self.consent)
        start = self._actions["start"]
        row.addWidget(action_button(start, names.START_TRAINING_BUTTON, primary=True), 1)
        return row

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        roomy = self.height() >= ROOMY
        self.checks.set_compact(not roomy)
        self.exact.setChecked(self.exact.isChecked() or roomy)
        self.preview.setFixedHeight(self.preview.fontMetrics().lineSpacing() * 4 + 12)

    # -- following the model ----------------------------------------------------------------

    def _on_operation(self, operation: Operation) -> None:
        self._pages.setCurrentIndex(0 if operation is Operation.TRAIN else 1)

    def _on_runner(self) -> None:
        """Hide the presets for other trainers, as they set fields of our own trainer."""
        self._preset_row.setVisible(self._session.runner.id == NATIVE_ID)

    def _on_tasks(self) -> None:
        self.form.set_options("task", list(self._session.task_titles()))

    def _on_preset(self, index: int) -> None:
        values = self.presets.itemData(index)
        if values:
            self._training.draft.set_values(values)

    def _name_preset(self, *_: object) -> None:
        """Select the preset whose values the form has; none if a value differs."""
        box, draft = self.presets, self._training.draft
        order = [box.currentIndex(), *range(1, box.count())]
        found = (index for index in order if index > 0 and draft.holds(box.itemData(index)))
        box.setCurrentIndex(next(found, 0))

    def _on_checks(self) -> None:
        training = self._training
        self.checks.show_checks(training.checks, training.checking)
        note, tone = self.checks.summary()
        self._checks_section.note.setText(note)
        self._checks_section.note.setProperty("role", tone)
        self._checks_section.note.style().polish(self._checks_section.note)
        roomy = self.height() >= ROOMY
        if tone in ("error", "warn") or (training.checking and roomy):
            self._checks_section.set_open(True)
        elif tone == "good" and not roomy:
            self._checks_section.set_open(False)

    def _on_plan(self) -> None:
        plan, draft = self._training.plan, self._training.draft
        line = ""
        if plan is not None:
            ours = plan.spec.runner == NATIVE_ID
            line = (
                train_line(draft.config, draft.wishes()) if ours else guest_line(plan.spec.runner, draft.differences())
            ) + (" --detach" if self._training.detach else "")
        self.equivalent.setVisible(bool(line))
        self.equivalent.setText(line)
        exact = plan.command_line if plan else ""
        self.equivalent.setToolTip("\n\n".join(filter(None, (line, exact))))
        self.preview.setPlainText(plan.command_line if plan else "")
        self.preview.setToolTip(tr("Runs in {cwd}", cwd=plan.cwd) if plan else "")

    def _on_ready(self) -> None:
        reason = self._training.reason()
        self.reason.setText(reason)
        self.reason.setVisible(bool(reason))
        self.consent.setChecked(self._training.consent)
        self.consent.setEnabled(self._training.plan is not None)

    def _on_copy(self) -> None:
        same = self.equivalent.text()
        QGuiApplication.clipboard().setText(same or self.preview.toPlainText())
