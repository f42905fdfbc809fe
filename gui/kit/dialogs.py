"""File dialogs, the question about running trainings when the app ends, the list of shortcuts."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QDir, Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QDialog, QFileDialog, QFrame, QMessageBox, QScrollArea, QWidget

from gui.kit.boxes import hbox, named, vbox
from gui.kit.labels import button, label
from gui.kit.settings import Settings
from gui.kit.words import tr

FOLDERS = "folders/"
"""Prefix of the settings with the folder last used; the ending of the files, or the dialog's title, follows."""
_ENDING = re.compile(r"\*\.(\w+)")
_settings: Settings | None = None
SHEET_EDGE = 76
"""Height in pixels of the dialog's parts around the list of keys."""


def ask_about_running(
    parent: QWidget, count: int, stop_and_close: Callable[[], None], keep_and_close: Callable[[], None]
) -> None:
    """Ask whether running trainings shall stop or continue after the app; returns without waiting for the answer."""
    box = named(QMessageBox(parent), "closeQuestion")
    box.setWindowTitle("DMG Lab")
    what = tr("A run is training") if count == 1 else tr("{count} runs are training", count=count)
    box.setText(f"{what}.")
    box.setInformativeText(
        tr(
            "Keep running: training continues without the app, and you find the run here next time.\n"
            "Stop: training ends after saving a checkpoint."
        )
    )
    answers = (
        (tr("Keep running"), "keepRunningButton", QMessageBox.ButtonRole.AcceptRole, keep_and_close),
        (tr("Stop and close"), "stopAndCloseButton", QMessageBox.ButtonRole.DestructiveRole, stop_and_close),
        (tr("Cancel"), "cancelCloseButton", QMessageBox.ButtonRole.RejectRole, None),
    )
    for text, name, role, act in answers:
        made = named(box.addButton(text, role), name)
        if act is not None:
            made.clicked.connect(act)
        else:
            box.setDefaultButton(made)
            box.setEscapeButton(made)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.open()


def keep_folders(settings: Settings) -> None:
    """Keep the folder last used for each kind of file in `settings`, and begin there the next time."""
    global _settings
    _settings = settings


def begin_folder(name: str = "", kind: str = "") -> str:
    """Return the path at which a file dialog starts: in the folder last used for this kind of file.

    Before there is one, an absolute `name` is that path, and a relative one is in the user's home directory.
    """
    kept = _settings.text(FOLDERS + kind) if _settings is not None and kind else ""
    if kept and Path(kept).is_dir():
        return str(Path(kept) / Path(name).name)
    return name if Path(name).is_absolute() else str(Path(QDir.homePath()) / name)


def _take(path: str, kind: str, then: Callable[[Path], object], *, is_folder: bool = False) -> None:
    """Call `then` with the chosen path, if there is one, and note its folder."""
    if not path:
        return
    if _settings is not None and kind:
        _settings.set(FOLDERS + kind, path if is_folder else str(Path(path).parent))
    then(Path(path))


def show_file(path: Path) -> None:
    """Open a file or folder with the desktop's default program."""
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))


def ask_folder(parent: QWidget, title: str, then: Callable[[Path], object]) -> None:
    """Ask for a folder; `then` is called with it unless the user cancels."""
    path = QFileDialog.getExistingDirectory(parent, title, begin_folder(kind=title))
    _take(path, title, then, is_folder=True)


def ask_file(parent: QWidget, title: str, kinds: str, then: Callable[[Path], object], begin: str = "") -> None:
    """Ask for an existing file; `then` is called with it unless the user cancels.

    `kinds` is Qt's filter of file types; the first one stands for the kind. `begin` is the folder for the first time.
    """
    found = _ENDING.search(kinds)
    kind = found[1] if found else title
    path, _ = QFileDialog.getOpenFileName(parent, title, begin_folder(begin, kind), kinds)
    _take(path, kind, then)


def ask_new_file(parent: QWidget, title: str, name: str, then: Callable[[Path], object]) -> None:
    """Ask for the path of a file to write; `then` is called with it unless the user cancels."""
    kind = Path(name).suffix.removeprefix(".") or title
    path, _ = QFileDialog.getSaveFileName(parent, title, begin_folder(name, kind))
    _take(path, kind, then)


class Sheet(QDialog):
    """Dialog with an objectName and a title, which is deleted when it is closed."""

    def __init__(self, parent: QWidget, object_name: str, title: str) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName(object_name)
        self.setWindowTitle(title)


class CheatSheet(Sheet):
    """Dialog with the list of all shortcuts."""

    def __init__(self, parent: QWidget, rows: list[tuple[str, str]]) -> None:
        super().__init__(parent, "cheatSheet", tr("Keyboard"))
        column = vbox(self, margins=(24, 16, 24, 16), spacing=16)
        sides = hbox(margins=(9, 9, 9, 9), spacing=16)
        half = (len(rows) + 1) // 2
        for part in (rows[:half], rows[half:]):  # a label a column: a label a key takes 0.1 s
            keys, texts = ("\n".join(column) for column in zip(*part, strict=True))
            for made in (label(keys), label(texts, "muted")):
                made.setAlignment(Qt.AlignmentFlag.AlignTop)
                sides.addWidget(made)
        page = named(QWidget(), "scrollBody")
        page.setLayout(sides)
        scroll = QScrollArea()
        scroll.setAccessibleName(tr("Keyboard"))
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidgetResizable(True)
        scroll.setWidget(page)
        column.addWidget(scroll)
        wanted = page.sizeHint()
        bar = scroll.verticalScrollBar().sizeHint().width()
        scroll.setMinimumWidth(wanted.width() + bar)
        self.resize(0, min(wanted.height() + SHEET_EDGE, parent.window().height() - 24))
        scroll.setFocus()
        close = button(tr("Close"), clicked=self.accept)
        column.addWidget(close, 0, Qt.AlignmentFlag.AlignRight)
