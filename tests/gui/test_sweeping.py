"""The form of a sweep, and a real `dmglab sweep` behind it, whose trials train nothing."""

from __future__ import annotations

import json
import sys
from typing import Any

import psutil
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog

from gui.app import App
from gui.features.curves.view import CurvesView
from gui.features.sweeps.controller import SweepController, SweepDraft
from gui.features.sweeps.sheet import SweepSheet
from gui.features.train.controller import TrainingController
from gui.shell.shutdown import Shutdown
from gui.state.notices import Notices
from gui.state.telemetry import TelemetryModel
from tests.gui.conftest import QtBot, find
from trainer_core.runs.index import RunRegistry
from trainer_core.wire.config import RunConfig
from trainer_core.wire.run_record import RunRecord, RunState

LONG_MS = 120_000
"""A sweep is a process, and its trial another."""


def open_form(app: App) -> SweepSheet:
    app.actions["newSweep"].trigger()
    sheet = find(app, "sweepSheet", QDialog)
    assert isinstance(sheet, SweepSheet)
    return sheet


def vary(sheet: SweepSheet, row: int, name: str, values: str) -> None:
    box, line = sheet._rows[row]
    box.setCurrentIndex(box.findData(name))
    line.clear()
    QtBot.keyClicks(line, values)


def test_the_line_for_a_terminal_names_trials_at_once_where_there_are_several() -> None:
    draft = SweepDraft()
    draft.set_config(RunConfig(task="tiny_goal"))
    assert "--jobs" not in draft.words
    for jobs in (2, 3):
        draft.set(jobs=jobs)
        assert draft.words[draft.words.index("--jobs") + 1] == str(jobs)
    draft.set(jobs=1)
    assert "--jobs" not in draft.words


def test_the_form_counts_trials_and_names_what_is_wrong(app: App) -> None:
    app[TrainingController].draft.set_values({"total_env_steps": 0, "seconds": 0.0})
    sheet = open_form(app)
    vary(sheet, 0, "learning_rate", "1e-3, 5e-4")
    assert sheet.told.text() == "2 trials"
    assert "--total-env-steps 100000" in sheet.line.text(), "a trial needs an end"
    app[TrainingController].draft.set_values({"total_env_steps": 2048})
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


def begin(app: App, rates: str, total_env_steps: int, **options: object) -> list[Any]:
    """Start a sweep of these learning rates from the form; what the app tells from then on."""
    told: list[Any] = []
    app[Notices].told.connect(told.append)
    sweeps = app[SweepController]
    sweeps.program = [sys.executable, "-m", "tests.support.echo_sweep", json.dumps(options)]
    app[TrainingController].draft.set_values({"total_env_steps": total_env_steps})
    sheet = open_form(app)
    vary(sheet, 0, "learning_rate", rates)
    QtBot.mouseClick(sheet.consent, Qt.MouseButton.LeftButton)
    QtBot.mouseClick(sheet.start, Qt.MouseButton.LeftButton)
    assert sweeps.is_busy
    return told


def trials(app: App) -> list[RunRecord]:
    return [run for run in app.bridge.service.runs.values() if "sweep" in run.tags]


def has_grown(app: App) -> bool:
    """Whether the first trial's records arrive here."""
    return any(run.env_steps for run in trials(app))


def test_a_sweep_is_started_from_the_form_and_followed_as_one_group(qtbot: QtBot, app: App) -> None:
    told = begin(app, "5e-4", 3 * 2048, as_configured=True)
    qtbot.waitUntil(app.actions["stopSweep"].isEnabled)
    qtbot.waitUntil(lambda: not app[SweepController].is_busy, timeout=LONG_MS)
    assert told[-1].title == "Sweep finished", told[-1].text
    assert "learning_rate 0.0005" in told[-1].text
    qtbot.waitUntil(lambda: len(app[TelemetryModel].pinned) == 1)
    assert app[TelemetryModel].pinned == [run.run_id for run in trials(app)]
    assert app.window.center.currentWidget() is app[CurvesView]


def test_a_sweep_that_is_stopped_saves_its_trial_and_begins_no_other(qtbot: QtBot, app: App) -> None:
    told = begin(app, "5e-4, 1e-3", 10**6, updates=10**6, interval_s=0.02)
    qtbot.waitUntil(lambda: has_grown(app), timeout=LONG_MS)
    app.actions["stopSweep"].trigger()
    qtbot.waitUntil(lambda: not app[SweepController].is_busy, timeout=LONG_MS)
    assert told[-1].title == "Sweep stopped", told[-1].text
    assert told[-1].text.startswith("dmglab sweep --resume ")
    qtbot.waitUntil(lambda: all(run.state.is_end for run in trials(app)))
    assert [run.state for run in trials(app)] == [RunState.STOPPED]
    assert trials(app)[0].last_checkpoint
    assert not app.actions["stopSweep"].isEnabled()


def test_a_sweep_that_is_stopped_before_its_process_exists_begins_no_trial(qtbot: QtBot, app: App) -> None:
    told = begin(app, "5e-4, 1e-3", 10**6, updates=10**6, interval_s=0.02)
    assert app[SweepController]._job is None
    app.actions["stopSweep"].trigger()
    qtbot.waitUntil(lambda: not app[SweepController].is_busy)
    assert told[-1].title == "Sweep stopped"
    assert not trials(app)
    assert not app.actions["stopSweep"].isEnabled()


def test_a_sweep_ends_with_the_app_and_its_trial_saves_first(qtbot: QtBot, app: App) -> None:
    begin(app, "5e-4, 1e-3", 10**6, updates=10**6, interval_s=0.02)
    qtbot.waitUntil(lambda: has_grown(app), timeout=LONG_MS)
    children = psutil.Process().children()
    (sweep,) = [child for child in children if "tests.support.echo_sweep" in child.cmdline()]
    family = [sweep, *sweep.children(recursive=True)]
    app[Shutdown].begin()
    qtbot.waitUntil(lambda: app[Shutdown].has_ended, timeout=LONG_MS)
    (run,) = [run for run in RunRegistry(app.bridge.home).reconcile().values() if run.tags]
    assert (run.state, bool(run.last_checkpoint)) == (RunState.STOPPED, True)
    qtbot.waitUntil(lambda: not any(is_there(process) for process in family))


def is_there(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
