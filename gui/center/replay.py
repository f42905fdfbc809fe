"""The replay: scrub through a recording, see actions and rewards, export a GIF."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QProgressBar,
    QSlider,
    QVBoxLayout,
    QWidget,
)

from gui import object_names as names
from gui.actions import ActionRegistry
from gui.controllers.replay import ReplayController
from gui.widgets.action_button import action_button
from gui.widgets.icons import icon
from gui.widgets.joypad_lights import JoypadLights
from gui.widgets.labels import ElidedLabel, icon_button, label
from gui.widgets.lane import ActionLane
from gui.widgets.screen import Palette, Screen
from gui.words import tr
from trainer_core.protocol.recording import FRAMES_PER_SECOND

SPEEDS = (0.25, 1.0, 4.0)


class ReplayView(QWidget):
    def __init__(
        self, controller: ReplayController, actions: ActionRegistry, palette: Palette
    ) -> None:
        super().__init__()
        self._controller = controller
        self.frame = 0
        self.screen_view = Screen(palette, names.REPLAY_VIEW, tr("Replay"))
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setObjectName(names.REPLAY_SLIDER)
        self.slider.setAccessibleName(tr("Frame of the replay"))
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
        below.addLayout(self._control_row(actions))
        column.addLayout(below)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._on_tick)
        self._played = 0.0
        controller.loaded.connect(self._on_loaded)
        controller.changed.connect(self._on_changed)
        controller.progressed.connect(self._on_progress)
        self._on_changed()

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

    def _control_row(self, actions: ActionRegistry) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(4)
        self.play = icon_button("play", tr("Play"), "replayPlayButton", flat=False,
                                clicked=self.toggle)  # fmt: skip
        self.back = icon_button("back", tr("One frame back"), "replayBackButton", flat=False,
                                clicked=lambda: self._move(-1))  # fmt: skip
        self.next = icon_button("step", tr("One frame on"), "replayNextButton", flat=False,
                                clicked=lambda: self._move(1))  # fmt: skip
        for made in (self.back, self.play, self.next):
            made.setProperty("transport", True)
            row.addWidget(made)
        self.speed = QComboBox()
        self.speed.setObjectName("replaySpeed")
        self.speed.setAccessibleName(tr("Replay speed"))
        for value in SPEEDS:
            self.speed.addItem(f"{value:g}x", value)
        self.speed.setCurrentIndex(1)
        row.addWidget(self.speed)
        self.choices = QComboBox()
        self.choices.setObjectName("recordingBox")
        self.choices.setAccessibleName(tr("Recording"))
        self.choices.setMinimumContentsLength(14)
        self.choices.activated.connect(
            lambda: self._controller.load(Path(self.choices.currentData()))
        )
        row.addWidget(self.choices)
        row.addStretch(1)
        self.progress = QProgressBar()
        self.progress.setRange(0, 100)
        self.progress.setTextVisible(False)
        self.progress.setFixedWidth(96)
        self.progress.setAccessibleName(tr("Export progress"))
        self.progress.hide()
        row.addWidget(self.progress)
        row.addWidget(action_button(actions["playOn"], "playOnButton"))
        row.addWidget(action_button(actions["exportGif"], names.EXPORT_GIF_BUTTON))
        return row

    # -- showing ----------------------------------------------------------------------------

    def _on_loaded(self) -> None:
        replay = self._controller.replay
        assert replay is not None
        self._stop()
        self.lane.show_replay(replay)
        self.slider.setRange(0, len(replay) - 1)
        self.slider.setValue(0)
        self.show_frame(0)

    def show_frame(self, frame: int) -> None:
        replay = self._controller.replay
        if replay is None or not 0 <= frame < len(replay):
            return
        self.frame = self._controller.frame = frame
        self.screen_view.show_picture(replay.picture(frame))
        self.lane.set_frame(frame)
        self.lights.set_mask(int(replay.buttons[frame]))
        self.caption.setText(replay.describe(frame))
        self.position.setText(f"{frame + 1} / {len(replay)}")

    def _move(self, step: int) -> None:
        self._stop()
        self.slider.setValue(self.frame + step)

    def toggle(self) -> None:
        replay = self._controller.replay
        if self._timer.isActive():
            self._stop()
        elif replay is not None:
            if self.frame >= len(replay) - 1:
                self.slider.setValue(0)
            self._played = float(self.frame)
            self._timer.start(16)
            self.play.setIcon(icon("pause"))

    def _stop(self) -> None:
        self._timer.stop()
        self.play.setIcon(icon("play"))

    def _on_tick(self) -> None:
        speed = float(self.speed.currentData())
        self._played += speed * FRAMES_PER_SECOND * self._timer.interval() / 1000
        self.slider.setValue(min(int(self._played), self.slider.maximum()))
        if self.frame >= self.slider.maximum():
            self._stop()

    def showEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().showEvent(event)
        self._controller.reload()

    def hideEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().hideEvent(event)
        self._stop()

    def _on_changed(self) -> None:
        controller = self._controller
        has = controller.replay is not None
        for widget in (self.play, self.back, self.next, self.slider, self.speed):
            widget.setEnabled(has)
        self.choices.clear()
        for folder in controller.folders:
            self.choices.addItem(folder.name, str(folder))
        if controller.replay is not None:
            self.choices.setCurrentIndex(self.choices.findData(str(controller.replay.folder)))
        self.choices.setEnabled(self.choices.count() > 0)
        self.progress.setVisible(controller.is_exporting)
        self.screen_view.hint = "" if has else tr("Deploy a checkpoint and press Record")
        self.screen_view.update()

    def _on_progress(self, share: float) -> None:
        self.progress.setValue(round(share * 100))
