"""The tab of curves: which plots, overlays drawn by what is new, values at a place, mouse and keys, files."""

# pyright: reportOptionalMemberAccess=false
from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QByteArray, QEvent, QPoint, QPointF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QMouseEvent, QPainter, QWheelEvent
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication

from gui.app import App
from gui.features.curves.card import NOTHING, UNMEASURED, WAITING, PlotCard
from gui.features.curves.card_scenes import thinned
from gui.features.curves.dock import TelemetryDock
from gui.features.curves.plots import CurvesController, PlotChoices, spec_by_name
from gui.features.curves.reports import to_image
from gui.features.curves.saved_views import ViewHistory
from gui.features.curves.scene import ALL, turned_online
from gui.features.curves.view import CurvesView
from gui.kit import object_names as names
from gui.kit import theme
from gui.kit.plot_look import with_names
from gui.kit.plot_picture import Picture, stroke
from gui.kit.plot_shapes import CROWD, Curve, Scene, place_text, short_number, spread, ticks
from gui.kit.settings import Settings
from gui.state.appearance import Appearance
from gui.state.seed_groups import SeedGroup
from gui.state.session import Navigation, Place
from gui.state.telemetry import TelemetryModel
from tests.gui.conftest import QtBot, foreign_record, grow, replaced, show_dock
from tests.support.made_records import eval_record, update_record
from trainer_core.lab.paths import HomePaths
from trainer_core.wire import records


def card_of(model: TelemetryModel, metric: str = "reward_mean", width: int = 360) -> PlotCard:
    card = PlotCard(spec_by_name(metric), model)
    card.resize(width, 160)
    card.show()
    QApplication.processEvents()
    card.redraw()
    return card


def rich(model: TelemetryModel, count: int, points: int) -> list[str]:
    names = [f"run-{number:03}" for number in range(count)]
    for number, name in enumerate(names):
        grow(model, name, 1)
        table = model.runs[name].table
        rng = np.random.default_rng(number)
        table._data = rng.normal(size=(table._data.shape[0], 2 * points)).cumsum(axis=1)
        table._length = points
        table.column("env_steps")[:] = np.arange(points) * 2048
        model.runs[name].next_seq = points
    return names


@pytest.fixture
def view(app: App):
    app[Navigation].show(Place.CURVES)
    return app[CurvesView]


def test_a_run_that_goes_on_online_has_a_line_there_and_both_scores(qtbot: QtBot, app: App, view) -> None:
    model = app[TelemetryModel]
    for seq in range(6):
        model.take("r", foreign_record(seq, score=seq / 10, loss=1.0, phase=float(seq > 3)))
    model.set_focus("r")
    qtbot.waitUntil(lambda: {"score", "loss"} <= {card.spec.metric for card in view.cards_in_front()})
    for metric, words in (("score", "offline 0.300, online 0.500"), ("loss", "online")):
        card = view.board.cards[metric]
        card.redraw()
        shown = card.canvas.shown
        assert ([turn.x.tolist() for turn in shown.turns], shown.turn_words) == ([[40.0]], words)
    assert turned_online(SeedGroup([model.runs["r"]] * 2, "range", ""), "env_steps") == 40.0


def test_outliers_may_lie_outside_and_plots_are_found_by_name(qtbot: QtBot, app: App, view) -> None:
    model = app[TelemetryModel]
    model.set_smoothing(0.0)
    for seq in range(200):
        model.take("r", foreign_record(seq, loss=1e6 if seq == 3 else seq / 100, fun=1.0))
    model.set_focus("r")
    qtbot.waitUntil(lambda: {"loss", "fun"} <= {card.spec.metric for card in view.cards_in_front()})
    card = view.board.cards["loss"]
    card.redraw()
    assert card.canvas.shown.y_range[1] >= 1e6
    app.actions["trimOutliers"].trigger()
    assert card.is_stale()
    card.redraw()
    assert 2.0 < card.canvas.shown.y_range[1] < 4.0
    view.search.setText("LOS")
    qtbot.waitUntil(lambda: [card.spec.metric for card in view.cards_in_front()] == ["loss"])
    view.search.setText("nothing of the kind")
    qtbot.waitUntil(lambda: view._empty.isVisible())
    view.search.clear()
    qtbot.waitUntil(lambda: len(view.cards_in_front()) > 1 and not view._empty.isVisible())


