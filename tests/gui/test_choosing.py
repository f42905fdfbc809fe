"""Demo, checkpoints and banners: what a person chose stays chosen, what plays has a name."""

# pyright: reportOptionalMemberAccess=false
from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
import shiboken6
from PIL import Image
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QPixmapCache
from PySide6.QtWidgets import QPushButton, QWidget

from gui.app import App
from gui.features.checkpoints.controller import CheckpointsController
from gui.features.checkpoints.dock import THUMB, CheckpointsDock, _thumbnail
from gui.features.header.view import RunHeader
from gui.features.play.ahead import PlayAhead
from gui.features.play.controller import PlayController
from gui.features.runners.dock import AgentDock
from gui.features.train.controller import DEMO, TrainingController
from gui.features.train.welcome import Demo
from gui.kit import object_names as names
from gui.kit import theme
from gui.kit.containers import Dock
from gui.kit.screen import Palette
from gui.kit.style_sheet import CARD_ROW
from gui.shell.notices import LIFE_MS
from gui.state.checkpoints import CheckpointCard, CheckpointList
from gui.state.config_fields import train_line
from gui.state.notices import Notice, Notices
from gui.state.session import Session
from gui.state.telemetry import TelemetryModel
from tests.gui.conftest import QtBot, click, find, press, replaced, set_up, use_echo
from tests.support.made_checkpoints import make_checkpoint
from tests.support.made_records import run_record
from trainer_core.cli.options import parse
from trainer_core.cli.train import Options
from trainer_core.lab.presets import PRESETS, preset_config
from trainer_core.wire import records
from trainer_core.wire.config import RunConfig
from trainer_core.wire.run_record import RunState
from trainer_core.wire.shades import GREY_LEVELS, SCREENS


def card(folder: Path, steps: int, rate: float, run_id: str = "r") -> CheckpointCard:
    folder.mkdir(parents=True, exist_ok=True)
    return CheckpointCard(
        folder=folder,
        run_id=run_id,
        task="tiny_goal",
        algo="ppo",
        env_steps=steps,
        success_rate=rate,
        sha256="",
        size_bytes=0,
        created_at=float(steps),
        integrity="verified",
    )


def announce(app: App, steps: int) -> Path:
    """A live run's word that it wrote a checkpoint, which it did."""
    folder = make_checkpoint(app.bridge.home.run("r").checkpoint(steps))
    app.bridge.service.runs["r"] = run_record("r")
    app.bridge.event_received.emit(
        "r",
        records.CheckpointRecord(
            run_id="r",
            seq=steps,
            time=float(steps),
            env_steps=steps,
            path=f"checkpoints/{folder.name}",
            sha256="",
            size_bytes=1,
            success_rate=0.0,
            reason="periodic",
        ),
    )
    return folder


def test_a_new_checkpoint_is_selected_only_where_the_newest_was(qtbot: QtBot, app: App) -> None:
    model = app[CheckpointList]
    first = announce(app, 1)
    assert model.selected.folder == first
    second = announce(app, 2)
    assert model.selected.folder == second, "who watches the newest goes on watching it"
    model.select(first)
    announce(app, 3)
    qtbot.wait(50)
    assert model.selected.folder == first, "a choice is kept"
    assert model.rowCount() == 3


def test_a_checkpoint_that_its_run_thins_out_at_once_is_not_called_missing(qtbot: QtBot, app: App) -> None:
    kept, gone = announce(app, 1), announce(app, 2)
    shutil.rmtree(gone)  # before a thread could look at it
    qtbot.waitUntil(lambda: app[CheckpointList].rowCount() == 1)
    qtbot.wait(50)
    assert [card.folder for card in app[CheckpointList].cards] == [kept]


def test_the_best_of_each_run_has_the_star(qapp, tmp_path: Path) -> None:
    model = CheckpointList()
    cards = [
        card(tmp_path / "a1", 1, 0.5),
        card(tmp_path / "a2", 2, 0.9),
        card(tmp_path / "a3", 3, 0.9),
        card(tmp_path / "b1", 4, 0.1, "other"),
        card(tmp_path / "c1", 5, 0.0, "nothing"),
    ]
    model.put_all(cards)
    assert {c.folder.name for c in model.cards if model.is_best(c)} == {"a3", "b1"}
    model.put(replaced(cards[0], success_rate=1.0))
    assert {c.folder.name for c in model.cards if model.is_best(c)} == {"a1", "b1"}
    leaves = replaced(cards[3], folder=tmp_path / "b2", leaving_rate=0.8, created_at=0.0)
    model.put_all([leaves])
    assert model.is_best(leaves), "among equals the one that leaves loops best"
    assert not model.is_best(cards[3])
    words = model.data(model.index(model.row_of(leaves.folder)), Qt.ItemDataRole.ToolTipRole)
    assert "greedy 10 %, loops left by chance 80 %, sampled 0 %" in str(words)
    assert "\u2605" in str(words)
    assert leaves.success_text == "10 %"
    assert (cards[4].success_text, replaced(cards[4], is_validated=False).success_text) == ("0 %", "\u2013")


