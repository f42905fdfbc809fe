"""The memory dock: a search that narrows, watches that stay, pictures of video memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from gui.app import App
from gui.features.curves.dock import TelemetryDock
from gui.features.games.controller import LibraryController
from gui.features.memory import views as video_memory
from gui.features.memory.controller import EQUAL, MemoryController, MemorySearch, MemoryWatches, Watch, parse_number
from gui.features.memory.dock import MemoryDock
from gui.features.play.controller import PlayController
from gui.features.play.live import LiveView
from gui.features.train.wall_order import WallOrder
from tests.gui.conftest import QtBot, click, find
from trainer_core.envs.single_game import ConsoleGame, open_game
from trainer_core.lab.paths import ASSETS, HomePaths
from trainer_core.runners.catalog import registered_runners
from trainer_core.wire.frames import BASE

ROM = ASSETS / "games/pocket_quest/pocket_quest.gb"
TASK = "pocket_quest/leave_bedroom"


def memory_with(**at: int) -> np.ndarray:
    """u8[32768] of zeros but for `xADDRESS=value`."""
    made = np.zeros(0x8000, np.uint8)
    for address, value in at.items():
        made[int(address[1:], 16) - BASE] = value
    return made


def test_a_search_narrows_an_unknown_value() -> None:
    search = MemorySearch()
    first = memory_with(xC100=5, xC200=5, xD000=5, x8000=5)
    assert search.narrow(first, "the same") == 0x2000 + 0x2000 + 0x7F, "it only remembers"
    second = memory_with(xC100=6, xC200=4, xD000=5, x8000=6)
    assert search.narrow(second, "changed") == 2
    assert search.found(9) == [0xC100, 0xC200], "video memory is none"
    third = memory_with(xC100=9, xC200=9)
    assert search.narrow(third, "more") == 2
    assert search.narrow(memory_with(xC100=1), "less") == 2
    assert search.narrow(memory_with(xC100=1), EQUAL, 1) == 1
    search.set_wide(True)
    wide = memory_with(xC300=0x34, xC301=0x12)
    assert search.narrow(wide, EQUAL, 0x1234) == 1
    assert search.found(9) == [0xC300]
    assert [parse_number(text) for text in ("12", "$0c", "0x0C", "012")] == [12] * 4
    with pytest.raises(ValueError, match="300 is not between 0 and 255"):
        parse_number("300", 0xFF)
    with pytest.raises(ValueError, match="twelve is not a number"):
        parse_number("twelve")


def test_a_cartridge_without_ram_is_not_searched() -> None:
    memory = memory_with(xC100=5)
    memory[0x2000:0x4000] = 0xFF
    search = MemorySearch()
    assert search.narrow(memory, "the same") == 0x2000 + 0x7F
    memory[0x2000] = 1
    search.restart()
    assert search.narrow(memory, "the same") == 0x2000 + 0x2000 + 0x7F


def test_watches_belong_to_a_game_and_a_damaged_file_is_none(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    kept = MemoryWatches(home)
    kept.turn_to("a" * 64)
    kept.add(Watch(0xC100, "u16", "money"))
    kept.add(Watch(0xC000))
    kept.turn_to("b" * 64)
    assert kept.shown == []
    again = MemoryWatches(home)
    again.turn_to("a" * 64)
    memory = memory_with(xC100=1, xC101=2)
    assert again.as_text(memory) == "C000\tu8\t0\t\nC100\tu16\t513\tmoney"
    (home.settings / "watches.json").write_text('{"a": [{"address": "?"}]}')
    again.turn_to("a" * 64)
    assert again.shown == []


def test_maps_and_sprites_are_those_of_the_picture() -> None:
    """What the console itself draws is found again in the pictures made of its memory."""
    game = open_game(TASK, HomePaths(Path("/nowhere")))
    assert isinstance(game, ConsoleGame)
    game.restart(0)
    for _ in range(60):
        game.frame(0)
    memory, picture = game.memory(BASE, 0x8000), game.picture()
    x, y = (video_memory.at(memory, each) for each in (video_memory.SCX, video_memory.SCY))
    behind = np.roll(video_memory.tile_map(memory, False), (-y, -x), (0, 1))[:144, :160]
    in_front = video_memory.sprite_sheet(memory)
    seen = [s for s in video_memory.sprites(memory) if 0 <= s.x <= 152 and 0 <= s.y <= 128]
    assert seen, "the hero is a sprite"
    same = behind == picture
    assert same.mean() > 0.97
    for at in zip(*np.nonzero(~same), strict=True):
        assert picture[at] == in_front[at], "what is not background is a sprite"


def test_the_dock_follows_a_real_game_and_only_while_it_is_seen(qtbot: QtBot, app: App) -> None:
    playing, memory = app[PlayController], app[MemoryController]
    playing.player.runners = registered_runners()
    app[LibraryController].open_rom(ROM)
    qtbot.waitUntil(lambda: playing.is_rom and not playing.busy)
    assert memory.memory is None
    screen, dock = app[LiveView].screen_view, app[MemoryDock]
    app.window.activateWindow()
    screen.setFocus()
    qtbot.keyClick(screen, Qt.Key.Key_F6, Qt.KeyboardModifier.ShiftModifier)  # Shift is turbo, too
    qtbot.waitUntil(lambda: memory.memory is not None and not dock.visibleRegion().isEmpty())
    playing.toggle_pause()
    seen = memory.frame
    qtbot.waitUntil(lambda: playing.player.directory and memory.frame >= seen)
    click(app, "memorySearchButton")
    click(app, "memorySearchButton")
    told = find(app, "memoryTold")
    assert "addresses remain" in told.text()
    qtbot.keyClicks(find(app, "memoryAddress"), "0x9000\r")
    qtbot.keyClicks(find(app, "memoryAddress"), "99\r")
    memory.changed.emit()
    assert told.text() == "99 is not between $8000 and $FFFF", "the next look leaves it there"
    assert not find(app, "memoryRemoveButton").isEnabled()
    assert find(app, "memoryRemoveButton").toolTip() == "Choose a watched address"
    watched = find(app, "memoryWatches")
    watched.item(0, 2).setText("first tile")
    click(app, "memoryCopyButton")
    assert QGuiApplication.clipboard().text().startswith("9000\tu8\t")
    assert memory.watches.shown == [Watch(0x9000, "u8", "first tile")]
    for page in range(3):
        dock.pages.setCurrentIndex(page)
    qtbot.waitUntil(lambda: dock.video_page.view.has_picture)
    dock.video_page.view.pixel_clicked.emit(9, 8)
    memory.changed.emit()
    assert dock.video_page.told.text() == "Tile 17, at 8110", "the next look leaves it there"
    # Behind another dock it asks for nothing, and its key brings it to the front again.
    app[TelemetryDock].show()
    app[TelemetryDock].raise_()
    qtbot.waitUntil(lambda: not memory._is_watched)
    app.actions["dock.memoryDock"].trigger()
    qtbot.waitUntil(lambda: memory._is_watched)
    app.actions["dock.memoryDock"].trigger()
    assert dock.isHidden()


def test_a_wide_number_never_begins_at_the_last_byte_of_a_region() -> None:
    """Its high byte would lie in the next one, which is other memory."""
    search = MemorySearch()
    search.set_wide(True)
    last = memory_with(xBFFF=0x34, xDFFF=0x34, xFFFE=0x34)
    for after in ("xC000", "xE000", "xFFFF"):
        last[int(after[1:], 16) - BASE] = 0x12
    assert search.narrow(last, EQUAL, 0x1234) == 0
    search.restart()
    assert search.narrow(memory_with(xDFFE=0x34, xDFFF=0x12), EQUAL, 0x1234) == 1
    search.set_wide(False)
    assert search.narrow(last, EQUAL, 0x34) == 3, "a byte may stand there"


def test_a_blank_screen_keeps_its_last_picture_for_a_second(monkeypatch) -> None:
    order, now = WallOrder(), [10.0]
    monkeypatch.setattr("gui.features.train.wall_order.time.monotonic", lambda: now[0])
    drawn = np.arange(40, dtype=np.uint8).reshape(2, 4, 5)
    order.pictures(drawn)
    blank = drawn.copy()
    blank[1] = 3
    now[0] += 0.9
    assert (order.pictures(blank) == drawn).all()
    now[0] += 0.2
    assert (order.pictures(blank) == blank).all()


def test_a_frozen_picture_of_another_shape_is_not_put_into_the_wall() -> None:
    order = WallOrder()
    order.toggle_frozen(1, np.full((4, 5), 7, np.uint8))
    same = order.pictures(np.zeros((2, 4, 5), np.uint8))
    assert (same[1] == 7).all()
    other = order.pictures(np.zeros((2, 8, 10), np.uint8))
    assert other.shape == (2, 8, 10)
    assert not other.any()
