"""Gamepad and keys at the game, as they came and as a person chose them; sound; the LCD look."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage

from gui.app import App
from gui.features.play.controller import PlayController
from gui.features.play.gamepad import Gamepad
from gui.features.play.keys import PLAY_ACTS, GameKeys
from gui.features.play.live import LiveView
from gui.features.play.sound import SoundController
from gui.kit import object_names as names
from gui.kit.screen import Palette, Screen
from gui.kit.settings import Settings
from gui.state.notices import Notice, Notices
from tests.gui.conftest import QtBot, click, find
from trainer_core.lab.paths import HomePaths
from trainer_core.wire import commands, records


class VirtualPad:
    """A gamepad that SDL itself makes up; all that reads it is the product's."""

    def __init__(self) -> None:
        self.sdl = pytest.importorskip("sdl2")
        self.sdl.SDL_InitSubSystem(self.sdl.SDL_INIT_GAMECONTROLLER)
        kind = self.sdl.SDL_JOYSTICK_TYPE_GAMECONTROLLER
        self.index = self.sdl.SDL_JoystickAttachVirtual(kind, 6, 15, 0)
        assert self.index >= 0, self.sdl.SDL_GetError()
        self._joystick: Any = self.sdl.SDL_JoystickOpen(self.index)

    def press(self, button: int, down: bool) -> None:
        self.sdl.SDL_JoystickSetVirtualButton(self._joystick, button, int(down))

    def tilt(self, axis: int, value: int) -> None:
        self.sdl.SDL_JoystickSetVirtualAxis(self._joystick, axis, value)

    def unplug(self) -> None:
        if self._joystick is not None:
            self.sdl.SDL_JoystickClose(self._joystick)
            self.sdl.SDL_JoystickDetachVirtual(self.index)
            self._joystick = None


def play(qtbot: QtBot, app: App) -> None:
    click(app, names.MODE_HUMAN)
    qtbot.waitUntil(lambda: app[LiveView].screen_view.has_picture)


@pytest.fixture
def pad() -> Iterator[VirtualPad]:
    made = VirtualPad()
    yield made
    made.unplug()
    made.sdl.SDL_QuitSubSystem(made.sdl.SDL_INIT_GAMECONTROLLER)


def test_a_gamepad_plays_and_losing_it_lets_go_and_pauses(qtbot: QtBot, app: App, pad: VirtualPad) -> None:
    told: list[Notice] = []
    app[Notices].told.connect(told.append)
    play(qtbot, app)
    live, gamepad = app[LiveView], app[Gamepad]
    qtbot.waitUntil(lambda: gamepad.name)
    live.screen_view.setFocus()
    pad.press(pad.sdl.SDL_CONTROLLER_BUTTON_B, True)
    qtbot.waitUntil(lambda: live.info.buttons == 1 << 4)
    pad.tilt(0, 32_000)
    qtbot.waitUntil(lambda: live.info.buttons == 1 << 4 | 1)
    pad.press(pad.sdl.SDL_CONTROLLER_BUTTON_B, False)
    qtbot.waitUntil(lambda: live.info.buttons == 1)
    pad.unplug()
    qtbot.waitUntil(lambda: app[PlayController].paused)
    qtbot.waitUntil(lambda: app[PlayController].state.buttons == 0)
    assert [notice.title for notice in told] == ["Gamepad", "Gamepad disconnected"]
    assert live.input._joypad.mask == 0
    assert [banner.title for banner in app.window.banners.banners] == ["Gamepad disconnected"]
    live.input._on_pad_found("another")
    assert [banner.title for banner in app.window.banners.banners] == ["Gamepad"]


def test_a_gamepad_is_heard_only_while_the_game_has_the_keyboard(qtbot: QtBot, app: App, pad: VirtualPad) -> None:
    play(qtbot, app)
    live = app[LiveView]
    qtbot.waitUntil(lambda: app[Gamepad].name)
    live.screen_view.clearFocus()
    live.input._on_pad("b", True)
    assert live.input._joypad.mask == 0
    live.screen_view.setFocus()
    live.input._on_pad("b", True)
    assert live.input._joypad.mask == 1 << 4
    live.screen_view.clearFocus()
    assert live.input._joypad.mask == 0


def test_without_the_library_there_is_no_gamepad_and_no_noise(qtbot: QtBot, qapp) -> None:
    def missing() -> Any:
        raise ImportError("No module named 'sdl2'")

    gamepad = Gamepad(missing)
    gamepad.listen()
    qtbot.waitUntil(lambda: gamepad.why_not)
    qtbot.waitUntil(lambda: not gamepad._timer.isActive())
    assert "sdl2" in gamepad.why_not
    assert gamepad.name == ""


