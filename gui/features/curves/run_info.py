"""Information on the run in focus, ready to copy; load of this computer; size of the run's folder."""

from __future__ import annotations

import json
from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPlainTextEdit, QScrollArea, QVBoxLayout, QWidget

from gui.features.train.controller import TrainingController
from gui.kit import object_names as names
from gui.kit import theme
from gui.kit.actions import ActionRegistry, action_button
from gui.kit.labels import button, label
from gui.kit.words import tr
from gui.state.bridge import Bridge, in_thread
from gui.state.run_notes import RunNotes
from gui.state.telemetry import TelemetryModel
from trainer_core.service import Gauge, folder_bytes, read_gauges
from trainer_core.wire.records import CheckpointRecord

GAUGES_MS = 2000
NOTE_HEIGHT = 160
"""Height in pixels above which a run's notes get a scroll bar."""


class GaugesController(QObject):
    gauges_read = Signal(object)
    """List of `Gauge`, the measured loads of this computer."""
    disk_use_read = Signal(str, object)
    """Run id, and size of its folder in bytes."""

    def __init__(self, bridge: Bridge, training: TrainingController, telemetry: TelemetryModel) -> None:
        super().__init__()
        self._bridge, self._training = bridge, training
        self.is_watched: Callable[[], bool] = lambda: False
        """Function that returns whether the gauges are visible now; set by the view that shows them."""
        self._is_reading = False
        self._clock = QTimer(self, interval=GAUGES_MS)
        self._clock.timeout.connect(self.read)
        self._clock.start()
        self._telemetry = telemetry
        telemetry.focus_changed.connect(self.read_disk_use)
        telemetry.event_taken.connect(self._on_event)

    def read(self) -> None:
        if self.is_watched() and not self._is_reading:
            run = self._training.record
            pid = run.pid if run is not None and not run.state.is_end else 0
            self._is_reading = True
            work = in_thread(read_gauges, self._bridge.home.root, pid)
            self._bridge.spawn(work, then=self._on_read, failed=lambda reason: self._on_read([]))

    def _on_read(self, found: list[Gauge]) -> None:
        self._is_reading = False
        self.gauges_read.emit(found)

    def _on_event(self, run_id: str, event: object) -> None:
        """Measure the run's folder after each checkpoint, as checkpoints are most of its size."""
        if isinstance(event, CheckpointRecord) and run_id == self._telemetry.focus:
            self.read_disk_use(run_id)

    def read_disk_use(self, run_id: str) -> None:
        if run_id:
            work = in_thread(folder_bytes, self._bridge.home.run(run_id).root)
            self._bridge.spawn(work, then=lambda size: self.disk_use_read.emit(run_id, size))


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
        shown.setMaximumHeight(NOTE_HEIGHT)
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
        """Show the size of a run's folder, in bytes."""
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
