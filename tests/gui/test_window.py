"""The window fits the screen that is there, whatever was remembered."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from PySide6.QtCore import QMargins, Qt
from PySide6.QtGui import QGuiApplication, QWindowStateChangeEvent
from PySide6.QtWidgets import QApplication, QBoxLayout, QDockWidget, QLabel, QPushButton

from gui.app import App
from gui.features.curves.dock import TelemetryDock
from gui.features.curves.view import CurvesView
from gui.features.log.dock import LogDock
from gui.features.play.live import LiveView
from gui.features.runs.dock import RunsDock
from gui.features.runs.model import COLUMNS
from gui.features.train.controller import TrainingController
from gui.features.train.welcome import Welcome
from gui.kit import object_names as names
from gui.kit.containers import Segmented
from gui.kit.settings import LAYOUT_VERSION, Settings
from gui.shell.screen_fit import FRAME
from gui.state.session import Mode, Navigation, Place, Session
from gui.state.situation import Situation, Situations
from tests.gui.conftest import QtBot, click, find, there
from tests.support.made_homes import make_home


def test_a_window_larger_than_the_screen_or_off_it_comes_back(app: App) -> None:
    window, room = app.window, QGuiApplication.primaryScreen().availableGeometry()
    window.setMinimumSize(room.width() * 2, room.height() * 2)
    window.setGeometry(room.width() + 50, -400, room.width() * 2, room.height() * 2)
    window.layouts.fit.clamp()
    assert room.contains(window.frameGeometry())
    assert window.minimumWidth() <= room.width()


def test_a_first_window_leaves_room_for_its_frame(qtbot: QtBot, app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    window, room = app.window, QGuiApplication.primaryScreen().availableGeometry()
    window.hide()
    window.setMinimumSize(room.size())
    window.resize(room.size())
    window.layouts.fit.clamp(FRAME)
    assert window.width() <= room.width() - FRAME.width()
    assert window.height() <= room.height() - FRAME.height()
    # What a desktop puts around it is known once it is on show.
    around = QMargins(1, 20, 1, 5)
    monkeypatch.setattr(window, "frameGeometry", lambda: window.geometry().marginsAdded(around))
    window.resize(room.size())
    window.show()
    qtbot.waitUntil(lambda: window.frameGeometry().height() <= room.height())
    assert window.frameGeometry().width() <= room.width()
    # A window that began in full screen has no frame until it leaves it.
    window.move(window.x(), 40)
    assert window.frameGeometry().bottom() > room.bottom()
    QApplication.sendEvent(window, QWindowStateChangeEvent(Qt.WindowState.WindowFullScreen))
    qtbot.waitUntil(lambda: window.frameGeometry().bottom() <= room.bottom())


def test_a_narrow_run_table_leaves_columns_out_instead_of_scrolling(app: App) -> None:
    dock = app[RunsDock]
    hidden = {}
    for width in (300, 900):
        dock.resize(width, 200)
        dock._fit_columns()
        hidden[width] = [name for n, name in enumerate(COLUMNS) if dock.table.isColumnHidden(n)]
    assert hidden[900] == ["Differs in", "At the crosshair", "Device"], "until two runs show, or the user asks"
    assert "State" not in hidden[300]
    assert hidden[300]


def test_narrow_curves_have_their_controls_in_two_rows(app: App) -> None:
    curves = app[CurvesView]
    for width, beside in ((300, False), (900, True)):
        curves.resize(width, 400)
        curves._fit_head()
        is_beside = curves._rows.direction() == QBoxLayout.Direction.LeftToRight
        assert is_beside is beside


def test_the_welcome_forgets_how_narrow_it_was(qtbot: QtBot, app: App) -> None:
    welcome = app[Welcome]
    texts = [text for text in welcome.findChildren(QLabel) if text.wordWrap()]
    qtbot.waitUntil(lambda: any(text.minimumHeight() for text in texts))
    wide, size = [text.minimumHeight() for text in texts], welcome.size()
    welcome.resize(120, 400)
    welcome.resize(size)
    assert [text.minimumHeight() for text in texts] == wide


def on_show(app: App) -> set[str]:
    docks = app.window.findChildren(QDockWidget)
    return {dock.objectName() for dock in docks if not dock.isHidden()}


def modes_in_sight(app: App) -> list[str]:
    """The switches of the mode that one sees: there is one, wherever the panels stand."""
    return [
        made.objectName()
        for made in app.window.findChildren(Segmented)
        if made.isVisible() and made.objectName().endswith("modeSwitch")
    ]


def shown_in(qtbot: QtBot, app: App, situation: Situation) -> set[str]:
    qtbot.waitUntil(lambda: app[Situations].now is situation)
    qtbot.wait(1)
    return on_show(app)


def test_a_first_start_is_the_card_and_nothing_else(app: App) -> None:
    window = app.window
    assert on_show(app) == set()
    assert app[Welcome].isVisible()
    assert not any(part.isVisible() for part in (window.center.tabBar(), find(app, "strip"), find(app, "runHeader")))
    assert modes_in_sight(app) == ["corner_modeSwitch"]


def test_panels_come_with_what_one_does_and_go_with_it(qtbot: QtBot, make_app) -> None:
    app = make_app(updates=100_000, interval_s=0.02)
    left, right = {names.AGENT_DOCK, names.TRAINING_DOCK}, {names.TELEMETRY_DOCK, names.CHECKPOINTS_DOCK}
    app.window.resize(1440, 900)
    app.actions["dock.agentDock"].trigger()
    assert shown_in(qtbot, app, Situation.SETUP) == left, "no run yet, so no table of runs"
    assert modes_in_sight(app) == ["modeSwitch"]
    find(app, names.TRAIN_NEW_BUTTON).setFocus()
    app[TrainingController].set_consent(True)
    app[TrainingController].start()
    assert shown_in(qtbot, app, Situation.RUN) == right | {names.RUNS_DOCK, names.LOG_DOCK}
    assert app.window.focusWidget() is not find(app, "runFilter"), "letters typed now are commands"
    assert modes_in_sight(app) == ["strip_modeSwitch"]
    assert find(app, "runHeader").isVisible()
    picker, tabs = find(app, "telemetryPages"), app[TelemetryDock].tabs
    qtbot.keyClick(picker, Qt.Key.Key_Down)
    assert (tabs.currentIndex(), tabs.tabBar().isVisible()) == (1, False), "the docks' tabs are the only row"
    app.actions["telemetry.0"].trigger()
    assert picker.currentText() == "Overview"
    for width in (1024, 1260, 1440):
        app.window.resize(width, 900)
        shown = [made for made in find(app, "runHeader").findChildren(QPushButton) if made.isVisible()]
        assert len(shown) == 3
        qtbot.waitUntil(lambda shown=shown: all(made.width() >= made.sizeHint().width() for made in shown))
    app.window.resize(1440, 780)
    qtbot.waitUntil(lambda: on_show(app) == right)
    assert find(app, "unfoldRuns").isVisible()
    app[Navigation].show(Place.CURVES)
    assert shown_in(qtbot, app, Situation.CURVES) == {names.RUNS_DOCK, names.LOG_DOCK}
    app[Navigation].show(Place.WALL)
    app.window.resize(1024, 700)
    assert shown_in(qtbot, app, Situation.RUN) == right
    app.actions["dock.agentDock"].trigger()
    qtbot.waitUntil(lambda: on_show(app) == left)  # in so narrow a window they take the place of those at the right
    app.actions["dock.agentDock"].trigger()
    qtbot.waitUntil(lambda: on_show(app) == right)


def test_what_the_user_closed_stays_closed_there_and_what_he_opened_stays(
    qtbot: QtBot, make_app, tmp_path: Path
) -> None:
    home = make_home(tmp_path / "home", 2, 3)
    first = make_app(home.root)
    first.window.resize(1440, 900)
    assert names.RUNS_DOCK in shown_in(qtbot, first, Situation.RUN)
    first.actions["dock.runsDock"].trigger()
    first.actions["dock.memoryDock"].trigger()
    qtbot.waitUntil(lambda: names.RUNS_DOCK not in on_show(first) and names.MEMORY_DOCK in on_show(first))
    first[Navigation].show(Place.CURVES)
    assert {names.RUNS_DOCK, names.MEMORY_DOCK} <= shown_in(qtbot, first, Situation.CURVES)
    first[Navigation].show(Place.LIVE)
    assert names.RUNS_DOCK not in shown_in(qtbot, first, Situation.RUN)
    first.window.layouts.save()
    first[Settings].save()
    again = make_app(home.root)
    assert again.window.layouts.restore(), "with docks in one place, too"
    again[Navigation].show(Place.LIVE)
    assert names.RUNS_DOCK not in shown_in(qtbot, again, Situation.RUN)
    again[Navigation].show(Place.CURVES)
    assert names.MEMORY_DOCK not in shown_in(qtbot, again, Situation.CURVES), "opened by hand until the restart"


def test_docks_follow_the_mode(qtbot: QtBot, app: App) -> None:
    app[Session].set_mode(Mode.HUMAN)
    assert shown_in(qtbot, app, Situation.PLAY) == {names.AGENT_DOCK, names.TASK_DOCK}
    app[Session].set_mode(Mode.AGENT)
    assert shown_in(qtbot, app, Situation.FIRST) == set()


def test_the_docks_are_put_away_for_the_game_and_come_back(qtbot: QtBot, app: App) -> None:
    window, only, settings = app.window, app.actions["onlyCenter"], app[Settings]
    app.actions["dock.agentDock"].trigger()
    before = shown_in(qtbot, app, Situation.SETUP)
    wide = app[LiveView].width()
    only.trigger()
    assert on_show(app) == set()
    qtbot.waitUntil(lambda: app[LiveView].width() > wide + 200)
    app[Session].set_mode(Mode.HUMAN)
    assert on_show(app) == set(), "a mode brings none of them back"
    window.layouts.save()
    app[Session].set_mode(Mode.AGENT)
    only.trigger()
    qtbot.waitUntil(lambda: on_show(app) == before)
    assert not only.isChecked()
    # Whoever closes the app meanwhile finds the docks again.
    for dock in window.findChildren(QDockWidget):
        dock.hide()
    window.restoreState(settings.blob("layout/state"), LAYOUT_VERSION)
    assert on_show(app) == before


def test_the_sheet_of_keys_is_no_higher_than_a_low_window(qtbot: QtBot, app: App) -> None:
    app.window.resize(1024, 700)
    begun = time.thread_time()
    app.actions["shortcuts"].trigger()
    assert time.thread_time() - begun < 0.08, "0.1 s and more with a label a key"
    sheet = find(app, "cheatSheet")
    qtbot.wait(1)
    assert 400 < sheet.height() <= 700
    assert sheet.width() <= 1024
    sheet.close()


def test_tab_passes_by_what_lies_behind_another_dock(qtbot: QtBot, app: App) -> None:
    app.window.activateWindow()
    app.actions["dock.runsDock"].trigger()
    app.actions["dock.agentDock"].trigger()
    app[LogDock].show()
    app[RunsDock].raise_()
    qtbot.waitUntil(lambda: app[LogDock].visibleRegion().isEmpty() and not app[LogDock].isHidden())
    find(app, "runFilter").setFocus()
    qtbot.waitUntil(lambda: find(app, "runFilter").hasFocus())
    seen = []
    while len(seen) < 60:
        qtbot.keyClick(there(QApplication.focusWidget()), Qt.Key.Key_Tab)
        reached = there(QApplication.focusWidget())
        if reached.objectName() == "runFilter":
            break
        seen.append(reached)
    assert len(seen) > 15
    assert all(app[LogDock].isAncestorOf(widget) is False for widget in seen)
    assert all(widget.accessibleName() or widget.text() for widget in seen)


def test_the_choices_of_the_command_unfold_whole_in_a_window_of_1280_by_800(qtbot: QtBot, app: App) -> None:
    app.window.resize(1280, 800)
    app.actions["dock.trainingDock"].trigger()
    click(app, "exactCommand")
    check = find(app, names.DETACH_CHECK)
    qtbot.waitUntil(lambda: check.isVisible() and check.width() >= check.sizeHint().width())
