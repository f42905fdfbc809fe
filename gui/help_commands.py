"""Commands that explain the app: its manual, and which version this is."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QMainWindow

from gui.actions import ActionRegistry
from gui.widgets.manual import Manual, about
from gui.words import tr


def define_help(registry: ActionRegistry, window: QMainWindow, home: Path) -> None:
    registry.add(
        "manual", tr("Manual"), lambda: Manual(window).show(), tip=tr("What the app can do, and where more is written")
    )
    registry.add(
        "about", tr("About DMG Lab"), lambda: about(window, home).open(), tip=tr("Version, licence, where data lies")
    )