def test_other_trainers_metrics_stand_in_groups_that_close_and_may_be_pinned(qtbot: QtBot, app: App, view) -> None:
    model, choices = app[TelemetryModel], app[PlotChoices]
    long = "losses/" + "a name that no header has room for " * 3
    told = {f"losses/{name}": 1.0 for name in "abc"} | {"charts/return": 0.5, long: 2.0}
    for seq in range(3):
        model.take("r", foreign_record(seq, **told))
    model.set_focus("r")

    def titles() -> dict[str, list[str]]:
        shown = {name: part for name, part in view._sections.items() if part.isVisible()}
        return {name: [card.spec.metric for card in part.cards] for name, part in shown.items()}

    qtbot.waitUntil(lambda: {"losses/", "charts/"} <= titles().keys() and len(titles()["losses/"]) == 4)
    assert view._column.itemAt(0).widget() is view._sections["pinned"], "it stands above all"
    charts, losses = (view._sections[name] for name in ("charts/", "losses/"))
    assert view._column.indexOf(charts) < view._column.indexOf(losses), "by their names"
    right = max(card.mapTo(view, card.rect().topRight()).x() for card in view.cards_in_front())
    assert right < view.width(), "a long title does not push plots out of sight"
    choices.speak_of("losses/b")
    app.actions["plotPin"].trigger()
    qtbot.waitUntil(lambda: titles().get("pinned") == ["losses/b"])
    assert view.board.cards["losses/b"].isVisible()
    assert "losses/b" not in titles()["losses/"]
    view._sections["losses/"].toggle.click()
    qtbot.waitUntil(lambda: titles()["losses/"] == [])
    assert view._sections["losses/"].toggle.isVisible()
    assert app[PlotChoices].state()[4:6] == (("losses/b",), ("losses/",)), "both are kept"
    view._sections["losses/"].toggle.click()
    view.search.setText("^charts|s/[ac]$ -nothing")
    qtbot.waitUntil(lambda: titles().get("losses/") == ["losses/a", "losses/c"])
    assert "pinned" not in titles()
    view.search.setText("loss*b")
    qtbot.waitUntil(lambda: titles() == {"pinned": ["losses/b"]})
    choices.reset()
    qtbot.waitUntil(lambda: titles() == {"losses/": ["losses/b"]})


def test_a_plot_that_is_dropped_goes_if_it_was_added_and_is_hidden_if_not(tmp_path: Path) -> None:
    choices = PlotChoices(Settings(HomePaths(tmp_path)))
    choices.add("mine")
    choices.drop("mine")
    assert choices.added == ()
    assert not choices.is_hidden("mine")
    choices.drop("reward_mean")
    assert choices.added == ()
    assert choices.is_hidden("reward_mean")


def test_two_hundred_metrics_of_another_trainer_leave_the_loop_free(qtbot: QtBot, app: App) -> None:
    model = app[TelemetryModel]
    model.take("r", foreign_record(0, **{f"m/{place}": 1.0 for place in range(200)}))
    begun = time.process_time()
    model.set_focus("r")
    assert time.process_time() - begun < 0.1
    qtbot.waitUntil(lambda: len(app[TelemetryDock]._further) == 200)


def test_curves_go_by_the_clock_and_are_smoothed_another_way(app: App) -> None:
    model = app[TelemetryModel]
    for seq in range(40):
        model.take("r", replaced(foreign_record(seq, loss=float(seq)), time=1.7e9 + 60 * seq))
    model.set_focus("r")
    card = card_of(model, "loss")
    model.set_x_axis("time")
    assert card.is_stale()
    card.redraw()
    low, high = card.canvas.shown.x_range
    assert low == 1.7e9
    assert 1.7e9 + 39 * 60 < high < 1.7e9 + 50 * 60
    model.set_crosshair(1.7e9 + 600)
    assert place_text(1.7e9 + 600, by_clock=True).startswith("2023-11-1")
    model.set_smoothing(0.8)
    lagging = float(card._lines.model.runs["r"].curve("loss", "time", 0.8)[1][20])
    app.actions["smoothRunning"].trigger()
    assert card.is_stale()
    card.redraw()
    smoothed = next(curve for curve in card.canvas.shown.curves if curve.owner == "r")
    assert smoothed.y[20] == pytest.approx(20.0)
    assert lagging < 19.0
    assert app.actions["smoothRunning"].isChecked()
    assert not app.actions["smoothDecaying"].isChecked()
    for seq in range(3):
        model.take("late", replaced(foreign_record(seq, loss=9.0), time=1.7e9 + 1000 + seq))
    model.set_pinned(["late"])
    card.redraw()
    assert set(card._scenes.values_at(1.7e9 + 900, {"r", "late"})) == {"r"}, "the other began later"
    assert set(card._scenes.values_at(1.7e9 + 1001, {"r", "late"})) == {"r", "late"}


