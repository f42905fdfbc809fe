"""Help: the manual, what is new, and information on this installation."""

from __future__ import annotations

import importlib.metadata
import platform
from pathlib import Path

from PySide6.QtCore import Qt, qVersion
from PySide6.QtWidgets import QMainWindow, QMessageBox, QWidget

from gui.kit.actions import ActionRegistry
from gui.kit.words import tr
from gui.shell.manual import NEWS, Manual
from trainer_core.lab.paths import ASSETS

PACKAGE = "dmglab"
LIBRARIES = ("PySide6_Essentials", "pyqtgraph", "torch", "warp-lang", "numpy")
"""Packages whose versions *About* tells; none of them is imported for it."""


def version(package: str, otherwise: str) -> str:
    """Return the version of an installed package; `otherwise` if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return otherwise


def fonts() -> str:
    """Return a line with the bundled fonts and the place of their licences; empty without any."""
    folder = ASSETS / "fonts"
    found = sorted({path.stem.partition("-")[0] for path in folder.rglob("*.[ot]tf")})
    return tr("Fonts: {fonts}; licences in {folder}", fonts=", ".join(found), folder=folder) if found else ""


def about(parent: QWidget, home: Path) -> QMessageBox:
    """Return a message box with all versions, the licences and the home folder."""
    box = QMessageBox(parent)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setObjectName("about")
    box.setWindowTitle(tr("About DMG Lab"))
    own = version(PACKAGE, tr("run from its sources, not installed"))
    box.setText(tr("DMG Lab {version}", version=own))
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    libraries = (f"{name} {version(name, tr('not installed'))}" for name in LIBRARIES)
    lines = (
        tr("Trains agents on the screens of many Game Boys at once. MIT licence."),
        fonts(),
        tr("Data: {home}", home=home),
        f"Python {platform.python_version()}, Qt {qVersion()}, {platform.platform()}",
        ", ".join(libraries),
    )
    box.setInformativeText("\n".join(filter(None, lines)))
    return box


def define_help(registry: ActionRegistry, window: QMainWindow, home: Path) -> None:
    registry.add("manual", tr("Manual"), lambda: Manual(window).show(), tip=tr("The guide and the reference, offline"))
    registry.add("whatsNew", tr("What's new"), lambda: Manual(window, NEWS).show(), tip=tr("Changes of each version"))
    registry.add(
        "about",
        tr("About DMG Lab"),
        lambda: about(window, home).open(),
        tip=tr("Versions, licences and the data folder"),
    )
