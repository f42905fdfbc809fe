"""A known game that may not be shipped: what is missing, the user's own ROM, one stage after the other."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from PySide6.QtWidgets import QLabel, QPushButton

from gui.app import App
from gui.features.games.controller import LibraryController
from gui.features.games.model import RomLibrary
from gui.features.play.controller import PlayController
from gui.features.tasks.controller import TaskDraft
from gui.features.tasks.model import DraftModel
from gui.kit import object_names as names
from gui.state.notices import Notices
from gui.state.session import Mode, Place, Session
from tests.gui.conftest import QtBot, click, find, there
from trainer_core.envs.rom_registry import add_rom
from trainer_core.lab.paths import ASSETS
from trainer_core.lab.roms import Profile, Stage

GAME = ASSETS / "games/pocket_quest/pocket_quest.gb"


def patched(path: Path) -> Path:
    """Write our game with one other byte of its program, which makes it a cartridge of another hash."""
    data = bytearray(GAME.read_bytes())
    data[0x7000] ^= 1
    path.write_bytes(data)
    return path


def test_a_known_game_says_what_is_missing_and_leads_through_its_stages(
    qtbot: QtBot, app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = patched(tmp_path / "own.gb")
    stages = tuple(Stage(id=f"known/{n}", title=f"Stage {n}", start=f"Begin {n}.", goal=f"End {n}.") for n in "ab")
    known = Profile(
        id="known",
        title="A known game",
        sha1=hashlib.sha1(own.read_bytes(), usedforsecurity=False).hexdigest(),
        source="a test",
        verified=True,
        stages=stages,
    )
    monkeypatch.setattr("gui.features.games.model.load_profiles", lambda: [known])

    async def register(argv: list[str], on_progress: object = None) -> dict[str, object]:
        return {"ok": True, "roms": [add_rom(Path(argv[5]), app.bridge.home)]}

    monkeypatch.setattr("gui.features.games.controller.run_job", register)
    library, controller, chosen = app[RomLibrary], app[LibraryController], []
    controller.file_wanted.disconnect()
    controller.file_wanted.connect(lambda title, then: then(chosen.pop()))
    app.actions["showGames"].trigger()
    library.reload()
    library.select("known")
    locate, make = find(app, names.LOCATE_ROM_BUTTON, QPushButton), find(app, "makeStageButton", QPushButton)
    assert locate.text() == "Choose your ROM..."
    assert not make.isVisible()
    assert not find(app, names.PLAY_ROM_BUTTON).isVisible(), "one button"
    assert known.sha1 in there(library.card("known")).problem
    chosen.append(GAME)
    click(app, names.LOCATE_ROM_BUTTON)
    qtbot.waitUntil(lambda: app.window.banners.banners)
    assert f"not {known.sha1[:12]}" in app[Notices].history[-1].notice.text
    chosen.append(own)
    click(app, names.LOCATE_ROM_BUTTON)
    qtbot.waitUntil(lambda: library.card("known") is None)
    qtbot.waitUntil(lambda: there(app[PlayController].request).task == str(own))
    (card,) = (card for card in library.cards if card.profile is known)
    assert (card.path, card.title, card.stages) == (own, "A known game", stages)
    app[Session].set_mode(Mode.AGENT)
    app.actions["showGames"].trigger()
    assert "Stage a. Start: Begin a. Goal: End a." in find(app, "nextStage", QLabel).text()
    click(app, "makeStageButton")
    assert app[Session].mode is Mode.HUMAN
    assert app.window.center.currentIndex() == list(Place).index(Place.LIVE)
    model = app[DraftModel]
    assert (model.rom, model.name, app[TaskDraft].task_id()) == (str(own), "Stage a", "known/a")
    assert find(app, "probeFinding", QLabel).text() == "Start: Begin a."
    folder = app.bridge.home.tasks / "known" / "a"
    folder.mkdir(parents=True)
    (folder / "task.toml").touch()
    library.reload()
    assert there(library.card(card.key)).facts.startswith("1 of 2 stages created")
    (folder.parent / "b").mkdir()
    (folder.parent / "b" / "task.toml").touch()
    library.reload()
    app.actions["showGames"].trigger()
    assert not make.isEnabled()
    assert make.toolTip() == "Every stage has a task"