def test_a_card_plays_by_a_click_on_its_picture_and_live_names_it(qtbot: QtBot, app: App, tmp_path: Path) -> None:
    app[CheckpointsController].import_folder(make_checkpoint(tmp_path / "mail"))
    qtbot.waitUntil(lambda: app[CheckpointList].rowCount() == 1)
    view = app[CheckpointsDock].list
    rect = view.visualRect(view.model().index(0, 0))
    rect.setTop(rect.bottom() + 1 - CARD_ROW)  # above is the heading
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=rect.topLeft() + QPoint(200, THUMB.center().y()))
    qtbot.wait(50)
    assert not app[PlayController].busy
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=rect.topLeft() + THUMB.center())
    qtbot.waitUntil(lambda: app[PlayController].is_active and not app[PlayController].busy)
    badge = find(app, "playsBadge").text()
    assert badge.startswith("Tiny goal, success 75 % greedy, "), "its end may be cut off"
    assert badge.endswith("after 4,096 steps")
    modes, told = find(app, "policyMode"), find(app, "policyModeWords")
    assert told.text() == "The most likely action, but another one where a picture repeats"
    modes.setCurrentIndex(modes.findData("greedy"))
    modes.activated.emit(modes.currentIndex())
    assert told.text() == "Always the most likely action; from the next Deploy on"
    card = replaced(app[CheckpointList].cards[0], leaving_rate=1.0, sampled_rate=0.5)
    assert card.rate_words("leave_loops") == "100 % loops left by chance", "which is how it plays"
    click(app, "playStopButton")
    qtbot.waitUntil(lambda: not find(app, "playsBadge").text())


@pytest.mark.parametrize("preset", PRESETS)
def test_the_line_on_show_trains_the_same(preset: str) -> None:
    config = RunConfig.from_dict(
        {
            **preset_config(preset).to_dict(),
            "task": "pocket_quest/leave_bedroom",
            "learning_rate": 0.000123456789,
            "seed": 77,
            "num_minibatches": 2,
            "num_envs": 64,
        }
    )
    words = shlex.split(train_line(config))
    assert words[:2] == ["dmglab", "train"]
    assert len(words) < 20, "only what differs"
    base = Options(run=preset_config(words[words.index("--preset") + 1]))
    assert parse(Options, "train", words[2:], base).run == config


