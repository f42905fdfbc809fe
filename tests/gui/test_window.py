"""The window fits the screen that is there, whatever was remembered."""

from __future__ import annotations

import time

import pytest
from PySide6.QtCore import QMargins, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QBoxLayout, QDockWidget, QLabel

from gui.app import App
from gui.features.curves.view import CurvesView
from gui.features.log.dock import LogDock
from gui.features.play.live import LiveView
from gui.features.runs.dock import RunsDock
from gui.features.runs.model import COLUMNS
from gui.features.tasks.dock import TaskDock
from gui.features.train.dock import TrainingDock
from gui.features.train.welcome import Welcome
from gui.kit import object_names as names
from gui.kit.settings import LAYOUT_VERSION, Settings
from gui.shell.layout import FRAME
from gui.state.session import Mode, Session
from tests.gui.conftest import click, find, there, until


def test_a_window_larger_than_the_screen_or_off_it_comes_back(app: App) -> None:
    window, room = app.window, QGuiApplication.primaryScreen().availableGeometry()
    window.setMinimumSize(room.width() * 2, room.height() * 2)
    window.setGeometry(room.width() + 50, -400, room.width() * 2, room.height() * 2)
    window.layouts._clamp()
    assert room.contains(window.frameGeometry())
    assert window.minimumWidth() <= room.width()


def test_a_first_window_leaves_room_for_its_frame(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    window, room = app.window, QGuiApplication.primaryScreen().availableGeometry()
    window.hide()
    window.setMinimumSize(room.size())
    window.resize(room.size())
    window.layouts._clamp(FRAME)
    assert window.width() <= room.width() - FRAME.width()
    assert window.height() <= room.height() - FRAME.height()
    # What a desktop puts around it is known once it is on show.
    around = QMargins(1, 20, 1, 5)
    monkeypatch.setattr(window, "frameGeometry", lambda: window.geometry().marginsAdded(around))
    window.resize(room.size())
    window.show()
    until(lambda: window.frameGeometry().height() <= room.height())
    assert window.frameGeometry().width() <= room.width()


def test_a_narrow_run_table_leaves_columns_out_instead_of_scrolling(app: App) -> None:
    dock = app[RunsDock]
    hidden = {}
    for width in (300, 900):
        dock.resize(width, 200)
        dock._fit_columns()
        hidden[width] = [name for n, name in enumerate(COLUMNS) if dock.table.isColumnHidden(n)]
    assert hidden[900] == []
    assert "State" not in hidden[300]
    assert hidden[300]


def test_narrow_curves_have_their_controls_in_two_rows(app: App) -> None:
    curves = app[CurvesView]
    for width, beside in ((300, False), (900, True)):
        curves.resize(width, 400)
        curves._fit_head()
        is_beside = curves._rows.direction() == QBoxLayout.Direction.LeftToRight
        assert is_beside is beside


def test_the_welcome_forgets_how_narrow_it_was(app: App) -> None:
    welcome = app[Welcome]
    texts = [text for text in welcome.findChildren(QLabel) if text.wordWrap()]
    until(lambda: any(text.minimumHeight() for text in texts))
    wide, size = [text.minimumHeight() for text in texts], welcome.size()
    welcome.resize(120, 400)
    welcome.resize(size)
    assert [text.minimumHeight() for text in texts] == wide


def test_docks_of_another_mode_do_not_come_back(make_app) -> None:
    """Mode and layout are remembered apart; an app that was killed has a layout of another mode."""
    first = make_app()
    first[Session].set_mode(Mode.HUMAN)
    first.window.layouts.save()
    first[Session].set_mode(Mode.AGENT)
    first[Settings].save()
    again = make_app()
    assert not again[TrainingDock].isHidden()
    assert again[TaskDock].isHidden()


def test_the_docks_are_put_away_for_the_game_and_come_back(app: App) -> None:
    window, only, settings = app.window, app.actions["onlyCenter"], app[Settings]
    docks = window.findChildren(QDockWidget)
    before, wide = [dock.isHidden() for dock in docks], app[LiveView].width()
    only.trigger()
    assert all(dock.isHidden() for dock in docks)
    until(lambda: app[LiveView].width() > wide + 500)
    app[Session].set_mode(Mode.HUMAN)
    assert all(dock.isHidden() for dock in docks), "a mode brings none of them back"
    window.layouts.save()
    only.trigger()
    app[Session].set_mode(Mode.AGENT)
    assert [dock.isHidden() for dock in docks] == before
    assert not only.isChecked()
    # Whoever closes the app meanwhile finds the docks again.
    for dock in docks:
        dock.hide()
    window.restoreState(settings.blob("layout/state"), LAYOUT_VERSION)
    assert [dock.isHidden() for dock in docks] == before


def test_the_sheet_of_keys_is_no_higher_than_a_low_window(app: App) -> None:
    app.window.resize(1024, 700)
    begun = time.thread_time()
    app.actions["shortcuts"].trigger()
    assert time.thread_time() - begun < 0.08, "0.1 s and more with a label a key"
    sheet = find(app, "cheatSheet")
    QTest.qWait(1)
    assert 400 < sheet.height() <= 700
    assert sheet.width() <= 1024
    sheet.close()


def test_tab_passes_by_what_lies_behind_another_dock(app: App) -> None:
    app.window.activateWindow()
    assert app[LogDock].visibleRegion().isEmpty(), "it lies behind the runs"
    find(app, "runFilter").setFocus()
    until(lambda: find(app, "runFilter").hasFocus())
    seen = []
    while len(seen) < 60:
        QTest.keyClick(there(QApplication.focusWidget()), Qt.Key.Key_Tab)
        reached = there(QApplication.focusWidget())
        if reached.objectName() == "runFilter":
            break
        seen.append(reached)
    assert len(seen) > 15
    assert all(app[LogDock].isAncestorOf(widget) is False for widget in seen)
    assert all(widget.accessibleName() or widget.text() for widget in seen)


def test_the_choices_of_the_command_unfold_whole_in_a_window_of_1280_by_800(app: App) -> None:
    app.window.resize(1280, 800)
    click(app, "exactCommand")
    check = find(app, names.DETACH_CHECK)
    until(lambda: check.isVisible() and check.width() >= check.sizeHint().width())