def test_a_plot_of_what_no_run_on_show_measures_says_so(qapp) -> None:
    model = TelemetryModel()
    card = card_of(model)
    assert card._empty.text() == NOTHING
    model.run("r")
    model.set_focus("r")
    card.redraw()
    assert card._empty.text() == WAITING
    model.take("r", foreign_record(0, loss=1.0))
    card.redraw()
    assert card._empty.text() == UNMEASURED


# -- drawing ---------------------------------------------------------------------------------


def test_250_runs_are_drawn_in_turns_and_only_the_one_that_grew_is_drawn_again(qapp) -> None:
    model = TelemetryModel()
    names = rich(model, 250, 2000)
    model.set_focus(names[0])
    model.set_pinned(names)
    card, begun, turns = PlotCard(spec_by_name("reward_mean"), model), time.process_time(), 1
    while not card.redraw(time.perf_counter()):  # a deadline that is over at once
        turns += 1
        assert turns < 1000
    assert turns > 3
    card.grab()
    assert time.process_time() - begun < 1.0
    assert len(card.canvas.shown.curves) == 250
    card.model.take(names[0], update_record(names[0], 2000, 2000, 1.0))
    card.redraw()
    card.grab()
    card.model.runs[names[0]].table._data[1, 2000] = 2000 * 2048.0  # within the room to grow
    computed, pictures = card._lines.computed, card.canvas.pictures
    for update in range(2001, 2006):
        model.take(names[0], replaced(update_record(names[0], update, update, 1.0), reward_mean=0))
        assert card.is_stale()
        card.redraw()
        card.grab()
    assert card._lines.computed - computed == 5
    assert card.canvas.pictures == pictures, "the others were not painted again"
    begun = time.process_time()
    assert not to_image(PlotCard(card.spec, model)).isNull()
    assert time.process_time() - begun < 1.0, "as a file, too"


def test_a_plot_shows_one_of_its_lines_which_the_user_chooses(qtbot: QtBot, app: App, view) -> None:
    model, choices = app[TelemetryModel], app[PlotChoices]
    rich(model, 2, 50)
    model.set_focus("run-000")
    card = card_of(model, metric="dist_p50")
    (band,) = card.canvas.shown.bands
    assert (band.low <= band.high).mean() < 1.0, "the tenths of a made run cross"
    assert card.caption.text() == "middle 80 %"
    assert [curve.key[1:] for curve in card.canvas.shown.curves] == [("dist_p50", "raw"), ("dist_p50", "smooth")]
    card.show_choices("dist_p90", is_log=False)
    assert card.is_stale()
    card.redraw()
    assert list(card.readout()) == ["farthest tenth"]
    assert not card.canvas.shown.bands
    card.show_choices(ALL, is_log=False)
    card.redraw()
    assert len({curve.color.name() for curve in card.canvas.shown.curves}) == 3
    model.set_pinned(["run-001"])
    card.redraw()
    assert {curve.key[1] for curve in card.canvas.shown.curves} == {"dist_p50"}, "colours are those of runs"
    qtbot.waitUntil(lambda: "dist_p50" in view.board.cards)
    view.board.cards["dist_p50"].line_chosen.emit("dist_p10")
    assert choices.line("dist_p50") == "dist_p10"


