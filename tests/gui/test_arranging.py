"""Sweeps as one row, and undo of what is on show."""

# pyright: reportOptionalMemberAccess=false
from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget

from gui.app import App
from gui.features.checkpoints.dock import CheckpointsDock
from gui.features.curves.plots import PlotChoices
from gui.features.curves.saved_views import SavedViews, ViewHistory, ViewsController
from gui.features.games.view import GamesView
from gui.features.log.dock import LogDock
from gui.features.play.live import LiveView
from gui.features.runners.dock import AgentDock
from gui.features.runs.controller import RunsController
from gui.features.runs.dock import RunsDock
from gui.features.runs.filter import RunFilter
from gui.features.runs.forms import color_menu
from gui.features.runs.model import COLUMNS, RunList
from gui.features.train.dock import TrainingDock
from gui.kit.containers import Dock
from gui.kit.settings import Settings
from gui.state.session import Navigation, Place
from gui.state.telemetry import TelemetryModel
from tests.gui.conftest import QtBot, find, replaced
from tests.support.made_homes import make_home
from tests.support.made_records import run_record
from trainer_core.wire.run_record import RunState


def trial(number: int, best: float, state: RunState = RunState.FINISHED):
    tags = {"sweep": "rates", "trial": str(number)}
    record = run_record(f"run-{number}", state, env_steps=1000, name="")
    return replaced(record, tags=tags, created_at=10.0 + number, best_success_rate=best)


def rows(table: RunFilter, column: str) -> list[str]:
    place = COLUMNS.index(column)
    return [str(table.index(row, place).data()) for row in range(table.rowCount())]


def test_a_sweep_is_one_row_until_it_is_unfolded(qapp) -> None:
    runs = RunList()
    table = RunFilter(runs)
    runs.put_all([replaced(run_record("alone", RunState.FINISHED, env_steps=5), created_at=1.0)])
    runs.put(trial(1, 0.2))
    assert table.rowCount() == 2
    for number, best in ((2, 0.9), (3, 0.5)):
        runs.put(trial(number, best, RunState.RUNNING))
    assert rows(table, "Name")[0] == "\u25b8 rates \u00d73"
    assert rows(table, "Best success")[0] == "90 %"
    assert rows(table, "Steps")[0] == "3,000"
    assert rows(table, "State")[0] == "Running"
    assert table.rowCount() == 2
    table.set_text("run-3")
    assert table.rowCount() == 1, "who filters finds trials too"
    table.set_text("")
    runs.toggle_sweep("rates")
    assert table.rowCount() == 4
    assert sum("rates" in text for text in rows(table, "Name")) == 1
    runs.put(trial(4, 0.95))
    assert table.rowCount() == 5
    runs.toggle_sweep("rates")
    assert rows(table, "Best success")[0] == "95 %"
    assert table.rowCount() == 2


def test_what_is_on_show_is_undone_and_done_again(qtbot: QtBot, app: App) -> None:
    history, telemetry = app[ViewHistory], app[TelemetryModel]
    app.actions["dock.checkpointsDock"].trigger()
    qtbot.waitUntil(lambda: app[CheckpointsDock].isVisible())
    qtbot.wait(1)
    history.settle()
    history.forget_difference()
    assert not app.actions["undoView"].isEnabled() or history.undo_refusal() == ""
    begun = len(history._past)
    telemetry.set_x_axis("update")
    history.settle()
    app[PlotChoices].toggle_log("reward_mean")
    history.settle()
    app[CheckpointsDock].hide()
    qtbot.waitUntil(lambda: len(history._past) == begun + 3)
    app.actions["undoView"].trigger()
    qtbot.waitUntil(lambda: app[CheckpointsDock].isVisible())
    assert app[PlotChoices].is_log("reward_mean")
    app.actions["undoView"].trigger()
    assert not app[PlotChoices].is_log("reward_mean")
    assert telemetry.x_axis == "update"
    app.actions["undoView"].trigger()
    assert telemetry.x_axis == "env_steps"
    assert find(app, "xAxisBox").currentData() == "env_steps"
    for _ in range(3):
        app.actions["redoView"].trigger()
    qtbot.waitUntil(lambda: not app[CheckpointsDock].isVisible())
    assert telemetry.x_axis == "update"
    assert app[PlotChoices].is_log("reward_mean")
    assert not app.actions["redoView"].isEnabled()


def test_a_folded_sweep_is_called_by_its_name_and_shows_every_trial(qapp) -> None:
    runs = RunList()
    table = RunFilter(runs)
    named = [replaced(trial(number, 0.5), name=f"my rates learning_rate=0.{number} seed=1") for number in (1, 2, 3)]
    runs.put_all(named)
    assert rows(table, "Name") == ["\u25b8 my rates \u00d73"]
    assert table.run_ids() == ["run-1", "run-2", "run-3"], "what 'every run in the list' shows"
    table.set_text("run-2")
    assert table.run_ids() == ["run-2"]
    table.set_text("run-1")
    assert rows(table, "Name") == ["my rates learning_rate=0.1 seed=1"], "it speaks for itself"
    assert rows(table, "Steps") == ["1,000"]


