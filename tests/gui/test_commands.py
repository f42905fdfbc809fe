"""One command, one verb: its menu entry, its button and its shortcut do the same and agree."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
from pathlib import Path

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QAction, QTextDocument
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QListWidget, QMenu, QPushButton

from gui.app import App
from gui.features.checkpoints.controller import CheckpointsController
from gui.features.games.controller import LibraryController
from gui.features.games.model import RomLibrary
from gui.features.play.controller import PlayController
from gui.features.play.live import LiveView
from gui.features.train.controller import TrainingController
from gui.kit import object_names as names
from gui.kit.actions import Command
from gui.shell.manual import GUIDE, PICTURE_WIDTH, Pages, chapters
from gui.shell.menus import MENUS, command_ids
from gui.state.checkpoints import CheckpointList
from gui.state.context import RECENT
from gui.state.failures import CATALOGUE
from tests.gui.conftest import QtBot, click, find, set_up, there
from tests.support.made_checkpoints import make_checkpoint
from trainer_core.envs.rom_registry import add_rom
from trainer_core.lab.paths import DOCS
from trainer_core.wire.run_record import RunState

BUTTONS = {
    "start": names.START_TRAINING_BUTTON,
    "pause": names.PAUSE_TRAINING_BUTTON,
    "stop": names.STOP_TRAINING_BUTTON,
    "checkpoint": "saveCheckpointButton",
    "deploy": names.DEPLOY_BUTTON,
    "warmStart": names.WARM_START_BUTTON,
    "playPause": "playPauseButton",
    "playStep": "playStepButton",
    "playRestart": "playRestartButton",
    "endPlayer": "playStopButton",
    "saveStart": names.SAVE_STATE_BUTTON,
    "captureGoal": names.CAPTURE_GOAL_BUTTON,
    "record": names.RECORD_BUTTON,
    "exportGif": names.EXPORT_GIF_BUTTON,
    "openTensorBoard": names.OPEN_TENSORBOARD_BUTTON,
}


def menu_entries(app: App) -> dict[str, QAction]:
    """Entry by its objectName, of every menu of the bar and of those in them."""
    menus = app.window.menuBar().findChildren(QMenu)
    return {entry.objectName(): entry for menu in menus for entry in menu.actions()}


def followers(app: App, action_id: str) -> list[QAbstractButton]:
    buttons = app.window.findChildren(QAbstractButton)
    return [button for button in buttons if button.property("action") == action_id]


def commands(app: App) -> dict[str, Command]:
    return {key: made for key, made in app.actions.all().items() if isinstance(made, Command)}


def assert_they_agree(app: App) -> None:
    for action_id, command in commands(app).items():
        for button in followers(app, action_id):
            assert button.isEnabled() == command.isEnabled(), action_id
            assert button.isChecked() == command.isChecked(), action_id
            assert button.toolTip() == command.toolTip(), action_id
            assert button.isHidden() != command.isVisible(), action_id


def always_possible(command: Command) -> None:
    command._refusal = lambda: ""
    command.refresh()


def test_menu_entry_and_button_run_the_one_verb(app: App) -> None:
    entries, calls = menu_entries(app), []
    in_menus = {name for ids in MENUS.values() for name in command_ids(ids)}
    for action_id, name in BUTTONS.items():
        command = app.actions[action_id]
        command.run = lambda action_id=action_id: calls.append(action_id)
        always_possible(command)
        assert action_id not in in_menus or entries[action_id] is command
        command.trigger()
        (button,) = followers(app, action_id)
        assert button.objectName() == name
        button.click()
        assert calls == [action_id, action_id]
        calls.clear()


def test_a_menu_has_at_most_twelve_entries(app: App) -> None:
    menus = app.window.menuBar().findChildren(QMenu)
    assert {m.title(): n for m in menus if (n := sum(not a.isSeparator() for a in m.actions())) > 12} == {}


def test_every_shortcut_runs_its_verb(qtbot: QtBot, app: App) -> None:
    calls: list[str] = []
    with_keys = {k: c for k, c in commands(app).items() if not c.shortcut().isEmpty()}
    for action_id, command in with_keys.items():
        command.run = lambda action_id=action_id: calls.append(action_id)
        always_possible(command)
    app.window.activateWindow()
    qtbot.waitUntil(lambda: QApplication.activeWindow() is app.window)
    for command in with_keys.values():
        qtbot.keySequence(app.window, command.shortcut())
    assert calls == list(with_keys)
    assert len(calls) > 15


def test_every_command_is_found_in_a_menu_by_its_shortcut_or_by_a_button(app: App) -> None:
    entries = menu_entries(app)
    remedies = {failure.command for failure in CATALOGUE}
    lost = [
        action_id
        for action_id, command in commands(app).items()
        if command.shortcut().isEmpty()
        and action_id not in entries
        and not followers(app, action_id)
        and action_id not in remedies
    ]
    assert not lost


def test_what_is_impossible_says_why(app: App) -> None:
    for action_id in ("pause", "stop", "checkpoint", "deploy", "record", "exportGif", "resumeRun"):
        command = app.actions[action_id]
        assert not command.isEnabled(), action_id
        assert command.toolTip().split(" (")[0] == command._refusal(), action_id
    assert "Select a checkpoint" in find(app, names.DEPLOY_BUTTON).toolTip()
    assert "running run" in find(app, names.PAUSE_TRAINING_BUTTON).toolTip()
    assert_they_agree(app)


def test_commands_follow_a_run_from_start_to_stop(qtbot: QtBot, app: App) -> None:
    training = app[TrainingController]

    def enabled() -> set[str]:
        ids = ("start", "pause", "checkpoint", "stop", "resumeRun")
        return {action_id for action_id in ids if app.actions[action_id].isEnabled()}

    assert enabled() == set()
    set_up(qtbot, app)
    click(app, names.CONSENT_CHECK)
    assert enabled() == {"start"}
    app.actions["start"].trigger()
    qtbot.waitUntil(lambda: training.state is RunState.RUNNING)
    assert {"pause", "checkpoint", "stop"} <= enabled()
    app.actions["pause"].trigger()
    qtbot.waitUntil(lambda: training.state is RunState.PAUSED)
    assert {"pause", "stop"} <= enabled()
    assert "checkpoint" not in enabled()
    qtbot.waitUntil(lambda: find(app, names.PAUSE_TRAINING_BUTTON).accessibleName() == "Resume")
    assert app.actions["pause"].text() == "Resume training"
    assert_they_agree(app)
    app.actions["stop"].trigger()
    qtbot.waitUntil(lambda: training.state is RunState.STOPPED)
    qtbot.waitUntil(lambda: app[CheckpointList].rowCount() == 1)
    assert "resumeRun" in enabled()
    assert not {"pause", "checkpoint", "stop"} & enabled()
    assert_they_agree(app)


def test_commands_follow_the_player(qtbot: QtBot, app: App) -> None:
    assert not app.actions["record"].isEnabled()
    app.actions["playGame"].trigger()
    qtbot.waitUntil(lambda: app[LiveView].screen_view.has_picture)
    assert all(app.actions[name].isEnabled() for name in ("record", "playPause", "endPlayer"))
    app.actions["record"].trigger()
    qtbot.waitUntil(lambda: app[PlayController].recording)
    button = find(app, names.RECORD_BUTTON, QPushButton)
    assert (button.isChecked(), button.text()) == (True, "Stop")
    assert not app.actions["captureGoal"].isEnabled()
    assert "built in" in find(app, names.CAPTURE_GOAL_BUTTON).toolTip()
    assert_they_agree(app)
    app.actions["endPlayer"].trigger()
    qtbot.waitUntil(lambda: not app[PlayController].is_active)
    qtbot.waitUntil(lambda: not app.actions["record"].isEnabled())
    assert_they_agree(app)


def test_commands_follow_the_selected_checkpoint(qtbot: QtBot, app: App, tmp_path: Path) -> None:
    app[CheckpointsController].import_folder(make_checkpoint(tmp_path / "mail"))
    qtbot.waitUntil(lambda: app.actions["deploy"].isEnabled())
    qtbot.mouseClick(find(app, names.WARM_START_BUTTON), Qt.MouseButton.LeftButton)
    assert app[TrainingController].draft.config.warm_start
    assert_they_agree(app)


def test_the_theme_on_show_is_the_one_that_is_checked(app: App) -> None:
    assert app.actions["themeDark"].isChecked()
    app.actions["themeLight"].trigger()
    assert app.actions["themeLight"].isChecked()
    assert not app.actions["themeDark"].isChecked()
    app.actions["themeLight"].trigger()
    assert app.actions["themeLight"].isChecked(), "choosing it again does not turn it off"


def test_menus_fit_a_screen_of_800_pixels_and_hold_no_remedies(app: App) -> None:
    for action in app.window.menuBar().actions():
        menu = action.menu()
        assert isinstance(menu, QMenu)
        assert menu.sizeHint().height() < 700, action.text()
        shown = [entry for entry in menu.actions() if not entry.isSeparator()]
        assert len(shown) <= (12 if action.text() in ("&File", "&Run", "&Play", "&Help") else 22), action.text()
    assert not {"useCpu", "fewerGameBoys", "openReceipt", "copyInstall"} & menu_entries(app).keys()
    assert all(menu.actions() or menu.title() == "Recent games" for menu in app.window.menuBar().findChildren(QMenu))


def test_games_that_were_played_are_played_again_from_the_menu(app: App, tmp_path: Path) -> None:
    menu = app.context.menus[RECENT]
    menu.aboutToShow.emit()
    (none,) = menu.actions()
    assert (none.text(), none.isEnabled()) == ("No game played yet", False)
    library, played = app[RomLibrary], []
    cards = [card for card in library.cards if card.shipped][:2]
    for card in cards:
        library.note_played(card.key)
    app[LibraryController].open_rom = played.append  # type: ignore[method-assign]
    menu.aboutToShow.emit()
    assert [entry.text() for entry in menu.actions()] == [cards[1].title, cards[0].title, "", "Clear this list"]
    menu.actions()[1].trigger()
    assert played == [cards[0].path]
    gone = shutil.copy(cards[0].path, tmp_path / "gone.gb")
    row = add_rom(Path(gone), app.bridge.home)
    library.note_played(row["sha256"])
    Path(gone).unlink()
    menu.aboutToShow.emit()
    assert menu.actions()[0].text().endswith("(missing)")
    assert (menu.actions()[0].isEnabled(), menu.actions()[0].toolTip()) == (False, f"{gone} does not exist")
    menu.actions()[-1].trigger()
    menu.aboutToShow.emit()
    assert [entry.text() for entry in menu.actions()] == ["No game played yet"]
    assert library.card(cards[0].key) is not None, "the game stays in the list"


def test_the_manual_has_pages_pictures_links_and_a_search(qtbot: QtBot, app: App) -> None:
    app.actions["manual"].trigger()
    text, contents = find(app, "manualText", Pages), find(app, "manualContents", QListWidget)
    assert text.toPlainText().startswith("Start")
    assert {page.stem for page in (DOCS / "guide").glob("*.md")} == set(GUIDE)
    for page in (page for pages in chapters().values() for page in pages):
        for link in re.findall(r"\]\(([^)#]+\.(?:md|png|gif))\)", page.read_text()):
            assert link.startswith("https://") or (page.parent / link).is_file(), f"{page.name}: {link}"
    text.anchorClicked.emit(QUrl("my_game.md#when-it-does-not-work"))
    assert there(contents.currentItem()).text() == "A game of your own"
    assert text.verticalScrollBar().value() > 500
    picture = text.loadResource(
        QTextDocument.ResourceType.ImageResource.value, QUrl.fromLocalFile(f"{DOCS}/images/app-play.png")
    )
    assert picture.deviceIndependentSize().width() == PICTURE_WIDTH
    click(app, "manualBack")
    assert text.toPlainText().startswith("Start")
    qtbot.keyClicks(find(app, "manualSearch"), "held-out")
    assert find(app, "manualFound", QLabel).text().endswith(" pages")
    for _ in range(2):
        qtbot.keyClick(find(app, "manualSearch"), Qt.Key.Key_Return)
    assert text.textCursor().selectedText().lower() == "held-out"
    assert there(contents.currentItem()).text().startswith("Other trainers")
    qtbot.keyClicks(find(app, "manualSearch"), "zzz")
    assert find(app, "manualFound", QLabel).text() == "No match"
    find(app, "manual").close()


def test_help_says_what_is_new_and_every_version(app: App) -> None:
    app.actions["whatsNew"].trigger()
    assert find(app, "manualText", Pages).toPlainText().startswith("Changelog")
    app.actions["about"].trigger()
    box = find(app, "about")
    assert importlib.metadata.version("dmglab") in box.text()
    told = box.informativeText()
    for part in (str(app.bridge.home.root), "Python 3.", "Qt 6.", "torch ", "warp-lang ", "pyqtgraph ", "MIT licence"):
        assert part in told
    box.close()
