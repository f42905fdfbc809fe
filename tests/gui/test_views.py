"""Plots, log, run table, layout, theme and accessibility."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QAbstractButton, QApplication, QComboBox, QLineEdit, QWidget

from gui.app import App
from gui.features.checkpoints.dock import CheckpointsDock
from gui.features.curves.card import PlotCard
from gui.features.curves.dock import TelemetryDock
from gui.features.curves.plots import PlotSpec, page_specs
from gui.features.curves.reports import curves_csv, run_tables
from gui.features.log.dock import SLICE, LogDock
from gui.features.play.live import LiveView
from gui.features.runs import model as run_list
from gui.features.runs.dock import RunsDock
from gui.features.runs.model import RunList
from gui.kit import object_names as names
from gui.kit import theme
from gui.kit.actions import ActionRegistry
from gui.kit.labels import ago
from gui.kit.plot_shapes import short_number
from gui.kit.settings import Settings
from gui.state.appearance import Appearance
from gui.state.log_buffer import MAX_LINES, LogBuffer, level_of
from gui.state.session import Mode, Navigation, Place, Session
from gui.state.telemetry import TelemetryModel
from tests.gui.conftest import QtBot, foreign_record, replaced, show_dock, there
from tests.support.made_records import run_record, update_record
from trainer_core.service.child import PARSE_BUDGET_S
from trainer_core.service.event_stream import LineParser
from trainer_core.wire import records
from trainer_core.wire.frames import FrameInfo, FrameShape, FrameWriter
from trainer_core.wire.run_names import run_name


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
    card = PlotCard(PlotSpec("reward_mean", "Reward", (("reward_mean", "reward"),)), model)
    card.resize(360, 120)
    card.show()
    return card


# -- plots -----------------------------------------------------------------------------------


def test_a_plot_of_100_000_points_redraws_within_a_frame(qapp, model: TelemetryModel) -> None:
    for run_id in ("a", "bb", "ccc", "dddd"):
        fill(model, run_id, 100_000)
        model.toggle_pin(run_id)
    model.set_focus("a")
    card = card_for(model)
    card.redraw()
    card.grab()
    assert card.canvas is not None
    begun = time.process_time()
    for turn in range(10):
        model.set_x_range((0.0, 100_000.0 * 2048 * (1 + turn / 50)))
        card.redraw()
        card.grab()
    spent_ms = (time.process_time() - begun) * 100
    assert spent_ms < 40, f"{spent_ms:.1f} ms of CPU a redraw"
    assert all(len(curve.x) <= 4 * 360 for curve in card.canvas.shown.curves)


def test_only_stale_plots_of_the_visible_tab_are_redrawn(qtbot: QtBot, app: App) -> None:
    show_dock(qtbot, app, names.TELEMETRY_DOCK)
    dock = app[TelemetryDock]
    fill(app[TelemetryModel], "a", 500)
    app[TelemetryModel].set_focus("a")
    cards = dock.visible_cards()
    qtbot.waitUntil(lambda: all(card.redraws == 1 for card in cards))
    qtbot.wait(600)
    assert all(card.redraws == 1 for card in cards), "nothing changed, nothing is drawn"
    assert all(card.redraws == 0 for card in dock.cards.values() if card not in cards)
    app[TelemetryModel].set_smoothing(0.9)
    qtbot.waitUntil(lambda: all(card.redraws == 2 for card in cards))


def test_the_header_has_the_value_at_the_crosshair_or_at_the_end_of_the_line(qapp, model: TelemetryModel) -> None:
    run = model.run("r")
    for update in range(1, 51):
        run.take(update_record("r", update - 1, update, 100.0))
    model.set_focus("r")
    card = card_for(model)
    card.redraw()
    assert card.canvas is not None
    card.canvas.hovered.emit(20 * 2048 + 900)
    assert model.crosshair == 20 * 2048, "the record beside it"
    card.show_crosshair()
    line = run.curve("reward_mean", "env_steps", model.smoothing)[1]
    assert card.readout() == {"reward": pytest.approx(line[19])}
    assert short_number(card.readout()["reward"]) in card.values.text()
    card.canvas.hovered.emit(None)
    assert card.readout()["reward"] == line[-1]


def test_three_pinned_runs_have_three_colours_which_stay(qtbot: QtBot, app: App) -> None:
    show_dock(qtbot, app, names.TELEMETRY_DOCK)
    for run_id in ("run-aaaa", "run-bbbb", "run-cccc"):
        fill(app[TelemetryModel], run_id, 200)
        app[TelemetryModel].toggle_pin(run_id)
    app[TelemetryModel].set_focus("run-aaaa")
    card = app[TelemetryDock].cards["reward_mean"]
    card.redraw()
    legend = app[TelemetryDock].legend
    assert legend.isVisible()
    assert all(run_name(f"run-{name}") in legend.text() for name in ("aaaa", "bbbb", "cccc"))

    def colors() -> dict[str, str]:
        assert card.canvas is not None
        return {curve.owner: curve.color.name() for curve in card.canvas.shown.curves}

    before = colors()
    assert set(before.values()) == set(theme.DARK.curves[:3])
    app[TelemetryModel].toggle_pin("run-bbbb")
    card.redraw()
    assert colors() == {name: before[name] for name in ("run-aaaa", "run-cccc")}
    later = [theme.curve_color(slot, "dark").name() for slot in range(14)]
    assert len(set(later)) == 14, "the same hues, lighter"


def test_another_trainers_scalars_get_plots_under_more(qtbot: QtBot, app: App, tmp_path: Path) -> None:
    show_dock(qtbot, app, names.TELEMETRY_DOCK)
    dock, telemetry = app[TelemetryDock], app[TelemetryModel]
    more = dock.tabs.indexOf(dock.more)
    command = app.actions[f"telemetry.{more}"]
    assert not dock.tabs.isTabVisible(more)
    assert not command.isEnabled()
    for seq in range(20):
        telemetry.take("r", foreign_record(seq, success_rate=seq / 20, **{"novelty/mean": 1.0 * seq}))
    telemetry.set_focus("r")
    assert dock.tabs.isTabVisible(more)
    command.trigger()
    assert [card.objectName() for card in dock.visible_cards()] == ["plot_novelty/mean"]
    qtbot.waitUntil(lambda: dock.cards["novelty/mean"].redraws)
    assert dock.cards["novelty/mean"].readout()["novelty/mean"] > 17, "smoothed"
    assert not dock.cards["success_rate"].isHidden()
    assert dock.cards["entropy_mean"].isHidden(), "this trainer does not measure it"
    assert curves_csv(run_tables(telemetry, ["env_steps", "novelty/mean"])).splitlines()[1].endswith(",10,0")
    for seq in range(20):
        telemetry.take("ours", update_record("ours", seq, seq + 1, 1.0))
    telemetry.set_focus("ours")
    assert not dock.tabs.isTabVisible(more)
    assert not dock.cards["entropy_mean"].isHidden()


def test_a_share_is_drawn_from_0_to_1_unless_it_is_small(qapp, model: TelemetryModel) -> None:
    for seq in range(10):
        model.take("r", foreign_record(seq, success_rate=0.3, done_rate=0.01))
    model.set_focus("r")
    tops = {}
    for spec in page_specs("overview"):
        if spec.metric in ("success_rate", "done_rate"):
            card = PlotCard(spec, model)
            card.resize(360, 120)
            card.redraw()
            assert card.canvas is not None
            low, tops[spec.metric] = card.canvas.shown.y_range
            assert low == 0
    assert tops["success_rate"] == 1.0
    assert tops["done_rate"] == pytest.approx(0.01)


def test_a_burst_of_50_000_records_leaves_the_loop_responsive(app: App) -> None:
    """Parsing and appending are cut into pieces; the longest piece is what a person feels."""
    data = b"".join(records.encode(update_record("r", seq, seq + 1, 1.0)) for seq in range(5000))
    run, longest, count = app[TelemetryModel].run("r"), 0.0, 0
    for part in range(10):
        parser = LineParser()
        parser.feed(data)
        while parser.backlog:
            begun = time.process_time()
            while time.process_time() - begun < PARSE_BUDGET_S and (item := parser.next()):
                assert isinstance(item, records.UpdateRecord)
                seq = part * 5000 + item.seq
                run.take(replaced(item, seq=seq, env_steps=(seq + 1) * 2048))
                count += 1
            longest = max(longest, time.process_time() - begun)
    assert count == 50_000
    assert longest < 0.2, "50 ms on a quiet computer; a loaded one counts cache misses as ours"
    assert run.table.column("env_steps")[-1] == 50_000 * 2048


# -- log and run table -----------------------------------------------------------------------


def test_the_log_keeps_5000_lines_and_follows_only_from_the_bottom(app: App) -> None:
    dock, view = app[LogDock], app[LogDock].view
    dock.show()
    dock.raise_()
    for number in range(6000):
        app[LogBuffer].add(f"line {number}")
    for _ in range(MAX_LINES // SLICE + 1):
        dock.flush()
    assert view.document().blockCount() == MAX_LINES
    bar = view.verticalScrollBar()
    assert bar.value() == bar.maximum()
    bar.setValue(100)
    top = view.firstVisibleBlock().text()
    for number in range(50):
        app[LogBuffer].add(f"more {number}")
    dock.flush()
    assert view.firstVisibleBlock().text() == top


def test_the_log_filters_by_level_and_text(app: App) -> None:
    for text in ("all is well", "UserWarning: mind the gap", "Traceback (most recent call last):"):
        app[LogBuffer].add(text)
    app[LogDock].level.setCurrentIndex(2)
    clock, text = app[LogDock].view.toPlainText().split("  ", 1)
    assert re.fullmatch(r"\d\d:\d\d:\d\d", clock), "when it came"
    assert text == "Traceback (most recent call last):"
    app[LogDock].level.setCurrentIndex(0)
    app[LogDock].search.setText("gap")
    assert app[LogDock].view.toPlainText().endswith("  UserWarning: mind the gap")
    assert [level_of(line) for line in ("fine", "a warning", "fatal")] == [0, 1, 2]
    assert not LogBuffer().take_new()


def test_ages_are_told_in_words() -> None:
    assert ago(0.0, 7200.0) == "2 h ago"


def test_ages_go_on_though_nothing_else_changes(qtbot: QtBot, app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    monkeypatch.setattr(run_list, "ago", lambda when: asked.append(when) or "x")
    app.window.resize(1600, 900)  # a narrow table leaves columns out
    show_dock(qtbot, app, names.RUNS_DOCK)
    app[RunList].put(run_record("r"))
    app[RunsDock].table.ages.setInterval(1)
    qtbot.waitUntil(lambda: len(asked) > 50)


# -- window ----------------------------------------------------------------------------------


def test_every_widget_that_takes_the_focus_has_a_name(app: App) -> None:
    nameless = [
        f"{type(widget).__name__} {widget.objectName()!r} in {widget.parentWidget()}"
        for widget in app.window.findChildren(QWidget)
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        and not widget.accessibleName()
        and not (isinstance(widget, QAbstractButton) and widget.text())
        and not widget.objectName().startswith("qt_")
        and type(widget).__name__ not in ("QTabBar", "QComboBoxListView", "QTabWidget", "QListView")
    ]
    assert not nameless, "\n".join(nameless)


def test_what_cannot_be_pressed_says_why(app: App) -> None:
    silent = [
        f"{type(widget).__name__} {widget.objectName()!r} in {widget.parentWidget()}"
        for widget in app.window.findChildren(QWidget)
        if isinstance(widget, QAbstractButton | QComboBox | QLineEdit)
        and not widget.isEnabledTo(there(widget.parentWidget()))
        and widget.toolTip() in ("", getattr(widget, "text", str)())
        and not widget.objectName().startswith("qt_")
        and not widget.objectName().startswith("Scroll")
    ]
    assert not silent, "\n".join(silent)


def test_no_shortcut_is_given_twice(app: App) -> None:
    keys = [a.shortcut().toString() for a in app.actions.all().values()]
    given = [key for key in keys if key]
    assert len(given) == len(set(given))
    assert len(app.actions.cheat_sheet()) == len(given)
    with pytest.raises(ValueError, match="taken"):
        ActionRegistry.add(app.actions, "again", "Again", print, "Ctrl+N")


def test_the_layout_comes_back_and_a_bad_one_is_ignored(qtbot: QtBot, make_app, tmp_path: Path) -> None:
    first = make_app()
    first[LogDock].setFloating(True)
    first[LogDock].show()
    show_dock(qtbot, first, names.CHECKPOINTS_DOCK)
    first.window.move(0, 3)
    place = first.window.pos()
    first.window.layouts.save()
    first[Settings].save()
    second = make_app()
    assert second[LogDock].isFloating()
    assert second.window.pos() == place, "at the upper edge too"
    assert second[CheckpointsDock].isHidden(), "it stays no longer than the app that it was opened in"
    second.window.layouts.reset()
    assert not second[LogDock].isFloating()
    second[Settings].set("layout/state", "rubbish")
    second[Settings].save()
    assert not second.window.layouts.restore()
    assert make_app()[LogDock].isHidden()


def luminance(color: str) -> float:
    shown = QColor(color)
    channels = (shown.redF(), shown.greenF(), shown.blueF())
    parts = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colors", [theme.DARK, theme.LIGHT], ids=lambda c: c.name)
def test_texts_and_edges_stand_out_from_their_ground(colors: theme.Colors) -> None:
    grounds = {
        "text": ("letterbox", "base", "window", "raised", "hover", "pressed", "zebra", "field", "accent_soft"),
        "muted": ("letterbox", "base", "window", "raised", "hover", "zebra", "field"),
        "accent": ("letterbox", "base", "window", "hover", "accent_soft"),
        "on_accent": ("accent_fill", "fill_hover", "fill_pressed"),
    } | {tone: ("base", "window", "raised", "zebra") for tone in ("good", "warn", "bad")}
    for text, places in grounds.items():
        for ground in places:
            assert contrast(getattr(colors, text), getattr(colors, ground)) >= 4.5, (text, ground)
    for edge, ground in (("edge", "window"), ("edge", "field"), ("fill_edge", "window"), ("disabled", "window")):
        least = 2.7 if edge == "disabled" else 3  # what cannot be used may be faint, not unreadable
        assert contrast(getattr(colors, edge), getattr(colors, ground)) >= least, (edge, ground)
    for curve in colors.curves:
        assert contrast(curve, colors.base) >= 3, curve


def test_the_theme_changes_without_a_restart(app: App) -> None:
    fill(app[TelemetryModel], "a", 100)
    app[TelemetryModel].set_focus("a")
    card = app[TelemetryDock].cards["reward_mean"]
    card.redraw()
    app[Appearance].set_theme("light")
    assert QApplication.palette().window().color().name() == theme.LIGHT.window
    assert card.is_stale()
    card.redraw()
    assert card.canvas is not None
    assert card.canvas.shown.curves[-1].color.name() == theme.LIGHT.curves[0]


def test_a_switch_leaves_nothing_in_the_theme_before(qtbot: QtBot, app: App) -> None:
    """What is polished in turns looks as if Qt had polished everything at once."""

    def pages() -> Iterator[QImage]:
        for place in (Place.CURVES, Place.REPLAY, Place.LEAGUE, Place.LIVE):
            app[Navigation].show(place)
            qtbot.wait(1)
            # Not the window at once: where docks come and go with the page, Qt paints their separators late.
            parts = app.window.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
            yield from (
                part.grab().toImage() for part in parts if part.isVisible() and not part.visibleRegion().isEmpty()
            )

    def settled() -> list[QImage]:
        """The pages once nothing moves any more: rows are laid out when they are first shown."""
        shown: list[list[QImage]] = [[]]

        def is_same() -> bool:
            shown.append(list(pages()))
            return shown[-1] == shown[-2]

        qtbot.waitUntil(is_same)
        return shown[-1]

    def polish_all() -> None:
        sheet = app.window.styleSheet()
        app.window.setStyleSheet("")
        app.window.setStyleSheet(sheet)

    app[Navigation].leave_welcome()
    settled()
    polish_all()  # which lays out all anew: before, so that colours alone are compared
    settled()
    app[Appearance].set_theme("light")
    qtbot.waitUntil(lambda: not theme._waiting)
    found = settled()
    polish_all()
    assert settled() == found
    assert app.window.grab().toImage().pixelColor(3, 3).name() == theme.LIGHT.window


def test_a_switch_amid_the_rest_of_another_waits_for_its_own(
    qtbot: QtBot, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of the switch before took the mark of the new one for done."""
    app[Appearance].set_theme("light")
    qtbot.waitUntil(lambda: len(theme._waiting) > 10)  # its rest is under way
    monkeypatch.setattr(theme, "REST_AFTER_MS", 500)
    app[Appearance].set_theme("dark")
    qtbot.wait(1)
    assert theme._waiting
    qtbot.waitUntil(lambda: not theme._waiting)


