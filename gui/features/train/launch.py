"""Foot of the training form: checks, the command on one line, consent, Start."""

from __future__ import annotations

import shlex

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QCheckBox, QFrame, QLineEdit, QPlainTextEdit, QVBoxLayout, QWidget

from gui.features.train.checks import ChecksView
from gui.features.train.controller import TrainingController
from gui.kit import object_names as names
from gui.kit import theme
from gui.kit.actions import ActionRegistry, action_button
from gui.kit.boxes import hbox, named, put, vbox
from gui.kit.containers import Section
from gui.kit.icons import icon
from gui.kit.labels import ElidedLabel, icon_button, label, set_role
from gui.kit.words import tr
from gui.state.config_fields import guest_line, train_line
from trainer_core.runs.wandb_run import PROJECT
from trainer_core.wire.spec import NATIVE_ID

_SIGNS = {"good": "\u2713", "warn": "!", "error": "\u2717"}
LINES = 6
"""Height of the exact command in lines."""


class CommandLine(QFrame):
    """The command on one line; a click unfolds the exact process and the choices that change it."""

    detach_chosen = Signal(bool)
    wandb_chosen = Signal(str)
    """PROJECT[/NAME] at W&B; "" = send nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "banner")
        column = vbox(self, margins=(8, 2, 2, 2), spacing=4)
        row = hbox(spacing=2)
        self.line = named(ElidedLabel(""), "equivalentLine", tr("The same run from a terminal"))
        self.line.setFont(theme.mono_font())
        self.line.setCursor(Qt.CursorShape.PointingHandCursor)
        self.line.installEventFilter(self)
        row.addWidget(self.line, 1)
        self.fold = icon_button("down", tr("Show the exact command"), "exactCommand")
        self.fold.setCheckable(True)
        self.fold.toggled.connect(self._on_fold)
        self._copy_button = icon_button("copy", tr("Copy the command"), clicked=self._copy)
        put(row, self._copy_button, self.fold)
        column.addLayout(row)
        self._more = QWidget()
        column.addWidget(self._more)
        inner = vbox(self._more, margins=(0, 0, 6, 6), spacing=4)
        self.exact = named(QPlainTextEdit(), names.COMMAND_PREVIEW, tr("The exact command that will be run"))
        self.exact.setReadOnly(True)
        self.exact.setFont(theme.mono_font())
        self.exact.setTabChangesFocus(True)
        self.exact.setPlaceholderText(tr("Correct the form to see the command"))
        self.exact.setFixedHeight(self.exact.fontMetrics().lineSpacing() * LINES + 12)
        put(inner, self.exact, self._detach_check(), self._wandb_row())
        self._on_fold(False)

    def _detach_check(self) -> QCheckBox:
        """Return the check box for runs that continue after the end of the app, which changes the command."""
        self.detach = named(QCheckBox(tr("Keep running after the app closes")), names.DETACH_CHECK)
        self.detach.setToolTip(tr("The run has its own process and waits while the device is busy"))
        self.detach.toggled.connect(self.detach_chosen)
        return self.detach

    def _wandb_row(self) -> QVBoxLayout:
        """Return the check box that sends the run to W&B, and the project and name that it gets there."""
        text = tr("Send this run to Weights & Biases").replace("&", "&&")
        self.wandb = named(QCheckBox(text), names.WANDB_CHECK)
        self.wandb.setToolTip(tr("Curves, settings, clips and sample tables; the key is WANDB_API_KEY or netrc's"))
        self.wandb.toggled.connect(lambda on: self.wandb_chosen.emit(PROJECT if on else ""))
        self.wandb_target = named(QLineEdit(), "wandbTarget", tr("Project and name at Weights & Biases"))
        self.wandb_target.setPlaceholderText(tr("project/name"))
        self.wandb_target.textEdited.connect(lambda text: self.wandb_chosen.emit(text.strip() or PROJECT))
        self.wandb_words = named(ElidedLabel("", "muted"), "wandbWords")
        column = vbox(spacing=4)
        put(column, self.wandb, self.wandb_target, self.wandb_words)
        return column

    def show_wandb(self, target: str, words: str) -> None:
        """Show whether the run is sent to W&B, and where it will be there."""
        if target and not self.wandb.isChecked():
            self.fold.setChecked(True)  # ticked elsewhere: show what it means
        self.wandb.setChecked(bool(target))
        if not self.wandb_target.hasFocus():
            self.wandb_target.setText(target)
        self.wandb_words.setText(words)
        for widget in (self.wandb_target, self.wandb_words):
            widget.setVisible(bool(target))

    def show_command(self, line: str, exact: str, folder: str) -> None:
        """Show the line for a terminal and the exact process, which runs in `folder`; all empty without a plan."""
        self.line.setText(line or tr("Correct the form to see the command"))
        self.line.setToolTip("\n\n".join(filter(None, (line, exact))))
        self.exact.setPlainText(exact)
        self.exact.setToolTip(tr("Runs in {cwd}", cwd=folder) if folder else "")

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Unfold at a click on the line."""
        if watched is self.line and event.type() == QEvent.Type.MouseButtonRelease:
            self.fold.toggle()
        return super().eventFilter(watched, event)

    def _on_fold(self, is_open: bool) -> None:
        for widget in (self._more, self._copy_button):
            widget.setVisible(is_open)
        self.fold.setIcon(icon("minus" if is_open else "down"))

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.line.text())


