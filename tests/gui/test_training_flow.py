"""Train new, as a person does it: form, preflight, command, consent, start, curves, stop."""

from __future__ import annotations

from pathlib import Path

import msgspec
import psutil
import pytest
from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QApplication, QCheckBox, QLineEdit, QPlainTextEdit, QPushButton

from gui.app import App
from gui.features.checkpoints.dock import TrainedPage
from gui.features.curves.dock import TelemetryDock
from gui.features.curves.run_info import RunInfoController
from gui.features.curves.view import CurvesView
from gui.features.header.buttons import WORDS_MS, SteadyButton
from gui.features.header.view import RunHeader
from gui.features.log.dock import LogDock
from gui.features.play.controller import PlayController
from gui.features.play.live import LiveView
from gui.features.replay.view import ReplayView
from gui.features.runs.controller import RunsController
from gui.features.runs.model import RunList
from gui.features.train.controller import TrainingController
from gui.features.train.dock import TrainingDock
from gui.features.train.wall import EnvWall
from gui.features.train.welcome import Welcome
from gui.kit import object_names as names
from gui.kit.actions import action_button
from gui.shell.shutdown import Shutdown
from gui.state.checkpoints import CheckpointList
from gui.state.log_buffer import LogBuffer
from gui.state.session import Mode, Navigation, Place, Session
from gui.state.telemetry import TelemetryModel
from tests.gui.conftest import QtBot, click, find, set_up
from trainer_core.runs.wandb_run import NOWHERE, read_wandb
from trainer_core.service import preflight
from trainer_core.wire.run_record import RunState


def start(qtbot: QtBot, app: App) -> None:
    set_up(qtbot, app)
    click(app, names.CONSENT_CHECK)
    click(app, names.START_TRAINING_BUTTON)


def test_every_object_name_is_there(app: App) -> None:
    wanted = [
        value for key, value in vars(names).items() if key.isupper() and key not in ("MAIN_WINDOW", "PLOT_PREFIX")
    ]
    missing = [name for name in wanted if not app.window.findChildren(QObject, name)]
    assert not missing
    assert app.window.objectName() == names.MAIN_WINDOW
    for metric in ("reward_mean", "entropy_mean", "done_rate"):
        find(app, names.PLOT_PREFIX + metric)
    assert find(app, names.OPEN_WANDB_BUTTON).text() == "W&&B", "which Qt shows as W&B"


def test_a_fresh_home_shows_one_default_button(app: App) -> None:
    assert app[Welcome].isVisible()
    defaults = [b for b in app.window.findChildren(QPushButton) if b.isDefault() and b.isVisible()]
    assert [b.objectName() for b in defaults] == ["startDemoButton"]


def test_training_widgets_are_only_there_in_agent_mode(qtbot: QtBot, app: App) -> None:
    set_up(qtbot, app)
    assert app[TrainingDock].isVisible()
    app[Session].set_mode(Mode.HUMAN)
    assert not app[TrainingDock].isVisible()
    app[Session].set_mode(Mode.AGENT)
    assert app[TrainingDock].isVisible()


def test_an_invalid_field_disables_start_and_says_why(qtbot: QtBot, app: App) -> None:
    set_up(qtbot, app)
    click(app, names.CONSENT_CHECK)
    button = find(app, names.START_TRAINING_BUTTON)
    assert button.isEnabled()
    field = find(app, "field_num_envs", QLineEdit)
    field.selectAll()
    qtbot.keyClicks(field, "0")
    assert not button.isEnabled()
    assert "at least 1" in app[TrainingDock].launch.reason.text()
    field.selectAll()
    qtbot.keyClicks(field, "32")
    assert not button.isEnabled(), "3 was another command than the one that was agreed to"
    assert app[TrainingDock].launch.reason.text() == "The command changed: tick the box again"
    click(app, names.CONSENT_CHECK)
    assert button.isEnabled()
    assert app[TrainingController].draft.config.num_envs == 32


