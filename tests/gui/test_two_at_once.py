"""Two things at once at a game: keys faster than answers, a capture while it goes back."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from gui.app import App
from gui.features.play.controller import PlayController
from gui.features.play.live import LiveView
from gui.features.replay.controller import ReplayController
from gui.kit import object_names as names
from tests.gui.conftest import QtBot, click, there
from trainer_core.wire import commands


@pytest.fixture
def played(qtbot: QtBot, app: App) -> App:
    click(app, names.MODE_HUMAN)
    qtbot.waitUntil(lambda: app[LiveView].screen_view.has_picture)
    qtbot.waitUntil(lambda: app[LiveView].info.frame > 20)
    return app


def goes_on(qtbot: QtBot, app: App) -> None:
    seen = app[LiveView].source.seq
    qtbot.waitUntil(lambda: app[LiveView].source.seq > seen + 5)


def test_two_presses_of_space_leave_the_game_going(qtbot: QtBot, played: App) -> None:
    for _ in range(2):
        qtbot.keyClick(played[LiveView].screen_view, Qt.Key.Key_Space)
    assert not played[PlayController].paused
    goes_on(qtbot, played)
    qtbot.keyClick(played[LiveView].screen_view, Qt.Key.Key_Space)
    assert played[LiveView].screen_view.hint.startswith("Paused")


def test_a_state_saved_while_it_goes_back_is_the_one_on_its_picture(qtbot: QtBot, played: App, tmp_path: Path) -> None:
    playing, live = played[PlayController], played[LiveView]
    playing.set_speed(8.0)
    qtbot.waitUntil(lambda: live.info.frame > 600)
    qtbot.keyPress(live.screen_view, Qt.Key.Key_R)
    qtbot.waitUntil(lambda: playing.state.rewinding and live.info.frame < 590)

    async def both() -> list[int]:
        states = [tmp_path / "one", tmp_path / "two"]
        asked = [playing.capture(commands.SaveState, path=str(path)) for path in states]
        pictures = [picture for _, picture in await asyncio.gather(*asked)]
        # Sixteen pixels in, the echo player shows the bits of its frame.
        shown = [sum(int(pixel > 0) << bit for bit, pixel in enumerate(picture[0, 16:24])) for picture in pictures]
        return [frame - int(path.read_text().split()[1]) % 256 for frame, path in zip(shown, states, strict=True)]

    found: list[list[int]] = []
    played.bridge.spawn(both(), then=found.append)
    qtbot.waitUntil(lambda: found)
    assert found == [[0, 0]]
    assert not playing.paused
    goes_on(qtbot, played)


def test_a_recording_that_ends_with_its_player_is_told(qtbot: QtBot, played: App) -> None:
    playing, replay = played[PlayController], played[ReplayController]
    click(played, names.RECORD_BUTTON)
    qtbot.waitUntil(lambda: playing.recording)
    goes_on(qtbot, played)
    played.actions["endPlayer"].trigger()
    qtbot.waitUntil(lambda: replay.replay is not None)
    assert len(there(replay.replay)) > 5
    assert any(banner.title == "Recording saved" for banner in played.window.banners.banners)
    # Another game in its place ends one as well.
    played.actions["playGame"].trigger()
    qtbot.waitUntil(lambda: playing.is_active and not playing.busy)
    click(played, names.RECORD_BUTTON)
    qtbot.waitUntil(lambda: playing.recording)
    goes_on(qtbot, played)
    first = there(replay.replay).folder
    playing.play_human()
    qtbot.waitUntil(lambda: there(replay.replay).folder != first)