def test_good_news_leave_the_status_bar_and_bad_news_stay(
    qtbot: QtBot, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tone in LIFE_MS:
        monkeypatch.setitem(LIFE_MS, tone, 30)
    area, status = app.window.banners, app.window._run
    for tone in ("error", "warn", "info", "good"):
        area.show_notice(Notice(f"Told {tone}", "and gone", tone))
    assert status.isHidden(), "the notice has the line to itself"
    qtbot.waitUntil(lambda: [banner.notice.tone for banner in area.banners] == ["error", "warn"])
    qtbot.wait(100)
    assert [banner.notice.tone for banner in area.banners] == ["error", "warn"]
    for banner in list(area.banners):
        banner.dismissed.emit(banner)
    assert not status.isHidden()


def test_a_notice_lies_over_nothing_and_moves_nothing(qtbot: QtBot, app: App) -> None:
    window = app.window
    window.resize(1280, 800)
    qtbot.wait(50)
    before = [(each, each.geometry()) for each in (window.centralWidget(), *window.findChildren(Dock))]
    for number in range(5):
        app[Notices].tell(f"Told {number}", "x" * 300, "error", "Do it", lambda: None)
    qtbot.wait(50)
    shown = [banner for banner in window.banners.banners if banner.isVisible()]
    assert [banner.title for banner in shown] == ["Told 4"]
    assert window.statusBar().isAncestorOf(shown[0])
    assert window.statusBar().rect().contains(window.banners.geometry())
    assert before == [(each, each.geometry()) for each, _ in before]
    assert window.width() == 1280
    shown[0].dismissed.emit(shown[0])
    assert window.banners.banners[-1].isVisible()
    assert window.banners.banners[-1].title == "Told 3"


def test_notices_go_when_they_are_moot_and_can_be_read_again(qtbot: QtBot, app: App) -> None:
    notices, area, done = app[Notices], app.window.banners, []
    notices.tell("Training finished", "", "good", "Deploy", subject="end", act=lambda: None)
    notices.tell("Training failed", "why", "error", "Help", lambda: done.append(1), subject="end")
    assert [banner.title for banner in area.banners] == ["Training failed"]
    bell = find(app, "noticesButton")
    assert bell.text() == "2"
    click(app, "noticesButton")
    assert bell.text() == ""
    offers = [each.text() for each in bell.list.findChildren(QPushButton)]
    assert offers == ["Help"], "what another one took the place of offers nothing"
    qtbot.mouseClick(bell.list.findChildren(QPushButton)[0], Qt.MouseButton.LeftButton)
    assert done == [1]
    assert area.banners == []
    notices.tell("Again", "", "good", "Do it", lambda: None, subject="end")
    notices.withdraw("end")
    assert area.banners == []
    assert [told.is_over for told in notices.history] == [True] * 3


def test_an_offer_that_nobody_takes_goes_into_the_list(qtbot: QtBot, app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LIFE_MS, "good", 20)
    app[Notices].tell(
        "Recording saved", "", "good", "Open replay", lambda: None, also="Show folder", act_also=lambda: None
    )
    (banner,) = app.window.banners.banners
    assert [each.text() for each in banner.findChildren(QPushButton)] == ["Open replay"], "one button in the bar"
    qtbot.waitUntil(lambda: not app.window.banners.banners)
    click(app, "noticesButton")
    found = find(app, "noticesButton").list
    assert [each.text() for each in found.findChildren(QPushButton)] == ["Open replay", "Show folder"]
    click(app, "noticesButton")
    assert not shiboken6.isValid(found) or not found.isVisible(), "the bell closes what it opened"
    click(app, "noticesButton")
    qtbot.keyClick(find(app, "noticesButton").list, Qt.Key.Key_Escape)
    assert app.window.findChild(QWidget, "noticeList") is None or not find(app, "noticeList").isVisible()


def test_what_the_last_run_came_to_is_over_when_another_one_begins(qtbot: QtBot, make_app) -> None:
    app = make_app(updates=3, interval_s=0.01)
    name = app[TelemetryModel].label(start_own(qtbot, app))
    qtbot.waitUntil(lambda: [b.title for b in app.window.banners.banners] == [f"{name} finished"])
    use_echo(app, updates=100_000, interval_s=0.05)
    start_own(qtbot, app)
    assert app.window.banners.banners == []


def test_the_demos_clock_starts_with_its_first_update_and_can_be_wound_again(qtbot: QtBot, make_app) -> None:
    app = make_app(updates=100_000, interval_s=0.02)
    demo, training = app[Demo], app[TrainingController]
    demo.clock.setInterval(300)
    training.prepare_demo()
    training.draft.set_values({"task": "tiny_goal"})
    training.start_demo()
    qtbot.waitUntil(lambda: demo.run_id)
    run_id = demo.run_id
    while not training.record.env_steps:
        assert not demo.clock.isActive(), "nothing was learned yet"
        qtbot.wait(1)
    qtbot.waitUntil(lambda: demo.clock.isActive())
    qtbot.waitUntil(lambda: training.state is RunState.STOPPED)
    qtbot.waitUntil(lambda: app.window.banners.banners)
    banner = app.window.banners.banners[-1]
    assert banner.title == "Not yet learned"
    assert training.record.reason == "the demo's minute is over"
    qtbot.waitUntil(lambda: training.record.last_checkpoint)
    press(banner)
    qtbot.waitUntil(lambda: training.state is RunState.RUNNING)
    assert demo.run_id == run_id
    qtbot.waitUntil(lambda: demo.clock.isActive())
    qtbot.waitUntil(lambda: training.state is RunState.STOPPED)


def start_own(qtbot: QtBot, app: App) -> str:
    """Start what the form holds, by the box and the button; the run's id once it runs."""
    training = app[TrainingController]
    set_up(qtbot, app)
    click(app, names.CONSENT_CHECK)
    click(app, names.START_TRAINING_BUTTON)
    qtbot.waitUntil(lambda: training.state is RunState.RUNNING and not training.starting)
    return training.run_id


def test_a_run_of_the_form_has_no_clock_even_with_the_demos_values(qtbot: QtBot, app: App) -> None:
    app[TrainingController].draft.set_values({**DEMO.fields, "task": "tiny_goal"})
    run_id = start_own(qtbot, app)
    qtbot.waitUntil(lambda: app[TelemetryModel].run(run_id).last_update)
    assert app[Demo].run_id == ""
    assert not app[Demo].clock.isActive()
    assert find(app, names.STOP_TRAINING_BUTTON).isEnabled()


def test_the_demo_gives_the_form_back_and_stops_no_run_of_it(qtbot: QtBot, make_app) -> None:
    app = make_app(updates=100_000, interval_s=0.02)
    demo, training = app[Demo], app[TrainingController]
    demo.clock.setInterval(200)
    training.draft.set_text("num_envs", "7")
    before = training.draft.state()
    click(app, "startDemoButton")
    assert training.draft.state() != before
    click(app, "demoBackButton")
    assert training.draft.state() == before
    click(app, "startDemoButton")
    training.draft.set_text("seconds", "901")  # somebody writes into the form meanwhile
    click(app, "demoBackButton")
    assert training.draft.text("seconds") == "901", "what was typed is not taken away"
    training.draft.put_state(before)
    click(app, "startDemoButton")
    training.draft.set_values({"task": "tiny_goal"})
    click(app, "runDemoButton")
    qtbot.waitUntil(lambda: demo.run_id and demo.run_id == training.run_id and training.record)
    qtbot.waitUntil(lambda: training.draft.state() == before)
    qtbot.waitUntil(lambda: training.state is RunState.STOPPED)
    first = demo.run_id
    own = start_own(qtbot, app)
    qtbot.waitUntil(lambda: app[TelemetryModel].run(own).last_update)
    assert demo.run_id == first
    assert not demo.clock.isActive()


def test_an_agreement_is_about_one_command(qtbot: QtBot, app: App) -> None:
    set_up(qtbot, app)
    training, box = app[TrainingController], find(app, names.CONSENT_CHECK)
    click(app, "equivalentLine")  # unfolds the exact process and what changes it
    for change in (
        lambda: training.draft.set_text("num_envs", "9"),
        lambda: training.draft.set_values({"device": "cuda:0"}),
        lambda: click(app, names.DETACH_CHECK),
    ):
        click(app, names.CONSENT_CHECK)
        assert box.isChecked()
        change()
        assert not box.isChecked()
        assert not training.consent
    click(app, names.CONSENT_CHECK)
    training.draft.set_text("num_envs", "9")  # as it was
    training._renew_plan()  # a worker that loads ahead gives the run another name
    assert box.isChecked()


def test_the_form_is_as_it_was_after_a_kill(qtbot: QtBot, app: App, make_app) -> None:
    app[TrainingController].draft.set_text("num_envs", "11")
    app[TrainingController].draft.set_text("learning_rate", "zzz")
    file = app.bridge.home.settings / "app.json"
    qtbot.waitUntil(lambda: file.exists() and "zzz" in file.read_text())  # nothing is closed
    again = make_app(home=app.bridge.home.root)[TrainingController].draft
    assert (again.text("num_envs"), again.text("learning_rate")) == ("11", "zzz")


def test_the_dot_of_a_silent_run_is_not_green(app: App) -> None:
    badge = app[RunHeader].badge
    badge.setParent(None)
    shown = []
    for words in ("", "Stalled, no data for 32 s"):
        badge.set_state(RunState.RUNNING, words)
        picture = badge.grab().toImage()
        shown.append(picture.pixelColor(6, badge.height() // 2))
    assert shown[0] == QColor(theme.current().accent)
    assert shown[1] == QColor(theme.current().warn)


def test_several_tasks_are_ticked_and_their_policy_follows_the_choice(qtbot: QtBot, app: App, tmp_path: Path) -> None:
    several, draft = app[AgentDock].several, app[TrainingController].draft
    both = ("pocket_quest/leave_bedroom", "mirror_moths/level_2")
    app[Session].set_task(both[0])
    assert several.text() == "+"
    several.fill()
    assert [task for task, box in several.boxes.items() if box.isChecked()] == [both[0]]
    several.boxes[both[1]].setChecked(True)
    assert sorted(draft.config.task.split(",")) == sorted(both)
    assert several.text() == "2"
    assert app[TrainingController].plan.spec.task == draft.config.task
    several.boxes[both[0]].setChecked(False)
    assert draft.config.task == app[Session].task == both[1]
    several.boxes[both[1]].setChecked(False)
    assert draft.config.task == both[1], "a run has a task"
    # A policy of both: it plays the chosen one, and goes over to the other when that is chosen.
    playing = app[PlayController]
    app[CheckpointsController].import_folder(make_checkpoint(tmp_path / "mail", task=",".join(both)))
    qtbot.waitUntil(lambda: app[CheckpointList].rowCount() == 1)
    click(app, names.DEPLOY_BUTTON)
    qtbot.waitUntil(lambda: playing.request and not playing.busy)
    assert playing.request.task == both[1]
    badge = find(app, "playsBadge").text()
    assert badge.startswith(f"{app[Session].task_title(both[1])} (one of its 2 tasks: choose on the left), ")
    app[Session].set_task(both[0])
    qtbot.waitUntil(lambda: playing.request.task == both[0] and not playing.busy)
    app[Session].set_task("tiny_goal")
    qtbot.wait(50)
    assert playing.request.task == both[0], "another task is none of its own"


def test_cards_stand_under_headings_and_those_of_one_run_can_stand_alone(
    qtbot: QtBot, app: App, tmp_path: Path
) -> None:
    model, view = app[CheckpointList], app[CheckpointsDock].list
    model.put_all(
        [
            card(tmp_path / "a1", 1, 0.5, "alone"),
            card(tmp_path / "a2", 2, 0.9, "alone"),
            replaced(card(tmp_path / "b1", 4, 0.1, "other"), task="zoo/feed"),
            replaced(card(tmp_path / "b2", 3, 0.1, "other"), task="zoo/feed"),
        ]
    )

    def heights() -> list[int]:
        shown = [row for row in range(model.rowCount()) if not view.isRowHidden(row)]
        return [view.visualRect(model.index(row)).height() for row in shown]

    qtbot.waitUntil(lambda: len(heights()) == 4)
    assert heights() == [120, 88, 120, 88], "the first of each task and algorithm has the heading"
    model.put(card(tmp_path / "a3", 9, 0.2, "alone"))
    qtbot.waitUntil(lambda: heights() == [120, 88, 88, 120, 88])
    assert model.selected is not None
    assert model.selected.folder.name == "b1", "the newest of all, and nothing took the selection"
    app[TrainingController].show("other")
    click(app, "ownCheckpointsButton")
    qtbot.waitUntil(lambda: heights() == [120, 88])
    assert model.selected is not None
    assert model.selected.run_id == "other"
    app[TrainingController].show("none of these")
    assert model.selected is None
    assert not app.actions["deploy"].isEnabled()
    assert heights() == []
    click(app, "ownCheckpointsButton")
    assert model.selected is not None
    assert len(heights()) == 5


def test_pictures_of_checkpoints_have_the_colours_of_the_games_screen(app: App, tmp_path: Path) -> None:
    path = tmp_path / "thumbnail.png"
    Image.fromarray(np.repeat(np.array(GREY_LEVELS, np.uint8), 40)[None]).save(path)
    palette = app[Palette]

    def seen() -> list[int]:
        image = _thumbnail(path, palette).toImage()
        return [image.pixelColor(40 * shade + 20, 0).rgb() & 0xFFFFFF for shade in range(4)]

    for name in ("dmg", "pocket"):
        app.actions[f"screen{name.capitalize()}"].trigger()
        assert seen() == list(SCREENS[name])
    Image.fromarray(np.full((1, 4, 3), (200, 10, 20), np.uint8)).save(path)
    QPixmapCache.clear()
    assert _thumbnail(path, palette).toImage().pixelColor(0, 0).name() == "#c80a14", "colours stay"
    path.write_bytes(b"no picture")
    QPixmapCache.clear()
    assert _thumbnail(path, palette).isNull()


def test_a_run_that_selects_one_checkpoint_after_the_other_does_not_put_a_player_off(
    qtbot: QtBot, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    async def prepare() -> None:
        asked.append("player")

    soon = app[PlayAhead]._soon
    monkeypatch.setattr(app[PlayController].player, "prepare", prepare)
    soon.setInterval(5000)
    announce(app, 1)
    assert soon.isActive()
    qtbot.wait(20)
    left = soon.remainingTime()
    announce(app, 2)
    assert 0 <= soon.remainingTime() <= left
    soon.setInterval(0)
    qtbot.waitUntil(lambda: asked)
