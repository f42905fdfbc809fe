"""The tab of curves: which plots, overlays drawn by what is new, values at a place, files."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QByteArray, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QWheelEvent
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from gui.app import App
from gui.features.curves.card import NOTHING, UNMEASURED, WAITING, PlotCard
from gui.features.curves.card_scenes import thinned
from gui.features.curves.dock import TelemetryDock
from gui.features.curves.plots import CurvesController, PlotChoices, spec_by_name
from gui.features.curves.view import CurvesView
from gui.kit import object_names as names
from gui.kit import theme
from gui.kit.plot_canvas import BOTTOM
from gui.kit.plot_shapes import short_number, ticks
from gui.kit.settings import Settings
from gui.state.appearance import Appearance
from gui.state.session import Navigation, Place
from gui.state.telemetry import TelemetryModel
from tests.gui.conftest import foreign_record, grow, replaced, show_dock, until
from tests.support.made_records import update_record
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


def test_outliers_may_lie_outside_and_plots_are_found_by_name(app: App, view) -> None:
    model = app[TelemetryModel]
    model.set_smoothing(0.0)
    for seq in range(200):
        model.take("r", foreign_record(seq, loss=1e6 if seq == 3 else seq / 100, fun=1.0))
    model.set_focus("r")
    until(lambda: {"loss", "fun"} <= {card.spec.metric for card in view.cards_in_front()})
    card = view.board.cards["loss"]
    card.redraw()
    assert card.canvas.scene.y_range[1] > 1e6
    app.actions["trimOutliers"].trigger()
    assert card.is_stale()
    card.redraw()
    assert 2.0 < card.canvas.scene.y_range[1] < 4.0
    view.search.setText("LOS")
    until(lambda: [card.spec.metric for card in view.cards_in_front()] == ["loss"])
    view.search.setText("nothing of the kind")
    until(lambda: view._empty.isVisible())
    view.search.clear()
    until(lambda: len(view.cards_in_front()) > 1 and not view._empty.isVisible())


def test_other_trainers_metrics_stand_in_groups_that_close_and_may_be_pinned(app: App, view) -> None:
    model, choices = app[TelemetryModel], app[PlotChoices]
    long = "losses/" + "a name that no header has room for " * 3
    told = {f"losses/{name}": 1.0 for name in "abc"} | {"charts/return": 0.5, long: 2.0}
    for seq in range(3):
        model.take("r", foreign_record(seq, **told))
    model.set_focus("r")

    def titles() -> dict[str, list[str]]:
        shown = {name: part for name, part in view._sections.items() if part.isVisible()}
        return {name: [card.spec.metric for card in part.cards] for name, part in shown.items()}

    until(lambda: {"losses/", "charts/"} <= titles().keys() and len(titles()["losses/"]) == 4)
    assert view._column.itemAt(0).widget() is view._sections["pinned"], "it stands above all"
    charts, losses = (view._sections[name] for name in ("charts/", "losses/"))
    assert view._column.indexOf(charts) < view._column.indexOf(losses), "by their names"
    right = max(card.mapTo(view, card.rect().topRight()).x() for card in view.cards_in_front())
    assert right < view.width(), "a long title does not push plots out of sight"
    choices.speak_of("losses/b")
    app.actions["plotPin"].trigger()
    until(lambda: titles().get("pinned") == ["losses/b"])
    assert view.board.cards["losses/b"].isVisible()
    assert "losses/b" not in titles()["losses/"]
    view._sections["losses/"].toggle.click()
    until(lambda: titles()["losses/"] == [])
    assert view._sections["losses/"].toggle.isVisible()
    assert app[PlotChoices].state()[-2:] == (("losses/b",), ("losses/",)), "both are kept"
    view._sections["losses/"].toggle.click()
    view.search.setText("^charts|s/[ac]$ -nothing")
    until(lambda: titles().get("losses/") == ["losses/a", "losses/c"])
    assert "pinned" not in titles()
    view.search.setText("loss*b")
    until(lambda: titles() == {"pinned": ["losses/b"]})
    choices.reset()
    until(lambda: titles() == {"losses/": ["losses/b"]})


def test_a_plot_that_is_dropped_goes_if_it_was_added_and_is_hidden_if_not(tmp_path: Path) -> None:
    choices = PlotChoices(Settings(HomePaths(tmp_path)))
    choices.add("mine")
    choices.drop("mine")
    assert choices.added == ()
    assert not choices.is_hidden("mine")
    choices.drop("reward_mean")
    assert choices.added == ()
    assert choices.is_hidden("reward_mean")


def test_two_hundred_metrics_of_another_trainer_leave_the_loop_free(app: App) -> None:
    model = app[TelemetryModel]
    model.take("r", foreign_record(0, **{f"m/{place}": 1.0 for place in range(200)}))
    begun = time.process_time()
    model.set_focus("r")
    assert time.process_time() - begun < 0.1
    until(lambda: len(app[TelemetryDock]._further) == 200)


def test_curves_go_by_the_clock_and_are_smoothed_another_way(app: App) -> None:
    model = app[TelemetryModel]
    for seq in range(40):
        model.take("r", replaced(foreign_record(seq, loss=float(seq)), time=1.7e9 + 60 * seq))
    model.set_focus("r")
    card = card_of(model, "loss")
    model.set_x_axis("time")
    assert card.is_stale()
    card.redraw()
    low, high = card.canvas.scene.x_range
    assert low == 1.7e9
    assert 1.7e9 + 39 * 60 < high < 1.7e9 + 50 * 60
    card.set_hover(1.7e9 + 600, tell=True)
    assert card._legend_at(1.7e9 + 600)[0][1].startswith("2023-11-1")
    model.set_smoothing(0.8)
    lagging = float(card._lines.model.runs["r"].curve("loss", "time", 0.8)[1][20])
    app.actions["smoothRunning"].trigger()
    assert card.is_stale()
    card.redraw()
    smoothed = next(curve for curve in card.canvas.scene.curves if curve.key != ("r", "loss", "raw"))
    assert smoothed.y[20] == pytest.approx(20.0)
    assert lagging < 19.0
    assert app.actions["smoothRunning"].isChecked()
    assert not app.actions["smoothDecaying"].isChecked()
    for seq in range(3):
        model.take("late", replaced(foreign_record(seq, loss=9.0), time=1.7e9 + 1000 + seq))
    model.set_pinned(["late"])
    card.redraw()
    assert [row[2] for row in card._lines.rows_at(1.7e9 + 900)] == ["r"], "the other began later"
    assert len(card._lines.rows_at(1.7e9 + 1001)) == 2


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


def test_250_runs_are_drawn_and_only_the_one_that_grew_is_drawn_again(qapp) -> None:
    model = TelemetryModel()
    names = rich(model, 250, 2000)
    model.set_focus(names[0])
    model.set_pinned(names)
    begun = time.process_time()
    card = card_of(model)
    card.grab()
    assert time.process_time() - begun < 1.0
    assert len(card.canvas.scene.curves) == 251, "one each, and the focus as it was measured"
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
    assert card._lines.computed - computed == 5 * 2
    assert card.canvas.pictures == pictures, "the others were not painted again"


def test_a_plot_of_many_runs_gives_the_loop_back_in_time(qapp) -> None:
    model = TelemetryModel()
    names = rich(model, 250, 2000)
    model.set_pinned(names)
    card = PlotCard(spec_by_name("reward_mean"), model)
    turns = 1
    while not card.redraw(time.perf_counter()):  # a deadline that is over at once
        turns += 1
        assert turns < 1000
    assert turns > 3
    assert sum(map(len, card._lines.by_run)) == 251


def test_of_more_than_five_runs_a_plot_shows_its_first_line(qapp) -> None:
    model = TelemetryModel()
    names = rich(model, 6, 50)
    model.set_pinned(names[:5])
    card = card_of(model, metric="dist_p50")
    assert len(card.canvas.scene.curves) == 5 * 3, "three quantiles each"
    model.set_pinned(names)
    card.redraw()
    assert {line.metric for lines in card._lines.by_run for line in lines} == {"dist_p50"}
    assert len(card.canvas.scene.curves) == 6
    assert list(card.readout()) == [dict(card.spec.lines)["dist_p50"]]


@pytest.mark.parametrize("ratio", [1.0, 2.0])
def test_a_hairline_is_one_device_pixel_at_any_scale(qapp, ratio: float) -> None:
    model = TelemetryModel()
    for seq in range(50):
        model.take("r", foreign_record(seq, flat=1.0))
    model.set_focus("r")
    card = card_of(model, "flat")
    image = QImage(card.canvas.size() * ratio, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    image.fill(QColor("black"))
    painter = QPainter(image)
    card.canvas._paint_curves(painter, card.canvas.scene.curves[-1:])
    painter.end()
    middle = image.width() // 2
    lit = [y for y in range(image.height()) if image.pixelColor(middle, y) != QColor("black")]
    assert len(lit) == 1
    assert image.pixelColor(middle, lit[0]) == QColor(theme.current().curves[0])


def test_a_theme_changes_plots_that_are_on_show(app: App, view) -> None:
    grow(app[TelemetryModel], "a", 50)
    app[TelemetryModel].set_focus("a")
    until(lambda: view.cards_in_front() and view.cards_in_front()[0].redraws)
    card = view.cards_in_front()[0]
    app[Appearance].set_theme("light")
    until(lambda: not card.is_stale())
    light = card.grab().toImage()
    colors = {light.pixelColor(x, y).name() for x in range(0, light.width()) for y in range(30, 90)}
    assert theme.LIGHT.curves[0] in colors
    assert theme.DARK.curves[0] not in colors


# -- values ----------------------------------------------------------------------------------


def test_the_crosshair_names_x_and_every_run_that_was_there(qapp) -> None:
    model = TelemetryModel()
    for name, length in (("run-long", 100), ("run-short", 40)):
        grow(model, name, length)
        model.toggle_pin(name)
    model.set_focus("run-long")
    card = card_of(model, "success_rate")
    card.set_hover(30 * 2048.0, tell=True)
    texts = [text for _, text in card.canvas.legend]
    assert texts == ["step 61,440", "long own starts  0.600", "hort own starts  0.600"]
    card.set_hover(80 * 2048.0, tell=True)
    assert [text for _, text in card.canvas.legend] == [
        "step 163,840",
        "long own starts  1",
        "hort own starts  0.800, until 81,920",
    ]
    assert card.canvas.legend[-1][0].name() == theme.current().muted, "it was not there"
    model.set_focus("run-short")
    card.redraw()
    card.set_hover(80 * 2048.0)
    assert card.readout() == {}, "this run never got there"
    assert card.canvas.legend == ()


def test_validations_are_explained_and_checkpoints_are_few(qapp) -> None:
    model = TelemetryModel()
    grow(model, "r", 100)
    model.set_focus("r")
    run = model.run("r")
    assert "validation" not in card_of(model, "success_rate").values.text()
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
    run.take(records.EvalRecord(
        run_id="r", seq=run.next_seq, time=0.0, env_steps=90 * 2048, task="t", mode="greedy",
        episodes=8, distinct_starts=8, success_rate=0.7, pass_at_1=0.7, pass_at_n=0.7, n=1,
        median_steps_to_goal=3.0, mean_return=1.0, wall_time_s=1.0))  # fmt: skip
    card = card_of(model, "success_rate")
    assert "validation" in card.values.text()
    assert list(card.canvas.scene.dots[0].y) == [0.7]
    lines = card.canvas.scene.rules[0].x
    assert 2 <= len(lines) <= 8
    assert lines[-1] == 89 * 2048
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
    assert ticks(0.0, 1.08, 5) == [0.0, 0.5, 1.0]
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
    scene = card_of(model).canvas.scene
    assert scene.x_range[1] - scene.x_range[0] > 0.5
    assert scene.y_range[1] - scene.y_range[0] > 0.5


# -- the tab ---------------------------------------------------------------------------------


def shown(view) -> list[str]:
    return [card.spec.metric for card in view.cards_in_front()]


def test_plots_are_hidden_moved_added_and_kept(app: App, view) -> None:
    grow(app[TelemetryModel], "a", 5)
    app[TelemetryModel].set_focus("a")
    until(lambda: len(shown(view)) > 10)
    assert shown(view)[:2] == ["reward_mean", "success_rate"]
    view.board.cards["success_rate"].dropped.emit("entropy_mean")
    until(lambda: shown(view)[:3] == ["reward_mean", "entropy_mean", "success_rate"])
    app[PlotChoices].speak_of("reward_mean")
    app.actions["plotHide"].trigger()
    until(lambda: shown(view)[0] == "entropy_mean")
    for name in ("vf_clipfrac", "reward_mean"):
        view.add.activated.emit(view.add.findText(name))
    until(lambda: "reward_mean" in shown(view) and shown(view)[-1] == "vf_clipfrac")
    app[Settings].save()
    again = Settings(app.bridge.home)
    assert '"vf_clipfrac"' in again.text("curves/added")
    app.actions["resetPlots"].trigger()
    until(lambda: shown(view)[:2] == ["reward_mean", "success_rate"])
    assert "vf_clipfrac" not in shown(view)


def test_a_double_click_fills_the_page_and_another_one_leaves_it(app: App, view) -> None:
    show_dock(app, names.TELEMETRY_DOCK)
    grow(app[TelemetryModel], "a", 50)
    app[TelemetryModel].set_focus("a")
    dock = app[TelemetryDock].cards["success_rate"]
    until(lambda: dock.redraws)
    app[Navigation].show(Place.LIVE)
    QTest.mouseDClick(dock.canvas, Qt.MouseButton.LeftButton)
    assert app.window.center.currentWidget() is view
    until(lambda: view.large is not None and view.large.redraws)
    assert view.large.height() > 200
    app.actions["plotLog"].trigger()
    until(lambda: view.large.canvas.scene.log_y)
    assert view.large.canvas.scene.y_range[0] > 0
    QTest.mouseDClick(view.large.canvas, Qt.MouseButton.LeftButton)
    assert view.large is None
    until(lambda: len(shown(view)) > 10)


def test_plots_are_reached_and_chosen_by_keys(app: App, view) -> None:
    grow(app[TelemetryModel], "a", 6)
    app[TelemetryModel].set_focus("a")
    until(lambda: len(shown(view)) > 6)
    assert not app.actions["plotHide"].isEnabled(), "no plot is chosen"
    cards = view.cards_in_front()
    stops = [card for card in cards if card.focusPolicy() & Qt.FocusPolicy.TabFocus]
    assert stops == cards[:1], "dozens of plots are one stop of Tab"
    app.window.activateWindow()
    cards[0].setFocus()
    until(cards[0].hasFocus)
    assert app[PlotChoices].current == cards[0].spec.metric
    QTest.keyClick(cards[0], Qt.Key.Key_Right)
    QTest.keyClick(cards[1], Qt.Key.Key_Down)
    below = next(card for card in cards if card.hasFocus())
    assert below in cards[2:]
    assert abs(below.x() - cards[1].x()) < 5
    assert app.actions["plotHide"].isEnabled()
    QTest.keyClick(below, Qt.Key.Key_Return)
    assert view.large is not None
    assert (view.large.spec, view.large.hasFocus()) == (below.spec, True)
    QTest.keyClick(view.large, Qt.Key.Key_Escape)
    assert view.large is None
    assert below.hasFocus()
    QTest.keyClick(below, Qt.Key.Key_Up)
    QTest.mouseClick(cards[0], Qt.MouseButton.LeftButton, pos=QPoint(20, 10))
    assert app[PlotChoices].current == cards[0].spec.metric


def test_ctrl_and_the_wheel_zoom_and_the_wheel_alone_scrolls(app: App, view) -> None:
    grow(app[TelemetryModel], "a", 100)
    app[TelemetryModel].set_focus("a")
    until(lambda: len(shown(view)) > 10 and view.cards_in_front()[0].redraws)
    canvas = view.cards_in_front()[0].canvas

    def turn(modifiers: Qt.KeyboardModifier) -> bool:
        middle = QPointF(canvas.rect().center())
        event = QWheelEvent(
            middle,
            canvas.mapToGlobal(middle),
            QPoint(),
            QPoint(0, 120),
            Qt.MouseButton.NoButton,
            modifiers,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(canvas, event)
        return event.isAccepted()

    bar = view._scroll.verticalScrollBar()
    turn(Qt.KeyboardModifier.NoModifier)
    assert app[TelemetryModel].x_range is None
    until(lambda: bar.maximum() > 0)
    assert turn(Qt.KeyboardModifier.ControlModifier)
    found: Any = app[TelemetryModel].x_range
    low, high = found
    assert high - low < 100 * 2048
    assert app.actions["followCurves"].isEnabled()
    app.actions["followCurves"].trigger()
    assert app[TelemetryModel].x_range is None
    assert not app.actions["followCurves"].isEnabled()


@pytest.mark.parametrize("kind", ["png", "svg", "csv"])
def test_a_plot_is_written_and_the_banner_opens_its_folder(app: App, view, tmp_path: Path, kind: str) -> None:
    grow(app[TelemetryModel], "a", 60)
    app[TelemetryModel].set_focus("a")
    app[PlotChoices].speak_of("reward_mean")
    path = tmp_path / app[CurvesController].file_name(kind)
    app[CurvesController].export(kind, path)
    until(lambda: app.window.banners.banners)
    (banner,) = app.window.banners.banners
    assert banner.accessibleName() == f"Plot written: {path}"
    assert banner.button is not None
    if kind == "png":
        image = QImage(str(path))
        assert (image.width(), image.height()) == (1280, 720)
        assert len({image.pixel(x, 400) for x in range(0, 1280, 3)}) > 1
    elif kind == "svg":
        assert path.read_text().count("<polyline") >= 2
    else:
        assert len(path.read_text().splitlines()) == 61
    app[CurvesController].export(kind, tmp_path / "nowhere" / "plot")
    until(lambda: "not written" in app.window.banners.banners[-1].accessibleName())
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
    axis = 720 - BOTTOM * scale
    assert rows.max() < axis, "the curve ends above the x axis"
    assert rows.max() > axis - 60 * scale, "and reaches down to it"
    written = np.flatnonzero((pixels[axis + 4 :] != pixels[-1, 1]).any(axis=(0, 2)))
    assert len(written) > 20 * scale, "places on the x axis are written below it"
    assert written.max() > 1000


def test_names_have_the_colours_of_their_lines_also_where_one_has_no_value(qapp: QApplication) -> None:
    model = TelemetryModel()
    grow(model, "a", 3)
    model.set_focus("a")
    spec = spec_by_name("dist_p50")
    assert len(spec.lines) == 3
    first, *others = spec.lines
    card = PlotCard(replaced(spec, lines=(("no_such_metric", first[1]), *others)), model)
    card.resize(800, 200)
    card.redraw()
    text = card.values.text()
    for place, (metric, name) in enumerate(card.spec.lines):
        drawn = [curve for curve in card.canvas.scene.curves if curve.key[1] == metric]  # type: ignore[index]
        if not len(drawn[0].x):
            assert name not in text
            continue
        color = theme.curve_color(place)
        assert drawn[0].color == color
        assert f'color:{color.name()}">{name}&nbsp;' in text
