"""Sound of the game: volume and channels, and the button whose menu has them."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QSlider, QToolButton, QWidget, QWidgetAction

from gui.features.play.controller import PlayController
from gui.kit.actions import ActionRegistry
from gui.kit.boxes import hbox, named
from gui.kit.labels import label
from gui.kit.settings import Settings
from gui.kit.words import tr
from trainer_core.wire import commands
from trainer_core.wire.records import SoundEvent

CHANNELS = ("pulse 1", "pulse 2", "wave", "noise")
ALL_CHANNELS = 0b1111


class SoundController(QObject):
    """Sound settings, sent to the player; while muted, the player computes no sound."""

    changed = Signal()

    def __init__(self, playing: PlayController, settings: Settings) -> None:
        super().__init__()
        self._playing, self._settings = playing, settings
        self.volume = min(1.0, max(0.0, settings.number("sound/volume", 0.5)))
        self.is_muted = settings.flag("sound/muted", False)
        self.channels = int(settings.number("sound/channels", ALL_CHANNELS)) & ALL_CHANNELS
        self.reason = ""
        """Reason why no sound is audible, such as a missing audio device; empty when there is none."""
        playing.started.connect(self._on_started)
        playing.sounded.connect(self._on_sounded)

    def set_volume(self, volume: float) -> None:
        """Set the volume, 0 to 1, and unmute."""
        self.volume = volume
        self._settings.set("sound/volume", volume)
        self._set_muted(volume <= 0)

    def toggle_mute(self) -> None:
        self._set_muted(not self.is_muted)

    def toggle_channel(self, channel: int) -> None:
        """Turn a sound channel, 0 to 3, on or off."""
        self.channels ^= 1 << channel
        self._settings.set("sound/channels", self.channels)
        self._send()

    def is_heard(self, channel: int) -> bool:
        return bool(self.channels >> channel & 1)

    def name(self) -> str:
        """Return the text of the sound button: muted, on, or impossible for lack of an audio device."""
        if self.is_muted:
            return tr("Sound off")
        return tr("No sound") if self.reason else tr("Sound")

    def words(self) -> str:
        """Return the tooltip of the sound button: volume, or why nothing is audible."""
        if self.is_muted:
            return tr("The sound is off")
        if self.reason:
            return tr("No sound: {reason}", reason=self.reason)
        return tr("Volume {volume:.0%}", volume=self.volume)

    def _set_muted(self, muted: bool) -> None:
        self.is_muted = muted
        self._settings.set("sound/muted", muted)
        self._send()

    def _on_started(self) -> None:
        if not self.is_muted:
            self._send()

    def _on_sounded(self, event: SoundEvent) -> None:
        self.reason = "" if event.device else event.reason
        self.changed.emit()

    def _send(self) -> None:
        volume = 0.0 if self.is_muted else self.volume
        self._playing.player.send(commands.SetSound, volume=volume, channels=self.channels)
        self.changed.emit()


class SoundButton(QToolButton):
    def __init__(self, sound: SoundController, actions: ActionRegistry) -> None:
        super().__init__()
        self._sound = sound
        self.setObjectName("soundButton")
        self.setText(tr("Sound"))
        self.setAccessibleName(tr("Sound"))
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self)
        menu.addAction(actions["mute"])
        menu.addAction(self._volume_row(menu))
        menu.addSeparator()
        self._channels: list[QAction] = []
        for channel, name in enumerate(CHANNELS):
            action = menu.addAction(tr(name).capitalize())
            action.setCheckable(True)
            action.triggered.connect(partial(self._on_channel, channel))
            self._channels.append(action)
        self.setMenu(menu)
        sound.changed.connect(self._refresh)
        self._refresh()

    def _volume_row(self, menu: QMenu) -> QWidgetAction:
        row = QWidget()
        layout = hbox(row, margins=(12, 4, 12, 4))
        layout.addWidget(label(tr("Volume"), "muted"))
        self.volume = named(QSlider(Qt.Orientation.Horizontal), "volumeSlider", tr("Volume of the game"))
        self.volume.setRange(0, 100)
        self.volume.setMinimumWidth(120)
        self.volume.setValue(round(100 * self._sound.volume))
        self.volume.valueChanged.connect(lambda value: self._sound.set_volume(value / 100))
        layout.addWidget(self.volume)
        action = QWidgetAction(menu)
        action.setDefaultWidget(row)
        return action

    def _on_channel(self, channel: int) -> None:
        self._sound.toggle_channel(channel)

    def _refresh(self) -> None:
        for channel, action in enumerate(self._channels):
            action.setChecked(self._sound.is_heard(channel))
        self.setToolTip(self._sound.words())
        self.setText(self._sound.name())
