"""Menus and shortcuts, all through the ActionRegistry."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QWidget

from gui.actions import ActionRegistry
from gui.docks.telemetry import TABS
from gui.models.session import Mode, Operation
from gui.widgets.dialogs import CheatSheet

if TYPE_CHECKING:
    from gui.main_window import MainWindow

PLAY_KEYS = [
    ("Arrows", "Game: direction"), ("Z / X", "Game: A / B"), ("Enter", "Game: START"),
    ("Backspace", "Game: SELECT"), ("Space", "Game: pause"), (".", "Game: one step"),
    ("+ / - / 0", "Game: speed"), ("Shift", "Game: hold for turbo"),
    ("Tab", "Game: hold to take over"), ("Esc", "Game: leave the screen"),
]  # fmt: skip


def build_menus(window: MainWindow) -> ActionRegistry:
    registry = ActionRegistry(window)
    bar = window.menuBar()
    file, run, view, play, help_menu = (
        bar.addMenu(title) for title in ("&File", "&Run", "&View", "&Play", "&Help")
    )
    add = registry.add
    add("import", "Import checkpoint...", window.checkpoints_dock.bring.click, "Ctrl+O", menu=file)
    add("exportGif", "Export GIF", window.replay.export.click, "Ctrl+E", menu=file)
    add("openHome", "Open data folder", lambda: _open(window), menu=file)
    file.addSeparator()
    add("quit", "Quit", window.close, "Ctrl+Q", menu=file)

    add("trainNew", "New run", lambda: _train_new(window), "Ctrl+N", menu=run)
    add("start", "Start training", window.training_dock.start.click, "Ctrl+Return", menu=run)
    add("pause", "Pause or resume", window.training.toggle_pause, "Ctrl+P", menu=run)
    add("checkpoint", "Save checkpoint", window.training.save_checkpoint, "Ctrl+S", menu=run)
    add("stop", "Stop", window.training.stop, "Ctrl+.", menu=run)
    run.addSeparator()
    add("filterRuns", "Filter runs", lambda: _focus_filter(window), "Ctrl+F", menu=run)

    docks = (
        (window.agent_dock, "F1"), (window.training_dock, "F3"), (window.telemetry_dock, "F2"),
        (window.runs_dock, "F4"), (window.checkpoints_dock, "F6"), (window.log_dock, "Ctrl+L"),
    )  # fmt: skip
    for dock, key in docks:
        action = dock.toggleViewAction()
        view.addAction(action)
        registry.adopt(f"dock.{dock.objectName()}", action, key)
    view.addSeparator()
    tabs = window.telemetry_dock.tabs
    for number, title in enumerate([*TABS, "Run info"]):
        text, keys = f"Telemetry: {title}", f"Ctrl+{number + 1}"
        add(f"telemetry.{number}", text, partial(tabs.setCurrentIndex, number), keys)
    for number, title in enumerate(("Live", "Env wall", "Replay")):
        text, keys = f"Center: {title}", f"Alt+{number + 1}"
        add(f"center.{number}", text, partial(window.center.setCurrentIndex, number), keys)
    add("themeDark", "Dark", lambda: window.set_theme("dark"), menu=view)
    add("themeLight", "Light", lambda: window.set_theme("light"), menu=view)
    view.addSeparator()
    add("screenGreen", "Screen in greens", lambda: window.set_screen_colors("green"), menu=view)
    add("screenGrey", "Screen in greys", lambda: window.set_screen_colors("grey"), menu=view)
    view.addSeparator()
    add("fullScreen", "Full screen", lambda: _full_screen(window), "F11", menu=view)
    add("resetLayout", "Reset layout", window.layouts.reset, "Ctrl+0", menu=view)

    add("playGame", "Play the game", window.play_game, "Ctrl+G", menu=play)
    add("deploy", "Deploy checkpoint", window.checkpoints_dock.deploy.click, "Ctrl+D", menu=play)
    add("record", "Record", window.live.record.click, "Ctrl+R", menu=play)
    add("endPlayer", "End the player", window.playing.stop, menu=play)

    add("shortcuts", "Keyboard", lambda: _cheat_sheet(window, registry), "F12", menu=help_menu)
    add("welcome", "Welcome", window.show_welcome, menu=help_menu)
    return registry


def _open(window: MainWindow) -> None:
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(window.bridge.home.root)))


def _train_new(window: MainWindow) -> None:
    window.session.set_mode(Mode.AGENT)
    window.session.set_operation(Operation.TRAIN)
    window.training.check()
    window.training_dock.raise_()


def _focus_filter(window: MainWindow) -> None:
    window.runs_dock.show()
    window.runs_dock.raise_()
    window.runs_dock.filter.setFocus(Qt.FocusReason.ShortcutFocusReason)


def _full_screen(window: QWidget) -> None:
    window.setWindowState(window.windowState() ^ Qt.WindowState.WindowFullScreen)


def _cheat_sheet(window: MainWindow, registry: ActionRegistry) -> None:
    sheet = CheatSheet(window, registry.cheat_sheet() + PLAY_KEYS)
    sheet.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    sheet.show()