class LaunchPanel(QWidget):
    def __init__(self, training: TrainingController, actions: ActionRegistry) -> None:
        super().__init__()
        self._training, self._actions = training, actions
        panel = vbox(self, margins=(12, 4, 12, 8), spacing=6)
        self._section = Section("", is_open=False)
        self._sign = label("")
        self._section.head.insertWidget(0, self._sign)
        self._memory = ElidedLabel("", "muted")
        self._memory.setAlignment(Qt.AlignmentFlag.AlignRight)
        self._section.head.addWidget(self._memory, 100)
        self._section.note.hide()
        self.checks = ChecksView(names.PREFLIGHT_LIST, training.task_title, lambda command: actions[command].iconText())
        self.checks.command_wanted.connect(lambda command: actions[command].trigger())
        self.checks.remedy_chosen.connect(training.apply_remedy)
        self._section.body.addWidget(self.checks)
        panel.addWidget(self._section)
        self.command = CommandLine()
        self.command.detach_chosen.connect(training.set_detach)
        self.command.wandb_chosen.connect(training.set_wandb)
        panel.addWidget(self.command)
        self.consent = named(QCheckBox(), names.CONSENT_CHECK)
        self.consent.toggled.connect(training.set_consent)
        put(panel, self.consent, action_button(actions["start"], names.START_TRAINING_BUTTON, primary=True))
        self.reason = named(ElidedLabel("", "muted"), "startReason")
        self.reason.setMinimumHeight(self.reason.fontMetrics().lineSpacing())  # the widgets above it do not move
        panel.addWidget(self.reason)
        training.checks_changed.connect(self._on_checks)
        training.plan_changed.connect(self._on_plan)
        training.ready_changed.connect(self._on_ready)
        self._on_checks()
        self._on_plan()
        self._on_ready()

    def _on_checks(self) -> None:
        training = self._training
        self.checks.show_checks(training.checks, training.checking)
        words, tone = self.checks.summary()
        self._section.set_title(words)
        self._memory.setText(self.checks.memory())
        self._sign.setText(_SIGNS.get(tone, ""))
        self._sign.setVisible(bool(self._sign.text()))
        set_role(self._sign, "role", tone)
        if tone in ("error", "warn"):
            self._section.set_open(True)
        elif tone == "good":
            self._section.set_open(False)

    def _on_plan(self) -> None:
        self.command.detach.setChecked(self._training.detach)
        plan, draft, wandb = self._training.plan, self._training.draft, self._training.wandb_words()
        on = plan.spec.options.get("on") if plan is not None else ""
        words = tr("Run this command on {place}", place=on) if on else tr("Run this command on this computer")
        self.consent.setText(words)
        self.command.show_wandb(self._training.wandb, wandb)
        if plan is None:
            self.command.show_command("", "", "")
            return
        ours = plan.spec.runner == NATIVE_ID
        line = (
            train_line(draft.config, draft.wishes()) if ours else guest_line(plan.spec.runner, draft.differences())
        ) + (" --detach" if self._training.detach else "")
        line += f" --wandb {shlex.quote(wandb)}" if wandb else ""
        self.command.show_command(line, plan.command_line, str(plan.cwd))

    def _on_ready(self) -> None:
        reason = self._training.reason()
        self.reason.setText(reason)
        self.consent.setChecked(self._training.consent)
        self.consent.setEnabled(self._training.plan is not None)
