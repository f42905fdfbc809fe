"""Help: the manual in a window, without network access, and information on this installation."""

from __future__ import annotations

import importlib.metadata
import platform
from pathlib import Path

import PySide6
from PySide6.QtCore import Qt, QUrl
from PySide6.QtWidgets import QDialog, QHBoxLayout, QMainWindow, QMessageBox, QTextBrowser, QVBoxLayout, QWidget

from gui.kit.actions import ActionRegistry
from gui.kit.labels import button, label
from gui.kit.words import tr
from trainer_core.lab.paths import CHECKOUT

PACKAGE = "dmglab"
README = CHECKOUT / "README.md" if CHECKOUT else None
"""README.md of a checkout; None in an installed package, whose metadata contain the text."""


class Manual(QDialog):
    """Window with the README; links to other pages of the docs work in a checkout."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("manual")
        self.setWindowTitle(tr("Manual"))
        self.text = QTextBrowser()
        self.text.setObjectName("manualText")
        self.text.setAccessibleName(tr("Manual"))
        self.text.setOpenExternalLinks(True)
        if README is not None and README.is_file():
            where = str(README)
            self.text.setSource(QUrl.fromLocalFile(where))
        else:
            where = tr("the description of the package {package}", package=PACKAGE)
            self.text.setMarkdown(_description())
        back = button(tr("Back"), "manualBack", clicked=self.text.backward)
        back.setEnabled(False)
        self.text.backwardAvailable.connect(back.setEnabled)
        row = QHBoxLayout()
        row.addWidget(back)
        row.addWidget(label(where, "muted"), 1)
        row.addWidget(button(tr("Close"), clicked=self.close))
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 16)
        column.setSpacing(8)
        column.addWidget(self.text, 1)
        column.addLayout(row)
        self.resize(820, 640)


def _description() -> str:
    """Return the README text from the metadata of the installed package."""
    try:
        return str(importlib.metadata.metadata(PACKAGE).json.get("description", ""))
    except importlib.metadata.PackageNotFoundError:
        return tr("This installation brings no manual; the README of its sources is one.")


def version() -> str:
    """Return the version of the installed package."""
    try:
        return importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return tr("of a checkout that was never installed")


def about(parent: QWidget, home: Path) -> QMessageBox:
    """Return a message box with the version and the home folder."""
    box = QMessageBox(parent)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setObjectName("about")
    box.setWindowTitle(tr("About DMG Lab"))
    box.setText(tr("DMG Lab {version}", version=version()))
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setInformativeText(
        "\n".join(
            (
                tr("Trains pixel agents on many Game Boys at once. MIT licence."),
                tr("Data: {home}", home=home),
                f"Python {platform.python_version()}, Qt {PySide6.__version__}, {platform.platform()}",
            )
        )
    )
    return box


def define_help(registry: ActionRegistry, window: QMainWindow, home: Path) -> None:
    registry.add(
        "manual", tr("Manual"), lambda: Manual(window).show(), tip=tr("What the app can do, and where more is written")
    )
    registry.add(
        "about", tr("About DMG Lab"), lambda: about(window, home).open(), tip=tr("Version, licence, where data lies")
    )
