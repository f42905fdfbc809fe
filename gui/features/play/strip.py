"""Controls under the live view: player, held buttons, last buttons, pause and step, speed, tools."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QGridLayout, QHBoxLayout, QSlider, QWidget

from gui.features.play.controller import SPEEDS, PlayController
from gui.features.play.lane import ButtonLane
from gui.features.play.slots import SlotButton, SlotsController
from gui.features.play.sound import SoundButton, SoundController
from gui.kit import object_names as names
from gui.kit.actions import ActionRegistry, action_button, action_icon_button
from gui.kit.boxes import hbox, named, put, vbox
from gui.kit.indicators import JoypadLights
from gui.kit.labels import ElidedLabel, label, set_role
from gui.kit.words import number, tr
from gui.state.session import Mode
from trainer_core.lab.recording import FRAMES_PER_SECOND
from trainer_core.wire.buttons import action_name
from trainer_core.wire.frames import FLAG_SUCCESS, FrameInfo
from trainer_core.wire.records import VersusEvent, VersusSide

SPEED_DIFFERS = 0.1
"""Least difference, as a share of the wanted speed, from which the actual one is written too."""
ONE_ROW = 760
"""Width in pixels from which all buttons stand in one row."""
TRANSPORT = {
    "playPause": "playPauseButton",
    "playStep": "playStepButton",
    "playRestart": "playRestartButton",
    "endPlayer": "playStopButton",
}
"""objectName of each icon button by the id of its command."""


class VersusBoard(QWidget):
    """Steps and wins of two policies that play side by side, a column for each below its picture."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("versusBoard")
        self.setAccessibleName(tr("Two policies side by side"))
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(4)
        self.names = [ElidedLabel(), ElidedLabel()]
        self.ways = [ElidedLabel("", "muted"), ElidedLabel("", "muted")]
        self.wins = [label(), label()]
        for side in range(2):
            grid.addWidget(self.names[side], 0, 2 * side)
            grid.addWidget(self.wins[side], 0, 2 * side + 1, Qt.AlignmentFlag.AlignRight)
            grid.addWidget(self.ways[side], 1, 2 * side, 1, 2)
            grid.setColumnStretch(2 * side, 1)
        self.rounds = label("", "muted")
        grid.addWidget(self.rounds, 2, 0, 1, 4)

    def set_names(self, left: str, right: str) -> None:
        """Show these names of the two policies."""
        for shown, name in zip(self.names, (left, right), strict=True):
            shown.setText(name)

    def show_standing(self, event: VersusEvent) -> None:
        for side, told in enumerate(event.sides):
            self.wins[side].setText(tr("won {wins}", wins=told.wins))
            self.ways[side].setText(way_words(told))
            set_role(self.ways[side], "role", "good" if told.success else "muted")
        self.rounds.setText(
            tr(
                "episode {episode}, start {start}, draws {draws}",
                episode=event.episode,
                start=event.start,
                draws=event.draws,
            )
        )


def way_words(side: VersusSide) -> str:
    """Return the state of one policy's episode as text: goal reached, cut off, or step, distance and action."""
    if side.success:
        return tr("goal after {steps} steps", steps=side.steps)
    if side.over:
        return tr("cut off after {steps} steps", steps=side.steps)
    action = action_name(side.action) if side.action >= 0 else ""
    return tr("step {steps}   distance {dist:.3f}   {action}", steps=side.steps, dist=side.dist, action=action)


def speed_text(speed: float) -> str:
    return tr("max") if speed == 0 else f"{number(speed, 'g')}x"


