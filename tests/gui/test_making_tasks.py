"""From a ROM that nobody knew to a training on a goal in it: open, capture, measure, make."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QLineEdit

from emulator import Cartridge, Emulator
from gui.app import App
from gui.features.games.controller import LibraryController
from gui.features.games.model import RomLibrary
from gui.features.games.view import GamesView
from gui.features.play.controller import PlayController
from gui.features.play.live import LiveView
from gui.features.tasks.dock import TaskDock
from gui.features.tasks.model import LEAST_DISTANCE, DraftModel, distance, observe
from gui.features.train.ahead import StartAhead
from gui.features.train.controller import TrainingController
from gui.kit import object_names as names
from gui.kit.screen import Screen
from gui.kit.settings import Settings
from gui.state.session import Mode, Session
from gui.state.task_pictures import read_task_pictures
from tests.gui.conftest import QtBot, click, find, press, replaced, there
from trainer_core.author import goals
from trainer_core.envs.judge import goal_distance
from trainer_core.lab.paths import ASSETS, HomePaths
from trainer_core.lab.roms import RegisteredRom, registered_roms, roms_file, sha256_of_rom
from trainer_core.wire.buttons import TWO_BUTTONS_ID
from trainer_core.wire.errors import LabError

PROBE = {"ok": True, "tau": 0.004, "suggested_tau": 0.004, "false_positive_rate": 0.125, "consoles": 16, "why": ""}
AUDIT = {"ok": True, "random_success": 0.03, "one_button_success": {"A": 0.0, "UP": 0.02}, "shortest_demonstration": 21}


@pytest.fixture
def own_rom(tmp_path: Path) -> Path:
    """A ROM of a hash that the lab has never seen: ours with another title."""
    data = bytearray((ASSETS / "games/pocket_quest/pocket_quest.gb").read_bytes())
    data[0x134:0x13F] = b"NEVER SEEN\0"
    data[0x14D] = (-sum(data[0x134:0x14D]) - 0x19) & 0xFF
    path = tmp_path / "never seen.gb"
    path.write_bytes(data)
    return path


def write_wishing(home: Path, task: str) -> None:
    """Put a shipped task below the home under that id, wanting another discount."""
    folder = home / "tasks" / task
    shutil.copytree(ASSETS / "tasks" / "pocket_quest" / "leave_bedroom", folder)
    text = (folder / "task.toml").read_text().replace("pocket_quest/leave_bedroom", task, 1)
    (folder / "task.toml").write_text(f"{text}\n[training]\ngamma = 0.98\n")


class Tools:
    """Stands for the tools of `dmglab`: what was asked, and what each answers."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.answers: dict[str, dict[str, Any]] = {"probe": PROBE, "audit": AUDIT}

    async def run(self, argv: list[str], on_progress: Callable[[float], None]) -> dict[str, Any]:
        tool = argv[argv.index("trainer_core.cli.main") + 2]
        if tool == "new":
            write_wishing(Path(argv[argv.index("--home") + 1]), argv[argv.index("--id") + 1])
        self.asked.append(argv[argv.index("trainer_core.cli.main") + 2 :])
        on_progress(0.5)
        await asyncio.sleep(0)
        return self.answers.get(tool, {"ok": True, "gamma": "0.98: why", "starts": "48"})

    def verbs(self) -> list[str]:
        """`play` is the probe's random play, which needs no goal."""
        return ["play" if argv[0] == "probe" and "--goal" not in argv else argv[0] for argv in self.asked]


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Tools:
    made = Tools()
    monkeypatch.setattr("gui.features.tasks.controller.run_job", made.run)
    return made


@pytest.fixture(autouse=True)
def register_only_where_asked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """`dmglab rom add` loads the emulator: seconds, which one test spends for all."""

    async def run(argv: list[str], on_progress: object = None) -> dict[str, Any]:
        return {"ok": True, "roms": [{"sha256": "", "title": "", "warnings": []}]}

    if "slow" not in request.keywords:
        monkeypatch.setattr("gui.features.games.controller.run_job", run)


