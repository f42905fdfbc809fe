"""A button whose menu has the volume, the switch and the four channels."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QMenu, QSlider, QToolButton, QWidget, QWidgetAction

from gui.actions import ActionRegistry
from gui.controllers.sound import CHANNELS, SoundController
from gui.widgets.labels import label
from gui.words import tr


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
        layout = QHBoxLayout(row)
        layout.setContentsMargins(12, 4, 12, 4)
        layout.addWidget(label(tr("Volume"), "muted"))
        self.volume = QSlider(Qt.Orientation.Horizontal)
        self.volume.setObjectName("volumeSlider")
        self.volume.setAccessibleName(tr("Volume of the game"))
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
