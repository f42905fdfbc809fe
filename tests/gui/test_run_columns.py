"""Columns of the run table: fields of configurations, hidden ones, widths and order kept."""

from __future__ import annotations

import json
import time

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu

from gui.app import App
from gui.features.disk.controller import ArchivesController
from gui.features.runs.columns import RunColumns
from gui.features.runs.controller import RunsController
from gui.features.runs.dock import RunsDock
from gui.features.runs.filter import RunFilter, parse
from gui.features.runs.model import RunList
from gui.features.runs.shown_runs import CROSSHAIR, DIFFERS, ShownRuns
from gui.kit import object_names as names
from gui.kit.settings import Settings
from gui.kit.text_search import TextSearch
from gui.state.telemetry import PlotLine, TelemetryModel
from tests.gui.conftest import QtBot, click, find, grow, replaced, show_dock
from tests.support.made_records import run_record
from trainer_core.wire.records import MetaRecord
from trainer_core.wire.run_names import run_name
from trainer_core.wire.run_record import RunState


def tell(app: App, run_id: str, **config: object) -> None:
    """A finished run of the home, configured so."""
    paths = app.bridge.home.run(run_id)
    paths.root.mkdir(parents=True)
    paths.config.write_text(json.dumps({"runner": "native", "run": config}))
    record = run_record(run_id, RunState.FINISHED, env_steps=5)
    app.bridge.service.runs[run_id] = record
    app[RunList].put(replaced(record, created_at=1.0))


def offered(menu: QMenu) -> list[str]:
    return [action.text() for action in menu.actions() if not action.isSeparator()]


def column(app: App, name: str) -> list[str]:
    dock = app[RunsDock]
    place = app[RunList].columns.index(name)
    return [str(dock.proxy.index(row, place).data()) for row in range(dock.proxy.rowCount())]


def test_what_runs_were_told_differently_becomes_a_column_to_sort_and_filter_by(
    qtbot: QtBot, app: App, make_app
) -> None:
    dock = app[RunsDock]
    for run_id, rate in (("r-1", 0.01), ("r-2", 1e-05), ("r-3", 0.5)):
        tell(app, run_id, rate=rate, envs=32, nested={"depth": 2})
    app[RunsController].show("r-1")
    menu = dock.column_menu()
    assert offered(menu)[:4] == ["Algorithm", "Differs in", "Steps", "Best success"]
    assert "rate" in offered(menu)
    assert "envs" not in offered(menu), "all were told the same: it is among the further ones"
    further = [action.menu() for action in menu.actions() if action.menu()]
    assert offered(further[0]) == ["envs", "nested.depth"]  # type: ignore[arg-type]
    next(action for action in menu.actions() if action.text() == "rate").trigger()
    qtbot.waitUntil(lambda: app[RunColumns].configs.peek("r-3", "rate"))
    dock.table.sortByColumn(app[RunList].columns.index("rate"), Qt.SortOrder.AscendingOrder)
    assert column(app, "rate") == ["1e-05", "0.01", "0.5"], "as numbers"
    assert dock.proxy.row_of("r-1") == 1
    assert dock.current() is not None
    assert dock.current().run_id == "r-1", "the selection stays"  # type: ignore[union-attr]
    dock.filter.setText("rate=0.5")
    assert column(app, "Name") == [run_name("r-3")]
    dock.filter.clear()
    app[RunColumns].toggle_hidden("Algorithm")
    place = app[RunList].columns.index("Algorithm")
    assert dock.table.isColumnHidden(place)
    dock.resize(1200, 200)  # in a narrow table the column would be left out
    dock._fit_columns()
    dock.table.setColumnWidth(app[RunList].columns.index("rate"), 123)
    app[Settings].save()
    again = make_app(app.bridge.home.root)
    table = again[RunsDock].table
    assert again[RunList].columns[-1] == "rate"
    assert again[RunColumns].widths == {"rate": 123}
    assert table.isColumnHidden(place)
    assert table.horizontalHeader().sortIndicatorSection() == len(again[RunList].columns) - 1
    again[RunsController].toggle_field("rate")
    assert "rate" not in again[RunList].columns
    assert again[RunsDock].proxy.columnCount() == len(again[RunList].columns)


def test_a_run_is_selected_whatever_key_is_held(qtbot: QtBot, app: App) -> None:
    dock = app[RunsDock]
    for number in range(3):
        tell(app, f"r-{number}")
    modifiers = Qt.KeyboardModifier
    for run_id, held in (("r-1", modifiers.ShiftModifier), ("r-2", modifiers.ControlModifier)):
        qtbot.mouseClick(dock, Qt.MouseButton.LeftButton, held)
        app[RunsController].show(run_id)
        assert dock._runs.selected == [run_id]


