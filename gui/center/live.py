"""The live view: a deployed policy or a person at one Game Boy, in Game Boy time."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gui import object_names as names
from gui.actions import ActionRegistry
from gui.center.slot_menu import SlotButton
from gui.controllers.playing import SPEEDS, PlayController
from gui.controllers.slots import SlotsController
from gui.keymap import GAME_KEYS, Joypad
from gui.models.checkpoints import CheckpointList
from gui.models.navigation import Navigation
from gui.models.run_list import count_text
from gui.models.session import Mode, Session
from gui.widgets.action_button import action_button, action_icon_button
from gui.widgets.joypad_lights import JoypadLights
from gui.widgets.labels import ElidedLabel, label, set_role
from gui.widgets.policy_bars import PolicyBars
from gui.widgets.screen import FrameSource, Palette, Screen
from gui.words import tr
from trainer_core.protocol.buttons import ACTIONS
from trainer_core.protocol.frames import FLAG_SUCCESS, FrameInfo
from trainer_core.protocol.recording import FRAMES_PER_SECOND

FRAME_MS = 16
TRANSPORT = {
    "playPause": "playPauseButton", "playStep": "playStepButton",
    "playRestart": "playRestartButton", "endPlayer": "playStopButton",
}  # fmt: skip
"""objectNames of the buttons with pictures, by their action."""


def is_play_key(event: QKeyEvent) -> bool:
    """Whether a key is the game's while its screen has the focus; the app's shortcuts are not."""
    control = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier
    return not event.modifiers() & control and event.key() in GAME_KEYS


def speed_text(speed: float) -> str:
    return "max" if speed == 0 else f"{speed:g}x"


class LiveView(QWidget):
    """Keys reach the joypad only while the screen has the focus."""

    pictured = Signal()
    """Another picture is on show."""

    def __init__(
        self, playing: PlayController, session: Session, navigation: Navigation,
        actions: ActionRegistry, palette: Palette, welcome: QWidget, checkpoints: CheckpointList,
        slots: SlotsController,
    ) -> None:  # fmt: skip
        super().__init__()
        self._playing, self._session, self._navigation = playing, session, navigation
        self._checkpoints, self._slots = checkpoints, slots
        self._joypad = Joypad()
        self.source = FrameSource()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        self.screen_view = Screen(palette, names.LIVE_VIEW, tr("Game screen"))
        self.screen_view.installEventFilter(self)
        self.screen_view.focus_lost.connect(self._on_focus_lost)
        self.screen_view.pixel_clicked.connect(playing.click)
        self._stack = QStackedWidget()
        self._stack.addWidget(welcome)
        self._stack.addWidget(self.screen_view)
        column.addWidget(self._stack, 1)
        self._controls = self._strip(actions)
        column.addWidget(self._controls)
        self._timer = QTimer(self, interval=FRAME_MS)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._on_frame)
        self.info = FrameInfo()
        playing.frames_changed.connect(self._on_frames)
        playing.changed.connect(self.refresh)
        session.mode_changed.connect(lambda mode: self.refresh())
        navigation.welcome_changed.connect(lambda is_shown: self.refresh())
        navigation.game_wanted.connect(self._on_game_wanted)
        self.refresh()

    def _strip(self, actions: ActionRegistry) -> QWidget:
        strip = QWidget()
        column = QVBoxLayout(strip)
        column.setContentsMargins(12, 8, 12, 8)
        column.setSpacing(8)
        self.what = ElidedLabel("", "muted")
        self.what.setObjectName("playsBadge")
        self.what.setAccessibleName(tr("What plays"))
        column.addWidget(self.what)
        self.thoughts = PolicyBars()
        self._playing.thought.connect(self.thoughts.show_thought)
        column.addWidget(self.thoughts)
        column.addLayout(self._info_row())
        column.addLayout(self._control_row(actions))
        return strip

    def _info_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(8)
        self.who = label("")
        self.lights = JoypadLights()
        self.values = ElidedLabel("", "muted")
        self.real_speed = label("", "muted")
        self.real_speed.setMinimumWidth(48)
        self.real_speed.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self.who)
        row.addWidget(self.lights)
        row.addWidget(self.values, 1)
        row.addWidget(self.real_speed)
        return row

    def _control_row(self, actions: ActionRegistry) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(4)
        for action_id, name in TRANSPORT.items():
            made = action_icon_button(actions.command(action_id), name)
            made.setProperty("transport", True)
            row.addWidget(made)
        playing = self._playing
        self.speed = QComboBox()
        self.speed.setObjectName("speedBox")
        self.speed.setAccessibleName(tr("Speed"))
        for value in SPEEDS:
            self.speed.addItem(speed_text(value), value)
        self.speed.activated.connect(lambda: playing.set_speed(float(self.speed.currentData())))
        row.addWidget(self.speed)
        row.addStretch(1)
        row.addWidget(SlotButton(self._slots, actions))
        self.clock = label("", "muted")
        self.clock.setObjectName("recordingClock")
        self.clock.setAccessibleName(tr("Length of the recording"))
        row.addWidget(self.clock)
        row.addWidget(action_button(actions["record"], names.RECORD_BUTTON))
        return row

    # -- pictures ---------------------------------------------------------------------------

    def _on_frames(self, path: object) -> None:
        self.source.open(path)  # type: ignore[arg-type]
        if path is None:
            self.screen_view.clear()
        else:
            self._navigation.leave_welcome()
            self._on_game_wanted()
        self.refresh()

    def _on_game_wanted(self) -> None:
        self.screen_view.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_frame(self) -> None:
        found = self.source.latest()
        if found is None:
            return
        info, pictures = found
        self.screen_view.show_picture(pictures[0])
        self._playing.note_frame(info, pictures[0])
        self.pictured.emit()
        if (info.buttons, info.who, info.flags, info.action) != (
            self.info.buttons, self.info.who, self.info.flags, self.info.action,
        ) or info.frame % 12 == 0 or self._playing.paused:  # fmt: skip
            self.info = info
            self._write_info()

    def showEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().showEvent(event)
        self._timer.start()

    def hideEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().hideEvent(event)
        self._timer.stop()

    # -- texts ------------------------------------------------------------------------------

    def _write_info(self) -> None:
        info = self.info
        human = info.who == 1
        self.who.setText(tr("HUMAN") if human else tr("AGENT"))
        set_role(self.who, "role", "warn" if human and self._session.mode is Mode.HYBRID else "")
        self.lights.set_mask(info.buttons)
        action = ACTIONS[info.action] if 0 <= info.action < len(ACTIONS) else "none"
        parts = []
        if self._playing.note:
            parts = [self._playing.note]
        elif not self._playing.is_rom:
            parts = [
                tr("distance {dist:.3f}", dist=info.dist),
                tr("reward {reward:+.3f}", reward=info.reward),
            ]
        if not human:
            parts.append(tr("action {action}", action=action))
        if info.flags & FLAG_SUCCESS:
            parts.insert(0, tr("goal reached"))
        self.values.setText("   ".join(parts))
        self.real_speed.setText(f"{info.speed:.2f}x" if info.speed else "")
        self._write_clock()

    def _write_clock(self) -> None:
        """How long the recording is by now, in seconds of the game."""
        playing = self._playing
        seconds = playing.recorded_frames / FRAMES_PER_SECOND
        self.clock.setText(f"{seconds // 60:.0f}:{seconds % 60:04.1f}" if playing.recording else "")

    def refresh(self) -> None:
        playing, active = self._playing, self._playing.is_active
        welcome = self._navigation.welcome and not playing.busy
        self._stack.setCurrentIndex(0 if welcome else 1)
        self._controls.setVisible(not welcome)
        self.speed.setEnabled(active)
        self.speed.setCurrentIndex(self.speed.findData(playing.speed))
        if not active:
            self.who.setText("")
            self.values.setText("")
            self.real_speed.setText("")
            self.lights.set_mask(0)
        self.thoughts.setVisible(active and not playing.is_human)
        if not active:
            self.thoughts.show_thought(None)
        self._write_clock()
        self.what.setText(self._what_plays())
        self.screen_view.hint = self._hint()
        self.screen_view.update()

    def _what_plays(self) -> str:
        """Task, steps and success of the checkpoint at the buttons, or who else is."""
        request = self._playing.request
        if request is None:
            return ""
        playing_rom = self._playing.is_rom
        if request.mode == "human":
            return tr(
                "{value}, you play", value=Path(request.task).name if playing_rom else request.task
            )
        row = self._checkpoints.row_of(Path(self._playing.checkpoint))
        if row < 0:
            return f"{request.task}, {Path(self._playing.checkpoint).name}"
        card = self._checkpoints.cards[row]
        return tr(
            "{task}, {algo} after {count_text} steps, {success_rate:.0%} success",
            task=card.task,
            algo=card.algo,
            count_text=count_text(card.env_steps),
            success_rate=card.success_rate,
        )

    def _hint(self) -> str:
        playing = self._playing
        if playing.busy:
            return f"{playing.busy}..."
        if playing.error and not playing.is_active:
            return playing.error
        if not playing.is_active:
            if self._session.mode is Mode.HUMAN:
                return tr("Press Human again, or Play > Play the game, to start")
            return tr("Pick a checkpoint and press Deploy")
        if playing.rewinding:
            return tr("Rewinding")
        if playing.paused:
            return tr("Paused: Space goes on, . steps")
        human = self._session.mode is Mode.HUMAN
        if human and not self.screen_view.hasFocus():
            return tr("Click to play")
        return ""

    # -- keys -------------------------------------------------------------------------------

    def eventFilter(self, watched, event) -> bool:  # type: ignore[no-untyped-def]
        kind = event.type()
        if kind == QEvent.Type.ShortcutOverride and self._playing.is_active:
            if is_play_key(event):
                event.accept()  # while one plays, these keys are the game's
                return True
            return False
        if kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease) and self._playing.is_active:
            return self._on_key(event, kind == QEvent.Type.KeyPress)
        if kind == QEvent.Type.FocusIn:
            QTimer.singleShot(0, self, self.refresh)
        return super().eventFilter(watched, event)

    def _on_key(self, event: QKeyEvent, pressed: bool) -> bool:
        if event.isAutoRepeat():
            return True
        key, playing = Qt.Key(event.key()), self._playing
        if key in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab):
            if self._session.mode is not Mode.HYBRID:
                return False
            playing.take_over(pressed)
            return True
        used = self._joypad.press(key) if pressed else self._joypad.release(key)
        if used:
            playing.hold(self._joypad.mask)
            return True
        if key == Qt.Key.Key_Shift:
            playing.turbo(pressed)
            return True
        if key == Qt.Key.Key_R:
            playing.rewind(pressed)
            return True
        if not pressed:
            return False
        verbs = {
            Qt.Key.Key_Space: playing.toggle_pause, Qt.Key.Key_Period: playing.step,
            Qt.Key.Key_Plus: lambda: playing.shift_speed(1),
            Qt.Key.Key_Equal: lambda: playing.shift_speed(1),
            Qt.Key.Key_Minus: lambda: playing.shift_speed(-1),
            Qt.Key.Key_0: lambda: playing.set_speed(1.0),
            Qt.Key.Key_Escape: self.screen_view.clearFocus,
        }  # fmt: skip
        if key in verbs:
            verbs[key]()
            return True
        return False

    def _on_focus_lost(self) -> None:
        self._joypad.release_all()
        self._playing.hold(0)
        self._playing.rewind(False)
        self._playing.take_over(False)
        self.refresh()