@pytest.mark.parametrize("ratio", [1.0, 2.0])
def test_a_line_is_one_and_a_half_pixels_at_any_scale_alone_and_in_a_crowd(qapp, ratio: float) -> None:
    image = QImage(QSize(200, 60) * ratio, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    image.fill(QColor("black"))
    with QPainter(image) as painter:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        stroke(painter, np.array([[0.0, 10.0], [200.0, 50.0]]), QColor("white"), 1.5)
    column = [image.pixelColor(image.width() // 2, y).red() / 255 for y in range(image.height())]
    slope = np.hypot(200, 40) / 200
    assert sum(column) == pytest.approx(1.5 * ratio * slope, rel=0.2)
    ends = np.array([0.0, 200.0]), np.array([50.0, 10.0])
    crowd = [Curve((), *ends, QColor("red" if place < CROWD else "white")) for place in range(CROWD + 1)]
    scene = Scene(tuple(crowd), (0.0, 200.0), (0.0, 60.0))
    picture = Picture(None, scene, [*crowd], QSize(200, 60), ratio)
    assert picture.paint_on()
    middle = [picture.image.pixelColor(picture.image.width() // 2, y) for y in range(picture.image.height())]
    assert sum(color.alphaF() for color in middle) == pytest.approx(1.5 * ratio * slope, rel=0.2)
    assert {color.name() for color in middle if color.alpha()} == {"#ffffff"}, "the last one is on top"


def test_a_theme_changes_plots_that_are_on_show(qtbot: QtBot, app: App, view) -> None:
    grow(app[TelemetryModel], "a", 50)
    app[TelemetryModel].set_focus("a")
    qtbot.waitUntil(lambda: view.cards_in_front() and view.cards_in_front()[0].redraws)
    card = view.cards_in_front()[0]
    app[Appearance].set_theme("light")
    qtbot.waitUntil(lambda: not card.is_stale())
    light = card.grab().toImage()
    colors = {light.pixelColor(x, y).name() for x in range(0, light.width()) for y in range(30, light.height())}
    assert theme.LIGHT.curves[0] in colors
    assert theme.DARK.curves[0] not in colors


# -- values ----------------------------------------------------------------------------------


def test_the_crosshair_has_the_value_of_every_run_that_was_there(qapp) -> None:
    model = TelemetryModel()
    model.set_smoothing(0.0)
    for name, length in (("run-long", 100), ("run-short", 40)):
        grow(model, name, length)
        model.toggle_pin(name)
    model.set_focus("run-long")
    card = card_of(model, "success_rate", width=700)
    model.set_crosshair(30 * 2048.0)
    card.show_crosshair()
    overlay = card.canvas.overlay
    assert {owner: text for owner, (_, text) in overlay.values.items()} == {"run-long": "60 %", "run-short": "60 %"}
    assert place_text(30 * 2048.0, by_clock=False) == "61,440"
    model.set_crosshair(80 * 2048.0)
    card.show_crosshair()
    assert set(overlay.values) == {"run-long"}, "the other was not there"
    assert card._lines.nearest_record(30 * 2048.0 + 900) == 30 * 2048.0
    model.set_focus("run-short")
    card.redraw()
    assert card.readout() == {}, "this run never got there"


def test_validations_are_explained_and_resumes_and_few_checkpoints_are_marked(qapp) -> None:
    model = TelemetryModel()
    grow(model, "r", 100)
    model.set_focus("r")
    run = model.run("r")
    assert "held-out" not in card_of(model, "success_rate").values.text()
    for number in range(90):
        run.take(
            records.CheckpointRecord(
                run_id="r",
                seq=run.next_seq,
                time=0.0,
                env_steps=number * 2048,
                path="c",
                sha256="",
                size_bytes=1,
                success_rate=0.0,
                reason="periodic",
            )
        )
    resumed = records.ResumeRecord(
        run_id="r", seq=run.next_seq, time=0.0, env_steps=184_320, update=90, checkpoint="c", previous_seq=9
    )
    run.take(resumed)
    run.take(eval_record("r", run.next_seq, success_rate=0.7))
    card = card_of(model, "success_rate")
    assert "held-out&nbsp;starts&nbsp;</span><b>70 %</b>" in card.values.text()
    assert card.values.text().count("%") == 1, "one number: the one that counts"
    assert list(card.canvas.shown.dots[0].y) == [0.7]
    checkpoints, resumes, alerts = (marks.x for marks in card.canvas.shown.marks)
    assert 2 <= len(checkpoints) <= 8
    assert checkpoints[-1] == 89 * 2048
    assert list(resumes) == [184_320]
    assert not len(alerts)
    assert list(thinned([1.0, 2.0, 10.0, 11.0], 5.0)) == [2.0, 11.0]


def test_any_number_is_a_short_text() -> None:
    shown = (1e308, -3.4e38, 5e-324, 1e15, 123456789.0, float("nan"), float("-inf"))
    assert [short_number(value) for value in shown] == [
        "1.00e+308",
        "-3.40e+38",
        "4.94e-324",
        "1.00e+15",
        "123.46M",
        "nan",
        "-inf",
    ]
    assert short_number(0.5) == "0.500"


def test_ticks_are_round_and_few() -> None:
    assert ticks(0.0, 1.0, 4) == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert ticks(0.002, 30.0, 6, log=True) == [0.01, 0.1, 1.0, 10.0]
    assert ticks(5.0, 5.0, 4) == ticks(float("nan"), 1.0, 4) == []
    for high in (1e-12, 0.3, 7.0, 614_400.0, 1e12):
        assert 2 <= len(ticks(0.0, high, 6)) <= 7
    for low, high in ((-0.004, 0.0035), (1.83, 1.95), (0.96, 1.04), (99.0, 101.0)):
        assert 2 <= len(ticks(low, high, 2)) <= 6, "one number alone tells no scale"


def test_one_record_at_zero_is_a_plot_with_a_scale(qapp) -> None:
    model = TelemetryModel()
    model.take("a", replaced(update_record("a", 0, 1, 0.0), env_steps=0, reward_mean=0.0))
    model.set_focus("a")
    scene = card_of(model).canvas.shown
    assert scene.x_range[1] - scene.x_range[0] > 0.5
    assert scene.y_range[1] - scene.y_range[0] > 0.5


# -- the tab ---------------------------------------------------------------------------------


def shown(view) -> list[str]:
    return [card.spec.metric for card in view.cards_in_front()]


def test_plots_are_hidden_moved_added_and_kept(qtbot: QtBot, app: App, view) -> None:
    grow(app[TelemetryModel], "a", 5)
    app[TelemetryModel].set_focus("a")
    qtbot.waitUntil(lambda: len(shown(view)) > 10)
    assert shown(view)[:2] == ["reward_mean", "success_rate"]
    view.board.cards["success_rate"].dropped.emit("entropy_mean")
    qtbot.waitUntil(lambda: shown(view)[:3] == ["reward_mean", "entropy_mean", "success_rate"])
    app[PlotChoices].speak_of("reward_mean")
    app.actions["plotHide"].trigger()
    qtbot.waitUntil(lambda: shown(view)[0] == "entropy_mean")
    for name in ("vf_clipfrac", "reward_mean"):
        view.add.activated.emit(view.add.findText(name))
    qtbot.waitUntil(lambda: "reward_mean" in shown(view) and shown(view)[-1] == "vf_clipfrac")
    app[Settings].save()
    again = Settings(app.bridge.home)
    assert '"vf_clipfrac"' in again.text("curves/added")
    app.actions["resetPlots"].trigger()
    qtbot.waitUntil(lambda: shown(view)[:2] == ["reward_mean", "success_rate"])
    assert "vf_clipfrac" not in shown(view)


def test_a_title_that_is_double_clicked_fills_the_page_and_leaves_it(qtbot: QtBot, app: App, view) -> None:
    show_dock(qtbot, app, names.TELEMETRY_DOCK)
    grow(app[TelemetryModel], "a", 50)
    app[TelemetryModel].set_focus("a")
    dock = app[TelemetryDock].cards["success_rate"]
    qtbot.waitUntil(lambda: dock.redraws)
    app[Navigation].show(Place.LIVE)
    qtbot.mouseDClick(dock, Qt.MouseButton.LeftButton, pos=QPoint(200, 8))
    assert app.window.center.currentWidget() is view
    qtbot.waitUntil(lambda: view.large is not None and view.large.redraws)
    assert view.large.height() > 200
    app.actions["plotLog"].trigger()
    qtbot.waitUntil(lambda: view.large.canvas.shown.log_y)
    assert view.large.canvas.shown.y_range[0] > 0
    qtbot.mouseDClick(view.large, Qt.MouseButton.LeftButton, pos=QPoint(300, 8))
    assert view.large is None
    qtbot.mouseRelease(app.window, Qt.MouseButton.LeftButton)  # the plot went before it heard of the last one
    qtbot.waitUntil(lambda: len(shown(view)) > 10)


def test_plots_are_reached_and_moved_by_keys(qtbot: QtBot, app: App, view) -> None:
    model = app[TelemetryModel]
    for name in ("a", "b"):
        grow(model, name, 60)
    model.take("b", replaced(update_record("b", 60, 61, 1.0), reward_mean=9.0))
    model.set_focus("a")
    model.set_pinned(["b"])
    qtbot.waitUntil(lambda: len(shown(view)) > 6 and view.cards_in_front()[0].redraws)
    app[ViewHistory].settle()
    assert not app.actions["plotHide"].isEnabled(), "no plot is chosen"
    card, other = view.cards_in_front()[:2]
    app.window.activateWindow()
    card.setFocus()
    qtbot.waitUntil(card.hasFocus)
    assert app[PlotChoices].current == card.spec.metric
    assert app.actions["plotHide"].isEnabled()
    assert card.focusPolicy() & other.focusPolicy() & Qt.FocusPolicy.TabFocus

    def press(key: Qt.Key, held: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        qtbot.keyClick(card, key, held)

    shift, ctrl = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier
    press(Qt.Key.Key_Plus)
    low, high = model.x_range or (0.0, 0.0)
    assert 0 < low < high < 61 * 2048
    press(Qt.Key.Key_Right)
    assert (model.x_range or (0.0, 0.0))[0] > low
    press(Qt.Key.Key_Up, shift)
    assert set(model.y_ranges) == {card.spec.metric}
    qtbot.waitUntil(lambda: not card.is_stale())
    assert card.canvas.view.viewRange()[1] == pytest.approx(model.y_ranges[card.spec.metric])
    app.actions["undoView"].trigger()
    assert model.x_range is None, "one rest is one step back"
    assert model.y_ranges == {}
    qtbot.waitUntil(lambda: not card.is_stale())
    press(Qt.Key.Key_A)
    assert set(model.y_ranges) == {card.spec.metric}, "the axis keeps its range"
    press(Qt.Key.Key_Home)
    assert model.y_ranges == {}
    press(Qt.Key.Key_L, shift)
    qtbot.waitUntil(lambda: card.canvas.shown.log_x)
    press(Qt.Key.Key_Up)
    assert model.highlight == "a", "the line that ends lowest"
    press(Qt.Key.Key_Up)
    assert model.highlight == "b"
    press(Qt.Key.Key_Left, ctrl)
    press(Qt.Key.Key_Left, ctrl)
    assert model.crosshair == 59 * 2048
    press(Qt.Key.Key_Escape)
    assert (model.highlight, model.crosshair) == ("", None)
    press(Qt.Key.Key_F)
    assert view.large is not None
    assert (view.large.spec, view.large.hasFocus()) == (card.spec, True)
    qtbot.keyClick(view.large, Qt.Key.Key_Escape)
    assert view.large is None
    assert card.hasFocus()


def test_the_mouse_zooms_a_box_moves_and_fits_and_the_wheel_zooms_an_axis(qtbot: QtBot, app: App, view) -> None:
    model = app[TelemetryModel]
    grow(model, "a", 100)
    model.set_focus("a")
    qtbot.waitUntil(lambda: len(shown(view)) > 10 and view.cards_in_front()[0].redraws)
    card = view.cards_in_front()[0]
    canvas, left = card.canvas, Qt.MouseButton.LeftButton
    area = canvas.view.sceneBoundingRect().toRect()

    def drag(button: Qt.MouseButton, begin: QPoint, end: QPoint) -> None:
        port = canvas.viewport()
        qtbot.mousePress(port, button, pos=begin)
        for place in (begin + (end - begin) / 2, end):
            local = QPointF(place)
            move = QMouseEvent(QEvent.Type.MouseMove, local, port.mapToGlobal(local), Qt.MouseButton.NoButton, button,
                               Qt.KeyboardModifier.NoModifier)  # fmt: skip
            canvas.scene()._lastMoveEventTime = 0  # moves that follow at once are left out otherwise
            QApplication.sendEvent(port, move)
        qtbot.mouseRelease(port, button, pos=end)

    drag(left, area.center() - QPoint(40, 30), area.center() + QPoint(40, 30))
    middle = 100 * 2048 * 1.015 / 2
    low, high = model.x_range or (0.0, 0.0)
    assert 0 < low < middle < high < 95 * 2048
    assert list(model.y_ranges) == [card.spec.metric]
    qtbot.waitUntil(lambda: not card.is_stale())
    drag(Qt.MouseButton.MiddleButton, area.center(), area.center() + QPoint(20, 0))
    assert (model.x_range or (low, 0))[0] < low, "it goes along with the pointer"

    def turn(place: QPoint, held: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> bool:
        at = QPointF(place)
        event = QWheelEvent(at, canvas.mapToGlobal(at), QPoint(), QPoint(0, 120), Qt.MouseButton.NoButton, held,
                            Qt.ScrollPhase.NoScrollPhase, False)  # fmt: skip
        QApplication.sendEvent(canvas.viewport(), event)
        return event.isAccepted()

    before, kept = model.y_ranges[card.spec.metric], model.x_range
    turn(area.center())
    assert model.x_range == kept, "the page scrolls"
    turn(QPoint(20, area.center().y()))
    now = model.y_ranges[card.spec.metric]
    assert now[1] - now[0] == pytest.approx((before[1] - before[0]) / 1.25)
    assert turn(area.center(), Qt.KeyboardModifier.ControlModifier)
    assert model.x_range != kept
    assert app.actions["followCurves"].isEnabled()
    canvas.view.fitted.emit()
    assert (model.x_range, model.y_ranges) == (None, {})
    assert not app.actions["followCurves"].isEnabled()


def test_a_run_under_the_pointer_is_bold_and_the_others_fade_in_every_plot(qtbot: QtBot, app: App, view) -> None:
    model = app[TelemetryModel]
    for place, name in enumerate(("run-a", "run-b", "run-c")):
        for seq in range(50):
            model.take(name, foreign_record(seq, height=place + 0.1 * (seq % 2), other=1.0 * seq))
    model.set_focus("run-a")
    model.set_pinned(["run-b", "run-c"])
    app.window.resize(1200, 1400)
    qtbot.waitUntil(lambda: {"height", "other"} <= {name for name, card in view.board.cards.items() if card.redraws})
    card, other = (view.board.cards[name] for name in ("height", "other"))
    run = model.runs["run-b"]
    (place,) = card.canvas.plot.to_pixels(
        card.canvas.shown, *(values[20:21] for values in run.curve("height", "env_steps", model.smoothing))
    )
    card.canvas._pointer = QPointF(*place)
    card.canvas._find()
    assert model.highlight == "run-b"
    for canvas in (card.canvas, other.canvas):
        assert canvas.layer.opacity() == pytest.approx(0.5)
        assert [line._curve.width for line in canvas._bold] == [1.0, 2.5], "as measured, and smoothed"
    card.canvas._pointer = QPointF(*place) + QPointF(0, 30)
    card.canvas._find()
    assert model.highlight == "run-b", "for a moment"
    qtbot.waitUntil(lambda: model.highlight == "")
    assert other.canvas.layer.opacity() == 1.0


@pytest.mark.parametrize("kind", ["png", "csv"])
def test_a_plot_is_written_and_the_banner_opens_its_folder(
    qtbot: QtBot, app: App, view, tmp_path: Path, kind: str
) -> None:
    grow(app[TelemetryModel], "a", 60)
    app[TelemetryModel].set_focus("a")
    app[PlotChoices].speak_of("reward_mean")
    path = tmp_path / app[CurvesController].file_name(kind)
    app[CurvesController].export(kind, path)
    qtbot.waitUntil(lambda: app.window.banners.banners)
    (banner,) = app.window.banners.banners
    assert banner.accessibleName() == f"Plot saved: {path}"
    assert banner.button is not None
    if kind == "png":
        image = QImage(str(path))
        assert (image.width(), image.height()) == (1280, 720)
        app[CurvesController].copy()
        assert QApplication.clipboard().image().size() == image.size()
    else:
        assert len(path.read_text().splitlines()) == 61
    app[CurvesController].export(kind, tmp_path / "nowhere" / "plot")
    qtbot.waitUntil(lambda: "not saved" in app.window.banners.banners[-1].accessibleName())
    assert "nowhere/plot: No such file" in app.window.banners.banners[-1].accessibleName()


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_a_plot_in_a_file_has_its_axis_and_its_lowest_point(app: App, view, kind: str) -> None:
    model = app[TelemetryModel]
    model.set_smoothing(0.0)
    model.set_focus("r")
    for seq in range(50):
        model.take("r", foreign_record(seq, falling=1.0 - seq / 49))
    image, scale = QImage(1280, 720, QImage.Format.Format_RGB32), 2
    if kind == "png":
        image.loadFromData(view._draw("falling", kind))
    else:
        with QPainter(image) as painter:
            QSvgRenderer(QByteArray(view._draw("falling", kind))).render(painter)
    assert (image.width(), image.height()) == (640 * scale, 360 * scale)
    image = image.convertToFormat(QImage.Format.Format_RGB32)
    data = np.frombuffer(image.constBits(), np.uint8).reshape(720, 1280, 4)
    pixels, color = data[..., 2::-1].astype(int), theme.curve_color(0)
    off = np.abs(pixels - (color.red(), color.green(), color.blue())).max(axis=2)
    rows = np.flatnonzero((off < 40)[:, 640:].any(axis=1))
    axis = 720 - with_names(164).bottom * scale
    assert rows.max() < axis + 2 * scale, "the curve ends above the x axis"
    assert rows.max() > axis - 60 * scale, "and reaches down to it"
    written = np.flatnonzero((pixels[axis + 8 :, :940] != pixels[-1, 1]).any(axis=(0, 2)))
    assert len(written) > 20 * scale, "places on the x axis are written below it"
    assert np.ptp(written) > 680
    assert (pixels[:axis, 1000:] != pixels[-1, 1]).any(), "and the run's name is beside the curve"


def test_names_have_the_colours_of_their_lines_also_where_one_has_no_value(qapp: QApplication) -> None:
    model = TelemetryModel()
    grow(model, "a", 3)
    model.set_focus("a")
    spec = spec_by_name("dist_p50")
    first, *others = spec.lines
    card = PlotCard(replaced(spec, lines=(("no_such_metric", first[1]), *others)), model, has_names=True)
    card.show_choices(ALL, is_log=False)
    card.resize(800, 200)
    card.redraw()
    named = {name.text: name.color for name in card.canvas.shown.names}
    drawn = {curve.key[1]: curve.color for curve in card.canvas.shown.curves if len(curve.x)}
    assert named == {name: drawn[metric] for metric, name in others}


def test_names_at_line_ends_keep_apart_and_more_than_ten_are_counted(qapp: QApplication) -> None:
    assert spread([0.0, 1.0, 50.0], 16.0, 4.0, 60.0) == [4.0, 20.0, 50.0]
    assert spread([58.0, 59.0], 16.0, 4.0, 60.0) == [44.0, 60.0]
    model = TelemetryModel()
    model.set_pinned(rich(model, 14, 50))
    card = PlotCard(spec_by_name("reward_mean"), model, has_names=True)
    card.resize(800, 300)
    card.show()
    card.redraw()
    card.grab()
    overlay = card.canvas.overlay
    assert len(overlay.rows) == 10
    assert overlay.row_at(overlay.rows[-1][0].center()) == "", "and 5 more"
    model.set_crosshair(20 * 2048.0)
    card.show_crosshair()
    assert "run-013" not in overlay.values
    model.set_highlight("run-013")
    card.show_highlight()
    assert "run-013" in overlay.values
    card.grab()
    assert "run-013" in {owner for _, owner in overlay.rows}


@pytest.mark.parametrize("is_log", [False, True])
@pytest.mark.parametrize(
    "values", [[], [0.0], [1e308, -1e308], [float("nan"), float("inf"), 1.0], [-1.0, -2.0], [7.0] * 5, [1e-320, 5e-324]]
)
def test_numbers_that_no_axis_has_leave_a_plot_whole(qapp: QApplication, values: list[float], is_log: bool) -> None:
    model = TelemetryModel()
    model.run("r")
    for seq, value in enumerate(values):
        model.take("r", replaced(foreign_record(seq, odd=value), time=5.0, env_steps=4096))
    model.set_focus("r")
    for axis in ("env_steps", "time"):
        model.set_x_axis(axis)
        model.set_log_x(is_log)
        card = PlotCard(spec_by_name("odd", ["odd"]), model, has_names=True)
        card.resize(700, 200)
        card.show_choices("", is_log=is_log)
        card.show()
        card.redraw()
        assert not card.grab().isNull()
        if card.canvas is not None:
            ranges = np.array(card.canvas.view.viewRange())
            assert np.isfinite(ranges).all()
            assert (np.diff(ranges, axis=1) > 0).all()