def open_rom(qtbot: QtBot, app: App, path: Path) -> None:
    app[LibraryController].open_rom(path)
    qtbot.waitUntil(lambda: app[LiveView].screen_view.has_picture)


def captured(qtbot: QtBot, app: App, rom: Path) -> App:
    open_rom(qtbot, app, rom)
    click(app, names.SAVE_STATE_BUTTON)
    qtbot.waitUntil(lambda: app[DraftModel].starts)
    hold_a(qtbot, app)
    click(app, names.CAPTURE_GOAL_BUTTON)
    qtbot.waitUntil(lambda: app[DraftModel].probe)
    return app


def hold_a(qtbot: QtBot, app: App) -> None:
    """The echo player shows another picture then."""
    app[PlayController].hold(16)
    qtbot.waitUntil(lambda: app[LiveView].info.buttons == 16)


# -- opening ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_opened_rom_is_played_at_once_and_registered_by_its_hash(qtbot: QtBot, app: App, own_rom: Path) -> None:
    open_rom(qtbot, app, own_rom)
    assert app[Session].mode is Mode.HUMAN
    assert there(app[PlayController].request).task == str(own_rom)
    assert "never seen.gb, you play" in app[LiveView].strip.what.text()
    catalog, session = find(app, names.TASK_CATALOG), app[Session]
    assert catalog.currentText() == "never seen.gb"
    session.set_mode(Mode.AGENT)
    assert catalog.currentData() == session.task, "an agent trains the task, not the ROM"
    session.set_mode(Mode.HUMAN)
    assert catalog.currentText() == "never seen.gb"
    qtbot.waitUntil(lambda: registered_roms(app.bridge.home))
    (rom,) = registered_roms(app.bridge.home).values()
    assert (rom.path, rom.title) == (str(own_rom), "NEVER SEEN")
    qtbot.waitUntil(lambda: app[RomLibrary].cards[0].title == "NEVER SEEN")
    assert not list(app.bridge.home.root.rglob("*.gb")), "a ROM is never copied"


def test_choosing_a_task_again_leaves_the_rom(qtbot: QtBot, app: App, own_rom: Path) -> None:
    open_rom(qtbot, app, own_rom)
    app[Session].set_task("pocket_quest/leave_bedroom")
    app[Session].set_task("tiny_goal")
    assert not app[Session].rom
    qtbot.waitUntil(lambda: there(app[PlayController].request).task == "tiny_goal")
    assert find(app, names.TASK_CATALOG).currentData() == "tiny_goal"


def test_a_dropped_rom_is_opened(qtbot: QtBot, app: App, own_rom: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(own_rom))])
    enter = QDragEnterEvent(
        QPoint(5, 5), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    )
    QApplication.sendEvent(app.window, enter)
    assert enter.isAccepted()
    drop = QDropEvent(
        QPointF(5, 5), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    )
    QApplication.sendEvent(app.window, drop)
    qtbot.waitUntil(lambda: app[LiveView].screen_view.has_picture)
    assert app[Session].rom == str(own_rom)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("none.gb", "no such file"),
        ("folder.gb", "a folder"),
        ("text.txt", "not a .gb file"),
        ("noise.gb", "not a Game Boy ROM"),
    ],
)
def test_what_is_no_rom_is_one_line_with_a_way_out(app: App, tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "folder.gb").mkdir()
    (tmp_path / "noise.gb").write_bytes(bytes(range(256)) * 160)
    (tmp_path / "text.txt").write_text("pictures only")
    asked: list[str] = []
    app[LibraryController].file_wanted.disconnect()
    app[LibraryController].file_wanted.connect(lambda title, then: asked.append(title))
    app[LibraryController].open_rom(tmp_path / name)
    (banner,) = app.window.banners.banners
    assert said in banner.accessibleName()
    assert name in banner.accessibleName()
    press(banner)
    assert asked == ["Open a ROM"]
    assert not app[PlayController].is_active


