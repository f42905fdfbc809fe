"""Plots, log, run table, layout, theme and accessibility."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget

from gui import theme
from gui.actions import ActionRegistry
from gui.main_window import MainWindow
from gui.models.log_buffer import MAX_LINES, LogBuffer, level_of
from gui.models.run_list import RUN_ROLE, RunFilter, RunList, ago
from gui.models.run_telemetry import TelemetryModel
from gui.plot_card import PlotCard, PlotSpec, short_number
from tests.gui.conftest import replaced, until
from tests.trainer_core.echo_worker import update_record
from tests.trainer_core.test_registry import record as run_record
from trainer_core.protocol import records
from trainer_core.protocol.runs import RunState


@pytest.fixture
def model() -> TelemetryModel:
    return TelemetryModel()


def fill(model: TelemetryModel, run_id: str, points: int) -> None:
    run = model.run(run_id)
    record = update_record(run_id, 0, 1, 100.0)
    run.take(record)
    table = run.table
    table._data = np.empty((table._data.shape[0], points))
    table._length = points
    rng = np.random.default_rng(len(run_id))
    table._data[:] = rng.normal(size=table._data.shape).cumsum(axis=1)
    table.column("env_steps")[:] = np.arange(points) * 2048
    table.version += 1


def card_for(model: TelemetryModel) -> PlotCard:
    card = PlotCard(PlotSpec("reward_mean", "Reward", (("reward_mean", "reward"),)), model,
                    show_axis=True)  # fmt: skip
    card.resize(360, 120)
    card.show()
    return card


# -- plots -----------------------------------------------------------------------------------


def test_a_plot_of_100_000_points_redraws_within_a_frame(qapp, model: TelemetryModel) -> None:  # type: ignore[no-untyped-def]
    for run_id in ("a", "bb", "ccc", "dddd"):
        fill(model, run_id, 100_000)
        model.toggle_pin(run_id)
    model.set_focus("a")
    card = card_for(model)
    card.redraw()
    card.grab()
    begun = time.process_time()
    for turn in range(10):
        card.set_range((0.0, 100_000.0 * 2048 * (1 + turn / 50)))
        card.redraw()
        card.grab()
    spent_ms = (time.process_time() - begun) * 100
    assert spent_ms < 40, f"{spent_ms:.1f} ms of CPU a redraw"
    assert all(len(curve.xData) <= 4 * 360 for curve in card._curves.values())


def test_only_stale_plots_of_the_visible_tab_are_redrawn(window: MainWindow) -> None:
    dock = window.telemetry_dock
    fill(window.telemetry, "a", 500)
    window.telemetry.set_focus("a")
    cards = dock.visible_cards()
    until(lambda: all(card.redraws == 1 for card in cards))
    QTest.qWait(600)
    assert all(card.redraws == 1 for card in cards), "nothing changed, nothing is drawn"
    assert all(card.redraws == 0 for card in dock.cards.values() if card not in cards)
    window.telemetry.set_smoothing(0.9)
    until(lambda: all(card.redraws == 2 for card in cards))


def test_the_crosshair_reads_the_nearest_record(qapp, model: TelemetryModel) -> None:  # type: ignore[no-untyped-def]
    run = model.run("r")
    for update in range(1, 51):
        run.take(update_record("r", update - 1, update, 100.0))
    model.set_focus("r")
    card = card_for(model)
    card.redraw()
    card.set_hover(20 * 2048 + 900)
    assert card.readout() == {"reward": run.table.column("reward_mean")[19]}
    assert short_number(card.readout()["reward"]) in card.values.text()
    card.set_hover(None)
    assert card.readout()["reward"] == run.table.column("reward_mean")[-1]


def test_three_pinned_runs_have_three_colours_and_three_dashes(window: MainWindow) -> None:
    for run_id in ("run-aaaa", "run-bbbb", "run-cccc"):
        fill(window.telemetry, run_id, 200)
        window.telemetry.toggle_pin(run_id)
    window.telemetry.set_focus("run-aaaa")
    card = window.telemetry_dock.cards["reward_mean"]
    card.redraw()
    legend = window.telemetry_dock.legend
    assert legend.isVisible()
    assert all(name in legend.text() for name in ("aaaa", "bbbb", "cccc"))
    pens = {key[0]: curve.opts["pen"] for key, curve in card._curves.items() if key[2] == "smooth"}
    assert len({pen.color().name() for pen in pens.values()}) == 3
    assert len({pen.style() for pen in pens.values()}) == 3
    assert {pen.widthF() for pen in pens.values()} == {1.0}
    window.telemetry.toggle_pin("run-cccc")
    card.redraw()
    assert {key[0] for key in card._curves} == {"run-aaaa", "run-bbbb"}


def test_zoom_holds_until_follow_is_pressed(window: MainWindow) -> None:
    fill(window.telemetry, "a", 2000)
    window.telemetry.set_focus("a")
    dock = window.telemetry_dock
    dock._on_zoom(1000.0, 50_000.0)
    card = dock.cards["entropy_mean"]
    card.redraw()
    low, high = card._plot.getViewBox().viewRange()[0]
    assert (low, high) == pytest.approx((1000.0, 50_000.0))
    assert dock.follow.isEnabled()
    QTest.mouseClick(dock.follow, Qt.MouseButton.LeftButton)
    card.redraw()
    assert card._plot.getViewBox().viewRange()[0][1] >= 1999 * 2048


def test_an_export_holds_every_point_not_only_the_drawn_ones(qapp, model: TelemetryModel) -> None:  # type: ignore[no-untyped-def]
    fill(model, "a", 5000)
    model.set_focus("a")
    lines = card_for(model).to_csv().splitlines()
    assert lines[0] == "run,env_steps,reward_mean"
    assert len(lines) == 5001
    assert float(lines[3000].split(",")[2]) == pytest.approx(
        model.run("a").table.column("reward_mean")[2999], rel=1e-9
    )


def test_checkpoints_and_resumes_are_marked(qapp, model: TelemetryModel) -> None:  # type: ignore[no-untyped-def]
    run = model.run("r")
    for update in range(1, 11):
        run.take(update_record("r", update - 1, update, 100.0))
    run.take(records.CheckpointRecord(
        run_id="r", seq=10, time=0.0, env_steps=4096, path="c", sha256="", size_bytes=1,
        success_rate=0.0, reason="periodic"))  # fmt: skip
    run.take(records.ResumeRecord(run_id="r", seq=11, time=0.0, env_steps=20480, update=10,
                                  checkpoint="c", previous_seq=10))  # fmt: skip
    model.set_focus("r")
    card = card_for(model)
    card.redraw()
    assert list(card._marks["checkpoints"].xData) == [4096, 4096]
    assert list(card._marks["resumes"].xData) == [20480, 20480]


def test_a_burst_of_50_000_records_leaves_the_loop_responsive(window: MainWindow) -> None:
    """Parsing and appending are cut into pieces; the longest piece is what a person feels."""
    from trainer_core.service.child import PARSE_BUDGET_S
    from trainer_core.service.stream import LineParser

    data = b"".join(records.encode(update_record("r", seq, seq + 1, 1.0)) for seq in range(5000))
    run, longest, count = window.telemetry.run("r"), 0.0, 0
    for part in range(10):
        parser = LineParser()
        parser.feed(data)
        while parser.backlog:
            begun = time.process_time()
            while time.process_time() - begun < PARSE_BUDGET_S and (item := parser.next()):
                seq = part * 5000 + item.seq
                run.take(replaced(item, seq=seq, env_steps=(seq + 1) * 2048))
                count += 1
            longest = max(longest, time.process_time() - begun)
    assert count == 50_000
    assert longest < 0.05
    assert run.table.column("env_steps")[-1] == 50_000 * 2048


# -- log and run table -----------------------------------------------------------------------


def test_the_log_keeps_5000_lines_and_follows_only_from_the_bottom(window: MainWindow) -> None:
    dock, view = window.log_dock, window.log_dock.view
    dock.show()
    dock.raise_()
    for number in range(6000):
        window.log.add(f"line {number}")
    dock.flush()
    assert view.document().blockCount() == MAX_LINES
    bar = view.verticalScrollBar()
    assert bar.value() == bar.maximum()
    bar.setValue(100)
    top = view.firstVisibleBlock().text()
    for number in range(50):
        window.log.add(f"more {number}")
    dock.flush()
    assert view.firstVisibleBlock().text() == top


def test_the_log_filters_by_level_and_text(window: MainWindow) -> None:
    for text in ("all is well", "UserWarning: mind the gap", "Traceback (most recent call last):"):
        window.log.add(text)
    window.log_dock.level.setCurrentIndex(2)
    assert window.log_dock.view.toPlainText() == "Traceback (most recent call last):"
    window.log_dock.level.setCurrentIndex(0)
    window.log_dock.search.setText("gap")
    assert window.log_dock.view.toPlainText() == "UserWarning: mind the gap"
    assert [level_of(line) for line in ("fine", "a warning", "fatal")] == [0, 1, 2]
    assert not LogBuffer().take_new()


def test_ten_thousand_runs_filter_quickly_and_the_selection_survives(qapp) -> None:  # type: ignore[no-untyped-def]
    model, proxy = RunList(), RunFilter()
    proxy.setSourceModel(model)
    model.put_all([run_record(f"run-{n:05}", RunState.FINISHED) for n in range(10_000)])
    begun = time.process_time()
    proxy.set_text("run-099 finished")
    assert time.process_time() - begun < 0.5
    assert proxy.rowCount() == 100
    index = proxy.index(3, 0)
    run = index.data(RUN_ROLE)
    model.put(replaced(run, env_steps=123_456))
    assert proxy.index(3, 0).data(RUN_ROLE).env_steps == 123_456
    assert proxy.index(3, 5).data() == "123k"
    assert ago(0.0, 7200.0) == "2 h ago"


# -- window ----------------------------------------------------------------------------------


def test_every_widget_that_takes_the_focus_has_a_name(window: MainWindow) -> None:
    nameless = [
        f"{type(widget).__name__} {widget.objectName()!r} in {widget.parentWidget()}"
        for widget in window.findChildren(QWidget)
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        and not widget.accessibleName()
        and not (isinstance(widget, QAbstractButton) and widget.text())
        and not widget.objectName().startswith("qt_")
        and type(widget).__name__ not in ("QTabBar", "QComboBoxListView", "QTabWidget", "QListView")
    ]
    assert not nameless, "\n".join(nameless)


def test_no_shortcut_is_given_twice(window: MainWindow) -> None:
    keys = [a.shortcut().toString() for a in window.actions_by_id.all().values()]
    given = [key for key in keys if key]
    assert len(given) == len(set(given))
    assert len(window.actions_by_id.cheat_sheet()) == len(given)
    with pytest.raises(ValueError, match="taken"):
        ActionRegistry.add(window.actions_by_id, "again", "Again", print, "Ctrl+N")


def test_the_layout_comes_back_and_a_bad_one_is_ignored(make_window, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    first = make_window()
    first.log_dock.setFloating(True)
    first.checkpoints_dock.hide()
    first.layouts.save()
    first.settings.save()
    second = make_window()
    assert second.log_dock.isFloating()
    assert not second.checkpoints_dock.isVisible()
    second.layouts.reset()
    assert not second.log_dock.isFloating()
    assert second.checkpoints_dock.isVisible()
    second.settings.set("layout/state", "rubbish")
    second.settings.save()
    assert not second.layouts.restore()
    assert make_window().agent_dock.isVisible()


def luminance(color: str) -> float:
    parts = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4
             for c in QColor(color).getRgbF()[:3]]  # fmt: skip
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colors", [theme.DARK, theme.LIGHT], ids=lambda c: c.name)
def test_texts_stand_out_from_their_background(colors: theme.Colors) -> None:
    for text in ("text", "muted", "good", "warn", "bad", "accent"):
        for ground in ("window", "base"):
            assert contrast(getattr(colors, text), getattr(colors, ground)) >= 4.5, (text, ground)
    for text, ground in (("text", "raised"), ("text", "accent_soft"), ("on_accent", "accent")):
        assert contrast(getattr(colors, text), getattr(colors, ground)) >= 4.5, (text, ground)
    for curve in colors.curves:
        assert contrast(curve, colors.window) >= 3, curve


def test_the_theme_changes_without_a_restart(window: MainWindow) -> None:
    fill(window.telemetry, "a", 100)
    window.telemetry.set_focus("a")
    card = window.telemetry_dock.cards["reward_mean"]
    card.redraw()
    window.set_theme("light")
    app = QApplication.instance()
    assert app.palette().window().color().name() == theme.LIGHT.window
    assert card.is_stale()
    card.redraw()
    pen = next(curve.opts["pen"] for key, curve in card._curves.items() if key[2] == "smooth")
    assert pen.color().name() == theme.LIGHT.curves[0]


def test_pictures_keep_coming_while_curves_grow(window: MainWindow, tmp_path: Path) -> None:
    """60 pictures and 20 records a second beside five curves of 100,000 points."""
    from PySide6.QtCore import QTimer

    from trainer_core.protocol.frames import FrameInfo, FrameShape, FrameWriter

    writer = FrameWriter(tmp_path / "frames.bin", FrameShape(160, 144))
    fill(window.telemetry, "a", 100_000)
    window.telemetry.set_focus("a")
    window.live.welcome_wanted = False
    window.live.source.open(tmp_path / "frames.bin")
    window.live.refresh()
    until(lambda: all(card.redraws for card in window.telemetry_dock.visible_cards()))
    published = [0]

    def publish() -> None:
        published[0] += 1
        writer.publish(bytes(160 * 144), FrameInfo(frame=published[0]))
        if published[0] % 3 == 0:
            seq = 100_000 + published[0]
            window.telemetry.take("a", update_record("a", seq, seq, 1.0))

    timer = QTimer(interval=16)
    timer.timeout.connect(publish)
    window.live.screen_view.paints = 0
    timer.start()
    cpu = time.process_time()
    until(lambda: published[0] >= 120)
    timer.stop()
    assert window.live.screen_view.paints >= 0.7 * published[0]
    assert time.process_time() - cpu < 1.5, "120 pictures and 40 records cost 1.5 s of CPU"
