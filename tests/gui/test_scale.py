"""A home of 10,000 runs, logs gone mad: bounded in time, in memory and in what is read."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from gui.app import App, create_app
from gui.features.log.dock import LogDock
from gui.features.runs.controller import RunsController
from gui.features.runs.dock import RunsDock
from gui.features.runs.filter import RunFilter
from gui.features.runs.model import COLUMNS, RUN_ROLE, RunList
from gui.state import run_history
from gui.state.log_buffer import LINE_LENGTH, MAX_LINES, LogBuffer
from gui.state.run_history import RunTelemetry, reading
from gui.state.telemetry import KEPT, TelemetryModel
from tests.gui.conftest import QtBot, close, replaced, there
from tests.support.made_homes import make_home
from tests.support.made_records import run_record, update_record
from trainer_core.wire.run_record import RunState


@pytest.fixture
def many() -> tuple[RunList, RunFilter]:
    source = RunList()
    view = RunFilter(source)
    source.put_all([replaced(run_record(f"run-{n:05}", RunState.FINISHED), created_at=float(n)) for n in range(10_000)])
    return source, view


def test_ten_thousand_runs_filter_and_sort_in_150_ms(qapp, many) -> None:
    _, view = many
    begun = time.process_time()
    view.set_text("run-099 finished")
    filtered = time.process_time()
    view.set_text("")
    view.sort(COLUMNS.index("Task"))
    assert filtered - begun < 0.15
    assert time.process_time() - filtered < 0.3
    view.set_text("run-099 finished")
    assert view.rowCount() == 100
    assert view.row_of("run-09950") >= 0
    assert view.row_of("run-00001") == -1


def test_a_run_that_changes_or_comes_moves_its_own_row_only(qapp, many) -> None:
    source, view = many
    view.sort(COLUMNS.index("Steps"), Qt.SortOrder.DescendingOrder)
    resets, moves, changes = [], [], []
    view.modelReset.connect(lambda: resets.append(1))
    view.rowsMoved.connect(lambda *_: moves.append(1))
    view.dataChanged.connect(lambda *_: changes.append(1))
    run = source.run(17)
    source.put(replaced(run, env_steps=5))
    assert view.run(0).run_id == run.run_id
    source.put(replaced(run, env_steps=6))
    assert view.run(0).env_steps == 6
    source.put(run_record("newcomer", env_steps=99))
    assert view.run(0).run_id == "newcomer"
    view.sort(COLUMNS.index("Steps"), Qt.SortOrder.AscendingOrder)
    resets.clear()
    assert view.run(view.rowCount() - 1).run_id == "newcomer"
    source.put(run_record("newcomer", env_steps=0))
    assert view.row_of("newcomer") < view.rowCount() - 1
    assert (len(resets), len(moves), len(changes)) == (0, 2, 1)
    assert view.index(view.row_of("newcomer"), 0).data(RUN_ROLE).env_steps == 0


def test_what_is_filtered_out_comes_and_goes_with_its_state(qapp, many) -> None:
    source, view = many
    view.set_text("failed")
    assert view.rowCount() == 0
    run = source.run(4321)
    source.put(replaced(run, state=RunState.FAILED))
    assert view.run_ids() == [run.run_id]
    source.put(run)
    assert view.rowCount() == 0


def test_a_home_of_10_000_runs_opens_without_reading_their_logs(
    qtbot: QtBot, qapp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = make_home(tmp_path / "home", 10_000, 50)
    read: list[str] = []

    def counted(path: Path, *rest: int):
        read.append(path.parent.name)
        return real(path, *rest)

    real = run_history.read_history
    monkeypatch.setattr(run_history, "read_history", counted)
    begun = time.process_time()
    app = create_app(home.root, "dark")
    app.window.show()
    qapp.processEvents()
    spent = time.process_time() - begun
    try:
        qtbot.waitUntil(lambda: app[TelemetryModel].runs)
        assert set(read) == {"run-09999"}, "only the run in focus"
        assert spent < 2.5, f"{spent:.2f} s of CPU until the window is there"
        table = app[RunsDock].table
        assert table.model().rowCount() == 10_000
        table.setFocus()
        for _ in range(KEPT + 6):
            qtbot.keyClick(table, Qt.Key.Key_Down)
        qtbot.waitUntil(lambda: not app[TelemetryModel]._loading)
        assert len(app[TelemetryModel].runs) <= KEPT + 1
        app[RunsDock].filter.setText("run-00")
        assert table.model().rowCount() == 1000
    finally:
        close(qtbot, app)


def test_the_selection_survives_a_filter(app: App) -> None:
    runs = [run_record(f"run-{n}", RunState.FINISHED) for n in range(50)]
    app.bridge.service.runs.update({run.run_id: run for run in runs})
    app[RunList].put_all(runs)
    app[RunsController].show("run-7")
    app[RunsDock].filter.setText("run-7")
    assert there(app[RunsDock].current()).run_id == "run-7"
    app[RunsDock].filter.clear()
    assert there(app[RunsDock].current()).run_id == "run-7"


def read_run(run_id: str, log: Path, is_wanted: Callable[[], bool] = lambda: True) -> RunTelemetry | None:
    """Read a log at one go, as the app does in slices."""
    work = reading(run_id, log, is_wanted)
    while True:
        try:
            next(work)
        except StopIteration as end:
            return end.value


def test_a_history_is_complete_however_it_meets_live_records(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home", 1, 300)
    log = home.run("run-00000").train_log
    model = TelemetryModel()
    model.set_focus("run-00000")
    assert model.begin_loading("run-00000")
    assert not model.begin_loading("run-00000")
    for seq in range(290, 310):  # some of them the log has too
        model.follow("run-00000", update_record("run-00000", seq, seq + 1, 1.0))
    read = read_run("run-00000", log)
    assert read is not None
    model.end_loading("run-00000", read)
    run = model.runs["run-00000"]
    assert list(run.table.column("update")) == list(range(1, 311))
    assert run.gaps == 0
    model.follow("elsewhere", update_record("elsewhere", 5, 6, 1.0))
    assert list(model.runs) == ["run-00000"]


def test_a_log_is_read_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_history, "READ_BYTES", 5000)
    home = make_home(tmp_path / "home", 1, 200)
    log = home.run("run-00000").train_log
    assert len(there(read_run("r", log)).table) == 200
    log.write_bytes(b"x" * 20_001 + b"\n" + log.read_bytes())
    assert len(there(read_run("r", log)).table) == 200, "a line gone mad costs only itself"


def test_a_log_that_nobody_wants_any_more_is_not_read_to_its_end(
    qtbot: QtBot, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_history, "READ_BYTES", 5000)
    made = make_home(app.bridge.home.root, 2, 500)
    log = made.run("run-00000").train_log
    asked = iter([True, True, False])
    assert read_run("r", log, lambda: next(asked)) is None
    runs, telemetry = app[RunsController], app[TelemetryModel]
    for name in ("run-00000", "run-00001", "run-00000", "run-00001"):
        runs.show(name)
    qtbot.waitUntil(lambda: "run-00001" in telemetry.runs and not telemetry._loading)
    assert len(telemetry.runs["run-00001"].table) == 500


def test_a_flood_of_garbage_is_bounded_in_memory_and_in_time(app: App) -> None:
    """50 MB in lines of 1 MB, then a million short lines: what a worker gone mad writes."""
    buffer = LogBuffer()
    tracemalloc.start()
    try:
        for _ in range(50):
            buffer.add_all(["e" * 1_000_000])
        for _ in range(50):
            buffer.add_all(["fatal \ufffd"] * 20_000)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < MAX_LINES * (LINE_LENGTH + 400)
    assert len(buffer.lines) == MAX_LINES
    app[LogDock].raise_()
    turns = []
    for _ in range(20):
        begun = time.process_time()
        app.bridge.log_lines.emit("r", ["error " + "z" * 5000] * 20_000)
        turns.append(time.process_time() - begun)
        begun = time.process_time()
        app[LogDock].flush()
        turns.append(time.process_time() - begun)
    usual = sorted(turns)[len(turns) * 3 // 4]  # on a loaded computer even CPU time has outliers
    assert usual < 0.05, f"{usual * 1000:.0f} ms"
    assert "came too fast" in app[LogDock].view.toPlainText()
