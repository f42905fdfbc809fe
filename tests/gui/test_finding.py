"""The command palette, the settings, and keys that a person chooses."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QPushButton, QTabWidget

from gui.app import App
from gui.features.runs.controller import RunsController
from gui.features.train.ahead import StartAhead
from gui.kit.actions import plain_words
from gui.kit.settings import Settings
from gui.shell.commands import CommandPalette, rank
from gui.shell.settings_dialog import SettingsDialog
from gui.state.appearance import Appearance
from gui.state.telemetry import TelemetryModel
from tests.gui.conftest import QtBot, find
from tests.support.made_records import run_record
from trainer_core.wire.run_names import run_name
from trainer_core.wire.run_record import RunState


def test_letters_in_order_find_a_command_and_a_beginning_comes_first() -> None:
    assert rank("dep", "Deploy checkpoint") == 0
    assert rank("check", "Deploy checkpoint") == 1
    assert rank("dchk", "Deploy checkpoint") == 2
    assert rank("kd", "Deploy checkpoint") == -1


def test_the_palette_does_what_was_found(qtbot: QtBot, app: App) -> None:
    app.actions["commandPalette"].trigger()
    palette = find(app, "commandPalette", CommandPalette)
    qtbot.keyClicks(palette.box, "light")
    qtbot.keyClick(palette.box, Qt.Key.Key_Return)
    assert app[Appearance].theme == "light"
    app[Appearance].set_theme("dark")


def test_the_palette_finds_a_run_by_its_name(qtbot: QtBot, app: App) -> None:
    for run_id in ("r-1", "r-2"):
        app[RunsController].take_in(run_record(run_id, RunState.FINISHED))
    app.actions["commandPalette"].trigger()
    palette = find(app, "commandPalette", CommandPalette)
    qtbot.keyClicks(palette.box, run_name("r-1"))
    assert palette.list.count() == 1
    qtbot.keyClick(palette.box, Qt.Key.Key_Return)
    assert app[TelemetryModel].focus == "r-1"


def test_a_command_that_is_impossible_stays_undone_and_says_why(qtbot: QtBot, app: App) -> None:
    app.actions["commandPalette"].trigger()
    palette = find(app, "commandPalette", CommandPalette)
    qtbot.keyClicks(palette.box, "deploy checkpoint")
    item = palette.list.item(0)
    assert item.toolTip() == "Select a checkpoint first (Ctrl+D)"
    qtbot.keyClick(palette.box, Qt.Key.Key_Return)
    assert palette.isVisible()


def test_keys_are_changed_and_a_clash_is_told_before_it_is_made(make_app) -> None:
    app = make_app()
    app.actions["settings"].trigger()
    table = find(app, "settingsDialog", SettingsDialog).shortcuts
    row = list(app.actions.all()).index("trainNew")
    table.table.selectRow(row)
    table.keys.setKeySequence(QKeySequence("Ctrl+D"))
    assert table.told.text() == "Already used for: Deploy checkpoint"
    assert not find(app, "setShortcutButton", QPushButton).isEnabled()
    table.keys.setKeySequence(QKeySequence("Ctrl+Alt+N"))
    find(app, "setShortcutButton", QPushButton).click()
    assert app.actions["trainNew"].shortcut() == QKeySequence("Ctrl+Alt+N")
    app[Settings].save()
    again = make_app(app.bridge.home.root)
    assert again.actions["trainNew"].shortcut() == QKeySequence("Ctrl+Alt+N")
    again.actions.rebind("trainNew", again.actions.default("trainNew"))
    assert not again[Settings].text("keys/trainNew")


def test_a_setting_holds_at_once(app: App) -> None:
    assert app[StartAhead].is_wanted()
    app.actions["settings"].trigger()
    find(app, "setting_training_start_ahead", QCheckBox).click()
    assert not app[StartAhead].is_wanted()


def test_the_settings_are_searched(app: App) -> None:
    app.actions["settings"].trigger()
    dialog = find(app, "settingsDialog", SettingsDialog)
    tabs = dialog.findChild(QTabWidget)
    search, table = find(app, "settingsSearch", QLineEdit), dialog.shortcuts.table
    search.setText("reset LAYOUT")
    left = [row for row in range(table.rowCount()) if not table.isRowHidden(row)]
    assert [table.item(row, 0).text() for row in left] == [plain_words(app.actions["resetLayout"])]
    assert tabs.currentWidget() is dialog.shortcuts, "the page with the only hit came to the front"
    assert not tabs.isTabEnabled(0)
    search.setText("450 MB")
    assert tabs.currentIndex() == 0
    assert not find(app, "setting_training_start_ahead", QCheckBox).isHidden()
    assert find(app, "settingLanguage", QComboBox).isHidden()
    search.clear()
    assert not find(app, "settingLanguage", QComboBox).isHidden()
    assert not any(map(table.isRowHidden, range(table.rowCount())))
