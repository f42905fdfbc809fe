"""Train new, as a person does it: form, preflight, command, consent, start, curves, stop."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QCheckBox, QLineEdit, QPlainTextEdit, QPushButton

from gui import object_names as names
from gui.main_window import MainWindow
from gui.models.session import Mode
from tests.gui.conftest import find, until
from trainer_core import preflight
from trainer_core.protocol.runs import RunState


def click(window: MainWindow, name: str) -> None:
    QTest.mouseClick(find(window, name), Qt.MouseButton.LeftButton)


def start(window: MainWindow) -> None:
    click(window, names.CONSENT_CHECK)
    click(window, names.START_TRAINING_BUTTON)


def test_every_object_name_is_there(window: MainWindow) -> None:
    wanted = [
        value for key, value in vars(names).items()
        if key.isupper() and key not in ("MAIN_WINDOW", "PLOT_PREFIX")
    ]  # fmt: skip
    missing = [name for name in wanted if not window.findChildren(object, name)]
    assert not missing
    assert window.objectName() == names.MAIN_WINDOW
    for metric in ("reward_mean", "entropy_mean", "done_rate"):
        find(window, names.PLOT_PREFIX + metric)


def test_a_fresh_home_shows_one_default_button(window: MainWindow) -> None:
    assert window.welcome.isVisible()
    defaults = [b for b in window.findChildren(QPushButton) if b.isDefault() and b.isVisible()]
    assert [b.objectName() for b in defaults] == ["startDemoButton"]


def test_training_widgets_are_only_there_in_agent_mode(window: MainWindow) -> None:
    assert window.training_dock.isVisible()
    window.session.set_mode(Mode.HUMAN)
    assert not window.training_dock.isVisible()
    window.session.set_mode(Mode.AGENT)
    assert window.training_dock.isVisible()


def test_an_invalid_field_disables_start_and_says_why(window: MainWindow) -> None:
    click(window, names.CONSENT_CHECK)
    button = find(window, names.START_TRAINING_BUTTON)
    assert button.isEnabled()
    field = find(window, "field_num_envs", QLineEdit)
    field.selectAll()
    QTest.keyClicks(field, "0")
    assert not button.isEnabled()
    assert "at least 1" in window.training_dock.reason.text()
    field.selectAll()
    QTest.keyClicks(field, "32")
    assert button.isEnabled()
    assert window.training.draft.config.num_envs == 32


def test_values_that_only_together_are_wrong_are_refused_too(window: MainWindow) -> None:
    window.training.draft.set_text("num_minibatches", "7")
    assert window.training.plan is None
    assert "num_minibatches must divide" in window.training.reason()


def test_train_new_and_use_trained_keep_their_own_choices(window: MainWindow) -> None:
    window.training.draft.set_text("num_envs", "128")
    click(window, names.USE_TRAINED_BUTTON)
    window.trained.modes.setCurrentIndex(1)
    window.trained.modes.activated.emit(1)
    click(window, names.TRAIN_NEW_BUTTON)
    assert window.training.draft.text("num_envs") == "128"
    click(window, names.USE_TRAINED_BUTTON)
    assert window.trained.modes.currentData() == "sample"
    assert window.playing.policy_mode == "sample"


def test_without_consent_nothing_is_spawned(window: MainWindow) -> None:
    assert not find(window, names.CONSENT_CHECK, QCheckBox).isChecked()
    click(window, names.START_TRAINING_BUTTON)
    window.training.start()
    QTest.qWait(100)
    assert not window.bridge.service.runs
    assert not window.bridge.home.runs.exists()


def test_the_command_on_show_is_the_command_that_runs(window: MainWindow) -> None:
    shown = find(window, names.COMMAND_PREVIEW, QPlainTextEdit).toPlainText()
    plan = window.training.plan
    start(window)
    until(lambda: window.training.state is RunState.RUNNING)
    argv = psutil.Process(window.training.record.pid).cmdline()
    assert argv == list(plan.argv)
    assert shown == plan.command_line
    assert find(window, names.COMMAND_PREVIEW, QPlainTextEdit).toPlainText() != shown
    assert not find(window, names.CONSENT_CHECK, QCheckBox).isChecked()


def test_train_new_lists_the_checks(window: MainWindow) -> None:
    click(window, names.TRAIN_NEW_BUTTON)
    until(lambda: not window.training.checking)
    texts = find(window, names.PREFLIGHT_LIST)
    assert texts.count() == 6
    assert texts.item(2).text() == "ok Task: tiny_goal, built in"


def test_a_missing_gpu_blocks_the_start_and_one_click_goes_on_with_the_cpu(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def probe(runner: object) -> dict[str, object]:
        return {"python": "3.11", "modules": {}, "gpus": []}

    monkeypatch.setattr(preflight, "_probe", probe)
    window.training.draft.set_values({"device": "cuda:0", "num_envs": 8192})
    click(window, names.CONSENT_CHECK)
    click(window, names.START_TRAINING_BUTTON)
    until(lambda: not window.training.starting)
    assert not window.bridge.service.runs
    assert "CUDA" in window.training.reason()
    fix = window.training_dock.checks.fix
    assert fix.isVisible()
    QTest.mouseClick(fix, Qt.MouseButton.LeftButton)
    assert window.training.draft.config.device == "cpu"
    until(lambda: len(window.training.checks) == 6 and not window.training.checking)
    assert not any(check.status == "fail" for check in window.training.checks)


def test_the_badge_walks_through_a_whole_run(make_window) -> None:  # type: ignore[no-untyped-def]
    window = make_window(updates=5, interval_s=0.01)
    seen = [window.training_dock.badge.text()]

    def note() -> None:
        text = window.training_dock.badge.text()
        if text != seen[-1]:
            seen.append(text)

    window.training.badge_changed.connect(note)
    start(window)
    until(lambda: window.training.state is RunState.FINISHED)
    assert seen == ["Idle", "Preflight", "Starting", "Running", "Finished"]


def test_curves_log_table_and_checkpoint_appear_while_it_runs(window: MainWindow) -> None:
    start(window)
    until(
        lambda: (
            window.telemetry.focus and len(window.telemetry.run(window.telemetry.focus).table) > 20
        )
    )
    card = window.telemetry_dock.cards["reward_mean"]
    until(lambda: card.redraws > 1)
    assert card.readout()["reward"] > -0.01
    assert window.runs.rowCount() == 1
    click(window, names.STOP_TRAINING_BUTTON)
    until(lambda: window.training.state is RunState.STOPPED)
    assert window.checkpoints.rowCount() == 1
    window.log_dock.flush()
    assert "stray print" in window.log_dock.view.toPlainText()
    assert "stopped by you" in window.training_dock.detail.text()


def test_a_silent_worker_is_shown_as_stalled_and_the_next_record_clears_it(
    window: MainWindow,
) -> None:
    start(window)
    until(lambda: window.training.state is RunState.RUNNING)
    click(window, names.PAUSE_TRAINING_BUTTON)
    until(lambda: window.training.state is RunState.PAUSED)
    click(window, names.PAUSE_TRAINING_BUTTON)
    until(lambda: window.training.state is RunState.RUNNING)
    window.training.last_record_at -= 31
    assert window.training.stalled_for() > 30
    until(lambda: window.training.stalled_for() == 0)


def test_bad_lines_are_shown_in_the_log_and_the_curve_goes_on(make_window) -> None:  # type: ignore[no-untyped-def]
    window = make_window(updates=5, interval_s=0.01, garbage=True)
    start(window)
    until(lambda: window.training.state is RunState.FINISHED)
    assert len(window.telemetry.run(window.training.run_id).table) == 5
    window.log_dock.flush()
    assert window.log_dock.view.toPlainText().count("bad line") == 10


def test_the_demo_is_two_clicks(make_window) -> None:  # type: ignore[no-untyped-def]
    window = make_window(updates=1000, interval_s=0.01)
    click(window, "startDemoButton")
    window.training.draft.set_values({"task": "tiny_goal"})
    assert find(window, "demoCommand", QPlainTextEdit).toPlainText()
    assert not window.bridge.service.runs
    click(window, "runDemoButton")
    until(lambda: window.training.state is RunState.RUNNING)
    assert window.center.currentWidget() is window.wall


def test_a_second_window_sees_what_the_first_one_ran(make_window, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    first = make_window(updates=20, interval_s=0.01)
    start(first)
    until(lambda: first.training.state is RunState.FINISHED)
    second = make_window()
    run_id = first.training.run_id
    until(lambda: len(second.telemetry.run(run_id).table) == 20)
    until(lambda: second.checkpoints.rowCount() == 1)
    assert second.training.state is RunState.FINISHED


def test_closing_while_it_runs_asks_and_stopping_leaves_no_process(
    window: MainWindow,
) -> None:
    start(window)
    until(lambda: window.training.state is RunState.RUNNING)
    pid = window.training.record.pid
    window.close()
    click(window, "keepRunningButton")
    QTest.qWait(50)
    assert window.training.state is RunState.RUNNING
    window.close()
    until(lambda: window.findChildren(QPushButton, "stopAndCloseButton"))
    click(window, "stopAndCloseButton")
    until(lambda: not window.isVisible())
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    assert window.bridge.service.registry.load()[window.training.run_id].state is RunState.STOPPED