def register(app: App, path: Path, title: str) -> str:
    sha256 = sha256_of_rom(path)
    file = roms_file(app.bridge.home)
    file.parent.mkdir(parents=True, exist_ok=True)
    rom = RegisteredRom(path=str(path), title=title, mapper="MBC1", size=32768, ram_size=8192)
    file.write_bytes(msgspec.json.encode({sha256: rom}))
    app[RomLibrary].reload()
    return sha256


def test_a_rom_that_moved_is_named_and_found_again_by_its_hash(
    qtbot: QtBot, app: App, own_rom: Path, tmp_path: Path
) -> None:
    sha256 = register(app, own_rom, "MINE")
    asked: list[Callable[[Path], None]] = []
    app[LibraryController].file_wanted.disconnect()
    app[LibraryController].file_wanted.connect(lambda title, then: asked.append(then))
    own_rom.rename(tmp_path / "moved.gb")
    app[RomLibrary].reload()
    assert "does not exist" in there(app[RomLibrary].card(sha256)).problem
    app[LibraryController].play(sha256)
    qtbot.waitUntil(lambda: app.window.banners.banners)
    assert "MINE" in app.window.banners.banners[0].accessibleName()
    press(app.window.banners.banners[0])
    other = tmp_path / "other.gb"
    other.write_bytes(b"x" * 32768)
    asked[0](other)
    banners = app.window.banners
    qtbot.waitUntil(lambda: any("is not MINE" in made.accessibleName() for made in banners.banners))
    assert not app[PlayController].is_active
    asked[0](tmp_path / "moved.gb")
    qtbot.waitUntil(lambda: app[LiveView].screen_view.has_picture)
    assert app[Session].rom == str(tmp_path / "moved.gb")


def test_a_rom_that_was_changed_is_not_played_under_its_old_name(qtbot: QtBot, app: App, own_rom: Path) -> None:
    sha256 = register(app, own_rom, "MINE")
    own_rom.write_bytes(b"another" * 8000)
    app[LibraryController].play(sha256)
    qtbot.waitUntil(lambda: app.window.banners.banners)
    assert "is a different file now" in app.window.banners.banners[0].accessibleName()
    assert not app[PlayController].is_active


def test_a_rom_that_cannot_be_played_leaves_the_name_of_the_one_that_plays_on(
    qtbot: QtBot, app: App, own_rom: Path
) -> None:
    app[LibraryController].open_rom(own_rom)
    qtbot.waitUntil(lambda: app[LiveView].screen_view.has_picture)
    bad = own_rom.with_name("bad.gb")
    bad.write_bytes(own_rom.read_bytes())  # it looks like one; the player knows better
    app[LibraryController].open_rom(bad)
    qtbot.waitUntil(lambda: any("7 bytes" in made.accessibleName() for made in app.window.banners.banners))
    assert app[Session].rom == there(app[PlayController].request).task == str(own_rom)


