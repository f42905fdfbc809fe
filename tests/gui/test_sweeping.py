"""The form of a sweep, and a real `dmglab sweep` behind it: trials come, the best is told."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog

from gui.app import App
from gui.widgets.sweep_sheet import SweepSheet
from tests.gui.conftest import find, until

LONG_S = 120.0
"""A sweep is a process, and its one trial another that imports torch."""


def open_form(app: App) -> SweepSheet:
    app.actions["newSweep"].trigger()
    sheet = find(app, "sweepSheet", QDialog)
    assert isinstance(sheet, SweepSheet)
    return sheet


def vary(sheet: SweepSheet, row: int, name: str, values: str) -> None:
    box, line = sheet._rows[row]
    box.setCurrentIndex(box.findData(name))
    line.clear()
    QTest.keyClicks(line, values)


def test_the_form_counts_trials_and_names_what_is_wrong(app: App) -> None:
    app.controllers.training.draft.set_values({"total_env_steps": 0, "seconds": 0.0})
    sheet = open_form(app)
    vary(sheet, 0, "learning_rate", "1e-3, 5e-4")
    assert sheet.told.text() == "2 trials"
    assert "--total-env-steps 100000" in sheet.line.text(), "a trial needs an end"
    app.controllers.training.draft.set_values({"total_env_steps": 2048})
    assert "--total-env-steps 2048" in sheet.line.text()
    assert sheet.steps.isHidden()
    vary(sheet, 1, "num_envs", "4,8,x")
    assert "num_envs=x" in sheet.told.text()
    assert not sheet.consent.isEnabled()
    vary(sheet, 1, "num_envs", "4,8,16")
    sheet.seeds.setValue(2)
    assert sheet.told.text() == "12 trials"
    sheet.consent.click()
    assert sheet.start.isEnabled()
    vary(sheet, 0, "learning_rate", "log:1e-4..1e-2")
    assert "--search random" in sheet.told.text()
    assert not sheet.start.isEnabled(), "consent was given to another command"
    sheet.search.setCurrentIndex(1)
    sheet.search.activated.emit(1)
    assert sheet.told.text() == "16 trials"
    assert "--vary learning_rate=log:1e-4..1e-2" in sheet.line.text()
    assert "--search random --trials 8 --seeds 1 2" in sheet.line.text()
    sheet.reject()


def test_a_sweep_is_started_from_the_form_and_followed_as_one_group(app: App) -> None:
    told = []
    app.models.notices.told.connect(told.append)
    app.controllers.training.draft.set_values(
        {"num_envs": 4, "num_steps": 8, "total_env_steps": 64, "eval_every": 0, "threads": 1}
    )
    sheet = open_form(app)
    vary(sheet, 0, "learning_rate", "5e-4")
    QTest.mouseClick(sheet.consent, Qt.MouseButton.LeftButton)
    QTest.mouseClick(sheet.start, Qt.MouseButton.LeftButton)
    sweeps, runs = app.controllers.sweeps, app.bridge.service.runs
    assert sweeps.is_busy
    until(app.actions["stopSweep"].isEnabled)
    until(lambda: not sweeps.is_busy, LONG_S)
    assert told[-1].title == "Sweep finished", told[-1].text
    assert "learning_rate 0.0005" in told[-1].text
    trials = [run for run in runs.values() if "sweep" in run.tags]
    until(lambda: len(app.models.telemetry.pinned) == 1)
    assert app.models.telemetry.pinned == [run.run_id for run in trials]
    assert app.window.center.currentWidget() is app.center.curves
