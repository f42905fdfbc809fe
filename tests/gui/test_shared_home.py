"""An app among others: it finds their runs, steers them, shares their queue, leaves its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QDragMoveEvent, QDropEvent, QMouseEvent
from PySide6.QtWidgets import QApplication

from gui.app import App
from gui.features.runs import table as run_table
from gui.features.runs.controller import RunsController
from gui.features.runs.dock import RunsDock
from gui.features.runs.model import COLUMNS, RunList
from gui.features.runs.table import RunTable
from gui.features.train.controller import TrainingController
from gui.shell.shutdown import Shutdown
from gui.state.bridge import ensure_loop
from gui.state.telemetry import TelemetryModel
from tests.gui.conftest import QtBot, use_echo
from tests.support.processes import SPEC
from tests.support.scripted_native import scripted_native
from trainer_core.lab.paths import HomePaths
from trainer_core.service import StopLadder, TrainerService
from trainer_core.wire.run_record import RunState


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def other(qtbot: QtBot, make_app: Callable[..., App], home: Path) -> Iterator[TrainerService]:
    """Another process of the home, as far as files and locks can tell."""
    ensure_loop()  # which it shares with the apps
    runner = scripted_native(updates=100_000, interval_s=0.01)
    service = TrainerService(HomePaths(home), runners=(runner,), ladder=StopLadder(2.0, 0.5))
    service.works_queue = False
    service.open()
    yield service
    done(qtbot, service.close())


def done(qtbot: QtBot, work: Coroutine[Any, Any, Any]) -> None:
    """Run `work` to its end on the loop of this process."""
    task = ensure_loop().create_task(work)
    qtbot.waitUntil(task.done)
    task.result()


def leave(qtbot: QtBot, app: App, keep: bool = False) -> None:
    """Close it as its window does."""
    app[Shutdown].begin(keep)
    qtbot.waitUntil(lambda: app[Shutdown].has_ended)


def running(qtbot: QtBot, app: App, other: TrainerService) -> str:
    """A run that the other keeps, as the app sees it."""
    plan = other.plan(SPEC)
    done(qtbot, other.start(plan))
    runs = app.bridge.service.runs
    qtbot.waitUntil(lambda: plan.run_id in runs and runs[plan.run_id].state is RunState.RUNNING)
    return plan.run_id


def test_a_run_of_another_process_is_shown_paused_and_stopped(
    qtbot: QtBot, make_app: Callable[..., App], home: Path, other: TrainerService
) -> None:
    app = make_app(home)
    run_id = running(qtbot, app, other)
    training, service = app[TrainingController], app.bridge.service
    app[RunsController].show(run_id)
    assert not service.is_live(run_id)
    telemetry = app[TelemetryModel].runs
    qtbot.waitUntil(lambda: run_id in telemetry and len(telemetry[run_id].table) > 5)
    assert telemetry[run_id].gaps == 0
    assert training.stop_refusal() == ""
    training.toggle_pause()
    qtbot.waitUntil(lambda: service.runs[run_id].state is RunState.PAUSED)
    training.toggle_pause()
    qtbot.waitUntil(lambda: service.runs[run_id].state is RunState.RUNNING)
    assert app[Shutdown].running() == 0  # closing this app would not stop it
    training.stop()
    qtbot.waitUntil(lambda: service.runs[run_id].state is RunState.STOPPED)
    assert other.runs[run_id].state is RunState.STOPPED


def test_a_run_that_another_left_running_is_found_when_the_app_opens(
    qtbot: QtBot, make_app: Callable[..., App], home: Path, other: TrainerService
) -> None:
    first = make_app(home)
    run_id = running(qtbot, first, other)
    leave(qtbot, first)
    assert other.runs[run_id].state is RunState.RUNNING
    again = make_app(home)
    assert again[TelemetryModel].focus == run_id
    assert again[TrainingController].state is RunState.RUNNING
    assert again.bridge.service.takes_commands(run_id)
    again[TrainingController].stop()
    qtbot.waitUntil(lambda: other.runs[run_id].state is RunState.STOPPED)


def test_apps_share_one_queue_and_what_waits_outlives_the_app_that_ordered_it(
    qtbot: QtBot, make_app: Callable[..., App], home: Path, other: TrainerService
) -> None:
    app = make_app(home)
    first = running(qtbot, app, other)
    use_echo(app, updates=2, interval_s=0.01)
    plan = app.bridge.service.plan(SPEC)
    done(qtbot, app.bridge.service.start(plan))
    assert app.bridge.service.runs[plan.run_id].state is RunState.QUEUED
    qtbot.waitUntil(lambda: plan.run_id in other.runs)
    leave(qtbot, app)
    assert other.queue.entries()[0].run_id == plan.run_id
    other.runners = (scripted_native(updates=2, interval_s=0.01),)
    other.works_queue = True
    stop = asyncio.ensure_future(other.stop(first), loop=app.bridge.loop)
    qtbot.waitUntil(lambda: stop.done() and other.runs[plan.run_id].state.is_end)
    assert other.runs[plan.run_id].state is RunState.FINISHED, other.runs[plan.run_id].reason
    assert other.queue.entries() == []


def drag(app: App, moved: str, on: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the mouse, from one row of the table to another."""
    dock = app[RunsDock]
    places = []
    for run_id in (moved, on):
        rect = dock.table.visualRect(dock.proxy.index(dock.proxy.row_of(run_id), 2))
        places.append(rect.center())

    class Carrier:
        """In place of QDrag, whose loop only a display server's drag would end."""

        def __init__(self, source: RunTable) -> None:
            self.setMimeData = lambda carried: setattr(self, "carried", carried)
            self.setPixmap = lambda pixmap: None

        def exec(self, kind: Qt.DropAction) -> None:
            aim = (places[1], kind, self.carried, Qt.MouseButton.LeftButton)  # type: ignore[attr-defined]
            move = QDragMoveEvent(*aim, Qt.KeyboardModifier.NoModifier)
            dock.table.dragMoveEvent(move)
            if move.isAccepted():
                where = QPointF(places[1])
                dock.table.dropEvent(QDropEvent(where, *aim[1:], Qt.KeyboardModifier.NoModifier))

    monkeypatch.setattr(run_table, "QDrag", Carrier)
    view, button = dock.table.viewport(), Qt.MouseButton.LeftButton
    QtBot.mousePress(view, button, pos=places[0])
    for step in range(1, 5):
        middle = places[0] + (places[1] - places[0]) * step / 4 + QPoint(4 * step, 0)
        moved_on = QMouseEvent(
            QMouseEvent.Type.MouseMove,
            QPointF(middle),
            QPointF(view.mapToGlobal(middle)),
            Qt.MouseButton.NoButton,
            button,
            Qt.KeyboardModifier.NoModifier,
        )
        QApplication.sendEvent(view, moved_on)
    QtBot.mouseRelease(view, button, pos=places[1])


