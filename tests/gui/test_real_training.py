"""The app with its real trainer: what the echo worker has no occasion to send."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from gui.app import App, create_app
from gui.features.curves.dock import TelemetryDock
from gui.features.train.controller import TrainingController
from gui.state.bridge import release_loop
from gui.state.session import Navigation, Place
from gui.state.telemetry import TelemetryModel
from tests.gui.conftest import QtBot, close
from trainer_core.wire import records


@pytest.fixture
def real_app(qtbot: QtBot, qapp: QApplication, tmp_path: Path) -> Iterator[App]:
    app = create_app(tmp_path / "home", "dark")
    app.window.show()
    yield app
    close(qtbot, app)
    release_loop()


def test_curves_go_on_while_the_wall_is_watched(qtbot: QtBot, real_app: App) -> None:
    """What the wall is told bears the number of the record to come; the curves must not mind."""
    app, training = real_app, real_app[TrainingController]
    heard: list[type] = []
    app.bridge.event_received.connect(lambda _run, event: heard.append(type(event)))
    app[Navigation].show(Place.WALL)
    training.draft.set_values({"task": "tiny_goal", "num_envs": 8, "threads": 1})
    training.set_consent(True)
    training.start()
    qtbot.waitUntil(lambda: heard.count(records.WallEvent) > 2)
    before = heard.count(records.UpdateRecord)
    qtbot.waitUntil(lambda: heard.count(records.UpdateRecord) > before + 5)
    run = app[TelemetryModel].run(training.run_id)
    assert len(run.table) == heard.count(records.UpdateRecord)
    assert run.gaps == 0
    card = app[TelemetryDock].cards["reward_mean"]
    qtbot.waitUntil(lambda: card.redraws > 1)
