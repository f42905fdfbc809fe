"""Slots, what the policy thinks, the end of a recording, the export sheet: on the echo player."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QLabel, QPushButton

from gui.app import App
from gui.features.play.controller import PlayController
from gui.features.play.live import LiveView
from gui.features.play.side import PolicyBars
from gui.features.play.slots import SlotButton, SlotsController
from gui.features.replay.controller import ReplayController
from gui.features.replay.export_sheet import ExportSheet
from gui.features.replay.lane import ROW, ActionLane
from gui.features.replay.view import ReplayView
from gui.kit import object_names as names
from gui.kit.screen import Palette
from tests.gui.conftest import QtBot, click, find, there
from tests.gui.echo_player import Recorded, picture
from trainer_core.wire import commands, records


def play(qtbot: QtBot, app: App) -> None:
    click(app, names.MODE_HUMAN)
    qtbot.waitUntil(lambda: app[LiveView].screen_view.has_picture)


def frame(app: App) -> int:
    return app[LiveView].info.frame


def test_a_step_fills_the_lane_from_its_first_frame_to_its_last(qapp) -> None:
    steps = [
        SimpleNamespace(first_frame=first, last_frame=first + 9, action=3, reward=0.0, value=None)
        for first in (0, 10, 20)
    ]
    replay = SimpleNamespace(steps=steps, has_goal=False, buttons=np.zeros(60, np.uint8))
    lane = ActionLane()
    lane.resize(600, 64)  # ten pixels a frame
    lane._replay, lane._frames = replay, 60  # type: ignore[assignment]
    shown = lane._picture(replay).toImage()  # type: ignore[arg-type]
    cells = [shown.pixelColor(x, ROW - 2).name() for x in range(0, 600)]
    free = cells[599]
    assert [cells[x] == free for x in (2, 95, 99, 102, 195, 199, 202, 295, 300, 450)] == [
        False,
        False,
        True,
        False,
        False,
        True,
        False,
        False,
        True,
        True,
    ]


def test_a_slot_keeps_a_state_with_its_picture_and_a_load_is_taken_back(qtbot: QtBot, app: App) -> None:
    play(qtbot, app)
    slots = app[SlotsController]
    assert not app.actions["loadSlot"].isEnabled()
    assert "Slot 1 is empty" in app.actions["loadSlot"].toolTip()
    app.actions["saveSlot"].trigger()
    qtbot.waitUntil(lambda: slots.path(1).with_suffix(".png").is_file())
    assert QImage(str(slots.path(1).with_suffix(".png"))).width() == 160
    saved = int(slots.path(1).read_text().split()[1])
    qtbot.waitUntil(lambda: app.actions["loadSlot"].isEnabled())
    qtbot.waitUntil(lambda: frame(app) > saved + 60)
    assert not app.actions["undoLoad"].isEnabled()
    app.actions["loadSlot"].trigger()
    qtbot.waitUntil(lambda: slots.can_undo and frame(app) < saved + 50)
    # At the game Shift is turbo as well, and Shift+F9 still no second F9.
    screen = app[LiveView].screen_view
    app.window.activateWindow()
    screen.setFocus()
    qtbot.keyPress(screen, Qt.Key.Key_Shift)
    qtbot.keyClick(screen, Qt.Key.Key_F9, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyRelease(screen, Qt.Key.Key_Shift)
    qtbot.waitUntil(lambda: frame(app) > saved + 60)


def test_the_menu_of_slots_offers_those_that_hold_a_state(qtbot: QtBot, app: App) -> None:
    play(qtbot, app)
    app[SlotsController].save(3)
    qtbot.waitUntil(lambda: app[SlotsController].path(3).with_suffix(".png").is_file())
    made = find(app, "slotButton", SlotButton)
    made.menu().aboutToShow.emit()
    texts = [action.text() for action in made.menu().actions()]
    assert [text[:11] for text in texts if text.startswith("Load Slot")] == ["Load Slot 3"]
    assert app[SlotsController].current == 3
    assert app.actions["saveSlot"].text() == "Save state, slot 3"


def test_a_slot_of_another_game_is_refused_and_the_game_goes_on(qtbot: QtBot, app: App) -> None:
    play(qtbot, app)
    slots = app[SlotsController]
    slots.path(1).parent.mkdir(parents=True)
    slots.path(1).write_text("something else")
    problems: list[str] = []
    app.bridge.problem.connect(lambda title, cause: problems.append(cause))
    slots.load(1)
    qtbot.waitUntil(lambda: problems)
    assert "no state of this game" in problems[0]
    assert app[PlayController].is_active
    assert not slots.can_undo


def test_what_the_policy_thinks_is_shown_while_it_plays(app: App) -> None:
    bars = find(app, names.POLICY_BARS, PolicyBars)
    assert bars.isHidden() or bars.event_shown is None
    event = records.PolicyEvent(
        run_id="p", seq=0, time=0.0, step=4, action=3, value=0.25, probabilities=(0.0, 0.1, 0.0, 0.6, 0.1, 0.1, 0.1)
    )
    app[PlayController]._on_event(event)
    assert bars.event_shown is event
    assert "Step 4" in bars.accessibleName()
    assert "UP 60 %" in bars.accessibleName()
    assert "value +0.250" in bars.accessibleName()
    bars.resize(400, 40)
    assert not bars.grab().isNull()


def test_a_recording_is_begun_with_the_end_that_was_chosen(
    qtbot: QtBot, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(qtbot, app)
    asked: list[dict[str, Any]] = []
    playing = app[PlayController]
    request = playing.player.request

    def note(kind: type[commands.Command], **fields: Any) -> Any:
        if kind is commands.Record:
            asked.append(fields)
        return request(kind, **fields)

    monkeypatch.setattr(playing.player, "request", note)
    app.actions["recordEpisode"].trigger()
    assert app.actions["recordEpisode"].isChecked()
    click(app, names.RECORD_BUTTON)
    qtbot.waitUntil(lambda: playing.recording)
    assert asked == [{"on": True, "until": "episode"}]
    assert app[LiveView].strip.clock.text() == "0:00.0"
    playing._on_event(play_event(recording_frames=300))
    app[LiveView].refresh()
    assert app[LiveView].strip.clock.text() == "0:05.0"


def test_a_game_that_crashed_says_so_over_its_picture(qtbot: QtBot, app: App) -> None:
    play(qtbot, app)
    playing, screen = app[PlayController], app[LiveView].screen_view
    playing._on_event(play_event(hung="undefined opcode at $0150"))
    assert screen.hint == "The game has crashed: undefined opcode at $0150. R rewinds"
    playing._on_event(play_event())
    assert "crashed" not in screen.hint


def play_event(**fields: Any) -> records.PlayEvent:
    return records.PlayEvent(
        run_id="p", seq=0, time=0.0, step=1, episode=1, who="human", action=-1, reward=0.0,
        dist=0.0, success=False, done=False, trunc=False, speed=1.0, **fields,
    )  # fmt: skip


def test_the_export_sheet_asks_for_what_was_chosen(qtbot: QtBot, app: App, tmp_path: Path) -> None:
    exported: list[tuple[Path, list[str]]] = []
    sheet = ExportSheet(
        app.window, 100, tmp_path / "clip", False, "pocket", lambda place, options: exported.append((place, options))
    )
    sheet.show()
    assert sheet.format.findData(".mp4") == -1, "nothing here encodes MP4"
    assert any("ffmpeg" in found.text() for found in sheet.findChildren(QLabel)), "and it says so"
    sheet.format.setCurrentIndex(sheet.format.findData(".apng"))
    sheet.first.setValue(11)  # as the replay counts
    sheet.last.setValue(500)
    assert sheet.last.minimum() == 11
    sheet.speed.setValue(2)
    qtbot.mouseClick(there(sheet.findChild(QPushButton, "exportButton")), Qt.MouseButton.LeftButton)
    ((place, options),) = exported
    assert place == tmp_path / "clip.apng"
    assert options == [
        "--scale",
        "3",
        "--palette",
        "screen-pocket",
        "--from-frame",
        "10",
        "--to-frame",
        "99",
        "--speed",
        "2",
    ]


def test_a_full_disk_under_a_recording_is_told(app: App) -> None:
    problems: list[str] = []
    app.bridge.problem.connect(lambda title, cause: problems.append(cause))
    event = records.ErrorRecord(
        run_id="p", seq=0, time=0.0, kind="recording", message="the recording ends after 9 frames"
    )
    app[PlayController]._on_event(event)
    assert problems == ["the recording ends after 9 frames"]


def recorded(folder: Path) -> Path:
    made = Recorded(folder, "tiny_goal", "human")
    for number in range(9):
        made.add(picture(0, 1, number), 0)
    made.finish()
    return folder


def test_a_person_plays_on_from_the_frame_on_show(qtbot: QtBot, app: App, tmp_path: Path) -> None:
    play(qtbot, app)
    playing = app[PlayController]
    app[ReplayController].load(recorded(tmp_path / "r"))
    app.window.center.setCurrentWidget(app[ReplayView])
    app[ReplayView].slider.setValue(7)
    app.actions["playOn"].trigger()
    qtbot.waitUntil(lambda: playing.paused and app[LiveView].info.frame == 7)
    assert app.window.center.currentWidget() is app[LiveView]
    playing.toggle_pause()
    qtbot.waitUntil(lambda: app[LiveView].info.frame > 10)


def test_a_dropped_recording_opens_in_the_replay(app: App, tmp_path: Path) -> None:
    app.open_path(recorded(tmp_path / "dropped"))
    assert there(app[ReplayController].replay).folder == tmp_path / "dropped"
    assert app.window.center.currentWidget() is app[ReplayView]


def test_the_picture_on_show_is_kept_beside_earlier_ones(qtbot: QtBot, app: App) -> None:
    assert not app.actions["savePicture"].isEnabled()
    play(qtbot, app)
    folder = app.bridge.home.root / "pictures"
    playing = app[PlayController]
    qtbot.waitUntil(lambda: playing.picture is not None and app.actions["savePicture"].isEnabled())
    playing.toggle_pause()
    for _ in range(2):
        app.actions["savePicture"].trigger()
    found = sorted(folder.iterdir())
    assert len(found) == 2, "none is replaced"
    kept, table = QImage(str(found[0])), app[Palette].table
    expected = table[playing.picture]
    assert [kept.pixel(x, 40) for x in range(160)] == expected[40].tolist()
    assert QGuiApplication.clipboard().image().size() == kept.size()
    folder.rename(folder.with_name("elsewhere"))
    folder.write_text("in the way")
    problems: list[str] = []
    app.bridge.problem.connect(lambda title, cause: problems.append(cause))
    app.actions["savePicture"].trigger()
    assert problems == [f"{folder} is read-only; the picture is on the clipboard"]