def test_values_that_only_together_are_wrong_are_refused_too(app: App) -> None:
    app[TrainingController].draft.set_text("num_minibatches", "7")
    assert app[TrainingController].plan is None
    assert "num_minibatches must divide" in app[TrainingController].reason()


def test_train_new_and_use_trained_keep_their_own_choices(app: App) -> None:
    app[TrainingController].draft.set_text("num_envs", "128")
    click(app, names.USE_TRAINED_BUTTON)
    sampled = app[TrainedPage].modes.findData("sample")
    app[TrainedPage].modes.setCurrentIndex(sampled)
    app[TrainedPage].modes.activated.emit(sampled)
    click(app, names.TRAIN_NEW_BUTTON)
    assert app[TrainingController].draft.text("num_envs") == "128"
    click(app, names.USE_TRAINED_BUTTON)
    assert app[TrainedPage].modes.currentData() == "sample"
    assert app[PlayController].policy_mode == "sample"


def test_a_start_leaves_the_tab_that_one_went_to(qtbot: QtBot, app: App) -> None:
    assert app[Navigation].welcome
    app.window.center.setCurrentWidget(app[ReplayView])
    start(qtbot, app)
    qtbot.waitUntil(lambda: app[TrainingController].state is RunState.RUNNING)
    assert app.window.center.currentWidget() is app[ReplayView]


def test_a_start_shows_the_wall_where_no_game_plays(qtbot: QtBot, app: App) -> None:
    app[Navigation].leave_welcome()
    assert app.window.center.currentWidget() is app[LiveView]
    start(qtbot, app)
    qtbot.waitUntil(lambda: app[TrainingController].state is RunState.RUNNING)
    assert app.window.center.currentWidget() is app[EnvWall]


def test_without_consent_nothing_is_spawned(qtbot: QtBot, app: App) -> None:
    assert not find(app, names.CONSENT_CHECK, QCheckBox).isChecked()
    click(app, names.START_TRAINING_BUTTON)
    app[TrainingController].start()
    qtbot.wait(100)
    assert not app.bridge.service.runs
    assert not app.bridge.home.runs.exists()


def test_the_command_on_show_is_the_command_that_runs(qtbot: QtBot, app: App) -> None:
    shown = find(app, names.COMMAND_PREVIEW, QPlainTextEdit).toPlainText()
    assert shown in find(app, "equivalentLine").toolTip(), "in a small window too"
    plan = app[TrainingController].plan
    start(qtbot, app)
    qtbot.waitUntil(lambda: app[TrainingController].state is RunState.RUNNING)
    record = app[TrainingController].record
    assert plan is not None
    assert record is not None
    argv = psutil.Process(record.pid).cmdline()
    assert argv == list(plan.argv)
    assert shown == plan.command_line
    assert find(app, names.COMMAND_PREVIEW, QPlainTextEdit).toPlainText() != shown
    assert not find(app, names.CONSENT_CHECK, QCheckBox).isChecked()


def test_train_new_lists_the_checks(qtbot: QtBot, app: App) -> None:
    set_up(qtbot, app)
    click(app, names.TRAIN_NEW_BUTTON)
    qtbot.waitUntil(lambda: not app[TrainingController].checking)
    texts = find(app, names.PREFLIGHT_LIST)
    assert texts.count() == 6
    assert texts.item(2).text() == "ok Task: Tiny goal, built in"


