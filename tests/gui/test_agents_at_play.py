"""Heat over the picture, two policies beside each other, the wall in order, the games' pictures."""

# pyright: reportOptionalMemberAccess=false
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QComboBox, QLabel, QPushButton

from gui.app import App
from gui.features.games.controller import LibraryController
from gui.features.games.model import RomLibrary
from gui.features.games.view import GamesView
from gui.features.play.controller import PlayController
from gui.features.play.live import LiveView
from gui.features.play.saliency import SaliencyController
from gui.features.train.controller import TrainingController
from gui.features.train.wall import EnvWall
from gui.kit import object_names as names
from gui.kit.screen import Palette, Screen
from gui.state.checkpoints import CheckpointCard, CheckpointList
from gui.state.session import Navigation, Place, Session
from tests.gui.conftest import QtBot, click, find, press, there
from tests.support.made_checkpoints import make_checkpoint
from trainer_core.wire import records
from trainer_core.wire.errors import LabError
from trainer_core.wire.frames import FrameInfo, FrameShape, FrameWriter
from trainer_core.wire.run_names import run_name
from trainer_core.wire.run_record import RunState


def card(folder: Path, steps: int) -> CheckpointCard:
    if not folder.is_dir():  # its files are looked at again when it is selected
        make_checkpoint(folder)
    return CheckpointCard(
        folder=folder,
        run_id="run-beef",
        task="tiny_goal",
        algo="ppo",
        env_steps=steps,
        success_rate=0.5,
        sha256="",
        size_bytes=0,
        created_at=float(steps),
        integrity="verified",
    )


def deploy(qtbot: QtBot, app: App, shown: CheckpointCard) -> None:
    """Without the look at its hash, which a folder without weights would not pass."""
    app[CheckpointList].put(shown)
    app[CheckpointList].select(shown.folder)
    app[PlayController].deploy(shown.task, shown.folder)
    qtbot.waitUntil(lambda: app[PlayController].is_active and not app[PlayController].busy)