def test_a_view_is_saved_under_a_name_and_brought_back(qtbot: QtBot, make_app, app: App) -> None:
    telemetry, plots = app[TelemetryModel], app[PlotChoices]
    for name in ("r-1", "r-2"):
        app.bridge.service.runs[name] = run_record(name, RunState.FINISHED, env_steps=5)
        app[RunList].put(app.bridge.service.runs[name])
    app[RunsController].show("r-1")
    app[RunsController].show_all(["r-2", "gone"])
    telemetry.set_x_axis("update")
    telemetry.set_smoothing_kind("gaussian")
    plots.toggle_pinned("entropy_mean")
    app[RunsDock].filter.setText("state=finished")
    find(app, "plotFilter").setText("entropy|reward")
    app.actions["savedViews"].trigger()
    assert not find(app, "saveViewButton").isEnabled()
    assert not find(app, "openViewButton").isEnabled()
    qtbot.keyClicks(find(app, "viewName"), "  the good ones \r")
    find(app, "viewsDialog").reject()
    app[RunsController].show("r-2")
    telemetry.set_pinned([])
    telemetry.set_x_axis("env_steps")
    telemetry.set_smoothing_kind("")
    plots.reset()
    app[RunsDock].filter.clear()
    app[Settings].save()
    again = make_app(app.bridge.home.root)
    again.bridge.service.runs |= app.bridge.service.runs
    again.actions["savedViews"].trigger()
    find(again, "openViewButton").click()
    model = again[TelemetryModel]
    assert (model.focus, model.pinned, model.x_axis) == ("r-1", ["r-2"], "update")
    assert (model.smoothing_kind, again[PlotChoices].pinned) == ("gaussian", ("entropy_mean",))
    assert again[RunsDock].filter.text() == "state=finished"
    assert find(again, "plotFilter").text() == "entropy|reward"
    (told,) = again.window.banners.banners
    assert told.accessibleName() == "The view the good ones: 1 of its runs no longer exist"
    again[SavedViews].drop("the good ones")
    again[ViewsController].open("the good ones")
    assert again[SavedViews].names() == []


def test_a_run_keeps_the_colour_that_was_chosen_for_it(make_app, app: App) -> None:
    model, runs = app[TelemetryModel], app[RunsController]
    for name in ("r-1", "r-2", "r-3"):
        app.bridge.service.runs[name] = run_record(name, RunState.FINISHED, env_steps=5)
        app[RunList].put(app.bridge.service.runs[name])
    runs.show("r-1")
    runs.show_all(["r-2", "r-3"])
    assert model.slots == {"r-1": 0, "r-2": 1, "r-3": 2}
    menu = color_menu(app.window, runs.color(), runs.set_color)
    assert menu.actions()[0].isChecked()
    menu.actions()[2 + 2].trigger()
    assert model.slots == {"r-1": 2, "r-2": 1, "r-3": 0}, "who had it takes another one"
    assert color_menu(app.window, runs.color(), runs.set_color).actions()[4].isChecked()
    runs.show("r-2")
    model.set_pinned([])
    runs.show("r-1")
    assert model.slots == {"r-1": 2}
    app[Settings].save()
    assert make_app(app.bridge.home.root)[TelemetryModel].chosen_slots == {"r-1": 2}
    runs.set_color(None)
    assert model.slots == {"r-1": 0}


def test_the_tab_that_was_in_front_is_there_again_where_there_are_runs(make_app, tmp_path) -> None:
    first = make_app(tmp_path / "empty")
    first[Navigation].show(Place.CURVES)
    first[Settings].save()
    fresh = make_app(tmp_path / "empty")
    assert fresh.window.center.currentWidget() is fresh[LiveView], "the demo is offered there"
    home = make_home(tmp_path / "home", 2, 3)
    first = make_app(home.root)
    first[Navigation].show(Place.GAMES)
    first[Settings].save()
    again = make_app(home.root)
    assert again.window.center.currentWidget() is again[GamesView]


def heights(app: App) -> dict[str, tuple[int, int]]:
    docks = (app[AgentDock], app[TrainingDock], app[RunsDock])
    return {dock.objectName(): (dock.width(), dock.height()) for dock in docks}


@pytest.mark.parametrize("keys", ["agent " * 2, "training " * 2, "runs agent " * 2, "telemetry checkpoints " * 2])
def test_docks_that_went_come_back_in_their_sizes(qtbot: QtBot, app: App, keys: str) -> None:
    app.window.resize(1440, 900)
    for name in ("agent", "telemetry", "runs"):
        app.actions[f"dock.{name}Dock"].trigger()
    app.actions["dock.checkpointsDock"].trigger()
    layouts = app.window.layouts
    qtbot.waitUntil(lambda: not layouts.is_settling)
    app.window.resizeDocks([app[AgentDock], app[RunsDock]], [230, 240], Qt.Orientation.Vertical)
    qtbot.wait(50)
    qtbot.waitUntil(lambda: not layouts.is_settling)
    before = heights(app)
    for name in keys.split():
        app.window.findChild(QDockWidget, f"{name}Dock").toggleViewAction().trigger()
        qtbot.wait(1)
        qtbot.waitUntil(lambda: not layouts.is_settling)
    qtbot.waitUntil(lambda: heights(app) == before)


def test_a_dock_that_floats_is_raised_once_its_window_is_there(qtbot: QtBot, make_app, monkeypatch) -> None:
    first = make_app()
    first[LogDock].setFloating(True)
    first[LogDock].show()
    first.window.layouts.save()
    first[Settings].save()
    raised = []
    monkeypatch.setattr(Dock, "raise_", lambda dock: raised.append(dock.objectName()))
    again = make_app()
    qtbot.waitUntil(lambda: "logDock" in raised)
    assert again[LogDock].isFloating()