def test_pictures_keep_coming_while_curves_grow(qtbot: QtBot, app: App, tmp_path: Path) -> None:
    """60 pictures and 20 records a second beside five curves of 100,000 points."""
    writer = FrameWriter(tmp_path / "frames.bin", FrameShape(160, 144))
    fill(app[TelemetryModel], "a", 100_000)
    app[TelemetryModel].set_focus("a")
    app[Session].set_mode(Mode.HUMAN)
    app[Navigation].leave_welcome()
    show_dock(qtbot, app, names.TELEMETRY_DOCK)
    app[LiveView].source.open(tmp_path / "frames.bin")
    app[LiveView].refresh()
    qtbot.waitUntil(lambda: all(card.redraws for card in app[TelemetryDock].visible_cards()))
    published = [0]

    def publish() -> None:
        published[0] += 1
        writer.publish(bytes(160 * 144), FrameInfo(frame=published[0]))
        if published[0] % 3 == 0:
            seq = 100_000 + published[0]
            app[TelemetryModel].take("a", update_record("a", seq, seq, 1.0))

    timer = QTimer(interval=16)
    timer.timeout.connect(publish)
    app[LiveView].screen_view.paints = 0
    timer.start()
    cpu = time.process_time()
    qtbot.waitUntil(lambda: published[0] >= 120)
    timer.stop()
    assert app[LiveView].screen_view.paints >= 0.7 * published[0]
    assert time.process_time() - cpu < 1.5, "120 pictures and 40 records cost 1.5 s of CPU"