def test_heat_lies_over_the_picture_while_it_is_asked_for(qtbot: QtBot, app: App, tmp_path: Path) -> None:
    view, saliency = app[LiveView].screen_view, app.actions["saliency"]
    assert not saliency.isEnabled()
    app.window.resize(1024, 700)
    assert find(app, "strip_" + names.TRAIN_NEW_BUTTON).isChecked()
    deploy(qtbot, app, card(tmp_path / "sees", 1))
    qtbot.waitUntil(lambda: find(app, "strip_" + names.USE_TRAINED_BUTTON).isChecked())
    qtbot.waitUntil(lambda: view.has_picture and not app[LiveView].panel.isHidden())
    qtbot.waitUntil(lambda: view.fit() >= 2)  # in a small window the game keeps twice its size
    cold = view.grab().toImage()
    click(app, "saliencyButton")
    qtbot.waitUntil(lambda: view._overlay is not None and saliency.isChecked())
    target = view.target()
    hot = target.bottomRight() - QPoint(4, 4)
    assert view.grab().toImage().pixelColor(hot).red() > cold.pixelColor(hot).red()
    cool = target.topLeft() + QPoint(target.width() // 8, 20)
    assert view._overlay.pixelColor(0, 0).alpha() == 0, cool
    qtbot.keyPress(view, Qt.Key.Key_R)
    qtbot.waitUntil(lambda: view._overlay is None)  # going back shows other pictures
    qtbot.keyRelease(view, Qt.Key.Key_R)
    # The next player is asked again; one that cannot tell ends it, and says so.
    problems: list[str] = []
    app.bridge.problem.connect(lambda title, cause: problems.append(cause))
    app[PlayController].policy_mode = "greedy"
    deploy(qtbot, app, card(tmp_path / "blind", 2))
    qtbot.waitUntil(lambda: problems)
    assert "cannot tell" in problems[0]
    qtbot.waitUntil(lambda: not saliency.isChecked())
    assert view._overlay is None
    click(app, names.MODE_HUMAN)
    qtbot.waitUntil(lambda: app[PlayController].is_human)
    assert "policy" in saliency.toolTip()


def test_a_second_checkpoint_plays_beside_the_first(qtbot: QtBot, app: App, tmp_path: Path) -> None:
    beside, board = app.actions["deployBeside"], app[LiveView].strip.board
    left, right, other = (card(tmp_path / name, at) for at, name in enumerate("abc", 1))
    app[CheckpointList].put_all([right, other])
    deploy(qtbot, app, left)
    assert board.isHidden()
    assert not beside.isEnabled()
    assert "already playing" in beside.toolTip()
    app[CheckpointList].select(right.folder)
    assert beside.isEnabled()
    app.actions["saliency"].trigger()
    qtbot.waitUntil(lambda: app[SaliencyController].is_on)
    app[PlayController].deploy("tiny_goal", left.folder, str(right.folder))
    qtbot.waitUntil(lambda: board.ways[1].text() and board.names[1].text())
    assert [name.text() for name in board.names] == [f"{n} steps, PPO, {run_name('run-beef')}" for n in (1, 2)]
    assert board.ways[1].text() == "goal after 9 steps"
    assert board.ways[0].text().startswith("step 9   distance 0.500")
    qtbot.waitUntil(
        lambda: app[LiveView].screen_view.picture is not None and app[LiveView].screen_view.picture.size > 2 * 144 * 160
    )
    for name in ("record", "saveSlot", "captureGoal", "saliency"):
        assert not app.actions[name].isEnabled(), name
        assert "side by side" in app.actions[name].toolTip()
    app[PlayController].rewind(True)
    assert not app[PlayController].state.rewinding
    # One of them alone again: another player, with one picture.
    deploy(qtbot, app, other)
    assert not app[PlayController].is_versus
    assert board.isHidden()
    qtbot.waitUntil(lambda: app[SaliencyController].is_on)  # as before the two


def test_the_agent_dock_names_what_plays_beside_what_is_chosen(qtbot: QtBot, app: App, tmp_path: Path) -> None:
    session, line = app[Session], find(app, "playsNow", QLabel)
    session.set_task("pocket_quest/leave_house")
    deploy(qtbot, app, card(tmp_path / "grid", 1))  # of tiny_goal: the list above names the house
    app[Navigation].show_dock(names.AGENT_DOCK)
    qtbot.waitUntil(line.isVisible)
    assert line.text() == "Now playing: Tiny goal"
    session.set_task("tiny_goal")
    assert not line.isVisible()  # one name is enough where both are the same
    session.set_task("pocket_quest/leave_house")
    assert line.isVisible()
    app[PlayController].stop()
    qtbot.waitUntil(lambda: not line.isVisible())
    click(app, names.MODE_HUMAN)
    qtbot.waitUntil(lambda: app[PlayController].is_human)
    assert not line.isVisible()


def test_the_wall_is_sorted_and_one_stands_still(qtbot: QtBot, app: App) -> None:
    wall = app[EnvWall]
    app[Navigation].show(Place.WALL)
    path = app.bridge.home.run("r").frames
    path.parent.mkdir(parents=True)
    writer = FrameWriter(path, FrameShape(160, 144, 4))

    def publish(value: int) -> None:
        shades = np.arange(4, dtype=np.uint8)[:, None, None] * np.ones((1, 144, 160), np.uint8)
        writer.publish(((shades + value) % 4).tobytes(), FrameInfo())
        wall._on_frame()

    wall._watched = "r"
    wall._watch = lambda again=False: None
    wall.source.open(path)
    publish(0)
    wall._timer.stop()
    app.bridge.event_received.emit(
        "r",
        records.WallEvent(
            run_id="r", seq=0, time=0.0, dist=(0.4, 0.1, 0.3, 0.2), successes=(0, 1, 3, 1), episodes=(2, 2, 3, 9)
        ),
    )
    sort = find(app, "wallSort", QComboBox)

    def shown() -> list[int]:
        """The shade at each place."""
        return [int(there(wall.view._pictures)[env, 0, 0]) for env, _ in wall.view.tiles()]

    for index, order in ((1, [2, 1, 3, 0]), (2, [1, 3, 2, 0]), (0, [0, 1, 2, 3])):
        sort.setCurrentIndex(index)
        sort.activated.emit(index)
        assert shown() == order
    assert wall.view.words[2] == "3 of 3"
    assert wall.view.left[3] == 0.5
    first = wall.view.tiles()[0][1].center()
    qtbot.mouseClick(wall.view, Qt.MouseButton.RightButton, pos=first)
    publish(1)
    assert shown() == [0, 2, 3, 0], "env 0 is as it was, the others went on"
    assert wall.view.still == {0}
    # Large, in Live, it says which, and can be let go.
    qtbot.mouseClick(wall.view, Qt.MouseButton.LeftButton, pos=first)
    qtbot.waitUntil(wall.console.isVisible)
    assert app[Navigation].place is Place.LIVE
    publish(1)
    freeze = find(app, "wallFreezeButton", QPushButton)
    assert freeze.isChecked()
    assert there(wall.console.screen_view.picture).max() == 0
    assert wall.console.caption.text().startswith("Game Boy 1 of ")
    assert wall.console.caption.text().endswith(", frozen")
    qtbot.mouseClick(freeze, Qt.MouseButton.LeftButton)
    assert there(wall.console.screen_view.picture).max() == 1
    assert wall.console.caption.text().endswith("goals of episodes: 0 of 2")
    qtbot.keyClick(wall.console.screen_view, Qt.Key.Key_Escape)
    assert app[Navigation].place is Place.WALL
    writer.close()


def test_games_get_their_title_screens(qtbot: QtBot, app: App) -> None:
    app[Navigation].show(Place.GAMES)
    library, controller = app[RomLibrary], app[LibraryController]
    ours = [card for card in library.cards if card.shipped]
    qtbot.waitUntil(lambda: all(library.thumbnail(card.key).is_file() for card in ours))
    for shown in ours:
        picture = controller.picture_of(shown)
        assert (picture.width(), picture.height()) == (160, 144)
    assert len(ours) == 3
    games = app[GamesView]
    qtbot.waitUntil(lambda: games.list.isVisible())
    below = games.layout().itemAt(1).geometry()
    assert below.top() == games.list.geometry().bottom() + 1, "no stripe between list and words"


def test_the_wall_of_one_run_is_no_other_runs(qtbot: QtBot, app: App) -> None:
    """The run that was watched is told so, and its pictures go, when another comes into focus."""
    wall, training = app[EnvWall], app[TrainingController]
    app[Navigation].show(Place.WALL)
    training.set_consent(True)
    training.start()
    qtbot.waitUntil(lambda: training.state is RunState.RUNNING and wall._watched)
    wall._newest = np.zeros((1, 144, 160), np.uint8)
    first, sent = training.run_id, []
    wall._send = lambda run_id, envs: sent.append((run_id, envs))
    training.set_consent(True)
    training.start()
    qtbot.waitUntil(lambda: app.window.banners.banners)
    assert training.run_id == first, "what waits does not take the place of what trains"
    assert (first, 0) not in sent  # other numbers are those of a wall that is laid out anew
    wall._sent = -1  # the wall has another size than when it asked
    press(app.window.banners.banners[-1])
    qtbot.waitUntil(lambda: training.state is RunState.QUEUED)
    assert sent[-1] == (first, 0)
    assert {run_id for run_id, _ in sent} == {first}
    assert not wall.view.has_picture
    assert wall.view.hint == "The run is waiting in the queue"


def test_a_run_that_dies_watched_has_one_banner_and_not_the_walls(
    qtbot: QtBot, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, problems = [], []

    async def request(run_id: str, *words: object, **more: object) -> None:
        asked.append(run_id)
        raise LabError("the process ended before it answered")

    app.bridge.problem.connect(lambda title, cause: problems.append(title))
    monkeypatch.setattr(app.bridge.service, "request", request)
    app[EnvWall]._send("gone", 16)
    qtbot.waitUntil(lambda: asked)
    qtbot.wait(30)
    assert not problems


def test_a_long_hint_has_lines_instead_of_losing_its_ends(qapp) -> None:
    screen = Screen(Palette(), "hinted", "A screen")
    screen.resize(300, 200)
    screen.hint = "Press Human again"
    one = screen.hint_box(screen.fontMetrics())
    screen.hint = "The player ended with status 1: " + "no such file or directory, " * 6
    box = screen.hint_box(screen.fontMetrics())
    assert screen.rect().contains(box)
    assert box.height() > 3 * screen.fontMetrics().height() > one.height()
