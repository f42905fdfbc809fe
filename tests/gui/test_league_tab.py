"""The League tab with a real league behind it: rows, a player that fails, Stop, Play back."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from gui.app import App
from gui.features.checkpoints.controller import CheckpointsController
from gui.features.league.controller import LeagueController
from gui.features.league.view import LeagueView
from gui.features.replay.controller import ReplayController
from gui.kit import object_names as names
from gui.state.bridge import Bridge
from gui.state.checkpoints import CheckpointList
from gui.state.session import Session
from tests.gui.conftest import QtBot, click, find
from tests.support.made_checkpoints import make_checkpoint

LONG_MS = 90_000
"""A league is a process that imports torch."""


def type_players(app: App, text: str) -> None:
    line = find(app, names.LEAGUE_PLAYERS)
    line.clear()
    QtBot.keyClicks(line, text)


def test_a_league_of_paths_with_spaces_is_played_and_played_back(
    qtbot: QtBot, make_app: Callable[..., App], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gui.features.league.controller.MAX_EPISODES", 2)
    home = tmp_path / "my home"
    app = make_app(home)
    league, table = app[LeagueController], find(app, names.LEAGUE_TABLE)
    app[Session].set_task("tiny_goal")
    app[CheckpointsController].import_folder(make_checkpoint(tmp_path / "mail"))
    qtbot.waitUntil(lambda: app[CheckpointList].selected is not None)
    league.show()

    type_players(app, "random 'nearest=no")
    assert not find(app, "leagueStartButton").isEnabled()
    type_players(app, "random --help")
    assert not find(app, "leagueStartButton").isEnabled()
    type_players(app, "random")
    click(app, "leagueAddButton")
    card = app[CheckpointList].selected
    assert card is not None
    folder = card.folder
    assert shlex.split(league.players) == ["random", f"checkpoint={folder}"]

    click(app, "leagueStartButton")
    assert league.is_busy
    qtbot.waitUntil(lambda: not league.is_busy, timeout=LONG_MS)
    assert league.error == ""
    assert [row["kind"] for row in league.rows] == ["random", "checkpoint"]
    assert table.rowCount() == 2
    assert table.item(1, 0).text() == f"checkpoint={app[Bridge].name_of(card.run_id)}/{folder.name}"
    assert table.item(1, 0).toolTip() == f"checkpoint={folder}"
    assert table.isColumnHidden(1)
    assert int(table.item(0, 2).text()) > 0
    assert table.item(1, 7).text() == league.rows[1]["error"] != ""  # no network is in that file

    assert not find(app, "leagueReplayButton").isEnabled()
    table.setCurrentCell(1, 0)
    assert not find(app, "leagueReplayButton").isEnabled()
    at = table.visualItemRect(table.item(0, 0)).center()
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=at)
    click(app, "leagueReplayButton")
    qtbot.waitUntil(lambda: app[ReplayController].replay is not None)
    shown = app[ReplayController].replay
    assert shown is not None
    assert len(shown) > 1


def test_a_league_is_stopped(qtbot: QtBot, app: App) -> None:
    league = app[LeagueController]
    app[Session].set_task("tiny_goal")
    league.show()
    click(app, "leagueStartButton")
    assert not find(app, names.LEAGUE_PLAYERS).isEnabled()
    qtbot.waitUntil(lambda: league._job is not None)
    bar = app[LeagueView].progress
    league.progressed.emit(0.4)
    league.changed.emit()
    assert bar.value() == 40, "other news leave it where it is"
    click(app, "leagueStartButton")
    qtbot.waitUntil(lambda: not league.is_busy, timeout=LONG_MS)
    assert league.error == "Stopped"
    assert bar.value() == 0, "the next begins anew"
    assert find(app, names.LEAGUE_PLAYERS).isEnabled()
    assert find(app, "leagueStartButton").text() == "Play"


def test_an_empty_league_says_what_it_is_for(app: App) -> None:
    app[LeagueController].show()
    assert any("ranks them" in said.text() for said in find(app, "leagueEmpty").findChildren(QLabel))
    assert find(app, "leagueEmpty").isVisible()
    app[LeagueController].rows = [
        {
            "player": "random",
            "episodes": 1,
            "success_rate": 0.0,
            "mean_return": 0.0,
            "seconds_per_step": 0.0,
            "error": "",
            "note": "",
        }
    ]
    app[LeagueController].changed.emit()
    assert find(app, names.LEAGUE_TABLE).isVisible()
