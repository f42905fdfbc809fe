"""The replay: scrub through a recording, see actions and rewards, export a GIF."""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QProgressBar,
    QSlider,
    QVBoxLayout,
    QWidget,
)

from gui import object_names as names
from gui.bridge import Bridge
from gui.models.replay import Replay
from gui.screen import Palette, Screen
from gui.widgets.icons import icon
from gui.widgets.joypad_lights import JoypadLights
from gui.widgets.labels import ElidedLabel, button, icon_button, label
from gui.widgets.lane import ActionLane
from trainer_core.protocol.errors import ProtocolError
from trainer_core.protocol.recording import FRAMES_PER_SECOND, list_recordings
from trainer_core.service import Job, run_job

SPEEDS = (0.25, 1.0, 4.0)


class ReplayView(QWidget):
    exported = Signal(object)

    def __init__(self, bridge: Bridge, palette: Palette) -> None:
        super().__init__()
        self._bridge = bridge
        self.replay: Replay | None = None
        self.frame = 0
        self._job: Job | None = None
        self.screen_view = Screen(palette, names.REPLAY_VIEW, "Replay")
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setObjectName(names.REPLAY_SLIDER)
        self.slider.setAccessibleName("Frame of the replay")
        self.slider.setSingleStep(1)
        self.slider.setPageStep(24)
        self.slider.valueChanged.connect(self.show_frame)
        self.lane = ActionLane()
        self.lane.frame_picked.connect(self.slider.setValue)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.screen_view, 1)
        below = QVBoxLayout()
        below.setContentsMargins(12, 8, 12, 8)
        below.setSpacing(8)
        below.addLayout(self._caption_row())
        below.addWidget(self.lane)
        below.addWidget(self.slider)
        below.addLayout(self._control_row())
        column.addLayout(below)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._on_tick)
        self._played = 0.0
        self._refresh()

    def _caption_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(8)
        self.lights = JoypadLights()
        self.caption = ElidedLabel("", "muted")
        self.position = label("", "muted")
        row.addWidget(self.lights)
        row.addWidget(self.caption, 1)
        row.addWidget(self.position)
        return row

    def _control_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(4)
        self.play = icon_button("play", "Play", "replayPlayButton", flat=False,
                                clicked=self.toggle)  # fmt: skip
        self.back = icon_button("back", "One frame back", "replayBackButton", flat=False,
                                clicked=lambda: self._move(-1))  # fmt: skip
        self.next = icon_button("step", "One frame on", "replayNextButton", flat=False,
                                clicked=lambda: self._move(1))  # fmt: skip
        for made in (self.back, self.play, self.next):
            made.setProperty("transport", True)
            row.addWidget(made)
        self.speed = QComboBox()
        self.speed.setObjectName("replaySpeed")
        self.speed.setAccessibleName("Replay speed")
        for value in SPEEDS:
            self.speed.addItem(f"{value:g}x", value)
        self.speed.setCurrentIndex(1)
        row.addWidget(self.speed)
        self.choices = QComboBox()
        self.choices.setObjectName("recordingBox")
        self.choices.setAccessibleName("Recording")
        self.choices.setMinimumContentsLength(14)
        self.choices.activated.connect(lambda: self.load(Path(self.choices.currentData())))
        row.addWidget(self.choices)
        row.addStretch(1)
        self.progress = QProgressBar()
        self.progress.setRange(0, 100)
        self.progress.setTextVisible(False)
        self.progress.setFixedWidth(96)
        self.progress.setAccessibleName("Export progress")
        self.progress.hide()
        row.addWidget(self.progress)
        self.export = button("Export GIF", names.EXPORT_GIF_BUTTON, clicked=self._on_export)
        row.addWidget(self.export)
        return row

    # -- showing ----------------------------------------------------------------------------

    def reload(self) -> None:
        """Read which recordings there are; newest first."""
        self.choices.clear()
        for folder in reversed(list_recordings(self._bridge.home.root)[-50:]):
            self.choices.addItem(folder.name, str(folder))
        if self.replay is not None:
            self.choices.setCurrentIndex(self.choices.findData(str(self.replay.folder)))
        elif self.choices.count():
            self.load(Path(self.choices.itemData(0)))
        self._refresh()

    def load(self, folder: Path) -> None:
        try:
            self.replay = Replay(folder)
        except ProtocolError as error:
            self._bridge.problem.emit("This recording cannot be shown", str(error))
            return
        self._stop()
        self.lane.show_replay(self.replay)
        self.slider.setRange(0, len(self.replay) - 1)
        self.slider.setValue(0)
        self.show_frame(0)
        self._refresh()

    def show_frame(self, frame: int) -> None:
        if self.replay is None or not 0 <= frame < len(self.replay):
            return
        self.frame = frame
        self.screen_view.show_picture(self.replay.picture(frame))
        self.lane.set_frame(frame)
        self.lights.set_mask(int(self.replay.buttons[frame]))
        self.caption.setText(self.replay.describe(frame))
        self.position.setText(f"{frame + 1} / {len(self.replay)}")

    def _move(self, step: int) -> None:
        self._stop()
        self.slider.setValue(self.frame + step)

    def toggle(self) -> None:
        if self._timer.isActive():
            self._stop()
        elif self.replay is not None:
            if self.frame >= len(self.replay) - 1:
                self.slider.setValue(0)
            self._played = float(self.frame)
            self._timer.start(16)
            self.play.setIcon(icon("pause"))

    def _stop(self) -> None:
        self._timer.stop()
        self.play.setIcon(icon("play"))

    def _on_tick(self) -> None:
        assert self.replay is not None
        speed = float(self.speed.currentData())
        self._played += speed * FRAMES_PER_SECOND * self._timer.interval() / 1000
        self.slider.setValue(min(int(self._played), len(self.replay) - 1))
        if self.frame >= len(self.replay) - 1:
            self._stop()

    def hideEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().hideEvent(event)
        self._stop()

    def _refresh(self) -> None:
        has = self.replay is not None
        for widget in (self.play, self.back, self.next, self.slider, self.speed):
            widget.setEnabled(has)
        self.choices.setEnabled(self.choices.count() > 0)
        self.export.setEnabled(has or self._job is not None)
        self.export.setText("Cancel" if self._job else "Export GIF")
        self.progress.setVisible(self._job is not None)
        self.screen_view.hint = "" if has else "Deploy a checkpoint and press Record"
        self.screen_view.update()

    # -- exporting --------------------------------------------------------------------------

    def _on_export(self) -> None:
        if self._job is not None:
            self._job.cancel()
        elif self.replay is not None:
            self.export_gif(self.replay.folder / "replay.gif")

    def export_gif(self, path: Path) -> None:
        """Make the GIF in a process of its own; a cancelled or failed one leaves no file."""
        assert self.replay is not None
        argv = [
            sys.executable, "-m", "trainer_core.cli.main", "gif", str(self.replay.folder),
            "--out", str(path),
        ]  # fmt: skip
        self.progress.setValue(0)
        work = run_job(
            argv,
            on_progress=lambda share: self.progress.setValue(round(share * 100)),
            on_start=self._on_job,
        )
        self._bridge.spawn(
            work,
            then=lambda result: self._on_exported(path),
            failed=lambda reason: self._on_export_failed(path, reason),
        )

    def _on_job(self, job: Job) -> None:
        self._job = job
        self._refresh()

    def _on_exported(self, path: Path) -> None:
        self._job = None
        self._refresh()
        self.exported.emit(path)

    def _on_export_failed(self, path: Path, reason: str) -> None:
        self._job = None
        path.unlink(missing_ok=True)
        self._refresh()
        if reason != "cancelled":
            self._bridge.problem.emit("The GIF was not written", reason)
