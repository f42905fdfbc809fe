"""Deploy, human and hybrid play, recording and replay, on the echo player."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageSequence
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QImage

from gui.app import App
from gui.features.checkpoints.controller import CheckpointsController
from gui.features.play.controller import PlayController
from gui.features.play.keys import Joypad
from gui.features.play.live import LiveView
from gui.features.replay.controller import ReplayController
from gui.features.replay.view import ReplayView
from gui.features.runs.model import RunList
from gui.features.train.controller import TrainingController
from gui.kit import object_names as names
from gui.kit.screen import FrameSource, Palette, Screen, best_columns
from gui.state.checkpoints import CheckpointCard, CheckpointList
from gui.state.session import Mode, Navigation, Place, Session
from tests.gui.conftest import QtBot, click, find, there
from tests.gui.echo_player import picture
from tests.support.made_checkpoints import make_checkpoint
from trainer_core.wire import commands
from trainer_core.wire.frames import FORMAT_RGB888, FrameInfo, FrameShape, FrameWriter
from trainer_core.wire.shades import DEFAULT_SCREEN, GREY_LEVELS, SCREENS


def card(folder: Path, integrity: str = "verified") -> CheckpointCard:
    folder.mkdir(parents=True, exist_ok=True)
    return CheckpointCard(
        folder=folder,
        run_id="r",
        task="tiny_goal",
        algo="ppo",
        env_steps=1,
        success_rate=0.5,
        sha256="",
        size_bytes=0,
        created_at=0.0,
        integrity=integrity,
    )


def play(qtbot: QtBot, app: App, mode: Mode = Mode.HUMAN) -> None:
    if mode is Mode.HUMAN:
        click(app, names.MODE_HUMAN)
    else:
        app[Session].set_mode(mode)
        app[Navigation].leave_welcome()
        app[PlayController].deploy("tiny_goal", card(app.bridge.home.root / "c1").folder)
    qtbot.waitUntil(lambda: app[LiveView].screen_view.has_picture)


def shown(app: App) -> np.ndarray:
    return there(app[LiveView].screen_view.picture)


# -- the screen ------------------------------------------------------------------------------


@pytest.mark.parametrize("ratio", [1.0, 2.0])
def test_a_picture_is_shown_in_whole_pixels_without_smoothing(qapp, ratio: float) -> None:
    screen = Screen(Palette(), "s", "Screen")
    screen.resize(640, 576)
    shades = np.frombuffer(picture(0b1010, 1, 77), np.uint8).reshape(144, 160)
    screen.show_picture(shades)
    image = QImage(int(640 * ratio), int(576 * ratio), QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    screen.render(image)
    got = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), image.width())
    scale = int(4 * ratio)
    table = np.array(SCREENS[DEFAULT_SCREEN], np.uint32) | 0xFF000000
    np.testing.assert_array_equal(got, table[shades].repeat(scale, 0).repeat(scale, 1))


def test_an_odd_room_leaves_a_letterbox_and_never_a_fraction(qapp) -> None:
    screen = Screen(Palette(), "s", "Screen")
    screen.resize(500, 470)
    screen.show_picture(np.zeros((144, 160), np.uint8))
    target = screen.target()
    assert (target.width(), target.height()) == (480, 432)
    assert target.center() == screen.rect().center()


def test_without_whole_pixels_a_picture_fills_its_room_and_stays_crisp(qapp) -> None:
    palette = Palette()
    palette.is_whole = False
    screen = Screen(palette, "s", "Screen")
    screen.resize(630, 390)  # two policies side by side, which need 640 for twice their size
    screen.show_picture(np.indices((144, 320)).sum(0).astype(np.uint8) % 2 * 3)
    target = screen.target()
    assert (target.width(), target.height()) == (630, 284)
    got = screen.grab().toImage().pixelColor(target.center())
    assert screen.pixel_at(target.right(), target.bottom()) == (319, 143)
    colors = {
        screen.grab().toImage().pixelColor(x, target.center().y()).name() for x in range(target.left(), target.right())
    }
    crisp = {QColor(SCREENS[DEFAULT_SCREEN][shade]).name() for shade in (0, 3)}
    assert crisp <= colors, "whole colours between edges that are one pixel soft"
    assert got.isValid()
    screen.resize(700, 400)
    assert screen.scale() == 2, "a whole scale that loses little room is taken"


@pytest.mark.parametrize(("count", "room"), [(16, (1200, 820)), (7, (900, 600)), (64, (1600, 700))])
def test_a_wall_fills_its_room_and_leaves_few_holes(count: int, room: tuple[int, int]) -> None:
    columns = best_columns(count, (144, 160), room)
    rows = -(-count // columns)
    assert (rows * columns - count) <= 1, "no blanks"
    scale = min(room[0] / (162 * columns), room[1] / (146 * rows))
    every = [min(room[0] / (162 * across), room[1] / (146 * -(-count // across))) for across in range(1, count + 1)]
    assert scale >= 0.9 * max(every)


def test_colour_pictures_of_other_environments_fit_the_same_view(qapp, tmp_path: Path) -> None:
    writer = FrameWriter(tmp_path / "f.bin", FrameShape(4, 2, 1, FORMAT_RGB888))
    pixels = np.arange(24, dtype=np.uint8)
    writer.publish(pixels.tobytes(), FrameInfo())
    source = FrameSource()
    source.open(tmp_path / "f.bin")
    _, pictures = there(source.latest())
    screen = Screen(Palette(), "s", "Screen")
    screen.show_picture(pictures[0])
    assert there(screen._pixels)[0, 1] == 0xFF030405


def test_a_source_follows_a_file_that_comes_late_and_one_that_is_replaced(tmp_path: Path) -> None:
    source = FrameSource()
    source.open(tmp_path / "f.bin")
    assert source.latest() is None
    first = FrameWriter(tmp_path / "f.bin", FrameShape(4, 2))
    first.publish(bytes(8), FrameInfo())
    source._next_look = 0.0
    assert there(source.latest())[1].shape == (1, 2, 4)
    second = FrameWriter(tmp_path / "f.bin", FrameShape(6, 2, 3))
    second.publish(bytes(36), FrameInfo())
    source._next_look = 0.0
    assert there(source.latest())[1].shape == (3, 2, 6)


# -- keys ------------------------------------------------------------------------------------


def test_keys_become_the_joypad_mask() -> None:
    pad = Joypad()
    for name, bit in (("right", 0), ("a", 4), ("b", 5), ("select", 6), ("start", 7)):
        pad.press(name)
        assert pad.mask >> bit & 1
    pad.press("left")
    assert pad.mask & 0b11 == 0b10, "the cross cannot go both ways: the newer one holds"
    pad.release("left")
    assert pad.mask & 0b11 == 0b01
    pad.press("a", "gamepad")
    pad.release("a")
    assert pad.mask >> 4 & 1, "the gamepad holds it still"
    pad.release_all()
    assert pad.mask == 0


def test_a_key_reaches_the_console_and_leaving_releases_it(qtbot: QtBot, app: App) -> None:
    play(qtbot, app)
    screen = app[LiveView].screen_view
    qtbot.keyPress(screen, Qt.Key.Key_Z)
    qtbot.waitUntil(lambda: app[LiveView].info.buttons == 1 << 4)
    assert "a" in app[LiveView].strip.lights.accessibleName()
    screen.focus_lost.emit()
    qtbot.waitUntil(lambda: app[LiveView].info.buttons == 0)


def test_the_person_plays_in_human_mode_and_the_player_ends_with_it(qtbot: QtBot, app: App) -> None:
    play(qtbot, app)
    qtbot.waitUntil(lambda: app[LiveView].strip.who.text() == "HUMAN")
    config = json.loads((there(app[PlayController].player.directory) / "config.json").read_text())
    assert config == {
        "task": "tiny_goal",
        "checkpoint": "",
        "mode": "human",
        "device": "cpu",
        "speed": 1.0,
        "seed": 1,
        "rival": "",
        "recording": "",
    }
    click(app, names.MODE_AGENT)
    qtbot.waitUntil(lambda: not app[PlayController].is_active)


@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.AGENT])
def test_holding_tab_takes_the_buttons_and_letting_go_gives_them_back(qtbot: QtBot, app: App, mode: Mode) -> None:
    play(qtbot, app, mode)
    qtbot.waitUntil(lambda: app[LiveView].strip.who.text() == "AGENT")
    qtbot.keyPress(app[LiveView].screen_view, Qt.Key.Key_Tab)
    qtbot.waitUntil(lambda: app[LiveView].strip.who.text() == "HUMAN")
    qtbot.keyRelease(app[LiveView].screen_view, Qt.Key.Key_Tab)
    qtbot.waitUntil(lambda: app[LiveView].strip.who.text() == "AGENT")


def test_space_pauses_and_a_point_goes_on_by_one_step(qtbot: QtBot, app: App, tmp_path: Path) -> None:
    play(qtbot, app)
    screen, source = app[LiveView].screen_view, app[LiveView].source

    def last_seq(name: str) -> int:
        """Return the number of the last frame on show once the player has obeyed all that was sent."""
        app[PlayController].ask(commands.SaveState, path=str(tmp_path / name))
        qtbot.waitUntil((tmp_path / name).is_file)
        qtbot.waitUntil(lambda: source.seq == there(source._reader).seq)
        return source.seq

    qtbot.keyClick(screen, Qt.Key.Key_Space)
    assert app[PlayController].paused
    seq = last_seq("paused")
    qtbot.wait(100)
    assert source.seq == seq
    qtbot.keyClick(screen, Qt.Key.Key_Period)
    assert last_seq("stepped") == seq + 1
    qtbot.keyClick(screen, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: source.seq > seq + 5)


def test_speed_keys_move_through_the_offered_speeds(qtbot: QtBot, app: App) -> None:
    play(qtbot, app)
    screen = app[LiveView].screen_view
    qtbot.keyClick(screen, Qt.Key.Key_Plus)
    assert app[PlayController].speed == 1.5
    qtbot.keyClick(screen, Qt.Key.Key_Plus)
    assert app[LiveView].strip.wanted_speed.text() == "2x"
    qtbot.waitUntil(lambda: app[LiveView].strip.real_speed.text() == "2.00x")
    qtbot.keyClick(screen, Qt.Key.Key_0)
    assert app[PlayController].speed == 1.0


# -- deploying -------------------------------------------------------------------------------


def test_a_checkpoint_that_cannot_be_loaded_leaves_the_old_policy_playing(qtbot: QtBot, app: App) -> None:
    play(qtbot, app, Mode.AGENT)
    directory = app[PlayController].player.directory
    app[PlayController].deploy("tiny_goal", Path("/no/such/checkpoint"))
    qtbot.waitUntil(lambda: app[PlayController].error)
    assert "no such checkpoint" in app[PlayController].error
    assert app[PlayController].player.directory == directory
    seq = app[LiveView].source.seq
    qtbot.waitUntil(lambda: app[LiveView].source.seq > seq + 5)
    app[PlayController].deploy("other_task", Path("/no/such/checkpoint"))
    qtbot.waitUntil(lambda: not app[PlayController].busy)
    assert app[PlayController].player.directory == directory
    assert app[PlayController].is_active


def test_the_last_picture_of_a_checkpoint_stands_for_a_player_that_starts(
    qtbot: QtBot, app: App, tmp_path: Path
) -> None:
    shades = np.arange(160 * 144, dtype=np.uint8).reshape(144, 160) % 4
    greys = np.array(GREY_LEVELS, np.uint8)[shades]
    assert QImage(greys.data, 160, 144, 160, QImage.Format.Format_Grayscale8).save(str(tmp_path / "thumbnail.png"))
    view = app[LiveView].screen_view
    app[PlayController].deploy("tiny_goal", tmp_path)
    assert np.array_equal(there(view.picture), shades)
    qtbot.waitUntil(lambda: app[PlayController].is_active and not np.array_equal(there(view.picture), shades))
    app[PlayController].stop()
    qtbot.waitUntil(lambda: not view.has_picture)
    (tmp_path / "gone").mkdir()
    (tmp_path / "thumbnail.png").rename(tmp_path / "gone/thumbnail.png")
    app[PlayController].player.runners = ()
    app[PlayController].deploy("tiny_goal", tmp_path / "gone")
    assert view.has_picture
    qtbot.waitUntil(lambda: app[PlayController].error)
    assert not view.has_picture, "nothing plays"


def test_a_damaged_checkpoint_cannot_be_deployed(qtbot: QtBot, app: App, tmp_path: Path) -> None:
    deploy = find(app, names.DEPLOY_BUTTON)
    app[CheckpointList].put(card(tmp_path / "bad", "mismatch"))
    assert not deploy.isEnabled()
    assert "do not match" in deploy.toolTip()
    app[CheckpointList].put(card(tmp_path / "bad", "verified"))
    assert deploy.isEnabled()
    app[CheckpointsController].deploy(card(tmp_path / "bad", "verified"))  # the file vanished meanwhile
    qtbot.waitUntil(lambda: not deploy.isEnabled())
    assert not app[PlayController].is_active
    assert there(app[CheckpointList].selected).integrity == "missing"


def test_a_player_that_dies_is_told_and_the_view_is_empty(qtbot: QtBot, app: App) -> None:
    play(qtbot, app)
    there(app[PlayController].player._child).signal_group(9)
    qtbot.waitUntil(lambda: not app[PlayController].is_active)
    assert not app[LiveView].screen_view.has_picture
    assert app[PlayController].error


# -- recording and replay --------------------------------------------------------------------


@pytest.fixture
def recorded(qtbot: QtBot, app: App) -> App:
    play(qtbot, app)
    click(app, names.RECORD_BUTTON)
    qtbot.waitUntil(lambda: app[PlayController].recording)
    qtbot.keyPress(app[LiveView].screen_view, Qt.Key.Key_Z)
    qtbot.waitUntil(lambda: app[LiveView].info.buttons == 1 << 4)
    seq = app[LiveView].source.seq
    qtbot.waitUntil(lambda: app[LiveView].source.seq > seq + 15)
    qtbot.keyRelease(app[LiveView].screen_view, Qt.Key.Key_Z)
    click(app, names.RECORD_BUTTON)
    qtbot.waitUntil(lambda: app[ReplayController].replay is not None)
    app.window.center.setCurrentWidget(app[ReplayView])
    return app


def test_frame_n_on_show_is_frame_n_of_the_file(qtbot: QtBot, recorded: App) -> None:
    replay, view = there(recorded[ReplayController].replay), recorded[ReplayView]
    assert len(replay) > 5
    assert recorded[ReplayView].choices.currentText().endswith(f"Tiny goal, {len(replay) / 59.7275:.1f} s")
    slider = find(recorded, names.REPLAY_SLIDER)
    packed = np.fromfile(replay.folder / "pictures.bin", np.uint8).reshape(len(replay), -1)
    for frame in (0, 3, len(replay) - 1):
        slider.setValue(frame)
        shades = np.stack([packed[frame] >> shift & 3 for shift in (0, 2, 4, 6)], 1).ravel()
        np.testing.assert_array_equal(there(view.screen_view.picture).ravel(), shades)
        assert view.position.text() == f"{frame + 1} / {len(replay)}"
    qtbot.keyClick(slider, Qt.Key.Key_Home)
    assert view.frame == 0
    qtbot.keyClick(slider, Qt.Key.Key_Right)
    assert view.frame == 1
    qtbot.keyClick(slider, Qt.Key.Key_End)
    assert view.frame == len(replay) - 1


def test_the_replay_is_steered_by_keys(qtbot: QtBot, recorded: App) -> None:
    view = recorded[ReplayView]
    qtbot.keyClick(view.screen_view, Qt.Key.Key_End)
    last = view.frame
    assert last == len(there(recorded[ReplayController].replay)) - 1
    qtbot.keyClick(view.screen_view, Qt.Key.Key_Left)
    assert view.frame == last - 1
    qtbot.keyClick(view.screen_view, Qt.Key.Key_Home)
    qtbot.keyClick(view.screen_view, Qt.Key.Key_Space)
    qtbot.wait(1)
    view._ticked -= 0.1  # a window that was busy for a tenth of a second loses none of it
    qtbot.waitUntil(lambda: view.frame >= 5)
    qtbot.keyClick(view.screen_view, Qt.Key.Key_Space)
    assert not view._timer.isActive()


def test_steps_and_buttons_are_told_for_the_frame_on_show(recorded: App) -> None:
    replay = there(recorded[ReplayController].replay)
    pressed = int(np.flatnonzero(replay.buttons == 1 << 4)[0])
    recorded[ReplayView].slider.setValue(pressed)
    assert "a" in recorded[ReplayView].lights.accessibleName()
    assert [replay.step_at(frame) for frame in (0, 3, 4, 5)] == [0, 0, 1, 1]
    assert replay.describe(5).startswith("step 2   B")


def test_an_unfinished_recording_is_refused_in_words(app: App, tmp_path: Path) -> None:
    for share, value in ((0.0, 0), (0.254, 25), (1.0, 100)):
        app[ReplayController].progressed.emit(share)
        assert app[ReplayView].progress.value() == value
    problems = []
    app.bridge.problem.connect(lambda title, cause: problems.append(cause))
    app[ReplayController].load(tmp_path)
    assert "not a finished recording" in problems[0]
    assert app[ReplayController].replay is None


def test_the_player_ending_a_recording_itself_is_noticed(qtbot: QtBot, app: App) -> None:
    play(qtbot, app)
    click(app, names.RECORD_BUTTON)
    qtbot.waitUntil(lambda: app[PlayController].recording)
    seq = app[LiveView].source.seq
    qtbot.waitUntil(lambda: app[LiveView].source.seq > seq + 4)  # one of no picture has nothing to show
    app[Navigation].show(Place.WALL)  # nobody looks at the game meanwhile
    for _ in range(3):
        app[PlayController].note_frame(FrameInfo(flags=0))
    qtbot.waitUntil(lambda: app[ReplayController].replay is not None)
    assert not app[PlayController].recording


@pytest.mark.slow
def test_the_gif_has_the_recordings_pictures_and_a_cancelled_one_leaves_no_file(qtbot: QtBot, recorded: App) -> None:
    done = []
    recorded[ReplayController].exported.connect(done.append)
    recorded.actions["screenPocket"].trigger()
    click(recorded, names.EXPORT_GIF_BUTTON)
    qtbot.waitUntil(lambda: done)
    replay = there(recorded[ReplayController].replay)
    with Image.open(done[0]) as image:
        frames = [frame.convert("L").copy() for frame in ImageSequence.Iterator(image)]
        assert len(frames) > 1
        scale = frames[0].width // 160
        rgb = np.asarray(image.convert("RGB"), np.uint32).reshape(-1, 3) @ [1 << 16, 1 << 8, 1]
        assert set(rgb.tolist()) <= set(SCREENS["pocket"]), "the colours on show"
    first = np.asarray(frames[0])[::scale, ::scale]
    shades = replay.picture(0)
    assert len({(a, b) for a, b in zip(first.ravel(), shades.ravel(), strict=True)}) == len(np.unique(shades)), (
        "one grey for each shade, pixel by pixel"
    )
    done[0].unlink()
    click(recorded, names.EXPORT_GIF_BUTTON)
    qtbot.waitUntil(lambda: recorded[ReplayController].is_exporting)
    click(recorded, names.EXPORT_GIF_BUTTON)
    qtbot.waitUntil(lambda: not recorded[ReplayController].is_exporting)
    assert not done[0].exists()


# -- bringing checkpoints in -----------------------------------------------------------------


def test_an_imported_checkpoint_appears_selected_and_verified(qtbot: QtBot, app: App, tmp_path: Path) -> None:
    app[CheckpointsController].import_folder(make_checkpoint(tmp_path / "mail"))
    qtbot.waitUntil(lambda: (card := app[CheckpointList].selected) and card.integrity == "verified")
    card = app[CheckpointList].selected
    assert app[CheckpointList].rowCount() == 1
    assert there(card).folder.is_relative_to(app.bridge.home.runs)
    assert app[RunList].rowCount() == 1
    assert find(app, names.DEPLOY_BUTTON).isEnabled()


def test_a_flipped_byte_is_found_before_it_plays_and_the_old_policy_goes_on(
    qtbot: QtBot, app: App, tmp_path: Path
) -> None:
    app[CheckpointsController].import_folder(make_checkpoint(tmp_path / "mail"))
    qtbot.waitUntil(lambda: app[CheckpointList].rowCount() == 1)
    click(app, names.DEPLOY_BUTTON)
    qtbot.waitUntil(lambda: app[PlayController].is_active and not app[PlayController].busy)
    directory = app[PlayController].player.directory
    weights = there(app[CheckpointList].selected).folder / "policy.safetensors"
    weights.write_bytes(b"weightz")
    click(app, names.DEPLOY_BUTTON)
    qtbot.waitUntil(lambda: there(app[CheckpointList].selected).integrity == "mismatch")
    assert not find(app, names.DEPLOY_BUTTON).isEnabled()
    assert app[PlayController].is_active
    assert app[PlayController].player.directory == directory


def test_warm_start_fills_the_form_with_the_checkpoint_and_its_task(qtbot: QtBot, app: App, tmp_path: Path) -> None:
    app[CheckpointsController].import_folder(make_checkpoint(tmp_path / "mail"))
    qtbot.waitUntil(lambda: app[CheckpointList].rowCount() == 1)
    click(app, names.WARM_START_BUTTON)
    config = app[TrainingController].draft.config
    assert config.warm_start == str(there(app[CheckpointList].selected).folder)
    assert config.task == "tiny_goal"
