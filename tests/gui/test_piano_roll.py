"""The piano roll and the replay's sources in the app, with the real player and the real tools."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QMouseEvent
from PySide6.QtWidgets import QApplication

from gui.app import App
from gui.features.replay.controller import ReplayController
from gui.features.replay.model import Replay, recording_name
from gui.features.replay.view import ReplayView
from gui.features.roll.controller import RollController
from gui.features.roll.panel import RollPanel, branch_trees
from gui.features.roll.piano_roll import HEAD, NUMBER, ROW, PianoRoll
from gui.kit import object_names as names
from gui.kit import theme
from gui.state.notices import Notices
from tests.gui.conftest import QtBot, click, show_dock, there
from trainer_core.envs.recording_writer import RecordingWriter
from trainer_core.envs.single_game import ConsoleGame, open_game
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.recording import MANIFEST, read_buttons, read_recording
from trainer_core.play.episode import Script, play_episode
from trainer_core.wire import records
from trainer_core.wire.buttons import ALL_ACTIONS
from trainer_core.wire.playing import PlayerConfig

TASK = "pocket_quest/leave_bedroom"
DOWN, A = 8, 16
B = 5
"""Its column in the roll."""
A_RIGHT = ALL_ACTIONS.index("A+RIGHT")


@cache
def opened_game() -> ConsoleGame:
    found = open_game(TASK, HomePaths(Path("/nowhere")))
    assert isinstance(found, ConsoleGame)
    return found


before_forks = opened_game
"""To load the emulator takes 0.5 s: the stage does it for all tests of this file."""


@pytest.fixture
def game() -> ConsoleGame:
    return opened_game()


def record(game: ConsoleGame, folder: Path, way: list[int], steps: int = 6) -> Path:
    game.restart(0)
    writer = RecordingWriter(folder, game, mode="script", checkpoint="", checkpoint_sha256="")
    play_episode(game, Script(way), 0, max_steps=steps, recording=writer)
    return writer.finish()


def pressed(game: ConsoleGame, folder: Path, frames: int) -> np.ndarray:
    """What a fresh console shows after the first `frames` of a recording's buttons."""
    game.load_state(folder / read_recording(folder).state)
    for mask in read_buttons(folder, read_recording(folder))[:frames]:
        game.frame(mask)
    return game.picture().copy()