def test_several_rows_are_picked_and_shown_or_archived_together(app: App, monkeypatch) -> None:
    dock, telemetry = app[RunsDock], app[TelemetryModel]
    for number in range(4):
        tell(app, f"r-{number}")
    dock.table.selectRow(dock.proxy.row_of("r-0"))
    picks = dock.table.selectionModel()
    for run_id in ("r-2", "r-3"):
        index = dock.proxy.index(dock.proxy.row_of(run_id), 1)
        picks.setCurrentIndex(index, picks.SelectionFlag.Select | picks.SelectionFlag.Rows)
    assert telemetry.focus == "r-3", "the row that was picked last is in focus"
    app.actions["pinRun"].trigger()
    assert set(telemetry.pinned) == {"r-0", "r-2", "r-3"}
    app.actions["pinRun"].trigger()
    assert not telemetry.pinned
    archived: list[list[str]] = []
    monkeypatch.setattr(app[ArchivesController], "archive", archived.append)
    app.actions["archiveRun"].trigger()
    assert [sorted(run_ids) for run_ids in archived] == [["r-0", "r-2", "r-3"]]
    dock.filter.setText("r-0")
    app.actions["pinRun"].trigger()
    assert telemetry.pinned == ["r-3"], "what the filter hides is picked no more; the focus stays"


def test_the_filter_knows_bounds(qtbot: QtBot, app: App) -> None:
    dock = app[RunsDock]
    for number, rate in enumerate((0.1, 0.01, 0.001)):
        tell(app, f"r-{number}", optim={"Rate": rate})
        record = app.bridge.service.runs[f"r-{number}"]
        record = replaced(record, env_steps=10**number, best_success_rate=number / 4)
        app.bridge.service.runs[f"r-{number}"] = record
        app[RunList].put(record)

    def found(text: str) -> set[str]:
        dock.filter.setText(text)
        qtbot.waitUntil(lambda: app[RunColumns].configs.find("r-2", "rate"))
        return set(dock.proxy.run_ids())

    dock.filter.setText("rate<0.05")  # which has them read
    qtbot.waitUntil(lambda: set(dock.proxy.run_ids()) == {"r-1", "r-2"})
    assert found("best>=0.25") == {"r-1", "r-2"}
    assert found("steps<100 best>0") == {"r-1"}
    assert found("optim.rate>0.05 finished") == {"r-0"}
    assert found("nothing>1") == set()
    assert found("best>") == set(), "half typed it is a word like any other"
    assert found("") == {"r-0", "r-1", "r-2"}
    assert found("rate=0.1,0.0010") == {"r-0", "r-2"}, "as numbers"
    assert found("state=fin*,lost optim.rate!=0.01") == {"r-0", "r-2"}
    assert found("steps=10") == {"r-1"}
    assert found("-r-1") == {"r-0", "r-2"}
    assert found("r-[12]$|R-[12] -r-*2") == {"r-1"}
    assert found("r-(1|") == set(), "a half typed expression is a word like any other"


def test_an_expression_without_an_end_costs_little_on_long_names() -> None:
    """Nested repeats try every way to share the letters out: 2^64 of them here."""
    for hopeless in ("(a+)+$", "(a|aa)+$", r"(\w+\s?)+$", "(.*)*x"):
        search = TextSearch([hopeless])
        assert search.plain == [], "it is an expression"
        begun = time.thread_time()
        assert not any(search.finds("a" * 64 + "!") for _ in range(1000))
        assert time.thread_time() - begun < 0.5
    assert TextSearch(["(a+)+$"]).finds("a" * 64)


def test_archived_runs_are_found_by_somebody_who_types(qapp) -> None:
    source = RunList()
    view = RunFilter(source)
    kept, archived = (run_record(name, RunState.FINISHED) for name in ("kept", "gone"))
    source.put_all([kept, replaced(archived, reason="archived: /tmp/gone.tar.gz")])
    for end in range(1, len("archived")):
        view.set_text("archived"[:end])
        assert "gone" not in view.run_ids()
    view.set_text("archived")
    assert view.run_ids() == ["gone"]
    view.set_text("archived x")
    assert view.run_ids() == []


def test_a_task_is_found_by_its_last_name_and_by_all_of_it() -> None:
    run = replaced(run_record("r", RunState.FINISHED), task="pocket_quest/leave_bedroom")
    (bound,) = parse(["task=leave_bedroom"])[1]
    assert bound.holds(run, lambda run_id, name: "")
    (bound,) = parse(["task=pocket_quest/leave_bedroom"])[1]
    assert bound.holds(run, lambda run_id, name: "")
    (bound,) = parse(["task=pocket_quest"])[1]
    assert not bound.holds(run, lambda run_id, name: "")


