"""Windows on a fresh home, the echo worker and the echo player; Qt without a display."""

from __future__ import annotations

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import dataclasses
import gc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot as PytestQtBot

from gui.app import App, collect_if_due, create_app, create_application
from gui.features.play.controller import PlayController
from gui.features.train.controller import TrainingController
from gui.kit import object_names as names
from gui.shell.notices import Banner
from gui.shell.shutdown import Shutdown
from gui.state.bridge import ensure_loop, release_loop
from gui.state.session import Session
from gui.state.telemetry import TelemetryModel
from tests.gui import stage
from tests.gui.stage import Stage
from tests.support.made_records import update_record
from tests.support.processes import PATIENCE_S
from tests.support.scripted_native import scripted_native
from trainer_core.service import StopLadder
from trainer_core.wire import records

STAGE = pytest.StashKey[Stage]()
T = TypeVar("T")


def grow(model: TelemetryModel, run_id: str, until_update: int) -> None:
    """Give the model update records of that run, up to this one."""
    run = model.run(run_id)
    for update in range(len(run.table) + 1, until_update + 1):
        model.take(run_id, update_record(run_id, update - 1, update, 100.0))


class QtBot(PytestQtBot):
    """pytest-qt's, with the patience of a loaded computer; what does not run in a test makes its own."""

    def __init__(self, request: Any = None) -> None:
        super().__init__(request)

    def waitUntil(self, callback: Callable[[], object], *, timeout: int = round(1000 * PATIENCE_S)) -> None:
        """Let Qt, and with it asyncio, run until the callback returns what is true (in pytest-qt, None is, too)."""
        super().waitUntil(lambda: bool(callback()), timeout=timeout)


def set_up(qtbot: QtBot, app: App) -> None:
    """Open the form of the next run, which a first start does not show."""
    show_dock(qtbot, app, names.TRAINING_DOCK)


def show_dock(qtbot: QtBot, app: App, name: str) -> None:
    """Show a dock that the present situation hides."""
    if not find(app, name).isVisible():
        app.actions[f"dock.{name}"].trigger()
    qtbot.waitUntil(lambda: find(app, name).isVisible())


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Begin the stage before anything ran in this process that a fork would inherit."""
    if not session.config.option.usepdb and any(map(_has_window, session.items)):
        session.stash[STAGE] = Stage(session, make_first_app)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    if (forks := item.session.stash.get(STAGE, None)) is None or not _has_window(item):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in forks.run(item, nextitem):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_sessionfinish(session: pytest.Session) -> None:
    if (forks := session.stash.get(STAGE, None)) is not None:
        forks.close()


def _has_window(item: pytest.Item) -> bool:
    return "make_app" in getattr(item, "fixturenames", ())


def make_first_app(home: Path) -> App:
    """Make the app that each test begins with, and have it on show."""
    qapplication()
    executors = [ThreadPoolExecutor(2), ThreadPoolExecutor(2)]
    ensure_loop().set_default_executor(executors[0])
    app = create_app(home, "dark")
    use_echo(app)
    app.window.show()
    QtBot().waitUntil(lambda: not app.bridge._tasks)  # it has read its empty home, and is painted
    executors[0].shutdown()  # a fork would believe in its threads
    ensure_loop().set_default_executor(executors[1])
    gc.collect()
    gc.freeze()
    return app


@pytest.fixture(autouse=True)
def collect_on_this_thread() -> Iterator[None]:
    """As the app does: a thread that collected the widgets of a closed window would crash Qt."""
    gc.disable()
    yield
    collect_if_due()
    gc.enable()
    release_loop()  # a test without an app may have asked for one, too


@pytest.fixture(scope="session")
def qapp() -> QApplication:
    return qapplication()


@pytest.fixture
def qtbot(qapp: QApplication, request: pytest.FixtureRequest) -> QtBot:
    return QtBot(request)


def qapplication() -> QApplication:
    app = create_application()
    app.setDoubleClickInterval(1)  # tests click one button twice in a row, and mean it
    return app


@pytest.fixture
def make_app(qtbot: QtBot, tmp_path: Path) -> Iterator[Callable[..., App]]:
    """Makes apps whose trainer is the echo worker with the given options, and shows them."""
    made: list[App] = []

    def make(home: Path | None = None, **options: object) -> App:
        if home is None and made:
            home = made[0].bridge.home.root
        app = _first_app() if home is None else None
        app = app or create_app(home or tmp_path / "home", "dark")
        app.bridge.service.ladder = StopLadder(2.0, 0.5)
        use_echo(app, **options)
        made.append(app)
        app.window.show()
        return app

    yield make
    for app in made:
        close(qtbot, app)
    release_loop()


def _first_app() -> App | None:
    """The app that the stage made for this test, once."""
    if (made := stage.take()) is not None:
        ensure_loop()  # asyncio knows of no loop that another process ran
    return made


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    return make_app(updates=1000, interval_s=0.01)


def use_echo(app: App, **options: object) -> None:
    session, runner = app[Session], scripted_native(**options)
    session.runner = runner
    app.bridge.service.runners = app[PlayController].player.runners = (runner,)
    session.runner_changed.emit(runner)
    app[TrainingController].draft.set_values({"task": "tiny_goal"})


def close(qtbot: QtBot, app: App) -> None:
    # Qt takes the modifiers of the last event for held until another one comes.
    qtbot.keyRelease(app.window, Qt.Key.Key_Shift)
    app.bridge.service.ladder = StopLadder(0.2, 0.2)
    app[Shutdown].begin()
    qtbot.waitUntil(lambda: app[Shutdown].has_ended)
    app.window.deleteLater()
    qtbot.wait(1)


def find(app: App, name: str, kind: type = QWidget):
    found = app.window.findChild(kind, name)
    assert found is not None, f"no widget {name!r}"
    return found


def click(app: App, name: str) -> None:
    QtBot.mouseClick(find(app, name), Qt.MouseButton.LeftButton)


def press(banner: Banner) -> None:
    """Click what a banner offers first."""
    assert banner.button is not None
    banner.button.click()


def foreign_record(seq: int, **metrics: float) -> records.UpdateRecord:
    """What a trainer that knows nothing of ours writes: three numbers and names of its own."""
    return records.UpdateRecord(
        run_id="r", seq=seq, time=0.0, env_steps=10 * (seq + 1), wall_time_s=seq / 4, sps=100.0, metrics=metrics
    )


def replaced(record: T, **fields: Any) -> T:
    """Return a copy of a dataclass or a msgspec struct with other values in these fields."""
    replace: Any = dataclasses.replace if dataclasses.is_dataclass(record) else msgspec.structs.replace
    return replace(record, **fields)


def there(found: T | None) -> T:
    """Return what must not be None."""
    assert found is not None
    return found
