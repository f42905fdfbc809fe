"""The app opens a home whatever lies in it, and what is bad stands in its list with the reason."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from gui.__main__ import main
from gui.app import App
from gui.features.games.model import RomLibrary
from gui.features.games.view import GamesView
from gui.features.runners.dock import AgentDock
from tests.gui.conftest import QtBot
from tests.support.rubbish import FILES, put, rich_home
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.rebuild_index import UNREADABLE

OF_THE_APP = {"settings/app.json", "settings/app.ini", "settings/run_notes.json"}
"""What the app alone reads has tests of its own."""


@pytest.mark.parametrize("rubbish", ["a pipe", "10 GiB", "another object", "deep lists"])
def test_the_app_opens_whatever_every_file_of_its_home_is(
    make_app: Callable[..., App], tmp_path: Path, rubbish: str
) -> None:
    home = rich_home(tmp_path / "home")
    for place in FILES:
        if place not in OF_THE_APP:
            put(home, place, rubbish)
    app = make_app(home.root)
    assert app.window.isVisible()
    runs = app.bridge.service.runs
    assert runs.keys() >= {"done", "waits"}
    assert runs["done"].reason.startswith(UNREADABLE)
    tasks = app[AgentDock].tasks
    row = tasks.findText("mine/door", Qt.MatchFlag.MatchStartsWith)
    assert row >= 0
    assert not tasks.model().flags(tasks.model().index(row, 0)) & Qt.ItemFlag.ItemIsEnabled
    assert "task.toml" in tasks.itemData(row, Qt.ItemDataRole.ToolTipRole)


def test_a_bad_entry_of_the_roms_is_a_card_with_its_reason(
    qtbot: QtBot, make_app: Callable[..., App], tmp_path: Path
) -> None:
    home = rich_home(tmp_path / "home")
    roms = home.settings / "roms.json"
    known = json.loads(roms.read_text())
    roms.write_text(json.dumps(known | {"cd" * 32: {"path": "a\0b"}, "x" * 9_000: 3}))
    app = make_app(home.root)
    cards = {card.key: card for card in app[RomLibrary].cards}
    assert not cards["ab" * 32].problem
    assert "path" in cards["cd" * 32].problem
    assert len(cards["x" * 9_000].title) < 100
    app[RomLibrary].select("cd" * 32)
    qtbot.waitUntil(lambda: app[GamesView].note.text() == cards["cd" * 32].problem)


@pytest.mark.parametrize("home", ["loop", "loop/deeper", "~nobody-of-that-name/x"])
def test_a_home_that_is_a_loop_of_links_is_one_line(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["dmglab-app", "--home", home])
    assert main() == 1
    err = capsys.readouterr().err
    assert err.startswith(f"dmglab: {home} cannot be written: ")
    assert err.endswith("; use --home\n")
    assert err.count("\n") == 1


def test_a_name_that_is_no_text_is_listed(make_app: Callable[..., App], tmp_path: Path) -> None:
    home = HomePaths(tmp_path / "home")
    odd = home.tasks / os.fsdecode(b"t\xff\n\x1b[2J")
    odd.mkdir(parents=True)
    (odd / "task.toml").write_text("id = 3")
    app = make_app(home.root)
    tasks = app[AgentDock].tasks
    (row,) = [n for n in range(tasks.count()) if "cannot be used" in tasks.itemText(n)]
    assert tasks.itemText(row).isprintable()