def test_a_filter_without_a_match_says_so_and_escape_clears_it(qtbot: QtBot, app: App) -> None:
    dock = app[RunsDock]
    show_dock(qtbot, app, names.RUNS_DOCK)
    tell(app, "r-1", rate=0.1)
    dock.filter.setText("nothingcalledso")
    assert find(app, "clearRunFilter").isVisible()
    app.window.activateWindow()
    for place, text in ((dock.filter, "nothingcalledso"), (dock.table, "r-1")):
        dock.filter.setText(text)
        place.setFocus()
        qtbot.waitUntil(place.hasFocus)
        qtbot.keyClick(place, Qt.Key.Key_Escape)
        assert dock.filter.text() == ""
        assert dock.table.isVisible()
    dock.filter.setText("nothingcalledso")
    click(app, "clearRunFilter")
    assert dock.table.isVisible()


def test_the_column_menu_ticks_what_is_there_and_names_each_once(app: App) -> None:
    tell(app, "r-1", algo="ppo", device="cpu")
    tell(app, "r-2", algo="a2c", device="cuda:0")
    dock = app[RunsDock]
    dock.resize(300, 200)
    dock._fit_columns()
    for width in (300, 900):
        dock.resize(width, 200)
        dock._fit_columns()
        actions = {action.text(): action for action in dock.column_menu().actions()}
        place = app[RunList].columns.index("Algorithm")
        assert actions["Algorithm"].isChecked() is not dock.table.isColumnHidden(place)
        assert actions["Algorithm"].isEnabled() is (width == 900)
        assert not {"algo", "device"} & set(actions)


def test_a_row_and_the_curves_of_a_run_light_up_together(app: App) -> None:
    tell(app, "r-1")
    table, telemetry = app[RunsDock].table, app[TelemetryModel]
    telemetry.set_highlight("r-1")
    assert not table.light.isHidden()
    telemetry.set_highlight("")
    assert table.light.isHidden()
    table.pointed.emit("r-1")
    assert telemetry.highlight == "r-1"


def test_runs_on_show_have_their_differences_and_their_values_at_the_crosshair(qtbot: QtBot, app: App) -> None:
    model, dock, shown = app[TelemetryModel], app[RunsDock], app[ShownRuns]
    for number, run_id in enumerate(("r-1", "r-2", "r-3")):
        tell(app, run_id)
        config = {"seed": number % 2, "algo": "ppo", "learning_rate": 0.001 / (1 + number), "gamma": 0.9}
        model.run(run_id).meta = MetaRecord(run_id=run_id, seq=0, time=0.0, runner="native", config={"run": config})
        grow(model, run_id, 40)
        values = model.runs[run_id].table.column("success_rate")
        values[:] = (0.5, 0.1, 0.9)[number]
    dock.resize(1400, 200)
    model.set_focus("r-1")
    place = app[RunList].columns.index(CROSSHAIR)
    qtbot.waitUntil(lambda: dock.table.isColumnHidden(place))
    model.set_pinned(["r-2"])
    qtbot.waitUntil(lambda: not dock.table.isColumnHidden(place))
    told = dict(zip(dock.proxy.run_ids(), column(app, DIFFERS), strict=True))
    assert told == {"r-1": "seed 0 \u00b7 lr 1e-3", "r-2": "seed 1 \u00b7 lr 5e-4", "r-3": ""}
    with qtbot.waitSignal(shown.changed):
        model.set_pinned(["r-2", "r-3"])
    assert set(column(app, CROSSHAIR)) == {""}
    assert shown.differences()["r-3"] == "lr 3.33e-4", "most have its seed"
    dock.table.sortByColumn(place, Qt.SortOrder.DescendingOrder)
    with qtbot.waitSignal(shown.changed):
        model.set_crosshair(20 * 2048.0, PlotLine("Success", "success_rate", True))
    assert column(app, CROSSHAIR) == ["90 %", "50 %", "10 %"]
    assert dock.proxy.headerData(place, Qt.Orientation.Horizontal) == "Success at 41.0k"
    assert dock.proxy.row_of("r-1") == 1
    assert dock.current().run_id == "r-1", "the selection goes along"  # type: ignore[union-attr]
    with qtbot.waitSignal(shown.changed):
        model.set_crosshair(None)
    assert set(column(app, CROSSHAIR)) == {""}
    assert dock.proxy.run_ids() == ["r-3", "r-1", "r-2"], "rows stay where they are"
