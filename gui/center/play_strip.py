"""Under the live view: who plays what, what is held and thought, transport, speed, tools."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QSlider, QVBoxLayout, QWidget

from gui import object_names as names
from gui.actions import ActionRegistry
from gui.center.slot_menu import SlotButton
from gui.center.sound_menu import SoundButton
from gui.controllers.playing import SPEEDS, PlayController
from gui.controllers.slots import SlotsController
from gui.controllers.sound import SoundController
from gui.models.session import Mode
from gui.widgets.action_button import action_button, action_icon_button
from gui.widgets.joypad_lights import JoypadLights
from gui.widgets.labels import ElidedLabel, label, set_role
from gui.widgets.policy_bars import PolicyBars
from gui.widgets.versus_board import VersusBoard
from gui.words import tr
from trainer_core.lab.recording import FRAMES_PER_SECOND
from trainer_core.wire.buttons import action_name
from trainer_core.wire.frames import FLAG_SUCCESS, FrameInfo

TRANSPORT = {
    "playPause": "playPauseButton",
    "playStep": "playStepButton",
    "playRestart": "playRestartButton",
    "endPlayer": "playStopButton",
}
"""objectNames of the buttons with pictures, by their action."""


def speed_text(speed: float) -> str:
    return tr("max") if speed == 0 else f"{speed:g}x"


class PlayStrip(QWidget):
    """Two short rows of controls, so that all of them fit beside the docks at 1024 pixels."""

    def __init__(
        self, playing: PlayController, slots: SlotsController, sound: SoundController, actions: ActionRegistry
    ) -> None:
        super().__init__()
        self._playing = playing
        self._column = column = QVBoxLayout(self)
        self.is_tight = True
        self.what = ElidedLabel("", "muted")
        self.what.setObjectName("playsBadge")
        self.what.setAccessibleName(tr("What plays"))
        column.addWidget(self.what)
        self.thoughts = PolicyBars()
        playing.thought.connect(self.thoughts.show_thought)
        column.addWidget(self.thoughts)
        self.board = VersusBoard()
        playing.stood.connect(self.board.show_standing)
        column.addWidget(self.board)
        column.addLayout(self._info_row())
        column.addLayout(self._transport_row(actions))
        column.addLayout(self._tools_row(slots, sound, actions))
        self.set_tight(False)

    def set_tight(self, is_tight: bool) -> None:
        """Leave a low window's room to the game."""
        if is_tight != self.is_tight:
            self.is_tight = is_tight
            gap = 3 if is_tight else 8
            self._column.setContentsMargins(12, 4 if is_tight else 8, 12, 4 if is_tight else 8)
            self._column.setSpacing(gap)
            self.thoughts.set_tight(is_tight)

    def _info_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(8)
        self.who = label("")
        self.lights = JoypadLights()
        self.values = ElidedLabel("", "muted")
        row.addWidget(self.who)
        row.addWidget(self.lights)
        row.addWidget(self.values, 1)
        return row

    def _transport_row(self, actions: ActionRegistry) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(4)
        for action_id, name in TRANSPORT.items():
            made = action_icon_button(actions.command(action_id), name)
            made.setProperty("transport", True)
            row.addWidget(made)
        self.speed = QSlider(Qt.Orientation.Horizontal)
        self.speed.setObjectName("speedSlider")
        self.speed.setAccessibleName(tr("Speed"))
        self.speed.setRange(0, len(SPEEDS) - 1)
        self.speed.setPageStep(1)
        self.speed.setMinimumWidth(60)
        self.speed.valueChanged.connect(self._on_slider)
        row.addWidget(self.speed, 1)
        self.wanted_speed = label("")
        self.wanted_speed.setObjectName("wantedSpeed")
        self.wanted_speed.setAccessibleName(tr("Speed that is asked for"))
        self.real_speed = label("", "muted")
        self.real_speed.setObjectName("realSpeed")
        self.real_speed.setAccessibleName(tr("Speed that is reached"))
        for shown in (self.wanted_speed, self.real_speed):
            shown.setMinimumWidth(44)
            shown.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            row.addWidget(shown)
        return row

    def _tools_row(self, slots: SlotsController, sound: SoundController, actions: ActionRegistry) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(4)
        row.addWidget(SlotButton(slots, actions))
        row.addWidget(SoundButton(sound, actions))
        row.addWidget(action_button(actions["saliency"], "saliencyButton"))
        row.addStretch(1)
        self.clock = label("", "muted")
        self.clock.setObjectName("recordingClock")
        self.clock.setAccessibleName(tr("Length of the recording"))
        row.addWidget(self.clock)
        row.addWidget(action_button(actions["record"], names.RECORD_BUTTON))
        return row

    def _on_slider(self, index: int) -> None:
        if self._playing.speed != SPEEDS[index]:
            self._playing.set_speed(SPEEDS[index])

    def write(self, info: FrameInfo, mode: Mode) -> None:
        """What the picture on show came with."""
        human = info.who == 1
        self.who.setText(tr("HUMAN") if human else tr("AGENT"))
        set_role(self.who, "role", "warn" if human and mode is Mode.HYBRID else "")
        self.lights.set_mask(info.buttons)
        if human and self.thoughts.event_shown is not None:
            self.thoughts.show_thought(None)  # the policy chooses nothing now
        parts = []
        if self._playing.note:
            parts = [self._playing.note]
        elif not self._playing.is_rom:
            parts = [tr("distance {dist:.3f}", dist=info.dist), tr("reward {reward:+.3f}", reward=info.reward)]
        if not human:
            parts.append(tr("action {action}", action=action_name(info.action)))
        if info.flags & FLAG_SUCCESS:
            parts.insert(0, tr("goal reached"))
        self.values.setText("   ".join(parts))
        self.real_speed.setText(f"{info.speed:.2f}x" if info.speed else "")
        self._write_clock()

    def refresh(self) -> None:
        """Something about the player changed."""
        playing, active = self._playing, self._playing.is_active
        self.speed.setEnabled(active)
        nearest = min(SPEEDS, key=lambda speed: abs(speed - playing.speed))
        self.speed.setValue(SPEEDS.index(nearest))
        self.wanted_speed.setText(speed_text(playing.speed) if active else "")
        if not active:
            for shown in (self.who, self.values, self.real_speed):
                shown.setText("")
            self.lights.set_mask(0)
            self.thoughts.show_thought(None)
        is_versus = playing.is_versus
        self.board.setVisible(active and is_versus)
        self.thoughts.setVisible(active and not playing.is_human and not is_versus)
        for shown in (self.who, self.lights, self.values):
            shown.setVisible(not is_versus)
        self._write_clock()

    def _write_clock(self) -> None:
        """How long the recording is by now, in seconds of the game."""
        playing = self._playing
        seconds = playing.recorded_frames / FRAMES_PER_SECOND
        self.clock.setText(f"{seconds // 60:.0f}:{seconds % 60:04.1f}" if playing.recording else "")