def test_the_games_tab_lists_our_games_and_own_ones_with_their_facts(
    qtbot: QtBot, app: App, own_rom: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead: list[dict[str, bool]] = []

    async def prepare(**who: bool) -> None:
        ahead.append(who)

    monkeypatch.setattr(app[PlayController].player, "prepare", prepare)
    sha256 = register(app, own_rom, "MINE")
    app.window.center.setCurrentWidget(app[GamesView])
    qtbot.waitUntil(lambda: ahead == [{"for_person": True}])  # it loads while one chooses
    listed = find(app, names.GAME_LIST)
    titles = [listed.item(row).text() for row in range(listed.count())]
    assert {"MINE", "Pocket Quest"} <= set(titles)
    app[RomLibrary].select(sha256)
    assert "MBC1, 32 KiB, 8 KiB of cartridge RAM" in app[GamesView].facts.text()
    assert find(app, names.LOCATE_ROM_BUTTON).isEnabled()
    app[RomLibrary].select(next(card.key for card in app[RomLibrary].cards if card.shipped))
    assert not find(app, names.LOCATE_ROM_BUTTON).isEnabled()
    app[RomLibrary].note_played(sha256)
    assert listed.item(0).text() == "MINE", "what was played last comes first"


# -- capturing -------------------------------------------------------------------------------


def test_the_distance_on_show_is_the_one_that_the_task_will_have() -> None:
    assert goals.LEAST_DISTANCE == LEAST_DISTANCE
    rng = np.random.default_rng(3)
    for _ in range(20):
        picture, other = rng.integers(0, 4, (2, 144, 160), np.uint8)
        mask = rng.random((72, 80)) < 0.3
        template = observe(other)
        expected = goal_distance(observe(picture), template[None], mask[None], "l1")
        assert distance(observe(picture), template, mask) == float(expected)


def test_observe_rounds_as_the_emulator_does() -> None:
    rom = ASSETS / "games/pocket_quest/pocket_quest.gb"
    emulator = Emulator(Cartridge.from_file(rom), 1, "cpu")
    for _ in range(3):
        emulator.run(None, 60)
        seen = emulator.observations().numpy()[0]
        np.testing.assert_array_equal(observe(emulator.screens.numpy()[0]), seen)


def test_a_start_a_goal_and_a_name_become_a_task_and_a_form(
    qtbot: QtBot, app: App, own_rom: Path, tools: Tools
) -> None:
    captured(qtbot, app, own_rom)
    model = app[DraftModel]
    assert app[PlayController].paused, "the game waits while the goal is looked at"
    assert tools.verbs() == ["play", "probe"]
    assert "12.5 % of 16 random players" in app[TaskDock].finding.text()
    np.testing.assert_array_equal(there(model.goal).template, observe(there(model.goal).captured.picture))
    assert app[StartAhead].is_wanted(), "a worker loads while the task is named"
    find(app, names.TASK_NAME, QLineEdit).setText("First Door!")
    click(app, names.MAKE_TASK_BUTTON)
    qtbot.waitUntil(lambda: model.audit)
    new = tools.asked[-2]
    assert new[:1] == ["new"]
    assert new[new.index("--id") + 1] == "mine/first_door"
    assert new[new.index("--rom") + 1] == str(own_rom)
    assert "--base" not in new
    assert Path(new[new.index("--start") + 1]) == model.starts[0].path
    assert Path(new[new.index("--way") + 1]).is_file()
    assert new[new.index("--around") + 1 :][:2] == ["--min-distinct", "2"]
    shown = app[TaskDock].finding.text()
    assert f"Threshold {new[new.index('--tau') + 1]}; " in shown, "the number on show is the task's"
    assert tools.asked[1][tools.asked[1].index("--way") + 1] == new[new.index("--way") + 1], "measured one way"
    assert tools.verbs() == ["play", "probe", "new", "audit"]
    play, probe = tools.asked[:2]
    kept = Path(play[play.index("--kept") + 1])
    assert probe[probe.index("--kept") + 1] == str(kept), "it is judged from what was seen"
    assert not kept.exists(), "the task is made: nobody needs it"
    shown = app[TaskDock].audit.text()
    assert "random play succeeds in 3 %" in shown
    assert "UP alone reaches it in 2 %" in shown
    assert "takes 21 steps" in shown
    titles = [banner.accessibleName() for banner in app.window.banners.banners]
    assert "Task created: Leave the bedroom" in titles, "by the title in its file"
    click(app, names.TRAIN_TASK_BUTTON)
    assert not app.window.banners.banners, "what it offered is done"
    assert app[Session].mode is Mode.AGENT
    assert app[TrainingController].draft.config.task == "mine/first_door"
    assert app[TrainingController].draft.config.gamma == 0.98


def test_the_distance_follows_the_game_and_the_region(qtbot: QtBot, app: App, own_rom: Path, tools: Tools) -> None:
    captured(qtbot, app, own_rom)
    model, shown = app[DraftModel], app[TaskDock].distance
    qtbot.waitUntil(lambda: shown.text() == "distance now 0.0000  goal")
    app[PlayController].toggle_pause()
    qtbot.waitUntil(lambda: shown.text() not in ("", "distance now 0.0000  goal"))
    painter = find(app, names.GOAL_MASK)
    qtbot.mousePress(painter, Qt.MouseButton.LeftButton, pos=QPoint(10, 10) * painter.scale)
    qtbot.mouseRelease(painter, Qt.MouseButton.LeftButton, pos=QPoint(19, 14) * painter.scale)
    assert model.mask.sum() == 10 * 5
    assert model.mask[10:15, 10:20].all()
    assert model.probe is None, "another region is another goal"
    qtbot.waitUntil(lambda: model.probe)
    probe = tools.asked[-1]
    with np.load(probe[probe.index("--goal") + 1]) as data:
        np.testing.assert_array_equal(data["mask"], model.mask)
        np.testing.assert_array_equal(data["templates"][0], there(model.goal).template)
    painter.setFocus()
    qtbot.keyClick(painter, Qt.Key.Key_Right)
    qtbot.keyClick(painter, Qt.Key.Key_Space)
    assert model.mask.sum() == 10 * 5 + 16
    assert model.mask[0:4, 4:8].all()
    click(app, "clearMaskButton")
    assert model.mask.all()


def test_start_states_can_be_several_and_taken_away(qtbot: QtBot, app: App, own_rom: Path, tools: Tools) -> None:
    open_rom(qtbot, app, own_rom)
    model = app[DraftModel]
    for count in (1, 2, 3):
        click(app, names.SAVE_STATE_BUTTON)
        qtbot.waitUntil(lambda count=count: len(model.starts) == count)
    assert not app[PlayController].paused, "the game goes on after a start state"
    starts = find(app, names.START_LIST)
    assert starts.count() == 3
    starts.setCurrentRow(1)
    gone = model.starts[1].path
    qtbot.keyClick(starts, Qt.Key.Key_Delete)
    assert len(model.starts) == starts.count() == 2
    hold_a(qtbot, app)
    click(app, names.CAPTURE_GOAL_BUTTON)
    qtbot.waitUntil(lambda: model.probe)
    probe = tools.asked[-1]
    assert str(gone) not in probe
    assert all(str(start.path) in probe for start in model.starts)


def test_a_goal_that_looks_like_a_start_is_said_at_once_and_the_game_goes_on(
    qtbot: QtBot, app: App, own_rom: Path, tools: Tools
) -> None:
    open_rom(qtbot, app, own_rom)
    model, dock, playing = app[DraftModel], app[TaskDock], app[PlayController]
    click(app, names.SAVE_STATE_BUTTON)
    qtbot.waitUntil(lambda: dock.distance.text() == "looks like a start state")
    click(app, names.CAPTURE_GOAL_BUTTON)
    qtbot.waitUntil(lambda: model.error)
    assert dock.finding.text().startswith("This looks like start state 1 (distance 0.000")
    qtbot.waitUntil(lambda: not playing.paused)
    assert all("--goal" not in asked for asked in tools.asked), "no minute is spent on it"
    hold_a(qtbot, app)
    click(app, names.CAPTURE_GOAL_BUTTON)
    qtbot.waitUntil(lambda: model.probe)
    assert playing.paused
    assert not model.error


def test_a_goal_that_cannot_be_one_is_said_in_the_dock(
    qtbot: QtBot, app: App, own_rom: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run(argv: list[str], **_: object) -> dict[str, Any]:
        raise LabError("1 different start pictures were found ... (--walk)")

    monkeypatch.setattr("gui.features.tasks.controller.run_job", run)
    app.window.resize(1024, 600)
    open_rom(qtbot, app, own_rom)
    click(app, names.SAVE_STATE_BUTTON)
    qtbot.waitUntil(lambda: app[DraftModel].starts)
    hold_a(qtbot, app)
    click(app, names.CAPTURE_GOAL_BUTTON)
    qtbot.waitUntil(lambda: app[DraftModel].error)
    finding = app[TaskDock].finding
    qtbot.waitUntil(lambda: finding.visibleRegion().boundingRect() == finding.rect())
    assert finding.text().startswith("Too few different pictures"), "no option"
    assert find(app, names.MAKE_TASK_BUTTON).isEnabled(), "another region may do"


def test_another_game_begins_another_draft(qtbot: QtBot, app: App, own_rom: Path, tools: Tools) -> None:
    captured(qtbot, app, own_rom)
    app[LibraryController].open_rom(ASSETS / "games/mirror_moths/mirror_moths.gb")
    qtbot.waitUntil(lambda: there(app[PlayController].request).task.endswith("moths.gb"))
    click(app, names.SAVE_STATE_BUTTON)
    qtbot.waitUntil(lambda: app[DraftModel].rom.endswith("mirror_moths.gb"))
    qtbot.waitUntil(lambda: app[DraftModel].starts)
    assert app[DraftModel].goal is None


def test_a_name_is_kept_with_its_draft_and_goes_with_it(qtbot: QtBot, app: App, own_rom: Path, tools: Tools) -> None:
    box = find(app, names.TASK_NAME, QLineEdit)
    model = app[DraftModel]
    open_rom(qtbot, app, own_rom)
    qtbot.keyClicks(box, "first ledge")
    captured(qtbot, app, own_rom)
    assert (box.text(), model.name) == ("first ledge", "first ledge"), "typed before the start"
    click(app, names.MAKE_TASK_BUTTON)
    qtbot.waitUntil(lambda: model.audit)
    assert model.made == "mine/first_ledge"
    open_rom(qtbot, app, own_rom)
    click(app, names.SAVE_STATE_BUTTON)
    qtbot.waitUntil(lambda: model.starts and not model.made)
    assert box.text() == model.name == "", "another task has no name yet"
    qtbot.keyClicks(box, "second")
    app[LibraryController].open_rom(ASSETS / "games/mirror_moths/mirror_moths.gb")
    qtbot.waitUntil(lambda: there(app[PlayController].request).task.endswith("moths.gb"))
    qtbot.waitUntil(lambda: model.is_empty)
    assert box.text() == ""
    assert not app[TaskDock].audit.text(), "nothing is left of the other game's task"
    qtbot.keyClicks(box, "third")  # nothing is captured yet
    open_rom(qtbot, app, own_rom)
    qtbot.waitUntil(lambda: there(app[PlayController].request).task == str(own_rom))
    qtbot.waitUntil(lambda: box.text() == "")


def test_no_step_moves_anything_under_the_mouse(qtbot: QtBot, app: App, own_rom: Path, tools: Tools) -> None:
    open_rom(qtbot, app, own_rom)
    model, dock = app[DraftModel], app[TaskDock]
    parts = [find(app, name) for name in (names.SAVE_STATE_BUTTON, names.CAPTURE_GOAL_BUTTON, names.TASK_NAME)]
    parts += [dock.starts, dock.picture, dock.distance, dock.finding]

    def places() -> list[QPoint]:
        QApplication.processEvents()
        return [part.mapTo(dock, QPoint(0, 0)) for part in parts]

    seen = [places()]
    click(app, names.SAVE_STATE_BUTTON)
    qtbot.waitUntil(lambda: model.starts)
    seen.append(places())
    hold_a(qtbot, app)
    click(app, names.CAPTURE_GOAL_BUTTON)
    qtbot.waitUntil(lambda: model.probe)
    seen.append(places())
    for facts in (
        {"working": "Measuring random play for a minute", "probe": None},
        {"working": "", "probe": {**PROBE, "false_positive_rate": 0.625}},
        {"goal": replaced(model.goal, way=own_rom, way_frames=4321)},
        {"goal": replaced(model.goal, later=3 - there(model.goal).template[None])},
    ):
        model.tell(**facts)
        seen.append(places())
    dock.painter.painted.emit(0, 0, 10, 10, True)
    seen.append(places())
    assert dock.clear.isVisible()
    click(app, names.MAKE_TASK_BUTTON)
    qtbot.waitUntil(lambda: model.audit)
    assert dock.audit.isVisible(), "in the place of the goal's picture"
    seen.append(places())
    moved = {number: each for number, each in enumerate(seen) if each != seen[0]}
    assert not moved, f"first {seen[0]}"


def game_with_keys(qtbot: QtBot, app: App, rom: Path) -> Screen:
    """Open a ROM and give its screen the keyboard."""
    open_rom(qtbot, app, rom)
    app.window.activateWindow()
    screen = app[LiveView].screen_view
    screen.setFocus()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is screen)
    return screen


def test_a_click_beside_a_box_takes_the_keys_from_the_game(qtbot: QtBot, app: App, own_rom: Path, tools: Tools) -> None:
    screen = game_with_keys(qtbot, app, own_rom)
    qtbot.mouseClick(app[TaskDock].finding, Qt.MouseButton.LeftButton)
    assert QApplication.focusWidget() is not screen
    paused = app[PlayController].paused
    for key in "a name":
        qtbot.keyClicks(there(QApplication.focusWidget()), key)
    assert app[PlayController].paused == paused, "Space went nowhere"


def test_the_buttons_of_a_task_are_chosen_in_the_dock(qtbot: QtBot, app: App, own_rom: Path, tools: Tools) -> None:
    captured(qtbot, app, own_rom)
    box, model = find(app, "taskButtons"), app[DraftModel]
    assert box.currentData() == "", "the tool finds out what the way needs"
    box.setCurrentIndex(box.findData(TWO_BUTTONS_ID))
    assert box.currentText() == "with combinations"
    tools.answers["new"] = {
        "ok": True,
        "starts": "1: one start only, validation repeats it; --around makes more",
        "buttons": "buttons7.v1: as asked",
        "way": "left out: /d/drafts/2/way_1.npz: 0 frames hold SELECT and 72 hold two buttons, "
        "which buttons7.v1 does not have; cut them away (--from-frame, --to-frame), or make the "
        "task with --codec buttons21.v1, which has them",
    }
    click(app, names.MAKE_TASK_BUTTON)
    qtbot.waitUntil(lambda: model.audit)
    new = next(asked for asked in tools.asked if asked[0] == "new")
    assert new[new.index("--codec") + 1] == TWO_BUTTONS_ID
    said = app[TaskDock].audit.text()
    assert "you held two buttons at once or SELECT" in said
    assert not any(word in said for word in ("--", ".npz", "buttons7")), "no shell in the app"
    model.tell(choices={"way": "kept", "buttons": f"{TWO_BUTTONS_ID}: the way holds"}, made="x")
    model.buttons = ""
    model.tell()
    assert "may press two buttons at once, as you did" in app[TaskDock].audit.text()


def test_a_goal_that_moves_by_itself_is_said(qtbot: QtBot, app: App, own_rom: Path, tools: Tools) -> None:
    captured(qtbot, app, own_rom)
    model, finding = app[DraftModel], app[TaskDock].finding
    assert not model.is_restless
    later = np.repeat(there(model.goal).template[None], 2, axis=0)
    later[1, 10:20, 10:20] = 3 - later[1, 10:20, 10:20]
    model.tell(goal=replaced(model.goal, later=later))
    assert finding.text().startswith("This picture changes by itself (0.0")
    assert finding.property("role") == "warn"
    app[TaskDock].painter.painted.emit(40, 40, 20, 20, True)
    assert not model.is_restless
    qtbot.waitUntil(lambda: model.probe)
    assert finding.text().startswith("Threshold"), "the region that was painted stays"


# -- the keyboard ----------------------------------------------------------------------------


def test_the_apps_shortcuts_work_while_the_game_has_the_keyboard(
    qtbot: QtBot, app: App, own_rom: Path, tools: Tools
) -> None:
    screen = game_with_keys(qtbot, app, own_rom)
    qtbot.keyClick(screen, Qt.Key.Key_F7)
    qtbot.waitUntil(lambda: app[DraftModel].starts)
    # Shift is held for turbo, and changes no other key.
    qtbot.keyClick(screen, Qt.Key.Key_F7, Qt.KeyboardModifier.ShiftModifier)
    qtbot.waitUntil(lambda: len(app[DraftModel].starts) == 2)
    qtbot.keyClick(screen, Qt.Key.Key_F8)
    qtbot.waitUntil(lambda: app[DraftModel].goal)
    qtbot.keyClick(screen, Qt.Key.Key_M, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: app[DraftModel].made)


def test_a_held_key_rewinds_and_leaving_the_screen_lets_go(qtbot: QtBot, app: App, own_rom: Path) -> None:
    open_rom(qtbot, app, own_rom)
    live = app[LiveView]
    qtbot.waitUntil(lambda: live.info.frame > 40)
    qtbot.keyPress(live.screen_view, Qt.Key.Key_R)
    qtbot.waitUntil(lambda: live.info.frame < 30)
    live.screen_view.focus_lost.emit()
    assert not app[PlayController].state.rewinding
    qtbot.waitUntil(lambda: live.info.frame > 45)


def test_the_steps_of_a_task_are_in_sight_in_a_window_of_1280_by_800(
    qtbot: QtBot, app: App, own_rom: Path, tools: Tools
) -> None:
    app.window.resize(1280, 800)
    captured(qtbot, app, own_rom)
    app[TaskDock].painter.painted.emit(0, 0, 40, 40, True)
    qtbot.waitUntil(lambda: app[DraftModel].probe)
    made = find(app, names.MAKE_TASK_BUTTON)
    qtbot.waitUntil(lambda: made.visibleRegion().boundingRect() == made.rect())


def test_the_pictures_of_a_task_are_whole_screens_where_its_folder_has_them(tmp_path: Path) -> None:
    home, mine = HomePaths(tmp_path), tmp_path / "tasks" / "mine" / "door"
    shutil.copytree(ASSETS / "tasks" / "pocket_quest" / "leave_bedroom", mine)
    text = (mine / "task.toml").read_text()
    (mine / "task.toml").write_text(text.replace("pocket_quest/leave_bedroom", "mine/door"))
    whole = read_task_pictures("mine/door", home)
    (mine / "goal.png").unlink()
    seen = read_task_pictures("mine/door", home)
    assert whole is not None
    assert seen is not None
    assert whole.goal is not None
    assert (whole.start.shape, whole.goal.shape) == ((144, 160), (144, 160))
    assert (set(np.unique(whole.start)), seen.start.shape) == ({0, 1, 2, 3}, (72, 80))


def test_a_task_that_reads_ram_says_so_and_needs_no_goal_picture(qapp: QApplication, tmp_path: Path) -> None:
    home, mine = HomePaths(tmp_path), tmp_path / "tasks" / "mine" / "score"
    shutil.copytree(ASSETS / "tasks" / "pocket_quest" / "leave_bedroom", mine)
    text = (mine / "task.toml").read_text().replace("pocket_quest/leave_bedroom", "mine/score")
    head, _, rest = text.partition("[goal]")
    (mine / "task.toml").write_text(
        f"{head}[episode]{rest.partition('[episode]')[2]}\n[ram]\nmaximise = 'x'\nwatch.x = 0xC1FD\n"
    )
    found = read_task_pictures("mine/score", home)
    assert found is not None
    assert found.goal is None
    assert Session(home, Settings(home)).task_titles()["mine/score"] == "Leave the bedroom · reads RAM"