def test_keys_and_pad_buttons_are_changed_remembered_and_never_shared(qapp, tmp_path) -> None:
    home = HomePaths(tmp_path)
    settings = Settings(home)
    keys = GameKeys(settings)
    assert {keys.act_of_key(key) for act in PLAY_ACTS for key in act.keys} == {act.name for act in PLAY_ACTS}
    keys.set_key("a", Qt.Key.Key_K)
    keys.set_pad("turbo", "rightstick")
    with pytest.raises(ValueError, match="b"):
        keys.set_key("a", Qt.Key.Key_X)
    settings.save()
    again = GameKeys(Settings(home))
    assert again.act_of_key(Qt.Key.Key_K) == "a"
    assert again.act_of_key(Qt.Key.Key_Z) == ""
    assert again.act_of_pad("rightstick") == "turbo"
    assert again.act_of_pad("rightshoulder") == ""
    again.reset()
    assert again.act_of_key(Qt.Key.Key_Z) == "a"


@pytest.mark.parametrize("rubbish", ["x", "-5", "99999999999999999999", "0"])
def test_rubbish_in_the_settings_is_the_key_that_came(qapp, tmp_path, rubbish: str) -> None:
    settings = Settings(HomePaths(tmp_path))
    settings.set("play/key/a", rubbish)
    assert GameKeys(settings).act_of_key(Qt.Key.Key_Z) == "a"


def test_a_key_is_changed_in_the_settings_and_works_at_once(qtbot: QtBot, app: App) -> None:
    play(qtbot, app)
    app.actions["settings"].trigger()
    table = find(app, "gameKeysTable")
    table.selectRow([act.name for act in PLAY_ACTS].index("a"))
    change = find(app, "changeGameKeyButton")
    change.click()
    qtbot.keyClick(change, Qt.Key.Key_X)
    assert "already used for: B" in find(app, "gameKeysTold").text()
    change.click()
    qtbot.keyClick(change, Qt.Key.Key_J)
    assert table.item(table.currentRow(), 1).text() == "J"
    find(app, "settingsDialog").accept()
    qtbot.keyPress(app[LiveView].screen_view, Qt.Key.Key_J)
    assert app[LiveView].input._joypad.mask == 1 << 4


def test_sound_is_asked_for_remembered_and_told(qtbot: QtBot, app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[dict[str, Any]] = []
    service = app[PlayController].player
    send = service.send

    def note(kind: type[commands.Command], **fields: Any) -> None:
        if kind is commands.SetSound:
            sent.append(fields)
        else:
            send(kind, **fields)

    monkeypatch.setattr(service, "send", note)
    play(qtbot, app)
    assert sent == [{"volume": 0.5, "channels": 15}]
    sound = app[SoundController]
    find(app, "volumeSlider").setValue(80)
    sound.toggle_channel(2)
    app.actions["mute"].trigger()
    assert sent[1:] == [
        {"volume": 0.8, "channels": 15},
        {"volume": 0.8, "channels": 11},
        {"volume": 0.0, "channels": 11},
    ]
    button = find(app, "soundButton")
    assert button.toolTip() == "The sound is off"
    app.actions["mute"].trigger()
    event = records.SoundEvent(run_id="p", seq=0, time=0.0, device="", reason="this computer has no sound")
    service.on_event(event)
    assert button.text() == "No sound"
    assert "no sound" in button.toolTip()
    assert app[Settings].number("sound/volume", 0.0) == 0.8


def test_the_speed_slider_reaches_the_player(qtbot: QtBot, app: App) -> None:
    play(qtbot, app)
    slider = find(app, "speedSlider")
    slider.setValue(0)
    qtbot.waitUntil(lambda: app[LiveView].strip.real_speed.text() == "0.25x")
    assert app[LiveView].strip.real_speed.isHidden(), "one figure while the player keeps up"
    slider.setValue(slider.maximum())
    assert app[PlayController].speed == 0.0
    assert find(app, "wantedSpeed").text() == "max"


def test_a_liquid_crystal_has_a_grid_and_fades_to_the_picture(qapp) -> None:
    palette = Palette()
    palette.set_colors((0xFFFFFF, 0xAAAAAA, 0x555555, 0x000000))
    palette.is_lcd = True
    screen = Screen(palette, "s", "Screen")
    screen.resize(640, 576)
    screen.show_picture(np.zeros((144, 160), np.uint8))
    screen.show_picture(np.full((144, 160), 3, np.uint8))
    pixels = screen._pixels
    assert pixels is not None
    assert 0x60 < pixels[0, 0] & 0xFF < 0xA0, "half of the picture before"
    for _ in range(20):
        screen.settle()
    assert pixels[0, 0] == 0xFF000000
    image = QImage(640, 576, QImage.Format.Format_RGB32)
    screen.render(image)
    inside, line = image.pixelColor(1, 1).lightness(), image.pixelColor(3, 1).lightness()
    assert inside == 0 < line
    assert image.pixelColor(639, 100).lightness() == image.pixelColor(319, 100).lightness()