def test_buttons_of_a_selection_are_copied_over_others(qtbot: QtBot, qapp) -> None:
    roll, pressed = PianoRoll(), []
    roll.frame_picked.connect(roll.set_frame)
    roll.pressed.connect(lambda first, masks: pressed.append((first, masks)))
    roll.show_masks(bytes([0, A, A | DOWN, 0, 0, 0]), 6, 6)
    roll.set_frame(1)
    qtbot.keyClick(roll, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClick(roll, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    assert roll.selection == range(1, 4)
    qtbot.keyClick(roll, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "A\nD A\n."
    qtbot.keyClick(roll, Qt.Key.Key_Down)
    assert roll.selection == range(4, 5), "a plain move ends the selection"
    qtbot.keyClick(roll, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    assert pressed == [(4, bytes([A, A | DOWN]))], "the roll has no more frames"
    QGuiApplication.clipboard().setText("A\nhello")
    qtbot.keyClick(roll, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    assert len(pressed) == 1, "another text is no button"


def mouse(piano: PianoRoll, kind: QEvent.Type, at: QPoint) -> None:
    """Give the roll a mouse event, wherever the window and the pointer of this machine are."""
    is_held = kind != QEvent.Type.MouseButtonRelease
    left, none = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
    button = none if kind == QEvent.Type.MouseMove else left
    view = piano.viewport()
    event = QMouseEvent(
        kind,
        QPointF(at),
        QPointF(view.mapToGlobal(at)),
        button,
        left if is_held else none,
        Qt.KeyboardModifier.NoModifier,
    )
    QApplication.sendEvent(view, event)


def drag_over_b(piano: PianoRoll, first: int, count: int) -> None:
    """Drag down B's column over so many frames, from `first` on."""
    at, to = (piano.cell_of(frame, B).center() for frame in (first, first + count - 1))
    mouse(piano, QEvent.Type.MouseButtonPress, at)
    QApplication.processEvents()  # whatever waits may move the roll, as it may for a person
    mouse(piano, QEvent.Type.MouseMove, to)
    mouse(piano, QEvent.Type.MouseButtonRelease, to)


def test_a_drag_from_the_row_that_is_cut_off_covers_what_it_is_over(qapp) -> None:
    roll, pressed = PianoRoll(), list[tuple[int, bytes]]()
    roll.frame_picked.connect(roll.set_frame)
    roll.pressed.connect(lambda first, masks: pressed.append((first, masks)))
    roll.resize(300, HEAD + 5 * ROW + ROW // 2)
    roll.show()
    roll.show_masks(bytes(100), 100, 100)
    roll.verticalScrollBar().setValue(50)
    last = 50 + roll._rows()
    assert roll.viewport().rect().contains(roll.cell_of(last, B).topLeft()), "half of it is seen"
    drag_over_b(roll, last, 1)
    assert pressed == [(last, bytes([32]))]
    # A layout between press and move, as a caption that grows a line brings about.
    roll.verticalScrollBar().setValue(50)
    at, to = roll.cell_of(53, B).center(), roll.cell_of(54, B).center()
    mouse(roll, QEvent.Type.MouseButtonPress, at)
    roll.resize(300, HEAD + 3 * ROW)
    QApplication.processEvents()
    mouse(roll, QEvent.Type.MouseMove, to)
    mouse(roll, QEvent.Type.MouseButtonRelease, to)
    assert pressed[1:] == [(53, bytes([32, 32]))]
    assert roll.verticalScrollBar().value() != 50, "once let go, its frame comes in sight"
    roll.close()


class StillPlayer:
    """Stands for the roll's player: it has played whatever it is asked for at once."""

    frames_path = None
    is_active = False

    def __init__(self, app: App) -> None:
        self._roll = app[RollController]
        self.ahead = self._roll.player.ahead
        self._roll.player = self  # type: ignore[assignment]

    async def start(self, config: PlayerConfig) -> None:
        self.is_active = True
        frames = read_recording(Path(config.recording)).frames
        self._tell(frames)

    async def stop(self) -> None:
        self.is_active = False

    async def request(self, kind: type, **fields: object) -> records.AckEvent:
        self._tell(len(self._roll.masks))
        return records.AckEvent(run_id="p", seq=0, time=0.0, id=1)

    def _tell(self, frames: int) -> None:
        told = records.RollEvent(run_id="p", seq=0, time=0.0, frames=frames, known=frames)
        self._roll._on_event(told)


@pytest.fixture
def opened(qtbot: QtBot, app: App, game: ConsoleGame) -> App:
    """The roll of a recording of 144 frames, open at frame 60, without a process."""
    folder = record(game, app.bridge.home.root / "recordings" / "take", [5, A_RIGHT, 6])
    StillPlayer(app)
    app.window.center.setCurrentWidget(app[ReplayView])
    app[ReplayController].load(folder, 60)
    app[ReplayView].setFocus()
    click(app, "rollOpenButton")
    qtbot.waitUntil(lambda: app[RollController].known == 144)
    assert app[RollPanel].piano.isVisible()
    return app


def test_buttons_are_edited_by_mouse_and_keys_and_taken_back(qtbot: QtBot, opened: App) -> None:
    roll, piano = opened[RollController], opened[RollPanel].piano
    assert opened.window.focusWidget() is piano, "its keys work at once"
    assert bytes(roll.masks[23:33]) == bytes([0, *[A | 1] * 8, 0]), "two buttons in one step"
    drag_over_b(piano, 60, 3)
    assert roll.masks[58:65] == bytes([0, 0, 32, 32, 32, 0, 0])
    qtbot.keyClick(piano, Qt.Key.Key_D)
    assert roll.masks[60] == 32 | DOWN
    qtbot.keyClick(piano, Qt.Key.Key_Insert)
    qtbot.keyClick(piano, Qt.Key.Key_Delete)
    opened.actions["rollUndo"].trigger()
    opened.actions["rollUndo"].trigger()
    opened.actions["rollUndo"].trigger()
    assert roll.masks[58:65] == bytes([0, 0, 32, 32, 32, 0, 0])
    opened.actions["rollRedo"].trigger()
    assert roll.masks[60] == 32 | DOWN
    assert roll.fork == 60


def test_what_is_pressed_is_named_and_coloured_along_the_replay(opened: App) -> None:
    replay, view = opened[ReplayController], opened[ReplayView]
    assert "A+RIGHT" in there(replay.replay).describe(30)
    view.lane.resize(72, view.lane.height())  # too narrow for a sign
    mark = view.lane.grab().toImage().pixelColor(15, 14)
    assert mark.name() == theme.current().curves[A_RIGHT % len(theme.current().curves)]


def test_another_recording_beside_the_roll_follows_it(opened: App, game: ConsoleGame) -> None:
    replay, view = opened[ReplayController], opened[ReplayView]
    other = record(game, opened.bridge.home.root / "recordings" / "other", [6, 6])
    replay.toggle_beside(other)
    view.go_to(100)
    np.testing.assert_array_equal(view.beside[0].screen_view.picture, Replay(other).picture(100))


def test_a_small_window_cuts_nothing_off_the_roll(qtbot: QtBot, opened: App) -> None:
    view, piano = opened[ReplayView], opened[RollPanel].piano
    opened.window.resize(1024, 700)
    for name in (names.AGENT_DOCK, names.RUNS_DOCK):
        show_dock(qtbot, opened, name)
    qtbot.waitUntil(lambda: piano.cell < 24 and view.strip.isHidden())
    assert piano.viewport().width() >= NUMBER + 8 * piano.cell
    assert view.panel.geometry().right() < view.width()
    qtbot.waitUntil(lambda: piano._rows() >= 4)


def test_changes_that_nobody_saved_are_brought_back(qtbot: QtBot, opened: App) -> None:
    roll = opened[RollController]
    roll.press(40, bytes([A, A, 0, A]))
    changed = bytes(roll.masks)
    opened.actions["rollOpen"].trigger()
    qtbot.waitUntil(lambda: not roll.player.is_active)
    assert opened[ReplayView].panel.isHidden()
    banner = opened.window.banners.banners[-1]
    assert banner.accessibleName() == "The changed buttons were not saved: take"
    there(banner.button).click()
    qtbot.waitUntil(lambda: bytes(roll.masks) == changed and roll.fork == 40)
    opened.actions["rollUndo"].trigger()
    assert not roll.is_changed


def test_changed_buttons_are_saved_as_a_branch_and_played_on(qtbot: QtBot, app: App, game: ConsoleGame) -> None:
    """With the real player: what it shows is what a fresh console shows."""
    home = app.bridge.home.root
    folder = record(game, home / "players" / "p" / "recordings" / "take", [5, A_RIGHT, 6])
    replay, roll, view = app[ReplayController], app[RollController], app[ReplayView]
    app.window.center.setCurrentWidget(view)
    replay.load(folder, 60)
    assert view.frame == 60
    click(app, "rollOpenButton")
    qtbot.waitUntil(lambda: roll.is_open and view.position.text() == "61 / 144")
    qtbot.waitUntil(lambda: roll.known == 144)
    player = roll.player._child
    np.testing.assert_array_equal(view.screen_view.picture, pressed(game, folder, 61))
    assert view.caption.text() == there(replay.replay).describe(60)
    roll.press(60, bytes([32 | DOWN, 32, 32]))
    view.go_to(143)
    qtbot.waitUntil(lambda: view.position.text() == "144 / 144" and not roll._is_seeking)
    qtbot.waitUntil(lambda: roll.known == 144)
    assert "once it is saved" in view.caption.text()
    shown = there(view.screen_view.picture).copy()
    app.actions["rollSave"].trigger()
    qtbot.waitUntil(lambda: there(replay.replay).folder.name == "take-b1")
    branch = there(replay.replay).folder
    about = read_recording(branch)
    assert (about.parent, about.forked_at, branch.parent) == ("take", 60, home / "recordings")
    np.testing.assert_array_equal(shown, pressed(game, branch, 144))
    np.testing.assert_array_equal(shown, there(replay.replay).picture(143))
    assert [step.action for step in there(replay.replay).steps[:2]] == [5, A_RIGHT]
    (root,) = branch_trees(replay.folders)
    assert [child.folder.name for child in root.children] == ["take-b1"]
    qtbot.waitUntil(lambda: roll.is_open and not roll.is_changed and not roll.busy)
    # The same player goes on: a branch of the branch, from where it was changed again.
    roll.press(100, bytes([A]))
    app.actions["rollSave"].trigger()
    qtbot.waitUntil(lambda: there(replay.replay).folder.name == "take-b2" and not roll.busy)
    second = read_recording(there(replay.replay).folder)
    assert (second.parent, second.forked_at) == ("take-b1", 100)
    assert roll.player._child is player
    np.testing.assert_array_equal(there(replay.replay).picture(143), pressed(game, there(replay.replay).folder, 144))
    assert there(there(app[RollPanel].tree.topLevelItem(0)).child(0)).text(1) == "61"
    roll.close()
    qtbot.waitUntil(lambda: not roll.player.is_active)
    assert read_buttons(folder, read_recording(folder))[60] == 0, "the recording stays as it was"


def test_a_player_may_be_through_before_it_counts_as_started(
    qtbot: QtBot, app: App, game: ConsoleGame, monkeypatch: pytest.MonkeyPatch
) -> None:
    roll, replay = app[RollController], app[ReplayController]
    told = records.RollEvent(run_id="p", seq=0, time=0.0, frames=24, known=24, differs=-1)

    async def start(config: PlayerConfig) -> None:
        roll.player.on_event(told)

    monkeypatch.setattr(roll.player, "start", start)
    replay.load(record(game, app.bridge.home.root / "recordings" / "take", [A_RIGHT], 1))
    roll.toggle()
    qtbot.waitUntil(lambda: roll.is_open)
    assert roll.known == 24


def test_four_recordings_go_in_lockstep(app: App, game: ConsoleGame, tmp_path: Path) -> None:
    folders = [
        record(game, app.bridge.home.root / "recordings" / f"r{n}", [n, 3, 5], steps)
        for n, steps in enumerate((2, 4, 1, 2))
    ]
    replay, view = app[ReplayController], app[ReplayView]
    app.window.center.setCurrentWidget(view)
    replay.load(folders[0])
    problems: list[str] = []
    app.bridge.problem.connect(lambda title, cause: problems.append(title))
    for folder in folders[1:]:
        replay.toggle_beside(folder)
    assert view.slider.maximum() == 4 * 24 - 1
    for frame in (0, 30, 95):
        view.slider.setValue(frame)
        screens = [view.screen_view, *(other.screen_view for other in view.beside)]
        for folder, screen in zip(folders, screens, strict=True):
            clip = Replay(folder)
            np.testing.assert_array_equal(screen.picture, clip.picture(min(frame, len(clip) - 1)))
    assert view.position.text() == "48 / 48"
    assert view.beside[0].caption.text().startswith("r1   96 / 96   step 4")
    replay.toggle_beside(app.bridge.home.root / "recordings" / "r0")
    assert problems == ["Four recordings are already open"]
    replay.toggle_beside(folders[2])
    assert [other.folder.name for other in replay.beside] == ["r1", "r3"]
    assert not view.grab().isNull()


def test_a_dropped_gif_is_shown_and_what_is_none_is_told(qtbot: QtBot, app: App, tmp_path: Path) -> None:
    red = Image.new("RGB", (40, 24), (200, 10, 20))
    blue = Image.new("RGB", (40, 24), (20, 10, 200))
    red.save(tmp_path / "two.gif", save_all=True, append_images=[blue], duration=500)
    replay, view = app[ReplayController], app[ReplayView]
    app.open_path(tmp_path / "two.gif")
    qtbot.waitUntil(lambda: replay.replay is not None)
    assert app.window.center.currentWidget() is view
    assert there(view.screen_view.picture).tolist()[0][0] == [200, 10, 20]
    view.slider.setValue(len(there(replay.replay)) - 1)
    assert there(view.screen_view.picture).tolist()[0][0] == [20, 10, 200]
    assert not app.actions["rollOpen"].isEnabled()
    assert "pictures only" in app.actions["playOn"].toolTip()
    problems: list[str] = []
    app[Notices].told.connect(lambda notice: problems.append(notice.text))
    (tmp_path / "bad.gif").write_bytes(b"GIF89a nothing")
    replay.open(tmp_path / "bad.gif")
    qtbot.waitUntil(lambda: any(problems))
    assert "no GIF, APNG or PNG" in problems[-1]
    assert not replay.opening


def test_recordings_are_called_by_game_and_length_or_by_their_folder(game: ConsoleGame, tmp_path: Path) -> None:
    assert "leave_bedroom, 0.4 s" in recording_name(record(game, tmp_path / "take", [A_RIGHT], 1))
    titles = {"pocket_quest/leave_bedroom": "Leave the bedroom"}
    assert "Leave the bedroom, 0.4 s" in recording_name(tmp_path / "take", titles.__getitem__)
    odd = record(game, tmp_path / "odd", [A_RIGHT], 1)
    told = json.loads((odd / MANIFEST).read_text()) | {"created_at": 1e300}
    (odd / MANIFEST).write_text(json.dumps(told))
    assert recording_name(odd) == "odd", "one of no such year, which a list of many must survive"
