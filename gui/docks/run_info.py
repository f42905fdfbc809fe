"""What a run is: everything its meta record says, ready to copy."""

from __future__ import annotations

import json

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPlainTextEdit, QScrollArea, QVBoxLayout, QWidget

from gui import object_names as names
from gui import theme
from gui.actions import ActionRegistry
from gui.models.run_notes import RunNotes
from gui.models.run_telemetry import TelemetryModel
from gui.widgets.action_button import action_button
from gui.widgets.labels import button, label
from gui.words import tr

MOST_NOTE = 160
"""Pixels of what a person wrote on the run; more of it is scrolled to."""


class RunInfo(QWidget):
    def __init__(self, model: TelemetryModel, actions: ActionRegistry, notes: RunNotes) -> None:
        super().__init__()
        self._model, self._notes = model, notes
        self._shown: tuple[object, object, object] | None = None
        self._sizes: dict[str, int] = {}
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 12, 8)
        column.setSpacing(8)
        self.text = QPlainTextEdit()
        self.text.setObjectName("runInfo")
        self.text.setAccessibleName(tr("What this run is"))
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setFont(theme.mono_font())
        self.text.setPlaceholderText(tr("Start a run, or pick one under Runs"))
        self.note = QLabel(textFormat=Qt.TextFormat.MarkdownText, wordWrap=True)
        self.note.setObjectName("runNote")
        self.note.setOpenExternalLinks(True)
        self.note.setTextInteractionFlags(Qt.TextInteractionFlag.TextBrowserInteraction)
        self.note.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        shown = QScrollArea()
        shown.setWidget(self.note)
        shown.setWidgetResizable(True)
        shown.setFrameShape(QFrame.Shape.NoFrame)
        shown.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        shown.setMaximumHeight(MOST_NOTE)
        shown.hide()
        self._note_area = shown
        column.addWidget(shown)
        column.addWidget(self.text, 1)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(label(tr("Open in"), "muted"))
        tensorboard = action_button(actions["openTensorBoard"], names.OPEN_TENSORBOARD_BUTTON)
        row.addWidget(tensorboard)
        row.addWidget(action_button(actions["exportWandb"], names.OPEN_WANDB_BUTTON))
        row.addStretch(1)
        row.addWidget(button(tr("Copy"), "copyRunInfo", clicked=self._copy))
        column.addLayout(row)

    def refresh(self) -> None:
        run = self._model.runs.get(self._model.focus)
        meta = run.meta if run else None
        note = self._notes[self._model.focus]
        key = (meta, self._sizes.get(self._model.focus), note)
        if key == self._shown or not self.isVisible():
            return
        is_same = self._shown is not None and self._shown[0] is meta
        self._shown = key
        self.note.setText(note.text)
        self._note_area.setVisible(bool(note.text))
        size = f"{tr('on disk'):<21}{(key[1] or 0) / 1e6:,.1f} MB\n"
        place = self.text.verticalScrollBar().value()
        self.text.setPlainText(size + self._describe(meta) if meta else "")
        if is_same:
            self.text.verticalScrollBar().setValue(place)

    def show_disk_use(self, run_id: str, size: int) -> None:
        """What a run's folder takes, in bytes."""
        self._sizes = {run_id: size}

    @staticmethod
    def _describe(meta) -> str:  # type: ignore[no-untyped-def]
        fields = (
            "run_id", "runner", "task", "algo", "device", "device_name", "num_envs", "seed",
            "codec", "observation_rule", "stack_k", "frames_per_step", "release_after_frames",
            "git_sha", "rom_sha256", "starts_sha256", "goal_sha256",
        )  # fmt: skip
        lines = [f"{name:<21}{getattr(meta, name)}" for name in fields]
        lines += ["", "versions"]
        lines += [f"  {name:<19}{value}" for name, value in meta.versions.items()]
        lines += ["", "config", json.dumps(meta.config, indent=2), "", "argv", *meta.argv]
        return "\n".join(lines)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text.toPlainText())