class PlayStrip(QWidget):
    """Controls under the game: the last buttons, and transport and tools in one row or, in a narrow window, in two."""

    def __init__(
        self, playing: PlayController, slots: SlotsController, sound: SoundController, actions: ActionRegistry
    ) -> None:
        super().__init__()
        self._playing = playing
        column = vbox(self, margins=(16, 6, 16, 8), spacing=6)
        self.board = VersusBoard()
        playing.stood.connect(self.board.show_standing)
        put(column, self.board, self._info_row())
        self.lane = ButtonLane()
        playing.played.connect(self.lane.add)
        playing.started.connect(self.lane.clear)
        column.addWidget(self.lane)
        self._rows = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._rows.setSpacing(6)
        put(self._rows, (self._transport_row(actions), 1), self._tools_row(slots, sound, actions))
        column.addLayout(self._rows)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        beside, below = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        self._rows.setDirection(beside if self.width() >= ONE_ROW else below)

    def _info_row(self) -> QWidget:
        self._info = QWidget()
        row = hbox(self._info, spacing=12)
        self.who = label("", "title")
        self.lights = JoypadLights()
        self.what, self.values = ElidedLabel("", "muted"), ElidedLabel("", "muted")
        self.what.setObjectName("playsBadge")
        self.what.setAccessibleName(tr("Current player"))
        put(row, self.who, self.lights, (self.what, 1), (self.values, 1))
        return self._info

    def _transport_row(self, actions: ActionRegistry) -> QHBoxLayout:
        row = hbox(spacing=4)
        for action_id, name in TRANSPORT.items():
            made = action_icon_button(actions[action_id], name)
            made.setProperty("transport", True)
            row.addWidget(made)
        self.speed = named(QSlider(Qt.Orientation.Horizontal), "speedSlider", tr("Speed"))
        self.speed.setRange(0, len(SPEEDS) - 1)
        self.speed.setPageStep(1)
        self.speed.setMinimumWidth(60)
        self.speed.valueChanged.connect(self._on_slider)
        row.addWidget(self.speed, 1)
        self.wanted_speed = named(label(""), "wantedSpeed", tr("Wanted speed"))
        self.real_speed = named(label("", "muted"), "realSpeed", tr("Actual speed"))
        for shown in (self.wanted_speed, self.real_speed):
            shown.setMinimumWidth(44)
            shown.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            row.addWidget(shown)
        return row

    def _tools_row(self, slots: SlotsController, sound: SoundController, actions: ActionRegistry) -> QHBoxLayout:
        row = hbox(spacing=4)
        put(row, SlotButton(slots, actions), SoundButton(sound, actions))
        put(row, action_button(actions["saliency"], "saliencyButton"), 1)
        self.clock = named(label("", "muted"), "recordingClock", tr("Length of the recording"))
        put(row, self.clock, action_button(actions["record"], names.RECORD_BUTTON))
        return row

    def _on_slider(self, index: int) -> None:
        if self._playing.speed != SPEEDS[index]:
            self._playing.set_speed(SPEEDS[index])

    def write(self, info: FrameInfo, mode: Mode) -> None:
        """Show who plays, held buttons, goal distance, reward, action and speed for the picture on show."""
        human = info.who == 1
        self.who.setText(tr("HUMAN") if human else tr("AGENT"))
        set_role(self.who, "role", "warn" if human and mode is not Mode.HUMAN else "")
        self.lights.set_mask(info.buttons)
        parts = []
        if self._playing.state.note:
            parts = [self._playing.state.note]
        elif not self._playing.is_rom:
            parts = [tr("distance {dist:.3f}", dist=info.dist), tr("reward {reward:+.3f}", reward=info.reward)]
        if not human:
            parts.append(tr("action {action}", action=action_name(info.action)))
        if info.flags & FLAG_SUCCESS:
            parts.insert(0, tr("goal reached"))
        self.values.setText("   ".join(parts))
        self._write_speed(info.speed)
        self._write_clock()

    def _write_speed(self, speed: float) -> None:
        """Show the actual speed where it is not the wanted one: slower by a tenth or more, or as fast as it goes."""
        wanted = self._playing.speed
        differs = bool(speed) and (not wanted or abs(speed - wanted) >= SPEED_DIFFERS * wanted)
        self.real_speed.setText(f"{number(speed, '.2f')}x" if speed else "")
        self.real_speed.setVisible(differs)

    def refresh(self, mode: Mode) -> None:
        """Show the current state of the player (playing, paused, recording) in all controls."""
        playing, active = self._playing, self._playing.is_active
        self.speed.setEnabled(active)
        nearest = min(SPEEDS, key=lambda speed: abs(speed - playing.speed))
        self.speed.setValue(SPEEDS.index(nearest))
        self.wanted_speed.setText(speed_text(playing.speed) if active else "")
        if not active:
            for shown in (self.who, self.values, self.real_speed):
                shown.setText("")
            self.lights.set_mask(0)
        is_versus = playing.is_versus
        self.board.setVisible(active and is_versus)
        self._info.setVisible(active and not is_versus and (playing.is_human or mode is not Mode.AGENT))
        self.lane.setVisible(active and not is_versus and not playing.is_human)
        self._write_clock()

    def _write_clock(self) -> None:
        """Show the length of the recording, in seconds of the game."""
        playing = self._playing
        seconds = playing.state.recorded_frames / FRAMES_PER_SECOND
        self.clock.setText(f"{seconds // 60:.0f}:{seconds % 60:04.1f}" if playing.recording else "")