def test_runs_that_wait_change_places_in_every_app(
    qtbot: QtBot, make_app: Callable[..., App], home: Path, other: TrainerService, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app(home)
    first = running(qtbot, app, other)
    use_echo(app)
    plans = [app.bridge.service.plan(SPEC) for _ in range(2)]
    for plan in plans:
        done(qtbot, app.bridge.service.start(plan))
    before, behind = (plan.run_id for plan in plans)
    list_, state = app[RunList], COLUMNS.index("State")

    def said() -> list[str]:
        """Of the two rows in the table."""
        rows = [list_.row_of(run_id) for run_id in (before, behind)]
        return [str(list_.index(row, state).data()) for row in rows]

    assert said() == ["Queued 1", "Queued 2"]
    app[RunsController].show(behind)
    assert not app.actions["queueLater"].isEnabled()
    app.actions["queueEarlier"].trigger()
    assert [entry.run_id for entry in other.queue.entries()] == [behind, before]
    assert said() == ["Queued 2", "Queued 1"]
    assert not app.actions["queueEarlier"].isEnabled()
    other.queue.move(before, 1)  # as `dmglab queue move` does
    qtbot.waitUntil(lambda: said() == ["Queued 1", "Queued 2"])
    drag(app, behind, before, monkeypatch)
    assert said() == ["Queued 2", "Queued 1"]
    assert [entry.run_id for entry in other.queue.entries()] == [behind, before]
    drag(app, behind, first, monkeypatch)
    assert said() == ["Queued 2", "Queued 1"], "a run that runs has no place to give"
    app[RunsController].show(first)
    assert not app.actions["queueEarlier"].isVisible()
    done(qtbot, app.bridge.service.stop(behind))
    done(qtbot, app.bridge.service.stop(before))


def test_an_app_that_closes_leaves_its_run_to_a_keeper(qtbot: QtBot, make_app: Callable[..., App], home: Path) -> None:
    called: list[HomePaths] = []
    app = make_app(home, updates=100_000, interval_s=0.01)
    service = app.bridge.service
    service._start_detached_host = called.append
    plan = service.plan(SPEC)
    done(qtbot, service.start(plan))
    qtbot.waitUntil(lambda: service.runs[plan.run_id].env_steps > 0)
    leave(qtbot, app, keep=True)
    assert called == [service.home]
    assert service.runs[plan.run_id].state is RunState.QUEUED
    assert service.runs[plan.run_id].last_checkpoint
    assert [entry.run_id for entry in service.queue.entries()] == [plan.run_id]
