"""Runs beside one another in the plots: put on show, imported, named, compared."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QApplication, QFileDialog

from gui.app import App
from gui.features.curves.dock import TelemetryDock
from gui.features.curves.view import CurvesView
from gui.features.runs.controller import RunsController
from gui.features.runs.dock import RunsDock
from gui.features.runs.model import RunList
from gui.state.notices import Notices
from gui.state.run_notes import Note
from gui.state.telemetry import TelemetryModel
from tests.gui.conftest import QtBot, find, grow
from tests.support.made_records import run_record
from trainer_core.wire import records
from trainer_core.wire.run_record import RunState

WANDB_FILE = Path(__file__).parents[1] / "trainer_core" / "golden" / "run.wandb"


def put_runs(app: App, *names: str) -> None:
    for name in names:
        run = run_record(name, RunState.FINISHED)
        app.bridge.service.runs[name] = run
        app[RunList].put(run)
        grow(app[TelemetryModel], name, 5)


def test_an_eye_shows_a_run_without_changing_the_focus(qtbot: QtBot, app: App) -> None:
    put_runs(app, "run-aaaa", "run-bbbb")
    app[RunsController].show("run-aaaa")
    dock = app[RunsDock]
    index = dock.proxy.index(dock.proxy.row_of("run-bbbb"), 0)
    qtbot.mouseClick(dock.table.viewport(), Qt.MouseButton.LeftButton, pos=dock.table.visualRect(index).center())
    assert app[TelemetryModel].focus == "run-aaaa"
    assert app[TelemetryModel].pinned == ["run-bbbb"]
    assert app[TelemetryModel].slots == {"run-aaaa": 0, "run-bbbb": 1}
    dock.table.entered.emit(index)
    assert app[TelemetryModel].highlight == "run-bbbb", "its curves, while the pointer is at its row"
    QApplication.sendEvent(dock.table.viewport(), QEvent(QEvent.Type.Leave))
    assert app[TelemetryModel].highlight == ""
    app.actions["hideOthers"].trigger()
    assert app[TelemetryModel].pinned == []
    app.actions["showListed"].trigger()
    assert len(app[TelemetryModel].pinned) == 2


def test_a_file_of_wandb_becomes_a_run_on_show_whose_plots_the_overview_has(
    qtbot: QtBot, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, problems = [], []
    app[Notices].told.connect(told.append)
    app.bridge.problem.connect(lambda title, reason: problems.append(reason))
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *asked: (str(WANDB_FILE), ""))
    app.actions["importCurves"].trigger()
    qtbot.waitUntil(lambda: told)
    assert told[-1].text == "ppo breakout, 1,536 steps"
    focus, dock = app[TelemetryModel].focus, app[TelemetryDock]
    assert app.window.center.currentWidget() is app[CurvesView]
    overview = dock.pages[0]
    qtbot.waitUntil(lambda: dock.cards.get("deep.x") in overview.cards)
    shown = {card.spec.metric for card in overview.cards if not card.isHidden()}
    assert shown == {"losses/value_loss", "charts/episodic_return", "deep.x"}
    assert not app.actions["resumeRun"].isEnabled()
    assert not app.actions["reuseConfig"].isEnabled()
    put_runs(app, "run-aaaa")
    app[RunsController].show("run-aaaa")
    qtbot.waitUntil(lambda: dock.cards["reward_mean"] in overview.cards and len(dock.more.cards) == 3)
    assert not dock.cards["reward_mean"].isHidden()
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *asked: (__file__, ""))
    app.actions["importCurves"].trigger()
    qtbot.waitUntil(lambda: problems)
    assert "no file of W&B's client" in problems[0]
    assert focus in app.bridge.service.runs


def test_a_log_folder_of_tensorboard_that_is_dropped_is_laid_over_itself(qtbot: QtBot, app: App) -> None:
    told = []
    app[Notices].told.connect(told.append)
    app.open_path(WANDB_FILE.with_name("tensorboard"))
    qtbot.waitUntil(lambda: told)
    assert told[-1].text == "3 runs"
    model = app[TelemetryModel]
    qtbot.waitUntil(lambda: all(run_id in model.runs for run_id in model.shown()))
    assert sorted(map(model.label, model.shown())) == ["CartPole-v1__ppo__1", "hp/x", "keras/train"]
    app[RunsDock].filter.setText("lr=0.1")
    qtbot.waitUntil(lambda: [model.label(run_id) for run_id in app[RunsDock].proxy.run_ids()] == ["hp/x"])


def test_a_run_is_named_tagged_and_found_by_its_tag(qtbot: QtBot, app: App) -> None:
    put_runs(app, "run-aaaa", "run-bbbb")
    app[RunsController].show("run-bbbb")
    app.actions["describeRun"].trigger()
    find(app, "runNameEdit").setText("the good one")
    find(app, "runTagsEdit").setText("#keep  keep seed3")
    qtbot.mouseClick(find(app, "keepNoteButton"), Qt.MouseButton.LeftButton)
    assert app[RunsController].note() == Note(("keep", "seed3"), "")
    assert app[TelemetryModel].label("run-bbbb") == "the good one"
    assert "the&nbsp;good&nbsp;one" in app[TelemetryDock].legend.text()
    app[RunsDock].filter.setText("seed3")
    assert app[RunsDock].proxy.run_ids() == ["run-bbbb"]
    again = app.bridge.service.registry.load()
    assert again["run-bbbb"].name == "the good one"


def test_configurations_are_compared_field_by_field(app: App) -> None:
    put_runs(app, "run-aaaa", "run-bbbb")
    app[TelemetryModel].set_focus("run-aaaa")
    assert not app.actions["compareRuns"].isEnabled()
    for name, rate in (("run-aaaa", 1e-3), ("run-bbbb", 5e-4)):
        config = {"learning_rate": rate, "seed": 1, "options": {"depth": rate}}
        app[TelemetryModel].run(name).meta = records.MetaRecord(
            run_id=name,
            seq=0,
            time=0.0,
            runner="native",
            task="t",
            algo="ppo",
            config=config,
            argv=[],
            seed=1,
            device="cpu",
        )
    app[TelemetryModel].toggle_pin("run-bbbb")
    assert app[RunsController].differences() == [
        ("learning_rate", ["0.001", "0.0005"]),
        ("options.depth", ["0.001", "0.0005"]),
    ]
    app.actions["compareRuns"].trigger()
    table = find(app, "comparison").table
    assert table.item(0, 1).text() == "0.0005"
