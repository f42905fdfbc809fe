"""Controls under the live view: player, held buttons, action probabilities, pause and step, speed, tools."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QSizePolicy, QSlider, QVBoxLayout, QWidget

from gui.features.play.controller import SPEEDS, PlayController
from gui.features.play.slots import SlotButton, SlotsController
from gui.features.play.sound import SoundButton, SoundController
from gui.kit import object_names as names
from gui.kit import theme
from gui.kit.actions import ActionRegistry, action_button, action_icon_button
from gui.kit.indicators import JoypadLights
from gui.kit.labels import ElidedLabel, label, set_role
from gui.kit.painting import guarded
from gui.kit.words import tr
from gui.state.session import Mode
from trainer_core.lab.recording import FRAMES_PER_SECOND
from trainer_core.wire.buttons import ACTIONS, ALL_ACTIONS, action_name
from trainer_core.wire.frames import FLAG_SUCCESS, FrameInfo
from trainer_core.wire.records import PolicyEvent, VersusEvent, VersusSide

BARS_HEIGHT, TIGHT_BARS_HEIGHT, NAMES_HEIGHT = 40, 28, 14
"""Heights in pixels of the bars, and of the names below them."""
VALUE_WIDTH = 104
NAME_WIDTH, ONE_NAME_WIDTH = 22, 72
"""Least column width in pixels for naming every action; and for naming the chosen action alone."""
TRANSPORT = {
    "playPause": "playPauseButton",
    "playStep": "playStepButton",
    "playRestart": "playRestartButton",
    "endPlayer": "playStopButton",
}
"""objectName of each icon button by the id of its command."""


class PolicyBars(QWidget):
    """Bar chart of action probabilities, one column per action; the chosen action in the accent colour."""

    def __init__(self) -> None:
        super().__init__()
        self.event_shown: PolicyEvent | None = None
        self._height = BARS_HEIGHT
        self.setObjectName(names.POLICY_BARS)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.show_thought(None)

    def sizeHint(self) -> QSize:
        return QSize(280, self._height)

    def set_tight(self, is_tight: bool) -> None:
        """Draw lower bars when the window is low."""
        self._height = TIGHT_BARS_HEIGHT if is_tight else BARS_HEIGHT
        self.updateGeometry()

    def show_thought(self, event: PolicyEvent | None) -> None:
        """Show the probabilities of a step; None when no policy plays or it reports none."""
        self.event_shown = event
        self.setAccessibleName(self.words())
        self.setToolTip(self.words())
        self.update()

    def words(self) -> str:
        event = self.event_shown
        if event is None:
            return tr("No policy thinks")
        likely = ", ".join(f"{name} {share:.0%}" for name, share in zip(ALL_ACTIONS, event.probabilities, strict=False))
        return tr(
            "Step {step}: {likely}; {value_words}", step=event.step, likely=likely, value_words=self.value_words()
        )

    def value_words(self) -> str:
        value = self.event_shown.value if self.event_shown else None
        return tr("no value") if value is None else tr("value {value:+.3f}", value=value)

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        told = self.event_shown
        if told is None:
            return
        with QPainter(self) as painter:
            colors = theme.current()
            painter.setFont(theme.small_font())
            width = (self.width() - VALUE_WIDTH) / max(len(told.probabilities), len(ACTIONS))
            named = width >= NAME_WIDTH
            bar = self.height() - NAMES_HEIGHT
            for index, (name, share) in enumerate(zip(ALL_ACTIONS, told.probabilities, strict=False)):
                gap = min(2.0, width / 8)
                box = QRectF(index * width + gap, 0, width - 2 * gap, bar)
                painter.fillRect(box, QColor(colors.raised))
                height = bar * min(1.0, max(0.0, share))
                color = colors.accent if index == told.action else colors.curves[0]
                painter.fillRect(box.adjusted(0, bar - height, 0, 0), QColor(color))
                painter.setPen(QColor(colors.text if index == told.action else colors.muted))
                if named or index == told.action:
                    room = max(width, ONE_NAME_WIDTH)
                    left = min(index * width, self.width() - VALUE_WIDTH - room)
                    text = QRectF(index * width if named else left, bar, width if named else room, NAMES_HEIGHT)
                    painter.drawText(text, Qt.AlignmentFlag.AlignCenter, name)
            painter.setPen(QColor(colors.text))
            right = QRectF(self.width() - VALUE_WIDTH, 0, VALUE_WIDTH, bar)
            flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(right, flags, self.value_words())


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
    return tr("max") if speed == 0 else f"{speed:g}x"


class PlayStrip(QWidget):
    """Two rows of controls, short enough to fit beside the docks in a window of 1024 pixels."""

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
        """Make the controls lower in a low window, to leave space for the game."""
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
            made = action_icon_button(actions[action_id], name)
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
        """Show who plays, held buttons, goal distance, reward, action and speed for the picture on show."""
        human = info.who == 1
        self.who.setText(tr("HUMAN") if human else tr("AGENT"))
        set_role(self.who, "role", "warn" if human and mode is not Mode.HUMAN else "")
        self.lights.set_mask(info.buttons)
        if human and self.thoughts.event_shown is not None:
            self.thoughts.show_thought(None)  # the policy chooses nothing now
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
        self.real_speed.setText(f"{info.speed:.2f}x" if info.speed else "")
        self._write_clock()

    def refresh(self) -> None:
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
            self.thoughts.show_thought(None)
        is_versus = playing.is_versus
        self.board.setVisible(active and is_versus)
        self.thoughts.setVisible(active and not playing.is_human and not is_versus)
        for shown in (self.who, self.lights, self.values):
            shown.setVisible(not is_versus)
        self._write_clock()

    def _write_clock(self) -> None:
        """Show the length of the recording, in seconds of the game."""
        playing = self._playing
        seconds = playing.state.recorded_frames / FRAMES_PER_SECOND
        self.clock.setText(f"{seconds // 60:.0f}:{seconds % 60:04.1f}" if playing.recording else "")