def test_a_missing_gpu_blocks_the_start_and_one_click_goes_on_with_the_cpu(
    qtbot: QtBot, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def probe(runner: object) -> dict[str, object]:
        return {"python": "3.11", "modules": {}, "gpus": []}

    monkeypatch.setattr(preflight, "_probe", probe)
    set_up(qtbot, app)
    app[TrainingController].draft.set_values({"device": "cuda:0", "num_envs": 8192})
    click(app, names.CONSENT_CHECK)
    click(app, names.START_TRAINING_BUTTON)
    qtbot.waitUntil(lambda: not app[TrainingController].starting)
    assert not app.bridge.service.runs
    assert "CUDA" in app[TrainingController].reason()
    fix = app[TrainingDock].launch.checks.fix
    assert fix.isVisible()
    qtbot.mouseClick(fix, Qt.MouseButton.LeftButton)
    assert app[TrainingController].draft.config.device == "cpu"
    qtbot.waitUntil(lambda: len(app[TrainingController].checks) == 6 and not app[TrainingController].checking)
    assert not any(check.status == "fail" for check in app[TrainingController].checks)


def test_the_badge_walks_through_a_whole_run(qtbot: QtBot, make_app) -> None:
    app = make_app(updates=5, interval_s=0.01)
    seen = [app[RunHeader].badge.text()]

    def note() -> None:
        text = app[RunHeader].badge.text()
        if text != seen[-1]:
            seen.append(text)

    app[TrainingController].badge_changed.connect(note)
    start(qtbot, app)
    qtbot.waitUntil(lambda: app[TrainingController].state is RunState.FINISHED)
    assert seen == ["Idle", "Preflight", "Starting", "Running", "Finished"]


def test_curves_log_table_and_checkpoint_appear_while_it_runs(qtbot: QtBot, app: App) -> None:
    sizes: list[int] = []
    app[RunInfoController].disk_use_read.connect(lambda _, size: sizes.append(size))
    start(qtbot, app)
    qtbot.waitUntil(
        lambda: app[TelemetryModel].focus and len(app[TelemetryModel].run(app[TelemetryModel].focus).table) > 20
    )
    card = app[TelemetryDock].cards["reward_mean"]
    qtbot.waitUntil(lambda: card.redraws > 1)
    assert card.readout()["reward"] > -0.01
    assert app[RunList].rowCount() == 1
    click(app, names.STOP_TRAINING_BUTTON)
    qtbot.waitUntil(lambda: app[TrainingController].state is RunState.STOPPED)
    assert app[CheckpointList].rowCount() == 1
    qtbot.waitUntil(lambda: len(sizes) > 1 and sizes[-1] > sizes[0])  # a checkpoint takes room
    app[LogDock].flush()
    assert "stray print" in app[LogDock].view.toPlainText()
    assert "stopped by you" in app[RunHeader].left.value.text()


def test_the_badge_says_how_far_a_validation_is(qtbot: QtBot, make_app) -> None:
    found = "greedy 1.00, sampled 0.38: not confirmed"
    app = make_app(updates=1000, interval_s=0.01, validates=True, found=found)
    start(qtbot, app)
    header = app[RunHeader]
    qtbot.waitUntil(lambda: header.badge.text() == "Validating 7 of 16")
    assert not any("7 of 16" in line.text for line in app[LogBuffer].lines)
    run_id = app[TrainingController].run_id
    (app.bridge.home.run(run_id).root / "validated").touch()
    qtbot.waitUntil(lambda: header.badge.text() == "Running")
    qtbot.waitUntil(lambda: header.left.remark.text() == found)


def test_a_form_with_a2c_in_long_rollouts_says_how_it_learns(qtbot: QtBot, app: App) -> None:
    training = app[TrainingController]
    training.draft.set_values({"task": "pocket_quest/leave_bedroom"})
    set_up(qtbot, app)
    click(app, names.TRAIN_NEW_BUTTON)
    training.draft.set_text("algo", "a2c")
    qtbot.waitUntil(lambda: any(check.name == "Algorithm" for check in training.checks))
    (found,) = [check for check in training.checks if check.name == "Algorithm"]
    assert found.status == "warn"
    assert found.detail.startswith("A2C makes one optimizer step per rollout")
    assert found.remedy["num_steps"] == 5


def test_a_silent_worker_is_shown_as_stalled_and_the_next_record_clears_it(qtbot: QtBot, app: App) -> None:
    start(qtbot, app)
    qtbot.waitUntil(lambda: app[TrainingController].state is RunState.RUNNING)
    click(app, names.PAUSE_TRAINING_BUTTON)
    qtbot.waitUntil(lambda: app[TrainingController].state is RunState.PAUSED)
    qtbot.waitUntil(lambda: find(app, names.PAUSE_TRAINING_BUTTON).accessibleName() == "Resume")
    click(app, names.PAUSE_TRAINING_BUTTON)
    qtbot.waitUntil(lambda: app[TrainingController].state is RunState.RUNNING)
    app[TrainingController].last_record_at -= 31
    assert app[TrainingController].stalled_for() > 30
    qtbot.waitUntil(lambda: app[TrainingController].stalled_for() == 0)


def test_bad_lines_are_shown_in_the_log_and_the_curve_goes_on(qtbot: QtBot, make_app) -> None:
    app = make_app(updates=5, interval_s=0.01, garbage=True)
    start(qtbot, app)
    qtbot.waitUntil(lambda: app[TrainingController].state is RunState.FINISHED)
    assert len(app[TelemetryModel].run(app[TrainingController].run_id).table) == 5
    app[LogDock].flush()
    assert app[LogDock].view.toPlainText().count("bad line") == 10


def test_the_demo_is_two_clicks(qtbot: QtBot, make_app) -> None:
    app = make_app(updates=1000, interval_s=0.01)
    click(app, "startDemoButton")
    app[TrainingController].draft.set_values({"task": "tiny_goal"})
    assert find(app, "demoCommand", QPlainTextEdit).toPlainText()
    assert not app.bridge.service.runs
    click(app, "runDemoButton")
    qtbot.waitUntil(lambda: app[TrainingController].state is RunState.RUNNING)
    assert app.window.center.currentWidget() is app[EnvWall]


def test_a_second_window_sees_what_the_first_one_ran(qtbot: QtBot, make_app, tmp_path: Path) -> None:
    first = make_app(updates=20, interval_s=0.01)
    start(qtbot, first)
    qtbot.waitUntil(lambda: first[TrainingController].state is RunState.FINISHED)
    second = make_app()
    run_id = first[TrainingController].run_id
    qtbot.waitUntil(lambda: len(second[TelemetryModel].run(run_id).table) == 20)
    qtbot.waitUntil(lambda: second[CheckpointList].rowCount() == 1)
    assert second[TrainingController].state is RunState.FINISHED


def test_closing_while_it_runs_asks_and_stopping_leaves_no_process(qtbot: QtBot, app: App) -> None:
    start(qtbot, app)
    qtbot.waitUntil(lambda: app[TrainingController].state is RunState.RUNNING)
    record = app[TrainingController].record
    assert record is not None
    pid = record.pid
    app.window.close()
    click(app, "cancelCloseButton")
    assert not app[Shutdown].has_begun
    assert app[TrainingController].state is RunState.RUNNING
    app.window.close()
    qtbot.waitUntil(lambda: app.window.findChildren(QPushButton, "stopAndCloseButton"))
    click(app, "stopAndCloseButton")
    qtbot.waitUntil(lambda: app[Shutdown].has_ended)
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    assert app.bridge.service.registry.load()[app[TrainingController].run_id].state is RunState.STOPPED


def test_keep_running_closes_the_app_and_hands_its_runs_over(
    qtbot: QtBot, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(qtbot, app)
    qtbot.waitUntil(lambda: app[TrainingController].state is RunState.RUNNING)
    service, kept = app.bridge.service, []
    close = service.close

    async def noted(*, keep: bool = False) -> None:
        kept.append(keep)
        await close()  # the test leaves no detached host behind

    monkeypatch.setattr(service, "close", noted)
    app.window.close()
    click(app, "keepRunningButton")
    qtbot.waitUntil(lambda: app[Shutdown].has_ended)
    assert kept == [True]


def test_a_detached_run_is_handed_to_the_keeper_and_closing_asks_nothing(qtbot: QtBot, app: App) -> None:
    service, called = app.bridge.service, []
    service._start_detached_host = called.append
    set_up(qtbot, app)
    click(app, "exactCommand")
    click(app, names.DETACH_CHECK)
    assert find(app, "equivalentLine").text().endswith(" --detach")
    start(qtbot, app)
    qtbot.waitUntil(lambda: called)
    (entry,) = service.queue.entries()
    assert (entry.run_id, entry.detached) == (app[TrainingController].run_id, True)
    assert app[TrainingController].state is RunState.QUEUED
    app.window.close()
    qtbot.waitUntil(lambda: app[Shutdown].has_ended)
    assert [waits.run_id for waits in service.queue.entries()] == [entry.run_id]


def test_a_card_says_that_kernels_compile_until_the_first_update(qtbot: QtBot, make_app) -> None:
    app = make_app(updates=1000, interval_s=0.01, compiles=True)
    wall, curves = app[EnvWall], app[CurvesView]
    start(qtbot, app)
    qtbot.waitUntil(lambda: "part 2, ppu.render_parallel" in wall.card.words.text())
    assert app.window.center.currentWidget() is wall
    assert wall.card.isVisible()
    assert wall.card.bar.value() == round(0.87 * wall.card.bar.maximum())
    assert not wall.view.isVisible()
    assert wall.view.hint == "The run is starting"
    app[Navigation].show(Place.CURVES)
    qtbot.waitUntil(lambda: curves.compiling_card.isVisible())
    plot = app[TelemetryDock].cards["reward_mean"]
    plot.redraw()
    assert plot._empty.text() == "Compiling the Game Boy, once"
    (app.bridge.home.run(app[TrainingController].run_id).root / "compiled").touch()
    qtbot.waitUntil(lambda: app[TelemetryModel].run(app[TelemetryModel].focus).last_update)
    assert not curves.compiling_card.is_on
    qtbot.waitUntil(lambda: not curves.compiling_card.isVisible())
    app[Navigation].show(Place.WALL)
    assert wall.view.isVisible()


def test_a_worker_that_dies_while_it_compiles_leaves_no_card(qtbot: QtBot, make_app) -> None:
    app = make_app(compiles=True)
    start(qtbot, app)
    qtbot.waitUntil(lambda: app[EnvWall].card.is_on)
    run = app[TrainingController].record
    assert run is not None
    psutil.Process(run.pid).kill()
    qtbot.waitUntil(lambda: app[TrainingController].state.is_end)
    assert not app[EnvWall].card.is_on
    assert app[EnvWall].view.hint == "This run has ended: Deploy shows what it learned"


def test_the_demo_is_offered_once_and_again_where_its_card_is_gone(app: App) -> None:
    other = find(app, "startDemoFromRuns")
    assert find(app, "welcomePage").isVisible()
    assert other.isHidden(), "one button is enough"
    app[Navigation].leave_welcome()
    assert not other.isHidden()
    other.click()
    assert find(app, "welcomePage").isVisible()
    assert other.isHidden()


def test_a_queued_run_says_what_it_waits_for_and_leaves_the_focus(qtbot: QtBot, make_app) -> None:
    app = make_app(updates=100_000, interval_s=0.02)
    training, model, curves = app[TrainingController], app[TelemetryModel], app[CurvesView]
    start(qtbot, app)
    qtbot.waitUntil(lambda: training.state is RunState.RUNNING and model.run(model.focus).last_update)
    first = training.run_id
    app[Navigation].show(Place.CURVES)
    start(qtbot, app)
    qtbot.waitUntil(lambda: len(app.bridge.service.queue.entries()) == 1)
    qtbot.waitUntil(lambda: app.window.banners.banners)
    (second,) = [entry.run_id for entry in app.bridge.service.queue.entries()]
    assert (training.run_id, model.focus) == (first, first)
    assert find(app, names.STOP_TRAINING_BUTTON).isEnabled()
    app[RunsController].show(second)
    words = app[RunsController].waiting_for(app.bridge.service.runs[second])
    assert words.startswith("Waiting for ")
    qtbot.waitUntil(lambda: curves._empty.isVisible())
    assert curves._empty.text() == words
    plot = app[TelemetryDock].cards["reward_mean"]
    plot.redraw()
    assert plot._empty.text() == words
    app.bridge.spawn(app.bridge.service.stop(second))
    qtbot.waitUntil(lambda: curves._empty.text() == "No update before it was stopped")
    assert not app.window.banners.banners, "it waits no more"


def test_a_double_click_on_resume_resumes_once(qtbot: QtBot, make_app) -> None:
    app = make_app(updates=100_000, interval_s=0.01)
    training, problems = app[TrainingController], []
    app.bridge.problem.connect(lambda title, cause: problems.append(cause))
    start(qtbot, app)
    qtbot.waitUntil(lambda: training.record and training.record.env_steps)
    click(app, names.STOP_TRAINING_BUTTON)
    qtbot.waitUntil(lambda: training.state.is_end)
    qtbot.waitUntil(lambda: training.record and training.record.last_checkpoint)
    qtbot.waitUntil(lambda: find(app, "resumeRunButton").isEnabled())
    app[RunsController].resume()
    assert not find(app, "resumeRunButton").isEnabled(), "its verb is under way"
    app[RunsController].resume()
    qtbot.waitUntil(lambda: training.state is RunState.RUNNING)
    qtbot.wait(50)
    assert problems == []
    assert not training.resuming


def test_the_second_half_of_a_double_click_is_not_for_other_words(
    qtbot: QtBot, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = []
    words = ["Stop"]
    action = app.actions.add("both", lambda: words[0], lambda: done.append(words[0]))
    made = action_button(action, "bothButton")
    QApplication.setDoubleClickInterval(400)
    try:
        made.click()
        words[0] = "Force now"
        action.refresh()
        made.click()
        assert done == ["Stop"]
        qtbot.wait(450)
        made.click()
        assert done == ["Stop", "Force now"], "later it is a click of its own"
    finally:
        QApplication.setDoubleClickInterval(1)


def test_a_steady_button_does_what_it_says_and_changes_only_when_it_is_let_go(qtbot: QtBot, app: App) -> None:
    done, words = [], ["Pause"]
    action = app.actions.add("steady", lambda: words[0], lambda: done.append(words[0]))
    made = SteadyButton(action, "steadyButton")
    made.click()
    words[0] = "Resume"
    action.refresh()
    made.click()
    assert (made.text(), done) == ("Pause", ["Pause"]), "the second click of a double click does nothing"
    made.setDown(True)
    qtbot.wait(WORDS_MS + 50)
    assert made.text() == "Pause", "not under a pressed pointer"
    made.setDown(False)
    qtbot.waitUntil(lambda: made.text() == "Resume")
    made.click()
    assert done == ["Pause", "Resume"]


def test_a_run_is_sent_to_wandb_only_if_that_is_ticked_for_it(
    qtbot: QtBot, make_app, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_BASE_URL", NOWHERE)
    monkeypatch.setattr(preflight, "check_wandb", lambda to: preflight.Check(name="W&B", status="ok", detail=to))
    app = make_app(updates=3)
    training = app[TrainingController]
    set_up(qtbot, app)
    click(app, names.CONSENT_CHECK)
    click(app, "exactCommand")
    click(app, names.WANDB_CHECK)
    assert not training.consent, "the command is another one now"
    target = find(app, "wandbTarget")
    assert isinstance(target, QLineEdit)
    qtbot.keyClicks(target, "/mine")
    assert find(app, "equivalentLine").text().endswith(" --wandb dmglab/mine")
    start(qtbot, app)
    qtbot.waitUntil(lambda: any("mine" in told.notice.title for told in app.context.notices.history))
    run = app.bridge.home.run(training.run_id)
    found = read_wandb(run)
    assert found is not None
    assert (found.project, found.name, found.state) == ("dmglab", "mine", "failed")
    assert training.wandb == ""
    assert not find(app, names.WANDB_CHECK).isChecked()
    app[TelemetryDock].tabs.setCurrentWidget(app[TelemetryDock].info)
    app[TelemetryDock].info.show_wandb(run.run_id, msgspec.structs.replace(found, url="http://127.0.0.1/x"))
    assert '<a href="http://127.0.0.1/x"' in find(app, "runInfo").toHtml()
    assert find(app, "openWandbPage").isVisible()
